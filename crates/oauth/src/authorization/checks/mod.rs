//! What is checked of an authorization request, in order. First what decides whom an error may reach, then the rest.

mod audience;
mod hints;
mod lengths;
mod max_age;
mod pkce;
mod prompt;
mod redirect_uri;
mod response_mode;
mod response_type;
mod scope;
mod unsupported;

use sluice_protocol::{
    Audience, CodeChallenge, ErrorCode, Prompt, RawAuthorizationRequest, ResponseType, Scope,
};

pub use redirect_uri::{TrustedRedirect, trust_redirect};

use super::error::RedirectedError;
use super::response::ResponseTarget;
use crate::client::Client;
use crate::config::Config;
use crate::flow::RequestDetails;

/// What one check may look at.
pub(crate) struct Checked<'a> {
    pub(crate) raw: &'a RawAuthorizationRequest<'a>,
    pub(crate) client: &'a Client,
    pub(crate) config: &'a Config,
}

/// A refusal: which error, and what is special about this case.
pub(crate) type Refusal = (ErrorCode, &'static str);

/// What the checks made of the parameters.
#[derive(Debug)]
#[expect(missing_docs, reason = "the fields are the parameters of the same name")]
pub struct Parsed {
    pub response_type: ResponseType,
    pub scope: Scope,
    pub audience: Audience,
    pub code_challenge: Option<CodeChallenge>,
    pub prompt: Prompt,
    pub max_age: Option<u32>,
    pub details: RequestDetails,
}

/// Where an error goes from here on: response mode and `state` are read first, so that even a refused request is answered
/// in the way it asked for.
pub fn target(raw: &RawAuthorizationRequest<'_>, redirect: &TrustedRedirect) -> ResponseTarget {
    ResponseTarget {
        redirect_uri: redirect.uri.clone(),
        mode: response_mode::read(raw).unwrap_or_default(),
        state: raw.get("state").filter(|state| state.len() <= lengths::STATE).map(str::to_owned),
    }
}

/// Runs the checks that need nothing but the request and the client.
pub fn run(
    raw: &RawAuthorizationRequest<'_>,
    client: &Client,
    config: &Config,
    target: &ResponseTarget,
) -> Result<Parsed, RedirectedError> {
    let checked = Checked { raw, client, config };
    parse(&checked).map_err(|(code, hint)| RedirectedError::new(target.clone(), code, hint))
}

fn parse(checked: &Checked<'_>) -> Result<Parsed, Refusal> {
    unsupported::check(checked)?;
    let response_type = response_type::check(checked)?;
    response_mode::check(checked)?;
    lengths::check(checked)?;
    let scope = scope::check(checked)?;
    redirect_uri::check_named(checked, &scope)?;
    let audience = audience::check(checked)?;
    let code_challenge = pkce::check(checked)?;
    let prompt = prompt::check(checked)?;
    let max_age = max_age::check(checked)?;
    hints::check(checked)?;
    let details = RequestDetails::default();
    Ok(Parsed { response_type, scope, audience, code_challenge, prompt, max_age, details })
}

/// Whether the redirect URI of a request is still one of the client's: no error may go there otherwise.
pub fn redirect_still_registered(request: &crate::flow::Request, client: &Client) -> bool {
    redirect_uri::is_registered(&request.redirect_uri, client)
}

/// Whether a request that was checked against an earlier record of the client would still pass: run again at the last
/// leg if the client has changed.
pub fn still_allowed(request: &crate::flow::Request, client: &Client, config: &Config) -> bool {
    response_type::is_allowed(request.response_type, client)
        && request.scope.iter().all(|value| config.scopes.allows(&client.scope, value))
        && client.audience.covers(&request.audience)
        && (request.code_challenge.is_some() || !pkce::is_required(client, config))
}
