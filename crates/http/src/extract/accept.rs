//! What a client takes as an answer (RFC 9110 §12.5.1).

use axum::http::HeaderMap;
use axum::http::header::ACCEPT;

/// Whether the client names the media type; a range such as `*/*` names none.
pub(crate) fn names(headers: &HeaderMap, media_type: &str) -> bool {
    let all = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let mut types = all.flat_map(|value| value.split(',')).filter_map(|range| range.split(';').next());
    types.any(|named| named.trim().eq_ignore_ascii_case(media_type))
}
