//! How many lines of headers a request may have.

use http::HeaderMap;

/// The most lines of headers of a request: over HTTP/1.1 the HTTP library takes 100; over HTTP/2 browsers send a cookie in a line
/// (RFC 9113 §8.2.3).
///
/// A bound of bytes is none of memory: over HTTP/2 a line that was sent before is a byte on the wire and 72 in memory, in every
/// stream, for as long as its request lasts.
pub const MAX_HEADER_LINES: usize = 256;

/// The most lines of headers that all requests under way on a connection over HTTP/2 have together: 64 for each of 128, where those of
/// browsers have 20 to 50.
pub(crate) const MAX_HEADER_LINES_AT_ONCE: usize = 8 * 1024;

/// Whether a request has more lines of headers than it may have. It is refused (431, RFC 6585 §5) before it waits for anything.
pub fn has_too_many_lines(headers: &HeaderMap) -> bool {
    headers.len() > MAX_HEADER_LINES
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;
    use http::header::COOKIE;

    use super::*;

    #[test]
    fn lines_of_one_name_count_each() {
        let mut headers = HeaderMap::new();
        for _ in 0..MAX_HEADER_LINES {
            headers.append(COOKIE, HeaderValue::from_static("a=1"));
        }
        assert!(!has_too_many_lines(&headers));
        headers.append(COOKIE, HeaderValue::from_static("a=1"));
        assert!(has_too_many_lines(&headers));
    }
}
