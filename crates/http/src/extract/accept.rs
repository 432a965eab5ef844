//! What a client takes as an answer (RFC 9110 §12.5.1).

use axum::http::HeaderMap;
use axum::http::header::ACCEPT;

/// Whether the client names the media type as one that it takes; a range such as `*/*` names none.
pub(crate) fn names(headers: &HeaderMap, media_type: &str) -> bool {
    let all = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    all.flat_map(|value| value.split(',')).any(|range| is_taken(range, media_type))
}

fn is_taken(range: &str, media_type: &str) -> bool {
    let mut parts = range.split(';').map(str::trim);
    let is_named = parts.next().is_some_and(|named| named.eq_ignore_ascii_case(media_type));
    is_named && !parts.any(is_weight_of_zero)
}

/// What has such a parameter is not taken (RFC 9110 §12.4.2).
fn is_weight_of_zero(parameter: &str) -> bool {
    let weight = parameter.split_once('=').filter(|(name, _)| name.eq_ignore_ascii_case("q"));
    weight.is_some_and(|(_, value)| value.starts_with('0') && value.bytes().all(|byte| b"0.".contains(&byte)))
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn a_type_is_named_unless_its_weight_is_zero() {
        for (accept, is_named) in [
            ("application/jwt", true),
            ("text/html, Application/JWT;q=0.1", true),
            ("application/jwt; q=0.001", true),
            ("application/jwt;v=0", true),
            ("application/jwt;q=0", false),
            ("application/jwt; Q=0.000, application/json", false),
            ("application/jwt;v=1;q=0.0", false),
            ("application/*, */*", false),
            ("", false),
        ] {
            let headers = HeaderMap::from_iter([(ACCEPT, HeaderValue::from_static(accept))]);
            assert_eq!(names(&headers, "application/jwt"), is_named, "{accept}");
        }
    }
}
