//! What a login or consent page says when it accepts or rejects, as far as it holds.

use serde_json::{Map, Value};
use sluice_primitives::{Lifetime, Timestamp};
use sluice_protocol::{Audience, AuthorizationDetails, Scope};

use super::service::{AcceptConsent, AcceptLogin, FlowProblem, RejectFlow};
use super::state::{Consent, Rejection, Request};
use crate::authorization::checks::authorization_details::may_ask;
use crate::client::Client;
use crate::config::ScopeStrategy;

/// Claims and context of a page, together, in bytes of JSON.
const MAX_CLAIMS: usize = 64 * 1024;

/// How many authentication methods a login page names.
const MAX_AMR: usize = 16;

/// Each text of a login page, in bytes.
const MAX_TEXT: usize = 255;

/// The text of a rejection, in bytes: it travels in the URL.
const MAX_DESCRIPTION: usize = 512;

/// Whether a page may grant this scope: each value was asked for, or the client may ask for it.
pub(crate) fn may_grant_scope(
    request: &Request,
    (client, strategy): (&Client, ScopeStrategy),
    scope: &Scope,
) -> bool {
    scope.iter().all(|value| request.scope.contains(value) || strategy.allows(&client.scope, value))
}

/// The same of an audience.
pub(crate) fn may_grant_audience(request: &Request, client: &Client, audience: &Audience) -> bool {
    let asked = request.audience.as_slice();
    audience.as_slice().iter().all(|name| asked.contains(name) || client.audience.permits(name))
}

/// What the user consented to. A page may grant what was not asked for, if the client may ask for it.
pub(super) fn read_consent(
    request: &Request,
    (client, strategy): (&Client, ScopeStrategy),
    accept: AcceptConsent,
    now: Timestamp,
) -> Result<Consent, FlowProblem> {
    let scope = Scope::from_values(accept.grant_scope.iter().map(String::as_str))
        .map_err(|_| FlowProblem::Invalid("The field `grant_scope` holds a malformed scope."))?;
    if !may_grant_scope(request, (client, strategy), &scope) {
        return Err(FlowProblem::Invalid(
            "The field `grant_scope` holds a scope that the client may not ask for.",
        ));
    }
    let audience = Audience::from_values(accept.grant_audience);
    if !may_grant_audience(request, client, &audience) {
        return Err(FlowProblem::Invalid(
            "The field `grant_access_token_audience` holds an audience that the client may not ask for.",
        ));
    }
    let authorization_details = accept.authorization_details.filter(|details| !details.is_null());
    check_details(request, client, authorization_details.as_ref())?;
    let authorization_details = authorization_details.filter(|details| !is_asked(request, details));
    check_size([accept.context.as_ref()], &[&accept.id_token, &accept.access_token])?;
    Ok(Consent {
        scope,
        audience,
        remember: accept.remember.then(|| span(accept.remember_for).unwrap_or(Lifetime::FOREVER)),
        id_token: accept.id_token,
        access_token: accept.access_token,
        context: accept.context.filter(|context| !context.is_null()),
        authorization_details,
        accepted_at: now,
    })
}

/// What is granted in detail was asked for, by its types: what is within them the consent page may change (RFC 9396 §7.1
/// lets it be enriched).
fn check_details(request: &Request, client: &Client, granted: Option<&Value>) -> Result<(), FlowProblem> {
    let Some(granted) = granted else { return Ok(()) };
    let granted = AuthorizationDetails::from_value(granted).map_err(|_| {
        FlowProblem::Invalid("The field `authorization_details` must be an array of objects with a `type`.")
    })?;
    let asked = request.details.authorization_details.as_deref().map(AuthorizationDetails::parse);
    let asked = asked.and_then(Result::ok).unwrap_or_default();
    if granted.types().all(|own| asked.types().any(|other| other == own)) && may_ask(client, &granted) {
        return Ok(());
    }
    Err(FlowProblem::Invalid("The field `authorization_details` holds a type that was not requested."))
}

