//! Lists in headers whose parts may be quoted, such as `Forwarded` (RFC 7239) and Envoy's `x-forwarded-client-cert`.

/// The trimmed parts between separators outside quotes. `None`: a quote is left open.
pub(crate) fn split_unquoted(text: &str, separator: u8) -> Option<Vec<&str>> {
    let (mut parts, mut start, mut quoted, mut escaped) = (Vec::new(), 0, false, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            _ if byte == separator && !quoted => {
                parts.push(trimmed(text.get(start..at)?));
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(trimmed(text.get(start..)?));
    (!quoted).then_some(parts)
}

fn trimmed(part: &str) -> &str {
    part.trim_matches([' ', '\t'])
}
