//! `dpop_jkt` (RFC 9449 §10): the key that the code is bound to.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sluice_protocol::ErrorCode;

use super::{Checked, Refusal};

/// The thumbprint that the request names, or that of the proof it was pushed with: they must agree (RFC 9449 §10.1).
pub(super) fn check(checked: &Checked<'_>) -> Result<Option<[u8; 32]>, Refusal> {
    let proven = checked.how.pushed.and_then(|pushed| pushed.dpop_jkt);
    let Some(text) = checked.raw.get("dpop_jkt") else { return Ok(proven) };
    let named = URL_SAFE_NO_PAD.decode(text).ok().and_then(|bytes| <[u8; 32]>::try_from(bytes).ok());
    let named = named.ok_or((ErrorCode::InvalidRequest, "The `dpop_jkt` is no SHA-256 thumbprint."))?;
    if proven.is_some_and(|proven| proven != named) {
        return Err((ErrorCode::InvalidDpopProof, "It is not of the key that `dpop_jkt` names."));
    }
    Ok(Some(named))
}
