//! What a request may name as its host.

use std::net::Ipv6Addr;

/// Whether a request may be for this host: a name or address, and perhaps a port. No user, no path, nothing that a reader might split elsewhere; always an authority
/// that HTTP/2 can say. An ordinary one is looked at once, byte by byte.
pub fn is_host(host: &[u8]) -> bool {
    if let Some(literal) = host.strip_prefix(b"[") {
        return is_literal(literal);
    }
    // The dot of the root may stand at the end, once; between two dots there is always a label (RFC 1034 §3.1).
    let mut is_in_label = false;
    let mut bytes = host.iter();
    while let Some(byte) = bytes.next() {
        match byte {
            b'.' if is_in_label => is_in_label = false,
            b'-' | b'_' | b'~' => is_in_label = true,
            b':' => return bytes.len() + 1 < host.len() && is_port(bytes.as_slice()),
            _ if byte.is_ascii_alphanumeric() => is_in_label = true,
            _ => return false,
        }
    }
    !host.is_empty()
}

/// Whether this says that there is no host: nothing, or a port alone, as clients say it that were given no more.
pub fn is_unnamed(host: &[u8]) -> bool {
    match host {
        [] => true,
        [b':', port @ ..] => is_port(port),
        _ => false,
    }
}

/// An address of IPv6 up to its bracket, perhaps with a zone in it, and perhaps a port.
fn is_literal(literal: &[u8]) -> bool {
    let Some(end) = literal.iter().position(|byte| *byte == b']') else { return false };
    let (address, rest) = literal.split_at(end);
    let is_address = || str::from_utf8(address).is_ok_and(is_address_in_zone);
    match rest {
        b"]" => is_address(),
        [b']', b':', port @ ..] => is_port(port) && is_address(),
        _ => false,
    }
}

/// An address of IPv6, and perhaps through which interface it is reached, as it is written in a URL (RFC 6874 §2).
fn is_address_in_zone(literal: &str) -> bool {
    let (address, zone) = match literal.split_once("%25") {
        Some((address, zone)) => (address, Some(zone)),
        None => (literal, None),
    };
    let is_unreserved = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~');
    let is_zone = zone.is_none_or(|zone| !zone.is_empty() && zone.bytes().all(is_unreserved));
    is_zone && address.parse::<Ipv6Addr>().is_ok()
}

/// Nothing, which means the scheme's own (RFC 3986 §3.2.3), or a number.
fn is_port(port: &[u8]) -> bool {
    let number = port.iter().try_fold(0_u16, |number, byte| {
        let digit = byte.is_ascii_digit().then(|| u16::from(byte - b'0'))?;
        number.checked_mul(10)?.checked_add(digit)
    });
    number.is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_a_name_or_an_address_with_one_port_at_most() {
        for host in [
            "a",
            "A.Example",
            "a_b.c~d-e.",
            "xn--gre-6ka8i.example",
            "a:",
            "a.:443",
            "a:080",
            "a:00000000443",
            "10.0.0.1:65535",
            "[::1]",
            "[::1]:",
            "[2001:DB8::1]:443",
            "[fe80::1%25eth0]",
            "[fe80::1%25eth0.1_a-b~c]:4444",
        ] {
            assert!(is_host(host.as_bytes()), "{host}");
        }
        for host in ["a:1:2", "a::", ":80", ":", "a:x", "a:+1", "a:65536", "a[", "]a", "a[::1]", "::1"] {
            assert!(!is_host(host.as_bytes()), "{host}");
        }
        for host in ["[::1", "[::1]a", "[::1]80", "[::1]:x", "[::1]]", "[a]", "[]", "[", "[[::1]]"] {
            assert!(!is_host(host.as_bytes()), "{host}");
        }
    }

    #[test]
    fn a_zone_is_a_name_after_an_address() {
        for host in ["[fe80::1%25]", "[fe80::1%eth0]", "[fe80::1%25a%25b]", "[%25eth0]", "[fe80::1%25a b]"] {
            assert!(!is_host(host.as_bytes()), "{host}");
        }
        for host in ["[fe80::1%25a/b]", "[fe80::1%25a@b]", "[fe80::1%25a]b]", "fe80::1%25eth0", "a%25eth0"] {
            assert!(!is_host(host.as_bytes()), "{host}");
        }
    }

    #[test]
    fn a_port_alone_names_no_host() {
        for host in ["", ":", ":80", ":65535"] {
            assert!(is_unnamed(host.as_bytes()), "{host}");
        }
        for host in ["a", "a:80", ".", ":65536", ":x", ":80:80", "::1", ": ", " :80"] {
            assert!(!is_unnamed(host.as_bytes()), "{host}");
        }
    }

    #[test]
    fn no_label_of_a_host_is_empty() {
        for host in ["", ".", "..", "a..", "a...", ".a", "a..b", "a..:80", ".:80", "..."] {
            assert!(!is_host(host.as_bytes()), "{host}");
        }
    }

    #[test]
    fn what_could_be_read_otherwise_is_no_host() {
        for host in
            ["a b", "user@a", "a/b", "a,b", "a\\b", "a?b", "a#b", "a%00", "ä", "a\t", "a:\u{660}", " a"]
        {
            assert!(!is_host(host.as_bytes()), "{host}");
        }
        assert!(!is_host(b"a\xff"));
    }
}
