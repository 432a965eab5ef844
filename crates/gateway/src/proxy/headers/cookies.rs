//! Cookies of a request that came over HTTP/2.

use http::header::COOKIE;
use http::{HeaderMap, HeaderValue};
use smallvec::SmallVec;

/// Makes one line of cookies that HTTP/2 let come apart: over HTTP/1.1 there is one at most (RFC 9113 §8.2.3).
pub(in crate::proxy) fn join_cookies(headers: &mut HeaderMap) {
    if let Some(line) = joined(headers) {
        headers.insert(COOKIE, line);
    }
}

/// All cookies in one line; `None` if they are.
fn joined(headers: &HeaderMap) -> Option<HeaderValue> {
    let lines: SmallVec<[&[u8]; 8]> = headers.get_all(COOKIE).iter().map(HeaderValue::as_bytes).collect();
    if lines.len() < 2 {
        return None;
    }
    HeaderValue::from_bytes(&lines.join(&b"; "[..])).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cookies_that_came_apart_are_one_line_in_their_order() {
        for (lines, joined) in [
            (vec![], vec![]),
            (vec!["a=1; b=2"], vec!["a=1; b=2"]),
            (vec!["a=1", "b=2; c=3", "a=4"], vec!["a=1; b=2; c=3; a=4"]),
        ] {
            let mut headers = HeaderMap::new();
            for line in lines {
                headers.append(COOKIE, HeaderValue::from_static(line));
            }
            join_cookies(&mut headers);
            assert_eq!(headers.get_all(COOKIE).iter().collect::<Vec<_>>(), joined);
        }
    }
}
