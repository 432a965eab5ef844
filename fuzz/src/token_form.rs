//! The `Authorization` header (the first line) and the form (the rest) of a request to the token endpoint.

use sluice_oauth::client_auth::Presented;
use sluice_protocol::{CodeVerifier, Parameters, TokenRequest};

/// Reads both as the token endpoint does.
pub fn run(input: &[u8]) {
    let (header, form) = match input.iter().position(|byte| *byte == b'\n') {
        Some(end) => (input.get(..end).unwrap_or_default(), input.get(end + 1..).unwrap_or_default()),
        None => (input.get(..0).unwrap_or_default(), input),
    };
    let header = std::str::from_utf8(header).ok().filter(|header| !header.is_empty());
    let Ok(form) = Parameters::parse(form, 64 * 1024, &["resource", "audience"]) else { return };
    match Presented::read(header, &form) {
        Ok(presented) => _ = format!("{presented:?}"),
        Err(refused) => _ = refused.code(),
    }
    if let Ok(request) = TokenRequest::read(&form) {
        assert_eq!(form.get("grant_type"), Some(request.grant_type().as_str()));
    }
    if let Some(Ok(verifier)) = form.get("code_verifier").map(str::parse::<CodeVerifier>) {
        assert!((43..=128).contains(&verifier.as_str().len()));
    }
}
