//! A client as it is sent to us. Like in Hydra, `null` says the same as nothing, and what is not known is ignored.

use json_patch::jsonptr::{Pointer, Token};
use json_patch::{AddOperation, PatchError, PatchOperation};
use serde::Deserialize;
use serde_json::{Map, Value};
use sluice_crypto::jwk::{Jwk, JwkSet};
use sluice_oauth::client::{Client, ClientMetadata};
use sluice_primitives::Secret;

use super::client::ClientBody;
use super::client_extensions::ExtensionsBody;
use super::lifespans::LifespansBody;
use crate::admin::json_body::read_json;

/// Nothing is made for a path of a patch that has more parts than this.
const DEEPEST_MADE: usize = 32;

#[derive(Deserialize)]
struct ClientForm {
    client_id: Option<String>,
    client_secret: Option<String>,
    client_name: Option<String>,
    owner: Option<String>,
    redirect_uris: Option<Vec<String>>,
    grant_types: Option<Vec<String>>,
    response_types: Option<Vec<String>>,
    scope: Option<String>,
    audience: Option<Vec<String>>,
    token_endpoint_auth_method: Option<String>,
    token_endpoint_auth_signing_alg: Option<String>,
    jwks: Option<JwksForm>,
    jwks_uri: Option<String>,
    allowed_cors_origins: Option<Vec<String>>,
    post_logout_redirect_uris: Option<Vec<String>>,
    frontchannel_logout_uri: Option<String>,
    frontchannel_logout_session_required: Option<bool>,
    backchannel_logout_uri: Option<String>,
    backchannel_logout_session_required: Option<bool>,
    client_uri: Option<String>,
    logo_uri: Option<String>,
    policy_uri: Option<String>,
    tos_uri: Option<String>,
    contacts: Option<Vec<String>>,
    subject_type: Option<String>,
    sector_identifier_uri: Option<String>,
    request_uris: Option<Vec<String>>,
    request_object_signing_alg: Option<String>,
    userinfo_signed_response_alg: Option<String>,
    id_token_signed_response_alg: Option<String>,
    access_token_strategy: Option<String>,
    skip_consent: Option<bool>,
    skip_logout_consent: Option<bool>,
    metadata: Option<Value>,
}

/// `{}` is no set; Hydra answers it for a client without keys.
#[derive(Deserialize)]
struct JwksForm {
    keys: Option<Vec<Jwk>>,
}

/// A JSON patch (RFC 6902) as it is sent. Like in Hydra, `add` and `replace` without a `value` put `null` there: SDKs leave out
/// what is nil.
#[derive(Deserialize)]
pub(crate) struct ClientPatch(Vec<Operation>);

#[derive(Clone, Deserialize)]
#[serde(try_from = "Map<String, Value>")]
struct Operation(PatchOperation);

impl TryFrom<Map<String, Value>> for Operation {
    type Error = serde_json::Error;

    fn try_from(mut members: Map<String, Value>) -> Result<Self, serde_json::Error> {
        if matches!(members.get("op").and_then(Value::as_str), Some("add" | "replace")) {
            members.entry("value").or_insert(Value::Null);
        }
        serde_json::from_value(Value::Object(members)).map(Self)
    }
}

/// Reads what a client asks to be; the refusal is a sentence that names the member.
///
/// # Errors
/// That sentence.
pub fn read_client(json: &[u8]) -> Result<ClientMetadata, String> {
    let form: ClientForm = read_json(json)?;
    let lifespans: LifespansBody = read_json(json)?;
    let extensions: ExtensionsBody = read_json(json)?;
    let mut metadata = ClientMetadata { lifespans: lifespans.into(), ..form.into() };
    extensions.apply(&mut metadata)?;
    Ok(metadata)
}

/// Applies a JSON patch to a client as it is sent. Like in Hydra, `replace` may name a member that is not
/// there, and what `add` puts something into is made if it is missing. The secret can be set, but not read: its place is empty.
pub(crate) fn patch_client(client: &Client, patch: &ClientPatch) -> Result<ClientMetadata, String> {
    let mut json = serde_json::to_value(ClientBody::from(client)).map_err(|error| error.to_string())?;
    if let Some(members) = json.as_object_mut() {
        fill_in(members);
    }
    apply(&mut json, patch).map_err(|error| format!("Unable to apply the JSON patch: {error}."))?;
    let patched = serde_json::to_vec(&json).map_err(|error| error.to_string())?;
    let metadata = read_client(&patched)?;
    if metadata.client_id != client.id.as_str() {
        return Err("Unable to apply the JSON patch: client_id can not be changed.".to_owned());
    }
    Ok(metadata)
}

/// Members that are left out when they are empty, so that a patch can add to them.
fn fill_in(members: &mut Map<String, Value>) {
    for list in ["post_logout_redirect_uris", "request_uris"] {
        members.entry(list).or_insert_with(|| Value::Array(Vec::new()));
    }
    members.entry("client_secret").or_insert_with(|| Value::String(String::new()));
}

