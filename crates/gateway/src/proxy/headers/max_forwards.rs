//! How far a request may go (RFC 9110 §7.6.2): of those that are asked so, `TRACE` is not served, and `OPTIONS` is left.

use http::header::MAX_FORWARDS;
use http::{HeaderMap, HeaderValue, Method};

/// Whether a request may go on; it may go one proxy less far then. What is no number, or said twice, says nothing, and goes on as it came.
pub(in crate::proxy) fn count_hop(method: &Method, headers: &mut HeaderMap) -> bool {
    if *method != Method::OPTIONS {
        return true;
    }
    let mut lines = headers.get_all(MAX_FORWARDS).iter();
    let said = lines.next().filter(|_| lines.next().is_none());
    let Some(may_go) = said.and_then(number) else { return true };
    let Some(left) = may_go.checked_sub(1) else { return false };
    headers.insert(MAX_FORWARDS, left.into());
    true
}

/// Digits alone: a sign is none.
fn number(said: &HeaderValue) -> Option<u64> {
    let said = said.to_str().ok().filter(|said| said.bytes().all(|byte| byte.is_ascii_digit()))?;
    said.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_options_goes_as_far_as_it_says_and_others_do_not_say() {
        for (method, said, expected) in [
            (Method::OPTIONS, Some("0"), None),
            (Method::OPTIONS, Some("1"), Some("0")),
            (Method::OPTIONS, Some("10"), Some("9")),
            (Method::OPTIONS, Some("many"), Some("many")),
            (Method::OPTIONS, Some("-1"), Some("-1")),
            (Method::OPTIONS, Some("+1"), Some("+1")),
            (Method::OPTIONS, Some("+0"), Some("+0")),
            (Method::OPTIONS, Some(""), Some("")),
            (Method::OPTIONS, Some("18446744073709551616"), Some("18446744073709551616")),
            (Method::GET, Some("0"), Some("0")),
        ] {
            let mut headers = HeaderMap::new();
            headers.extend(said.map(|said| (MAX_FORWARDS, HeaderValue::from_static(said))));
            let goes_on = count_hop(&method, &mut headers);
            let left = headers.get(MAX_FORWARDS).filter(|_| goes_on).map(|left| left.to_str().unwrap());
            assert_eq!(left, expected, "{method} {said:?}");
        }
        assert!(count_hop(&Method::OPTIONS, &mut HeaderMap::new()));
    }

    #[test]
    fn what_is_said_twice_goes_on_as_it_came() {
        for said in [["0", "0"], ["1", "2"]] {
            let mut headers = HeaderMap::new();
            headers.extend(said.map(|said| (MAX_FORWARDS, HeaderValue::from_static(said))));
            assert!(count_hop(&Method::OPTIONS, &mut headers), "{said:?}");
            assert_eq!(headers.get_all(MAX_FORWARDS).iter().collect::<Vec<_>>(), said);
        }
    }
}
