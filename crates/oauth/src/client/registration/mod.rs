//! Registration: what an application asks to be, held against the rules, becomes a [`Client`] (RFC 7591 §2, OpenID
//! Connect Registration §2, and Hydra's additions).
//!
//! `metadata`: what is asked for, unchecked. `credentials`: how the client will authenticate. `uris`: where it may
//! send users and what it shows them. `extensions`: what it registers beyond that; `fapi`: what a stricter profile asks for. `error`: what a refusal says.
//!
//! Secrets are not made here: a registered client has no secret hashes yet.

mod credentials;
mod error;
mod extensions;
mod fapi;
mod metadata;
mod uris;

use serde_json::{Map, Value};
use sluice_crypto::jwe::{EncryptionKey, KeyManagement};
use sluice_crypto::jwk::SigningAlgorithm;
use sluice_primitives::{Lifetime, Timestamp};
use sluice_protocol::{Audience, ClientId, GrantType, Scope};
use url::Url;

pub use credentials::MIN_SECRET;
pub(super) use credentials::{check_keys, is_malformed, shortest_to_sign};
pub use error::RegistrationError;
pub use metadata::{ClientMetadata, ReadMetadata};
pub(super) use uris::{check_own_frontchannel_logout, check_own_links};
pub(crate) use uris::{is_loopback, web_url};

use super::model::{AccessTokenStrategy, Client, Lifespans};
use super::profile::Encryption;
use crate::config::ScopeStrategy;
use crate::subject::{PAIRWISE, shared_host};
use credentials::Credentials;

/// What this installation lets clients register.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegistrationRules {
    /// The scope of a client that names none. Default: `offline_access offline openid`, as Hydra has it.
    pub default_scope: String,
    /// The same where nobody was asked: of a client that registered itself or that a document describes, and the most that
    /// anybody may have there. Default: the same.
    pub self_registered_scope: String,
    /// The audience of such a client that names none, and the most that anybody may have there. Default: none.
    pub self_registered_audience: Vec<String>,
    /// The subject types that may be chosen; the first is the default. Default: `public`.
    pub subject_types: Vec<String>,
    /// Where clients register and manage themselves (RFC 7592), if they may. Default: they may not.
    pub registration_endpoint: Option<Url>,
    /// Whether pages of other origins may call at all, so that `allowed_cors_origins` have an effect. Default: they may.
    pub origins_count: bool,
}

impl RegistrationRules {
    /// Whether who names no subject type has pairwise subjects.
    pub fn is_pairwise_by_default(&self) -> bool {
        self.subject_types.first().is_some_and(|first| first == PAIRWISE)
    }

    /// Whether a client that registered itself, or that a document describes, may ask for this audience where it named none.
    pub fn permits_anybody(&self, audience: &str) -> bool {
        Audience::from_values(self.self_registered_audience.iter().cloned()).permits(audience)
    }

    /// Whether such a client may ask for this scope, if it has all that it may have.
    pub fn permits_anybody_scope(&self, scope: &str, strategy: ScopeStrategy) -> bool {
        self.self_registered_scope.parse().is_ok_and(|own: Scope| strategy.allows(&own, scope))
    }
}

impl Default for RegistrationRules {
    fn default() -> Self {
        const STANDARD: &str = "offline_access offline openid";
        Self {
            default_scope: STANDARD.to_owned(),
            self_registered_scope: STANDARD.to_owned(),
            self_registered_audience: Vec::new(),
            subject_types: vec!["public".to_owned()],
            registration_endpoint: None,
            origins_count: true,
        }
    }
}

