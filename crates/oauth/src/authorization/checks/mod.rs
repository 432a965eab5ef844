//! What is checked of an authorization request, in order. First what decides whom an error may reach, then the rest.

mod arrival;
mod audience;
pub(crate) mod authorization_details;
mod claims;
mod dpop_jkt;
mod fapi;
mod further;
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

use std::borrow::Cow;

use sluice_protocol::{
    Audience, AuthorizationDetails, ClaimsRequest, CodeChallenge, ErrorCode, GrantType, Prompt,
    RawAuthorizationRequest, ResponseType, Scope,
};

pub use redirect_uri::{TrustedRedirect, trust_redirect};

use super::arrival::Arrival;
use super::error::{RedirectedError, ShownError};
use super::response::ResponseTarget;
use crate::client::Client;
use crate::config::Config;
use crate::flow::RequestDetails;
use crate::refused_value::RefusedValue;

/// What one check may look at.
pub(crate) struct Checked<'a> {
    pub(crate) raw: &'a RawAuthorizationRequest<'a>,
    pub(crate) client: &'a Client,
    pub(crate) config: &'a Config,
    pub(crate) how: &'a Arrival,
}

/// A refusal: which error, and what is special about this case.
pub(crate) type Refusal = (ErrorCode, &'static str);

/// A refusal that may name the value.
pub(crate) struct Refused {
    pub(crate) code: ErrorCode,
    pub(crate) hint: Cow<'static, str>,
    /// What the hint names.
    value: RefusedValue,
}

impl Refused {
    /// It is for this value of this kind.
    fn naming(code: ErrorCode, kind: &str, value: &str) -> Self {
        let value = RefusedValue::new(value);
        Self { code, hint: value.sentence(kind).unwrap_or_default().into(), value }
    }

    /// The same for who is told by way of the browser. Anybody can make the link that the request came by: no address of theirs is in the answer, which
    /// some clients show with links.
    fn redirected(self, target: ResponseTarget) -> RedirectedError {
        if !self.value.is_address() {
            return RedirectedError::new(target, self.code, &self.hint);
        }
        let untold = Some(Box::new(self.value));
        RedirectedError { untold, ..RedirectedError::new(target, self.code, "") }
    }
}

impl From<Refusal> for Refused {
    fn from((code, hint): Refusal) -> Self {
        Self { code, hint: hint.into(), value: RefusedValue::default() }
    }
}

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
    pub claims: Option<ClaimsRequest>,
    pub details: RequestDetails,
}

/// Where an error goes from here on: response mode and `state` are read first, so that even a refused request is answered
/// in the way it asked for.
///
/// # Errors
/// [`ShownError`] if no error may leave this server, or none would be taken: each has the `state` (RFC 6749 §4.1.2.1).
pub(super) fn trust_target(
    raw: &RawAuthorizationRequest<'_>,
    client: &Client,
) -> Result<(TrustedRedirect, ResponseTarget), ShownError> {
    let redirect = trust_redirect(raw, client)?;
    let state = raw.get("state");
    if state.is_some_and(|state| !lengths::is_state(state)) {
        return Err(ShownError::State);
    }
    let target = ResponseTarget {
        client: client.id.clone(),
        redirect_uri: redirect.uri.clone(),
        mode: response_mode::of_errors(raw, client),
        state: state.map(str::to_owned),
    };
    Ok((redirect, target))
}

/// Runs the checks that need nothing but the request and the client.
pub(crate) fn run(checked: &Checked<'_>, target: &ResponseTarget) -> Result<Parsed, RedirectedError> {
    parse(checked).map_err(|refused| refused.redirected(target.clone()))
}

