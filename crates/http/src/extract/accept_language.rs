//! Which languages a person reads (RFC 9110 §12.5.4).

use axum::http::HeaderMap;
use axum::http::header::ACCEPT_LANGUAGE;

/// How many are looked at: nobody has more, and each is looked for.
const MOST: usize = 32;

/// The ranges of languages that the browser names, the dearest first, and of two alike the one that stands first.
pub(crate) fn ranges(headers: &HeaderMap) -> Vec<&str> {
    let all = headers.get_all(ACCEPT_LANGUAGE).iter().filter_map(|value| value.to_str().ok());
    let named = all.flat_map(|value| value.split(',')).take(MOST).filter_map(weighed);
    let mut ranges: Vec<(&str, u16)> = named.filter(|(_, weight)| *weight > 0).collect();
    ranges.sort_by_key(|(_, weight)| std::cmp::Reverse(*weight));
    ranges.into_iter().map(|(range, _)| range).collect()
}

/// A range, and its weight in thousandths (RFC 9110 §12.4.2); none if it is nothing that a browser says.
fn weighed(element: &str) -> Option<(&str, u16)> {
    let mut parts = element.split(';').map(str::trim);
    let range = parts.next().filter(|range| !range.is_empty())?;
    let weight = match parts.next() {
        None => 1000,
        Some(parameter) => {
            thousandths(parameter.strip_prefix(['q', 'Q'])?.trim_start().strip_prefix('=')?.trim())?
        }
    };
    Some((range, weight))
}

fn thousandths(weight: &str) -> Option<u16> {
    let (whole, fraction) = weight.split_once('.').unwrap_or((weight, ""));
    if fraction.len() > 3 || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let fraction = format!("{fraction:0<3}").parse().ok()?;
    match (whole, fraction) {
        ("0", fraction) => Some(fraction),
        ("1", 0) => Some(1000),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn the_dearest_language_comes_first_and_one_of_no_weight_not_at_all() {
        for (header, expected) in [
            ("de", &["de"][..]),
            ("en;q=0.5, de-AT, fr ; Q = 0.8", &["de-AT", "fr", "en"]),
            ("fr,de", &["fr", "de"]),
            ("de;q=0, en;q=0.001", &["en"]),
            ("de;q=2, en;q=NaN, fr;q=x, it;r=1, ;q=1,,", &[]),
            ("*", &["*"]),
            ("", &[]),
        ] {
            let headers = HeaderMap::from_iter([(ACCEPT_LANGUAGE, HeaderValue::from_static(header))]);
            assert_eq!(ranges(&headers), expected, "{header}");
        }
        assert!(ranges(&HeaderMap::new()).is_empty());
        let many = format!("{}de", "en,".repeat(MOST));
        let headers = HeaderMap::from_iter([(ACCEPT_LANGUAGE, HeaderValue::try_from(many).unwrap())]);
        assert!(!ranges(&headers).contains(&"de"));
    }
}