/// The client that `metadata` describes, under the given id, new at `now` and at revision 1.
///
/// # Errors
/// [`RegistrationError`] names the first value that is refused.
pub fn register(
    id: ClientId,
    metadata: ClientMetadata,
    rules: &RegistrationRules,
    now: Timestamp,
) -> Result<Client, RegistrationError> {
    check_id(&id)?;
    let credentials = Credentials::of(&metadata)?;
    let redirect_uris = uris::redirect_uris(&metadata)?;
    let post_logout_redirect_uris = uris::post_logout_redirect_uris(&metadata, &redirect_uris)?;
    uris::check_links(&metadata)?;
    check_lifespans(&metadata.lifespans)?;
    let client = Client {
        id,
        revision: first_revision(now),
        secret_hashes: Vec::new(),
        secrets_end: None,
        auth_method: credentials.method,
        auth_signing_alg: credentials.signing_alg,
        jwks: credentials.jwks,
        jwks_uri: credentials.jwks_uri,
        redirect_uris,
        post_logout_redirect_uris,
        allowed_cors_origins: uris::cors_origins(&metadata.allowed_cors_origins)?,
        frontchannel_logout: uris::frontchannel_logout(&metadata)?,
        backchannel_logout: uris::backchannel_logout(&metadata)?,
        logout_sessions: metadata.logout_sessions(),
        sector_identifier_uri: uris::sector_identifier_uri(&metadata)?,
        scope: scope(&metadata, rules)?,
        subject_type: subject_type(&metadata, rules)?,
        access_token_strategy: access_token_strategy(&metadata)?,
        request_object_signing_alg: request_object_alg(&metadata)?,
        userinfo_signed_response_alg: userinfo_alg(&metadata)?,
        id_token_signed_response_alg: id_token_alg(&metadata)?,
        security: extensions::security(&metadata),
        formats: extensions::formats(&metadata)?,
        defaults: extensions::defaults(&metadata)?,
        software: extensions::software(&metadata)?,
        authorization_details_types: extensions::authorization_details_types(&metadata)?,
        token_exchange: metadata.token_exchange.clone(),
        metadata: free_metadata(metadata.metadata),
        lifespans: metadata.lifespans,
        name: metadata.client_name,
        owner: metadata.owner,
        grant_types: named(metadata.grant_types),
        response_types: named(metadata.response_types),
        audience: Audience::from_values(metadata.audience),
        client_uri: metadata.client_uri,
        logo_uri: metadata.logo_uri,
        policy_uri: metadata.policy_uri,
        tos_uri: metadata.tos_uri,
        contacts: metadata.contacts,
        request_uris: metadata.request_uris,
        skip_consent: metadata.skip_consent,
        skip_logout_consent: metadata.skip_logout_consent,
        registration_token_hash: None,
        registered_itself: false,
        created_at: now,
        updated_at: now,
    };
    checked_together(client)
}

/// A part of a path that is one dot or two is none: whoever asks for such a client asks for all of them, or for what is above (RFC 3986 §5.2.4).
fn check_id(id: &ClientId) -> Result<(), RegistrationError> {
    if matches!(id.as_str(), "." | "..") {
        let hint = "Field client_id is refused: '.' and '..' cannot be part of the path that names a client.";
        return Err(RegistrationError::metadata(hint));
    }
    Ok(())
}

/// What can only be told of the whole.
fn checked_together(mut client: Client) -> Result<Client, RegistrationError> {
    let no_keys = client.jwks.as_ref().is_none_or(|jwks| jwks.keys.is_empty()) && client.jwks_uri.is_none();
    if no_keys && client.formats.encrypted().next().is_some() {
        let hint = "To be sent something encrypted, a client must set either jwks or jwks_uri.";
        return Err(RegistrationError::metadata(hint));
    }
    check_sector(&client)?;
    fapi::check(&mut client)?;
    Ok(client)
}

/// What would be encrypted to a key that is not there could never be sent. Keys at a URI may change with each day. What a client has already
/// it may keep: it may never ask for what cannot be sent.
pub(in crate::client) fn check_recipients(
    client: &Client,
    stored: Option<&Client>,
) -> Result<(), RegistrationError> {
    let is_as_before = |own: &Client| own.jwks == client.jwks && own.formats == client.formats;
    if stored.is_some_and(is_as_before) {
        return Ok(());
    }
    let Some(own) = client.jwks.as_ref().filter(|_| client.jwks_uri.is_none()) else { return Ok(()) };
    let is_for = |how: &Encryption| {
        how.alg.parse().is_ok_and(|algorithm: KeyManagement| EncryptionKey::of(own, algorithm).is_some())
    };
    match client.formats.encrypted().find(|asked| !is_for(asked.1)) {
        Some((field, how)) => {
            let alg = &how.alg;
            let hint = format!(
                "Field jwks has no key that something can be encrypted to with {alg}, which {field}_alg names."
            );
            Err(RegistrationError::metadata(hint))
        }
        None => Ok(()),
    }
}

/// A client belongs to a sector because its users come back there, and nowhere else (OpenID Connect Core §8.1).
fn check_sector(client: &Client) -> Result<(), RegistrationError> {
    let uris = &client.redirect_uris;
    if client.sector_identifier_uri.is_some() {
        if uris.is_empty() {
            let hint =
                "Value sector_identifier_uri is refused: there are no redirect URIs that it could list.";
            return Err(RegistrationError::metadata(hint));
        }
        return Ok(());
    }
    if client.subject_type != PAIRWISE || uris.is_empty() {
        return Ok(());
    }
    let on_own_machine = uris.iter().all(|uri| uri.url().is_some_and(|url| is_loopback(&url)));
    if shared_host(uris).is_none() && !on_own_machine {
        let hint = "When subject_type is 'pairwise' and the redirect URIs do not share one host, sector_identifier_uri must be set.";
        return Err(RegistrationError::metadata(hint));
    }
    // A device gets its tokens wherever it is: that it names a host says nothing.
    if client.may_use(GrantType::DeviceCode) && !on_own_machine {
        let hint = "When subject_type is 'pairwise' and the client has redirect URIs and the device code grant, sector_identifier_uri must be set.";
        return Err(RegistrationError::metadata(hint));
    }
    Ok(())
}

