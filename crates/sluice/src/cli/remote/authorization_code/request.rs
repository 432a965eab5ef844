//! The authorization request, and what proves that an answer belongs to it.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sluice_crypto::digest::sha256;
use sluice_primitives::Rng;
use sluice_primitives::rng::random_bytes;
use url::Url;

use super::loopback::Arrival;
use super::{AuthorizationCodeArgs, ResponseMode};
use crate::cli::remote::server::Server;

/// The bytes of a random state or nonce: cannot be guessed.
const STATE_BYTES: usize = 24;
/// The bytes of a code verifier: 43 characters (RFC 7636 §4.1).
const VERIFIER_BYTES: usize = 32;

/// An authorization request with PKCE (RFC 7636).
pub(super) struct AuthorizationCall {
    url: Url,
    redirect_uri: String,
    state: String,
    verifier: String,
}

impl AuthorizationCall {
    pub(super) fn new(
        args: &AuthorizationCodeArgs,
        server: &Server,
        redirect_uri: String,
        rng: &dyn Rng,
    ) -> Self {
        let state = args.state.clone().unwrap_or_else(|| random::<STATE_BYTES>(rng));
        let verifier = random::<VERIFIER_BYTES>(rng);
        let mut url = args.auth_url.clone().unwrap_or_else(|| server.url(&["oauth2", "auth"]));
        url.query_pairs_mut()
            .append_pair("response_type", "code")
            .append_pair("client_id", &args.client.client_id)
            .append_pair("redirect_uri", &redirect_uri)
            .append_pair("state", &state)
            .append_pair("nonce", &random::<STATE_BYTES>(rng))
            .append_pair("code_challenge", &URL_SAFE_NO_PAD.encode(sha256(verifier.as_bytes())))
            .append_pair("code_challenge_method", "S256")
            .extend_pairs(optional_parameters(args));
        Self { url, redirect_uri, state, verifier }
    }

    /// Where to send the browser.
    pub(super) fn url(&self) -> Url {
        self.url.clone()
    }

    /// The path at which it comes back.
    pub(super) fn callback_path(&self) -> String {
        Url::parse(&self.redirect_uri).map_or_else(|_| "/".to_owned(), |url| url.path().to_owned())
    }

    /// Whether this is the answer to this request, and not to one that somebody else made.
    pub(super) fn is_answered_by(&self, arrival: &Arrival) -> bool {
        arrival.parameter("state") == Some(&self.state)
    }

    /// The token request for a code (RFC 6749 §4.1.3).
    pub(super) fn exchange<'a>(&'a self, code: &'a str) -> [(&'static str, &'a str); 4] {
        [
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", &self.redirect_uri),
            ("code_verifier", &self.verifier),
        ]
    }
}

fn optional_parameters(args: &AuthorizationCodeArgs) -> Vec<(&'static str, String)> {
    let mut parameters = vec![
        ("scope", args.scope.join(" ")),
        ("audience", args.audience.join(" ")),
        ("prompt", args.prompt.join(" ")),
    ];
    if args.max_age >= 0 {
        parameters.push(("max_age", args.max_age.to_string()));
    }
    match args.response_mode {
        Some(ResponseMode::FormPost) => parameters.push(("response_mode", "form_post".to_owned())),
        Some(ResponseMode::Query) => parameters.push(("response_mode", "query".to_owned())),
        None => {}
    }
    parameters.retain(|(_, value)| !value.is_empty());
    parameters
}

fn random<const N: usize>(rng: &dyn Rng) -> String {
    URL_SAFE_NO_PAD.encode(random_bytes::<N>(rng))
}
