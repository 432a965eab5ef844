//! What was made of a body for its way (RFC 9112 §6.1).

use http::header::TRANSFER_ENCODING;
use http::{HeaderMap, HeaderValue};

/// Whether a body comes as it is or in chunks, once: what another transfer coding made of it cannot be undone here, and is none of its
/// content. A request with another is refused (501).
pub fn is_chunked_at_most(headers: &HeaderMap) -> bool {
    let mut codings = headers.get_all(TRANSFER_ENCODING).iter();
    let is_chunked = |coding: &HeaderValue| coding.as_bytes().eq_ignore_ascii_case(b"chunked");
    codings.next().is_none_or(is_chunked) && codings.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_the_only_coding_that_is_known_and_are_made_once() {
        for (codings, is_known) in [
            (&[][..], true),
            (&["chunked"], true),
            (&["Chunked"], true),
            (&["gzip, chunked"], false),
            (&["chunked", "chunked"], false),
            (&["chunked, chunked"], false),
            (&["identity"], false),
            (&[""], false),
        ] {
            let mut headers = HeaderMap::new();
            for coding in codings {
                headers.append(TRANSFER_ENCODING, HeaderValue::from_static(coding));
            }
            assert_eq!(is_chunked_at_most(&headers), is_known, "{codings:?}");
        }
    }
}
