//! The one text that stores keep of a client beside the columns they search by. Additive: what an older version wrote
//! has defaults, what a newer one wrote is ignored, and what says no more than its default is left out: of an ordinary
//! client a quarter is left.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sluice_crypto::jwk::JwkSet;
use sluice_primitives::{Lifetime, Timestamp};
use sluice_protocol::{Audience, ClientId};
use thiserror::Error;

use super::given_url::GivenUrl;
use super::model::{
    AccessTokenStrategy, AuthMethod, Client, GrantLifespans, Lifespans, LogoutSessions, SecretsEnd,
};
use super::profile::{ClientSecurity, RequestDefaults, ResponseFormats, Software, TokenExchangePolicy};

/// A stored client that this version cannot read.
#[derive(Debug, Error)]
#[error("the stored client `{id}` cannot be read: {cause}")]
pub struct UnreadableClient {
    /// Which client.
    pub id: String,
    /// Why.
    pub cause: String,
}

#[serde_with::apply(_ => #[serde(skip_serializing_if = "is_default")])]
#[derive(Serialize, Deserialize, Default)]
#[serde(default)]
struct Document {
    secret_hashes: Vec<String>,
    /// In seconds; 0 if none. Earlier versions let secrets end.
    secret_expires_at: i64,
    /// Of how many secrets that is not the end.
    newer_secrets: usize,
    redirect_uris: Vec<String>,
    grant_types: Vec<String>,
    response_types: Vec<String>,
    unnamed_types: UnnamedTypes,
    scope: String,
    audience: Vec<String>,
    auth_method: Option<AuthMethod>,
    auth_signing_alg: Option<String>,
    jwks: Option<JwkSet>,
    jwks_uri: Option<GivenUrl>,
    allowed_cors_origins: Vec<String>,
    post_logout_redirect_uris: Vec<String>,
    frontchannel_logout: Option<LogoutUri>,
    backchannel_logout: Option<LogoutUri>,
    logout_sessions: LogoutSessions,
    client_uri: String,
    logo_uri: String,
    policy_uri: String,
    tos_uri: String,
    contacts: Vec<String>,
    subject_type: String,
    sector_identifier_uri: Option<String>,
    request_uris: Vec<String>,
    request_object_signing_alg: Option<String>,
    userinfo_signed_response_alg: Option<String>,
    id_token_signed_response_alg: Option<String>,
    access_token_strategy: Option<AccessTokenStrategy>,
    skip_consent: bool,
    skip_logout_consent: bool,
    metadata: Option<Value>,
    /// Milliseconds, three to a grant type, in the order of [`Lifespans`]; -1 stands for "without end".
    lifespans: Vec<[Option<i64>; 3]>,
    registration_token_hash: Option<String>,
    registered_itself: bool,
    security: ClientSecurity,
    formats: ResponseFormats,
    defaults: RequestDefaults,
    software: Software,
    authorization_details_types: Vec<String>,
    token_exchange: TokenExchangePolicy,
}

/// Which of its types a client does not name. Earlier versions let a client without types do nothing: it is written with those that
/// it has by default.
#[derive(Serialize, Deserialize, Default, PartialEq)]
#[serde(default)]
struct UnnamedTypes {
    grant_types: bool,
    response_types: bool,
}

