//! The id of a request: the caller's, if it is a sane one, or our own. It finds the lines of a request in the log.

use http::{HeaderMap, HeaderName, HeaderValue};
use sluice_primitives::Rng;
use sluice_primitives::rng::random_bytes;

pub(crate) const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Longer ids of callers are replaced.
const MAX_LENGTH: usize = 64;
/// The size of our own, in bytes.
const OWN_LENGTH: usize = 16;

/// The id that `headers` bring, or a new one. What comes from outside ends up in logs and in an answer, so it is
/// letters, digits and `-_.` only.
pub(super) fn of(headers: &HeaderMap, rng: &dyn Rng) -> HeaderValue {
    headers.get(X_REQUEST_ID).filter(|id| is_sane(id.as_bytes())).cloned().unwrap_or_else(|| new(rng))
}

fn is_sane(id: &[u8]) -> bool {
    let allowed = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.".contains(byte);
    (1..=MAX_LENGTH).contains(&id.len()) && id.iter().all(allowed)
}

fn new(rng: &dyn Rng) -> HeaderValue {
    let mut text = [0; OWN_LENGTH * 2];
    for (pair, byte) in text.chunks_exact_mut(2).zip(random_bytes::<OWN_LENGTH>(rng)) {
        pair.copy_from_slice(&[digit(byte >> 4), digit(byte & 15)]);
    }
    HeaderValue::from_bytes(&text).unwrap_or_else(|_| HeaderValue::from_static("unknown"))
}

const fn digit(value: u8) -> u8 {
    if value < 10 { b'0' + value } else { b'a' + value - 10 }
}

#[cfg(test)]
mod tests {
    use sluice_primitives::SeededRng;

    use super::*;

    fn id_for(brought: &[u8]) -> String {
        let mut headers = HeaderMap::new();
        headers.insert(X_REQUEST_ID, HeaderValue::from_bytes(brought).unwrap());
        of(&headers, &SeededRng::new(1)).to_str().unwrap().to_owned()
    }

    #[test]
    fn a_sane_id_of_the_caller_is_kept() {
        assert_eq!(id_for(b"0f8fad5b-d9cb-469f-a165-70867728950e"), "0f8fad5b-d9cb-469f-a165-70867728950e");
    }

    #[test]
    fn an_id_that_could_forge_a_log_line_is_replaced() {
        for brought in [&b"a b"[..], b"a\tlevel=error", b"", b"<b>", b"\xff", &[b'a'; MAX_LENGTH + 1]] {
            let id = id_for(brought);
            assert!(id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit()), "{id}");
        }
    }
}
