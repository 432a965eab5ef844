//! An authorization request for the tests of this crate.

use sluice_primitives::{GrantId, Timestamp};
use sluice_protocol::{Audience, CodeChallenge, Prompt, ResponseMode, ResponseType, Scope};

use super::state::{Request, RequestDetails};

/// An ordinary request of the client `app`, with PKCE.
pub(crate) fn request() -> Request {
    Request {
        flow: GrantId::from_bytes([1; 16]),
        client: "app".parse().unwrap(),
        client_revision: 1,
        redirect_uri: "https://app.example/cb".parse().unwrap(),
        redirect_uri_named: true,
        response_type: ResponseType::CODE,
        response_mode: ResponseMode::Query,
        scope: Scope::default(),
        audience: Audience::default(),
        state: None,
        nonce: None,
        code_challenge: Some(CodeChallenge::from_bytes([2; 32])),
        prompt: Prompt::default(),
        max_age: None,
        login_hint: None,
        acr_values: None,
        ui_locales: None,
        display: None,
        hinted_subject: None,
        details: RequestDetails::default(),
        requested_at: Timestamp::from_secs(1),
        binding: [3; 16],
        parked: None,
    }
}
