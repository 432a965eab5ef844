//! What a client calls its request: it finds the lines of one request in the logs of all that had to do with it. It ends up in a log, so it
//! is short, and of letters, digits and `-_.` only.

use http::{HeaderMap, HeaderName, HeaderValue};

/// Where it stands by itself, and where it is the trace that a request is a part of (W3C Trace Context): the first that has one counts.
static PLACES: [HeaderName; 2] =
    [HeaderName::from_static("x-request-id"), HeaderName::from_static("traceparent")];
/// A longer one is none.
const LONGEST: usize = 64;
/// How long a `traceparent` is at least, and where the trace stands in it.
const TRACE_PARENT: usize = 55;
const TRACE: std::ops::Range<usize> = 3..35;

/// The header that says it.
pub(crate) fn named_by(headers: &HeaderMap) -> Option<&HeaderValue> {
    PLACES.iter().filter_map(|name| headers.get(name)).find(|value| in_header(value).is_some())
}

/// What the header says.
pub(crate) fn in_header(value: &HeaderValue) -> Option<&str> {
    let text = value.to_str().ok()?;
    let is_sane = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    if !(1..=LONGEST).contains(&text.len()) || !text.bytes().all(is_sane) {
        return None;
    }
    trace(text).or(Some(text))
}

/// The trace that a `traceparent` names.
fn trace(text: &str) -> Option<&str> {
    let has_dash = |place: usize| text.as_bytes().get(place) == Some(&b'-');
    let is_one = text.len() >= TRACE_PARENT && [2, 35, 52].into_iter().all(has_dash);
    let trace = text.get(TRACE).filter(|_| is_one)?;
    trace.bytes().all(|byte| byte.is_ascii_hexdigit()).then_some(trace)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE_ID: &str = "4bf92f3577b34da6a3ce929d0e0e4736";

    fn told(headers: &[(&'static str, &str)]) -> Option<String> {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.insert(*name, HeaderValue::from_bytes(value.as_bytes()).unwrap());
        }
        named_by(&map).and_then(in_header).map(str::to_owned)
    }

    #[test]
    fn a_request_is_called_by_its_id_or_by_its_trace() {
        let parent = format!("00-{TRACE_ID}-00f067aa0ba902b7-01");
        assert_eq!(told(&[]), None);
        assert_eq!(told(&[("x-request-id", "r-7_a.b")]).as_deref(), Some("r-7_a.b"));
        assert_eq!(told(&[("traceparent", &*parent)]).as_deref(), Some(TRACE_ID));
        assert_eq!(told(&[("traceparent", &*parent), ("x-request-id", "r-7")]).as_deref(), Some("r-7"));
    }

    #[test]
    fn what_could_forge_a_line_or_fill_the_log_is_no_id() {
        let parent = format!("00-{TRACE_ID}-00f067aa0ba902b7-01");
        let long = "a".repeat(LONGEST + 1);
        for id in ["", "a b", "a\tb", "\"", "ž", &long] {
            assert_eq!(told(&[("x-request-id", id)]), None, "{id}");
            let beside = [("x-request-id", id), ("traceparent", &*parent)];
            assert_eq!(told(&beside).as_deref(), Some(TRACE_ID), "{id}");
        }
    }
}
