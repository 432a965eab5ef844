//! An address, written once into memory of its own: formatting is dear where it is done for each request.

use std::fmt::{self, Display, Formatter, Write as _};
use std::net::IpAddr;

/// `ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255`, and nothing is longer.
const LONGEST: usize = 45;

/// The text of an address. It takes no notice of a width that it is to be displayed in.
#[derive(Debug, Clone, Copy)]
pub struct AddressText {
    text: [u8; LONGEST],
    length: usize,
}

impl AddressText {
    /// As the address displays itself.
    pub fn of(address: IpAddr) -> Self {
        let mut text = Self { text: [0; LONGEST], length: 0 };
        match address {
            IpAddr::V4(address) => {
                for (place, octet) in address.octets().into_iter().enumerate() {
                    if place > 0 {
                        text.push(b".");
                    }
                    text.push(itoa::Buffer::new().format(octet).as_bytes());
                }
            }
            // There is room for the longest.
            IpAddr::V6(address) => drop(write!(text, "{address}")),
        }
        text
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        let text = self.text.get(..self.length).and_then(|text| std::str::from_utf8(text).ok());
        text.unwrap_or_default()
    }

    fn push(&mut self, bytes: &[u8]) {
        if let Some(room) = self.text.get_mut(self.length..self.length + bytes.len()) {
            room.copy_from_slice(bytes);
            self.length += bytes.len();
        }
    }
}

impl fmt::Write for AddressText {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.push(text.as_bytes());
        Ok(())
    }
}

impl Display for AddressText {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_written_as_it_displays_itself() {
        let addresses = [
            "0.0.0.0",
            "192.0.2.1",
            "255.255.255.255",
            "::",
            "2001:db8::1",
            "::ffff:192.0.2.1",
            "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
        ];
        for address in addresses {
            assert_eq!(AddressText::of(address.parse().unwrap()).to_string(), address);
        }
    }
}
