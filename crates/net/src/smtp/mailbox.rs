//! Whom mail is from or for: an address, with a name for people where there is one (RFC 5322 §3.4).

use std::str::FromStr;

use lettre::Address;
use url::Host;

/// A sender: `Example <no-reply@example.org>`, or the address alone. The name may be in any script, the address not:
/// not every server takes such a one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mailbox(pub(super) lettre::message::Mailbox);

/// Why a text is no [`Mailbox`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a sender: `Name <address@domain>` is expected, a name with punctuation in double quotes")]
pub struct InvalidMailbox;

impl FromStr for Mailbox {
    type Err = InvalidMailbox;

    fn from_str(raw: &str) -> Result<Self, InvalidMailbox> {
        if raw.contains(char::is_control) {
            return Err(InvalidMailbox);
        }
        let mailbox: lettre::message::Mailbox = raw.parse().map_err(|_| InvalidMailbox)?;
        let address = address(mailbox.email.as_ref()).filter(is_ascii).ok_or(InvalidMailbox)?;
        Ok(Self(lettre::message::Mailbox::new(mailbox.name, address)))
    }
}

/// One address, its domain in ASCII (RFC 5890 §2.3.2.1). Only one that can stand between angle brackets: with a quoted
/// local part (RFC 5321 §4.1.2) it could hold brackets and blanks, which servers are not agreed about.
pub(super) fn address(raw: &str) -> Option<Address> {
    if raw.contains(|c: char| c.is_control() || c.is_whitespace() || matches!(c, '<' | '>')) {
        return None;
    }
    let address: Address = raw.parse().ok()?;
    if address.domain().is_ascii() {
        return Some(address);
    }
    let Ok(Host::Domain(domain)) = Host::parse(address.domain()) else { return None };
    Address::new(address.user(), domain).ok()
}

pub(super) fn is_ascii(address: &Address) -> bool {
    AsRef::<str>::as_ref(address).is_ascii()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sender_has_an_address_and_may_have_a_name() {
        let mailbox: Mailbox = "Dépôt <no-reply@example.org>".parse().unwrap();
        assert_eq!(mailbox.0.name.as_deref(), Some("Dépôt"));
        assert_eq!(mailbox.0.email.to_string(), "no-reply@example.org");
        assert!("no-reply@example.org".parse::<Mailbox>().is_ok());
        assert!("\"Example, Inc.\" <no-reply@example.org>".parse::<Mailbox>().is_ok());
    }

    #[test]
    fn what_could_end_a_header_or_no_server_understands_is_no_sender() {
        for raw in [
            "",
            "Example",
            "no-reply@",
            "a@example.org, b@example.org",
            "Ex\r\nBcc: x@example.org <a@example.org>",
            "é@example.org",
        ] {
            assert_eq!(raw.parse::<Mailbox>(), Err(InvalidMailbox), "{raw:?}");
        }
    }

    #[test]
    fn a_domain_in_another_script_is_sent_as_dns_knows_it() {
        assert_eq!(address("alice@münchen.example").unwrap().to_string(), "alice@xn--mnchen-3ya.example");
        assert_eq!(address("älice@münchen.example").unwrap().to_string(), "älice@xn--mnchen-3ya.example");
    }
}