/// The text, unless it is empty.
fn filled(text: String) -> Option<String> {
    Some(text).filter(|text| !text.is_empty())
}

/// The values that are not empty. If none is left, the client has the default where it is asked what it may do.
fn named(values: Vec<String>) -> Vec<String> {
    values.into_iter().filter(|value| !value.is_empty()).collect()
}

/// The revision of a new client: never that of an earlier client with the same id, so that nothing made for one, in a cache
/// or in a flow, counts for the other. Sixteenths of a second since late 2023, short in a sealed flow.
fn first_revision(now: Timestamp) -> i64 {
    (now.as_millis() - 1_700_000_000_000) / 64
}

/// Whatever white space separates the values, as with Hydra: a block of YAML ends with a line feed. What a client says of itself
/// was held against the grammar before.
fn scope(metadata: &ClientMetadata, rules: &RegistrationRules) -> Result<Scope, RegistrationError> {
    let asked = if metadata.scope.trim().is_empty() { &rules.default_scope } else { &metadata.scope };
    Scope::from_values(asked.split_ascii_whitespace())
        .map_err(|why| RegistrationError::metadata(format!("Field scope is refused: {why}.")))
}

fn subject_type(metadata: &ClientMetadata, rules: &RegistrationRules) -> Result<String, RegistrationError> {
    let allowed = &rules.subject_types;
    if metadata.subject_type.is_empty() {
        return Ok(allowed.first().map_or("public", String::as_str).to_owned());
    }
    if allowed.contains(&metadata.subject_type) {
        return Ok(metadata.subject_type.clone());
    }
    let (asked, allowed) = (&metadata.subject_type, allowed.join(" "));
    let hint = format!("Subject type {asked} is not supported by server, only [{allowed}] are allowed.");
    Err(RegistrationError::metadata(hint))
}

fn access_token_strategy(
    metadata: &ClientMetadata,
) -> Result<Option<AccessTokenStrategy>, RegistrationError> {
    match metadata.access_token_strategy.to_ascii_lowercase().as_str() {
        "" => Ok(None),
        "opaque" => Ok(Some(AccessTokenStrategy::Opaque)),
        "jwt" => Ok(Some(AccessTokenStrategy::Jwt)),
        _ => Err(RegistrationError::metadata("Field access_token_strategy can either be 'opaque' or 'jwt'.")),
    }
}

/// None for `none`: userinfo is plain JSON then.
fn userinfo_alg(metadata: &ClientMetadata) -> Result<Option<String>, RegistrationError> {
    match metadata.userinfo_signed_response_alg.as_str() {
        "" | "none" => Ok(None),
        asked => signing_alg("userinfo_signed_response_alg", asked, "'none' or one of "),
    }
}

/// An id token is always signed, by a key of this server.
fn id_token_alg(metadata: &ClientMetadata) -> Result<Option<String>, RegistrationError> {
    signing_alg("id_token_signed_response_alg", &metadata.id_token_signed_response_alg, "one of ")
}

/// `none` is kept: whether unsigned request objects are taken is decided when one comes.
fn request_object_alg(metadata: &ClientMetadata) -> Result<Option<String>, RegistrationError> {
    match metadata.request_object_signing_alg.as_str() {
        "none" => Ok(Some("none".to_owned())),
        // By the name that the client gave it, as that of its assertions.
        asked => {
            let known = signing_alg("request_object_signing_alg", asked, "'none' or one of ")?;
            Ok(known.map(|_| asked.to_owned()))
        }
    }
}

fn signing_alg(field: &str, asked: &str, one_of: &str) -> Result<Option<String>, RegistrationError> {
    if asked.is_empty() {
        return Ok(None);
    }
    if let Ok(algorithm) = asked.parse::<SigningAlgorithm>() {
        // By the name that stands in what is signed with it.
        return Ok(Some(algorithm.to_string()));
    }
    let known = SigningAlgorithm::ALL.map(SigningAlgorithm::as_str).join(", ");
    Err(RegistrationError::metadata(format!("Field {field} can be {one_of}{known}.")))
}

fn free_metadata(metadata: Option<Value>) -> Value {
    metadata.filter(|metadata| !metadata.is_null()).unwrap_or_else(|| Value::Object(Map::new()))
}

/// A refresh token may live without end, an access or id token may not: nobody could take it back.
pub(in crate::client) fn check_lifespans(lifespans: &Lifespans) -> Result<(), RegistrationError> {
    let endless = |span: Option<Lifetime>| span.is_some_and(Lifetime::is_forever);
    if lifespans.all().iter().any(|of| endless(of.access_token) || endless(of.id_token)) {
        return Err(RegistrationError::metadata("Lifespans of access and ID tokens must not be negative."));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
