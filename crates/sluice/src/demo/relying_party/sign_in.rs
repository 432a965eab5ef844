//! One authorization request: what is sent to the server, and what must come back.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sluice_crypto::digest::sha256;
use sluice_primitives::Rng;
use sluice_primitives::rng::random_bytes;
use url::Url;

use crate::demo::admin::SCOPE;

/// As RFC 7636 §7.1 recommends.
const RANDOM_BYTES: usize = 32;

/// A sign-in that was begun. Its secrets stay in the application until the browser is back.
#[derive(Clone)]
pub(in crate::demo) struct SignIn {
    /// Where the browser is sent.
    pub(in crate::demo) url: Url,
    pub(in crate::demo) state: String,
    pub(in crate::demo) nonce: String,
    pub(in crate::demo) code_verifier: String,
}

impl SignIn {
    pub(super) fn new(endpoint: &Url, client_id: &str, redirect_uri: &str, rng: &dyn Rng) -> Self {
        let random = || URL_SAFE_NO_PAD.encode(random_bytes::<RANDOM_BYTES>(rng));
        let (state, nonce, code_verifier) = (random(), random(), random());
        let mut url = endpoint.clone();
        url.query_pairs_mut()
            .append_pair("response_type", "code")
            .append_pair("client_id", client_id)
            .append_pair("redirect_uri", redirect_uri)
            .append_pair("scope", SCOPE)
            .append_pair("state", &state)
            .append_pair("nonce", &nonce)
            .append_pair("code_challenge", &URL_SAFE_NO_PAD.encode(sha256(code_verifier.as_bytes())))
            .append_pair("code_challenge_method", "S256");
        Self { url, state, nonce, code_verifier }
    }
}