/// Where a client wants to hear of the end of a session. Earlier versions say here, and only here, what [`LogoutSessions`] says.
#[derive(Serialize, Deserialize, PartialEq)]
struct LogoutUri {
    uri: GivenUrl,
    session_required: bool,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// The text of a client.
pub fn encode(client: &Client) -> String {
    let document = Document {
        secret_hashes: client.secret_hashes.clone(),
        secret_expires_at: client.secrets_end.map_or(0, |end| end.at.as_secs()),
        newer_secrets: client.secrets_end.map_or(0, |end| end.newer),
        redirect_uris: client.redirect_uris.iter().map(ToString::to_string).collect(),
        grant_types: client.grant_types_or_default().map(str::to_owned).collect(),
        response_types: client.response_types_or_default().map(str::to_owned).collect(),
        unnamed_types: UnnamedTypes {
            grant_types: client.grant_types.is_empty(),
            response_types: client.response_types.is_empty(),
        },
        scope: client.scope.to_string(),
        audience: client.audience.as_slice().to_vec(),
        auth_method: Some(client.auth_method),
        auth_signing_alg: client.auth_signing_alg.clone(),
        jwks: client.jwks.clone(),
        jwks_uri: client.jwks_uri.clone(),
        allowed_cors_origins: client.allowed_cors_origins.clone(),
        post_logout_redirect_uris: client.post_logout_redirect_uris.iter().map(ToString::to_string).collect(),
        frontchannel_logout: logout_uri(
            client.frontchannel_logout.as_ref(),
            client.logout_sessions.frontchannel,
        ),
        backchannel_logout: logout_uri(
            client.backchannel_logout.as_ref(),
            client.logout_sessions.backchannel,
        ),
        logout_sessions: client.logout_sessions,
        client_uri: client.client_uri.clone(),
        logo_uri: client.logo_uri.clone(),
        policy_uri: client.policy_uri.clone(),
        tos_uri: client.tos_uri.clone(),
        contacts: client.contacts.clone(),
        subject_type: client.subject_type.clone(),
        sector_identifier_uri: client.sector_identifier_uri.clone(),
        request_uris: client.request_uris.clone(),
        request_object_signing_alg: client.request_object_signing_alg.clone(),
        userinfo_signed_response_alg: client.userinfo_signed_response_alg.clone(),
        id_token_signed_response_alg: client.id_token_signed_response_alg.clone(),
        access_token_strategy: client.access_token_strategy,
        skip_consent: client.skip_consent,
        skip_logout_consent: client.skip_logout_consent,
        metadata: Some(&client.metadata).filter(|metadata| **metadata != no_metadata()).cloned(),
        lifespans: encode_lifespans(&client.lifespans),
        registration_token_hash: client.registration_token_hash.clone(),
        registered_itself: client.registered_itself,
        security: client.security.clone(),
        formats: client.formats.clone(),
        defaults: client.defaults.clone(),
        software: client.software.clone(),
        authorization_details_types: client.authorization_details_types.clone(),
        token_exchange: client.token_exchange.clone(),
    };
    serde_json::to_string(&document).unwrap_or_default()
}

/// The client of a stored row.
///
/// # Errors
/// [`UnreadableClient`] if the text is damaged.
pub fn decode(
    (id, revision, name, owner): (&str, i64, &str, &str),
    (created_at, updated_at): (Timestamp, Timestamp),
    text: &str,
) -> Result<Client, UnreadableClient> {
    let unreadable =
        |cause: &dyn std::fmt::Display| UnreadableClient { id: id.to_owned(), cause: cause.to_string() };
    let document: Document = serde_json::from_str(text).map_err(|cause| unreadable(&cause))?;
    let uris = |raw: &[String]| raw.iter().map(|uri| uri.parse()).collect::<Result<Vec<_>, _>>();
    let logout_sessions = logout_sessions(&document);
    Ok(Client {
        id: id.parse::<ClientId>().map_err(|cause| unreadable(&cause))?,
        revision,
        name: name.to_owned(),
        owner: owner.to_owned(),
        redirect_uris: uris(&document.redirect_uris).map_err(|cause| unreadable(&cause))?,
        post_logout_redirect_uris: uris(&document.post_logout_redirect_uris)
            .map_err(|cause| unreadable(&cause))?,
        scope: document.scope.parse().map_err(|cause| unreadable(&cause))?,
        secret_hashes: document.secret_hashes,
        secrets_end: secrets_end(document.secret_expires_at, document.newer_secrets),
        grant_types: named_types(document.grant_types, document.unnamed_types.grant_types),
        response_types: named_types(document.response_types, document.unnamed_types.response_types),
        audience: Audience::from_values(document.audience),
        auth_method: document.auth_method.unwrap_or(AuthMethod::ClientSecretBasic),
        auth_signing_alg: document.auth_signing_alg,
        jwks: document.jwks,
        jwks_uri: document.jwks_uri,
        allowed_cors_origins: document.allowed_cors_origins,
        logout_sessions,
        frontchannel_logout: document.frontchannel_logout.map(|logout| logout.uri),
        backchannel_logout: document.backchannel_logout.map(|logout| logout.uri),
        client_uri: document.client_uri,
        logo_uri: document.logo_uri,
        policy_uri: document.policy_uri,
        tos_uri: document.tos_uri,
        contacts: document.contacts,
        subject_type: document.subject_type,
        sector_identifier_uri: document.sector_identifier_uri,
        request_uris: document.request_uris,
        request_object_signing_alg: document.request_object_signing_alg,
        userinfo_signed_response_alg: document.userinfo_signed_response_alg,
        id_token_signed_response_alg: document.id_token_signed_response_alg,
        access_token_strategy: document.access_token_strategy,
        skip_consent: document.skip_consent,
        skip_logout_consent: document.skip_logout_consent,
        metadata: document.metadata.unwrap_or_else(no_metadata),
        lifespans: decode_lifespans(&document.lifespans),
        registration_token_hash: document.registration_token_hash,
        registered_itself: document.registered_itself,
        security: document.security,
        formats: document.formats,
        defaults: document.defaults,
        software: document.software,
        authorization_details_types: document.authorization_details_types,
        token_exchange: document.token_exchange,
        created_at,
        updated_at,
    })
}

fn secrets_end(expires_at: i64, newer: usize) -> Option<SecretsEnd> {
    (expires_at > 0).then(|| SecretsEnd { at: Timestamp::from_secs(expires_at), newer })
}

fn logout_uri(uri: Option<&GivenUrl>, session_required: bool) -> Option<LogoutUri> {
    Some(LogoutUri { uri: uri?.clone(), session_required })
}

fn logout_sessions(document: &Document) -> LogoutSessions {
    let required = |logout: &Option<LogoutUri>| logout.as_ref().is_some_and(|logout| logout.session_required);
    LogoutSessions {
        frontchannel: document.logout_sessions.frontchannel || required(&document.frontchannel_logout),
        backchannel: document.logout_sessions.backchannel || required(&document.backchannel_logout),
    }
}

/// The types that a client names, of those that were written of it.
fn named_types(written: Vec<String>, are_unnamed: bool) -> Vec<String> {
    if are_unnamed { Vec::new() } else { written }
}

fn no_metadata() -> Value {
    Value::Object(serde_json::Map::new())
}

fn encode_lifespans(lifespans: &Lifespans) -> Vec<[Option<i64>; 3]> {
    if *lifespans == Lifespans::default() {
        return Vec::new();
    }
    let millis =
        |span: Option<Lifetime>| span.map(|span| if span.is_forever() { -1 } else { span.as_millis() });
    let one = |of: &GrantLifespans| [millis(of.access_token), millis(of.id_token), millis(of.refresh_token)];
    vec![
        one(&lifespans.authorization_code),
        one(&lifespans.refresh_token),
        one(&lifespans.client_credentials),
        one(&lifespans.implicit),
        one(&lifespans.device_authorization),
        one(&lifespans.jwt_bearer),
    ]
}

fn decode_lifespans(stored: &[[Option<i64>; 3]]) -> Lifespans {
    let span = |millis: Option<i64>| {
        millis.map(|millis| match u64::try_from(millis) {
            Ok(millis) => Lifetime::from(std::time::Duration::from_millis(millis)),
            Err(_) => Lifetime::FOREVER,
        })
    };
    let one = |place: usize| {
        let [access_token, id_token, refresh_token] = stored.get(place).copied().unwrap_or_default();
        GrantLifespans {
            access_token: span(access_token),
            id_token: span(id_token),
            refresh_token: span(refresh_token),
        }
    };
    Lifespans {
        authorization_code: one(0),
        refresh_token: one(1),
        client_credentials: one(2),
        implicit: one(3),
        device_authorization: one(4),
        jwt_bearer: one(5),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::fake::client;

    fn read(text: &str) -> Client {
        let at = Timestamp::from_secs(1);
        decode(("app", 1, "", ""), (at, at), text).unwrap()
    }

    #[test]
    fn what_a_client_does_not_say_is_not_written() {
        let written: serde_json::Map<_, _> = serde_json::from_str(&encode(&client("app"))).unwrap();
        for absent in ["jwks", "client_uri", "audience", "metadata", "lifespans", "security", "skip_consent"]
        {
            assert!(!written.contains_key(absent), "{absent}");
        }
        assert!(written.contains_key("scope"));
    }

    #[test]
    fn what_is_not_written_reads_as_it_was() {
        let registered = client("app");
        let read = read(&encode(&registered));
        let known = Client { revision: read.revision, name: read.name.clone(), ..registered };
        assert_eq!(read, known);
    }

    #[test]
    fn urls_and_what_is_said_of_sessions_are_read_as_they_were() {
        let mut registered = client("app");
        registered.jwks_uri = Some("https://App.example".parse().unwrap());
        registered.frontchannel_logout = Some("https://App.example/out".parse().unwrap());
        registered.logout_sessions = LogoutSessions { frontchannel: false, backchannel: true };
        registered.metadata = serde_json::json!(["a", 1]);
        let read = read(&encode(&registered));
        assert_eq!((&read.jwks_uri, &read.metadata), (&registered.jwks_uri, &registered.metadata));
        assert_eq!(read.frontchannel_logout, registered.frontchannel_logout);
        assert_eq!((read.backchannel_logout, read.logout_sessions), (None, registered.logout_sessions));
    }

    #[test]
    fn whether_answers_name_the_issuer_is_written_where_they_do_not() {
        let mut registered = client("app");
        registered.formats.access_token_jwt_typ = Some("JWT".to_owned());
        assert!(!encode(&registered).contains("omits_issuer"));
        registered.formats.omits_issuer = true;
        assert_eq!(read(&encode(&registered)).formats, registered.formats);
    }

    /// And what this one writes, earlier ones read.
    #[test]
    fn where_an_earlier_version_wrote_that_a_client_listens_is_read() {
        let text = r#"{"jwks_uri":"https://app.example/","grant_types":["authorization_code"],
            "frontchannel_logout":{"uri":"https://app.example/f","session_required":true},
            "backchannel_logout":{"uri":"https://app.example/b","session_required":false}}"#;
        let read = read(text);
        assert_eq!(read.jwks_uri.as_ref().map(GivenUrl::as_str), Some("https://app.example/"));
        assert_eq!(read.frontchannel_logout.as_ref().map(GivenUrl::as_str), Some("https://app.example/f"));
        assert_eq!(read.backchannel_logout.as_ref().map(GivenUrl::as_str), Some("https://app.example/b"));
        assert_eq!(read.logout_sessions, LogoutSessions { frontchannel: true, backchannel: false });
        let written: Value = serde_json::from_str(&encode(&read)).unwrap();
        let before: Value = serde_json::from_str(text).unwrap();
        for member in ["jwks_uri", "frontchannel_logout", "backchannel_logout"] {
            assert_eq!(written[member], before[member], "{member}");
        }
    }

    /// Earlier versions refuse whatever a client without types asks for.
    #[test]
    fn types_that_a_client_does_not_name_are_written_and_not_read() {
        let named = |name: &str| vec![name.to_owned()];
        let (nothing, code, machine) = (Vec::new(), named("code"), named("client_credentials"));
        for (grant_types, response_types, written_grant) in [
            (nothing.clone(), nothing.clone(), "authorization_code"),
            (nothing.clone(), code.clone(), "authorization_code"),
            (machine.clone(), nothing, "client_credentials"),
            (machine, code, "client_credentials"),
        ] {
            let registered = Client { grant_types, response_types, ..client("app") };
            let text = encode(&registered);
            let written: Value = serde_json::from_str(&text).unwrap();
            assert_eq!(written["grant_types"], serde_json::json!([written_grant]));
            assert_eq!(written["response_types"], serde_json::json!(["code"]));
            let read = read(&text);
            assert_eq!(read.grant_types, registered.grant_types);
            assert_eq!(read.response_types, registered.response_types);
        }
        let full = Client { grant_types: named("implicit"), response_types: named("token"), ..client("app") };
        assert!(!encode(&full).contains("unnamed_types"));
    }

    #[test]
    fn the_end_of_secrets_that_an_earlier_version_wrote_is_read_and_kept() {
        let read_at = |client: &Client, secs| client.secret_hashes_at(Timestamp::from_secs(secs)).len();
        let stored = read(r#"{"secret_hashes":["one"],"secret_expires_at":7}"#);
        for client in [&stored, &read(&encode(&stored))] {
            assert_eq!((read_at(client, 6), read_at(client, 7)), (1, 0));
        }
        assert_eq!(read(r#"{"secret_hashes":["one"],"secret_expires_at":0}"#).secrets_end, None);
    }

    #[test]
    fn what_an_earlier_version_wrote_in_full_is_read() {
        let text = r#"{"secret_hashes":["one"],"client_uri":"","metadata":{},"jwks":null,"scope":"read","skip_consent":false,
            "lifespans":[[null,null,null],[1000,null,-1]],"formats":{"id_token_encryption":null,"access_token_signing_alg":"ES256"}}"#;
        let client = read(text);
        assert_eq!(client.secret_hashes, ["one"]);
        assert_eq!(client.metadata, serde_json::json!({}));
        assert_eq!(client.lifespans.refresh_token.access_token.map(Lifetime::as_millis), Some(1000));
        assert!(client.lifespans.refresh_token.refresh_token.is_some_and(Lifetime::is_forever));
        assert_eq!(client.formats.access_token_signing_alg.as_deref(), Some("ES256"));
    }
}
