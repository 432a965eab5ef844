//! Nonces for the proofs of clients (RFC 9449 §8, §9).

use axum::http::HeaderValue;
use axum::response::Response;
use sluice_oauth::caller::{Caller, DpopHeader};
use sluice_oauth::sender_constraint::SenderConstraint;

/// Gives a client that sends proofs the nonce of its next one, if proofs must have one.
pub(crate) fn offer_nonce(caller: &Caller, constraint: &SenderConstraint, response: &mut Response) {
    if matches!(caller.dpop, DpopHeader::None) {
        return;
    }
    let nonce = constraint.nonce().and_then(|nonce| HeaderValue::try_from(nonce).ok());
    if let Some(nonce) = nonce {
        response.headers_mut().insert("dpop-nonce", nonce);
    }
}