/// One operation after the other, as each makes place for the next; what one that fails leaves is not used.
fn apply(json: &mut Value, patch: &ClientPatch) -> Result<(), PatchError> {
    for (number, Operation(operation)) in patch.0.iter().cloned().enumerate() {
        let operation = tolerant(operation);
        if let PatchOperation::Add(add) = &operation {
            make_parents(json, &add.path);
        }
        json_patch::patch(json, &[operation]).map_err(|mut error| {
            error.operation = number;
            error
        })?;
    }
    Ok(())
}

/// `replace` becomes `add`, which also replaces, unless it names an element of a list.
fn tolerant(operation: PatchOperation) -> PatchOperation {
    match operation {
        PatchOperation::Replace(replace) if !names_element(replace.path.as_str()) => {
            PatchOperation::Add(AddOperation { path: replace.path, value: replace.value })
        }
        other => other,
    }
}

fn names_element(path: &str) -> bool {
    let last = path.rsplit('/').next().unwrap_or_default();
    last == "-" || (!last.is_empty() && last.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Makes what is missing, or `null`, on the way to what `path` names: lists for a first element, else objects. No list is filled up
/// to a later element: that is refused, as is what goes through a text or a number.
fn make_parents(json: &mut Value, path: &Pointer) {
    if path.count() > DEEPEST_MADE {
        return;
    }
    let mut here = json;
    let mut tokens = path.tokens().peekable();
    while let (Some(token), Some(next)) = (tokens.next(), tokens.peek()) {
        let Some(below) = child(here, &token) else { return };
        if below.is_null() {
            *below = match next.encoded() {
                "-" | "0" => Value::Array(Vec::new()),
                later if names_element(later) => return,
                _ => Value::Object(Map::new()),
            };
        }
        here = below;
    }
}

/// What is there by this name, or at this place; `null` if it is the next that may be there.
fn child<'a>(parent: &'a mut Value, token: &Token<'_>) -> Option<&'a mut Value> {
    match parent {
        Value::Object(members) => Some(members.entry(token.decoded()).or_insert(Value::Null)),
        Value::Array(elements) => {
            let place = token.to_index().ok()?.for_len_incl(elements.len()).ok()?;
            if place == elements.len() {
                elements.push(Value::Null);
            }
            elements.get_mut(place)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

impl From<ClientForm> for ClientMetadata {
    fn from(form: ClientForm) -> Self {
        let jwks = form.jwks.and_then(|jwks| jwks.keys).map(|keys| JwkSet { keys });
        let client_secret = form.client_secret.filter(|secret| !secret.is_empty()).map(Secret::new);
        Self {
            client_id: form.client_id.unwrap_or_default(),
            client_secret,
            client_name: form.client_name.unwrap_or_default(),
            owner: form.owner.unwrap_or_default(),
            redirect_uris: form.redirect_uris.unwrap_or_default(),
            grant_types: form.grant_types.unwrap_or_default(),
            response_types: form.response_types.unwrap_or_default(),
            scope: form.scope.unwrap_or_default(),
            audience: form.audience.unwrap_or_default(),
            token_endpoint_auth_method: form.token_endpoint_auth_method.unwrap_or_default(),
            token_endpoint_auth_signing_alg: form.token_endpoint_auth_signing_alg.unwrap_or_default(),
            jwks,
            jwks_uri: form.jwks_uri.unwrap_or_default(),
            allowed_cors_origins: form.allowed_cors_origins.unwrap_or_default(),
            post_logout_redirect_uris: form.post_logout_redirect_uris.unwrap_or_default(),
            frontchannel_logout_uri: form.frontchannel_logout_uri.unwrap_or_default(),
            frontchannel_logout_session_required: form
                .frontchannel_logout_session_required
                .unwrap_or_default(),
            backchannel_logout_uri: form.backchannel_logout_uri.unwrap_or_default(),
            backchannel_logout_session_required: form.backchannel_logout_session_required.unwrap_or_default(),
            client_uri: form.client_uri.unwrap_or_default(),
            logo_uri: form.logo_uri.unwrap_or_default(),
            policy_uri: form.policy_uri.unwrap_or_default(),
            tos_uri: form.tos_uri.unwrap_or_default(),
            contacts: form.contacts.unwrap_or_default(),
            subject_type: form.subject_type.unwrap_or_default(),
            sector_identifier_uri: form.sector_identifier_uri.unwrap_or_default(),
            request_uris: form.request_uris.unwrap_or_default(),
            request_object_signing_alg: form.request_object_signing_alg.unwrap_or_default(),
            userinfo_signed_response_alg: form.userinfo_signed_response_alg.unwrap_or_default(),
            id_token_signed_response_alg: form.id_token_signed_response_alg.unwrap_or_default(),
            access_token_strategy: form.access_token_strategy.unwrap_or_default(),
            skip_consent: form.skip_consent.unwrap_or_default(),
            skip_logout_consent: form.skip_logout_consent.unwrap_or_default(),
            metadata: form.metadata,
            ..Self::default()
        }
    }
}