/// The same, for those who have nowhere to send an error to.
pub(crate) fn parse(checked: &Checked<'_>) -> Result<Parsed, Refused> {
    unsupported::check(checked)?;
    arrival::check(checked)?;
    let response_type = response_type::check(checked)?;
    let mode = response_mode::check(checked, response_type)?;
    lengths::check(checked)?;
    let scope = scope::check(checked)?;
    redirect_uri::check_named(checked, &scope)?;
    response_type::check_tokens(checked, response_type, &scope)?;
    let audience = audience::check(checked)?;
    let code_challenge = pkce::check(checked, response_type)?;
    fapi::check(checked, (response_type, mode), code_challenge.as_ref())?;
    let prompt = prompt::check(checked)?;
    let max_age = max_age::check(checked)?.or(checked.client.defaults.max_age);
    hints::check(checked)?;
    let claims = claims::check(checked)?;
    let details = RequestDetails {
        claims: claims.as_ref().map(ClaimsRequest::to_json),
        authorization_details: authorization_details::check(checked)?,
        dpop_jkt: dpop_jkt::check(checked)?,
        pushed: checked.how.pushed.is_some(),
        signed: checked.how.signed,
        device: false,
        further: further::read(checked),
    };
    Ok(Parsed { response_type, scope, audience, code_challenge, prompt, max_age, claims, details })
}

/// What a device asks for (RFC 8628 §3.1).
pub(crate) struct AskedByDevice {
    pub(crate) scope: Scope,
    pub(crate) audience: Audience,
    pub(crate) authorization_details: Option<String>,
}

/// Runs the checks of what a device may ask for: there is no browser and nobody to redirect to.
pub(crate) fn of_device(checked: &Checked<'_>) -> Result<AskedByDevice, Refused> {
    Ok(AskedByDevice {
        scope: scope::check(checked)?,
        audience: audience::check(checked)?,
        authorization_details: authorization_details::check(checked)?,
    })
}

/// Whether the redirect URI of a request is still one of the client's: no error may go there otherwise.
pub fn redirect_still_registered(request: &crate::flow::Request, client: &Client) -> bool {
    redirect_uri::is_registered(&request.redirect_uri, client)
}

/// Whether a request that was checked against an earlier record of the client would still pass: run again at the last
/// leg if the client has changed.
pub fn still_allowed(request: &crate::flow::Request, client: &Client, config: &Config) -> bool {
    may_ask_so(request, client, config)
        && request.scope.iter().all(|value| config.scopes.allows(&client.scope, value))
        && client.audience.permits_all(&request.audience)
        && details_still_allowed(request, client)
}

/// Whether the client may still ask in this way.
fn may_ask_so(request: &crate::flow::Request, client: &Client, config: &Config) -> bool {
    if request.details.device {
        return client.may_use(GrantType::DeviceCode);
    }
    response_type::is_allowed(request.response_type, client)
        && (request.code_challenge.is_some()
            || !request.response_type.code
            || !pkce::is_required(client, config))
        && (request.details.pushed || !arrival::must_push(client, config))
        && (request.details.signed || !arrival::must_sign(client, config))
        && fapi::still_holds(request, client.security.profile)
}

fn details_still_allowed(request: &crate::flow::Request, client: &Client) -> bool {
    let Some(text) = &request.details.authorization_details else { return true };
    AuthorizationDetails::parse(text).is_ok_and(|details| authorization_details::may_ask(client, &details))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::fake::request;

    /// Anybody makes the link that such a request comes by.
    #[test]
    fn an_address_that_is_refused_is_named_in_the_log_and_not_by_way_of_the_browser() {
        let evil = "https://evil.example/";
        let refused = |value: &str| {
            let refused = Refused::naming(ErrorCode::InvalidTarget, "audience", value);
            refused.redirected(ResponseTarget::of(&request()))
        };
        let address = refused(evil);
        assert!(!address.description.contains(evil) && address.reason().contains(evil));
        assert_eq!(address.description, ErrorCode::InvalidTarget.description());
        let plain = refused("billing");
        assert!(plain.description.ends_with("The audience `billing` is refused."), "{}", plain.description);
        assert_eq!(plain.reason(), plain.description);
        let told = Refused::naming(ErrorCode::InvalidTarget, "audience", evil).hint;
        assert!(told.contains(evil), "who is answered directly has sent it");
    }
}