/// Whether this is what was asked for in detail, all of it: the request carries it already.
fn is_asked(request: &Request, granted: &Value) -> bool {
    let asked = request.details.authorization_details.as_deref();
    let asked = asked.and_then(|text| serde_json::from_str::<Value>(text).ok());
    asked.is_some_and(|asked| asked == *granted)
}

/// What a page hands over is bounded.
pub(super) fn check_size(
    values: [Option<&Value>; 1],
    maps: &[&Map<String, Value>],
) -> Result<(), FlowProblem> {
    let values = values.into_iter().flatten().map(|value| value.to_string().len());
    let maps = maps.iter().map(|map| serde_json::to_string(map).map_or(usize::MAX, |text| text.len()));
    if values.chain(maps).fold(0, usize::saturating_add) > MAX_CLAIMS {
        return Err(FlowProblem::Invalid("The claims and the context are longer than 64 KiB together."));
    }
    Ok(())
}

/// What a login page says in a few words: it travels in URLs, and no store holds the character U+0000.
pub(super) fn check_texts(accept: &AcceptLogin) -> Result<(), FlowProblem> {
    const AMR: [&str; 2] = [
        "A value of the field `amr` holds the control character U+0000.",
        "A value of the field `amr` is longer than 255 bytes.",
    ];
    let named = [
        (
            accept.acr.as_deref(),
            [
                "The field `acr` holds the control character U+0000.",
                "The field `acr` is longer than 255 bytes.",
            ],
        ),
        (
            accept.force_subject_identifier.as_deref(),
            [
                "The field `force_subject_identifier` holds the control character U+0000.",
                "The field `force_subject_identifier` is longer than 255 bytes.",
            ],
        ),
        (
            accept.identity_provider_session_id.as_deref(),
            [
                "The field `identity_provider_session_id` holds the control character U+0000.",
                "The field `identity_provider_session_id` is longer than 255 bytes.",
            ],
        ),
    ];
    if accept.amr.len() > MAX_AMR {
        return Err(FlowProblem::Invalid("The field `amr` has more than 16 values."));
    }
    let named = named.into_iter().filter_map(|(text, refusals)| Some((text?, refusals)));
    let amr = accept.amr.iter().map(|text| (text.as_str(), AMR));
    for (text, [no_text, too_long]) in named.chain(amr) {
        if text.contains('\0') {
            return Err(FlowProblem::Invalid(no_text));
        }
        if text.len() > MAX_TEXT {
            return Err(FlowProblem::Invalid(too_long));
        }
    }
    Ok(())
}

/// A positive number of seconds. More than can be added to the time counts as the most that can: some say "for ever" so.
pub(super) fn span(secs: i64) -> Option<Lifetime> {
    (secs > 0).then(|| Lifetime::secs(u32::try_from(secs).unwrap_or(u32::MAX)))
}

/// What the client is told of a refusal.
pub(super) fn rejection(reject: &RejectFlow) -> Rejection {
    // RFC 6749 §4.1.2.1: %x20-21 / %x23-5B / %x5D-7E.
    let is_code = |c: char| matches!(c, ' '..='~') && !matches!(c, '"' | '\\');
    let error: String = reject.error.chars().filter(|c| is_code(*c)).take(64).collect();
    // The same of the text, but that people of any language can be told why, as with Hydra: mutilated it would tell nobody anything.
    let is_text = |c: char| is_code(c) || (!c.is_ascii() && !c.is_control());
    let text = || reject.description.chars().filter(|c| is_text(*c));
    let length = text().scan(0, |length, c| {
        *length += c.len_utf8();
        Some(*length)
    });
    let fitting = length.take_while(|length| *length <= MAX_DESCRIPTION).count();
    Rejection {
        error: if error.is_empty() { "access_denied".to_owned() } else { error },
        description: text().take(fitting).collect::<String>().trim().to_owned(),
    }
}
