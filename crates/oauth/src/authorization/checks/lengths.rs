//! What travels through the flow unchanged is capped.

use sluice_protocol::ErrorCode;
use sluice_protocol::authorization_request::MAX_STATE;

use super::{Checked, Refusal};
use crate::query::escaped_len;

/// The longest of the other values, in bytes.
const OTHER: usize = 1024;
/// The others, and what is said of one that is too long.
const OTHERS: [(&str, &str); 5] = [
    ("nonce", "The parameter `nonce` is longer than 1024 bytes."),
    ("login_hint", "The parameter `login_hint` is longer than 1024 bytes."),
    ("acr_values", "The parameter `acr_values` is longer than 1024 bytes."),
    ("ui_locales", "The parameter `ui_locales` is longer than 1024 bytes."),
    ("display", "The parameter `display` is longer than 1024 bytes."),
];

pub(super) fn check(checked: &Checked<'_>) -> Result<(), Refusal> {
    let too_long = |name: &str, max: usize| checked.raw.get(name).is_some_and(|value| value.len() > max);
    if checked.raw.get("state").is_some_and(|state| !is_state(state)) {
        let sentence = "The parameter `state` is longer than 8192 bytes, as it stands in a URL.";
        return Err((ErrorCode::InvalidRequest, sentence));
    }
    match OTHERS.iter().find(|(name, _)| too_long(name, OTHER)) {
        Some((_, sentence)) => Err((ErrorCode::InvalidRequest, *sentence)),
        None => Ok(()),
    }
}

/// Whether a `state` is no longer than may be where it stands in a URL: in the answer, and in the request from which the browser begins
/// anew, which has other parameters beside it.
pub(super) fn is_state(state: &str) -> bool {
    state.len() <= MAX_STATE && escaped_len(state) <= MAX_STATE
}
