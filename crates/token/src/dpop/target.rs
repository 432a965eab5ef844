//! Addresses, compared as RFC 3986 §6.2.2 and §6.2.3 say: without regard to how scheme, host, port, dots and escapes are
//! written. Query and fragment do not count (RFC 9449 §4.3, check 9).

use url::Url;

/// Whether `htu` is one of these addresses.
pub(super) fn is_one_of(htu: &str, addresses: &[String]) -> bool {
    let Some(htu) = normal(htu) else { return false };
    addresses.iter().any(|address| normal(address).is_some_and(|own| own == htu))
}

/// The address in normal form; none if it is no web address, or names a user.
fn normal(address: &str) -> Option<Url> {
    let mut url = Url::parse(address).ok()?;
    let plain = url.has_host() && url.username().is_empty() && url.password().is_none();
    if !plain || !matches!(url.scheme(), "http" | "https") {
        return None;
    }
    url.set_query(None);
    url.set_fragment(None);
    let path = normal_path(url.path());
    url.set_path(&path);
    Some(url)
}

/// A path without needless escapes, those that are needed in capitals.
fn normal_path(path: &str) -> String {
    let mut normal = String::with_capacity(path.len());
    let mut rest = path;
    while let Some((before, after)) = rest.split_once('%') {
        normal.push_str(before);
        let escape = after.get(..2).and_then(|digits| Some((digits, u8::from_str_radix(digits, 16).ok()?)));
        match escape {
            Some((_, byte)) if is_unreserved(byte) => normal.push(char::from(byte)),
            Some((digits, _)) => {
                normal.push('%');
                normal.push_str(&digits.to_ascii_uppercase());
            }
            // No escape at all: it stands for itself.
            None => {
                normal.push('%');
                rest = after;
                continue;
            }
        }
        rest = after.get(2..).unwrap_or_default();
    }
    normal.push_str(rest);
    normal
}

const fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~')
}

#[cfg(test)]
mod tests {
    use super::is_one_of;

    #[test]
    fn an_address_is_the_same_however_it_is_written() {
        let own = ["https://id.example/tenant~1/oauth2/token".to_owned()];
        for same in [
            "https://id.example/tenant~1/oauth2/token",
            "HTTPS://ID.Example:443/tenant~1/oauth2/token",
            "https://id.example/tenant%7E1/oauth2/token",
            "https://id.example/tenant%7e1/x/../oauth2/./token",
            "https://id.example/tenant~1/oauth2/token?a=b#c",
        ] {
            assert!(is_one_of(same, &own), "{same}");
        }
        for other in [
            "http://id.example/tenant~1/oauth2/token",
            "https://id.example:444/tenant~1/oauth2/token",
            "https://id.example.evil/tenant~1/oauth2/token",
            "https://id.example/tenant~1/oauth2/token/",
            "https://id.example/tenant~1/OAUTH2/token",
            "https://id.example/tenant~1/oauth2%2Ftoken",
            "https://user@id.example/tenant~1/oauth2/token",
            "/tenant~1/oauth2/token",
            "",
        ] {
            assert!(!is_one_of(other, &own), "{other}");
        }
    }
}
