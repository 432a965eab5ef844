//! A client as Hydra's admin API spells it, absent and empty fields included.

use serde::Serialize;
use serde_json::{Map, Value};
use sluice_crypto::jwk::JwkSet;
use sluice_oauth::client::{AccessTokenStrategy, Client, GivenUrl, Registered};
use sluice_primitives::Timestamp;
use sluice_protocol::{JsonObject, RedirectUri, WriteJson};

use super::client_extensions::ExtensionsBody;
use super::lifespans::LifespansBody;

/// A client that is sent. `client_secret` is there when it was made or set by this request, and never again.
#[derive(Serialize)]
pub(crate) struct ClientBody<'a> {
    client_id: &'a str,
    client_name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    client_secret: Option<&'a str>,
    #[serde(flatten)]
    management: ManagementBody<'a>,
    redirect_uris: Vec<&'a str>,
    grant_types: Vec<&'a str>,
    response_types: Vec<&'a str>,
    scope: &'a str,
    audience: &'a [String],
    owner: &'a str,
    policy_uri: &'a str,
    allowed_cors_origins: &'a [String],
    tos_uri: &'a str,
    client_uri: &'a str,
    logo_uri: &'a str,
    contacts: &'a [String],
    /// Always 0, as with Hydra: secrets do not end by themselves.
    client_secret_expires_at: i64,
    subject_type: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    sector_identifier_uri: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    jwks_uri: Option<&'a str>,
    jwks: JwksBody<'a>,
    token_endpoint_auth_method: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    token_endpoint_auth_signing_alg: Option<&'a str>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    request_uris: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    request_object_signing_alg: Option<&'a str>,
    userinfo_signed_response_alg: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id_token_signed_response_alg: Option<&'a str>,
    created_at: String,
    updated_at: String,
    #[serde(flatten)]
    logout: LogoutBody<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    access_token_strategy: Option<&'static str>,
    skip_consent: bool,
    skip_logout_consent: bool,
    #[serde(flatten)]
    lifespans: LifespansBody,
    #[serde(flatten)]
    extensions: ExtensionsBody,
}

/// By what a client manages itself (RFC 7592 §3), when this request made that or showed that it has it.
#[derive(Serialize, Default)]
struct ManagementBody<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    registration_access_token: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    registration_client_uri: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    client_id_issued_at: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    software_statement: Option<&'a str>,
}

/// `{}` for a client without keys.
#[derive(Serialize)]
struct JwksBody<'a> {
    #[serde(flatten)]
    set: Option<&'a JwkSet>,
}

#[derive(Serialize)]
struct LogoutBody<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    frontchannel_logout_uri: Option<&'a str>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    frontchannel_logout_session_required: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    post_logout_redirect_uris: Vec<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    backchannel_logout_uri: Option<&'a str>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    backchannel_logout_session_required: bool,
}

impl<'a> ClientBody<'a> {
    /// The client with its new secret, and by what it manages itself if that is new, too.
    pub(crate) fn with_secret(registered: &'a Registered) -> Self {
        let client_secret = registered.secret.as_ref().map(|secret| secret.expose().as_str());
        let management = registered.management.as_ref();
        let management = ManagementBody {
            registration_access_token: management.map(|own| own.access_token.expose().as_str()),
            registration_client_uri: management.map(|own| own.uri.as_str()),
            ..ManagementBody::default()
        };
        Self { client_secret, management, ..Self::from(&*registered.client) }
    }

    /// As [`Self::with_secret`], for the client itself (RFC 7591 §3.2.1): it is told the types that it has by default, and not
    /// what an administrator notes about it.
    pub(crate) fn for_itself(registered: &'a Registered, software_statement: Option<&'a str>) -> Self {
        let whole = Self::with_secret(registered);
        let client = &*registered.client;
        let client_id_issued_at = Some(client.created_at.as_secs());
        let management = ManagementBody { client_id_issued_at, software_statement, ..whole.management };
        Self {
            management,
            grant_types: client.grant_types_or_default().collect(),
            response_types: client.response_types_or_default().collect(),
            owner: "",
            metadata: None,
            ..whole
        }
    }
}

impl<'a> From<&'a Client> for ClientBody<'a> {
    fn from(client: &'a Client) -> Self {
        Self {
            client_id: client.id.as_str(),
            client_name: &client.name,
            client_secret: None,
            management: ManagementBody::default(),
            redirect_uris: client.redirect_uris.iter().map(RedirectUri::as_str).collect(),
            grant_types: client.grant_types.iter().map(String::as_str).collect(),
            response_types: client.response_types.iter().map(String::as_str).collect(),
            scope: client.scope.as_str(),
            audience: client.audience.as_slice(),
            owner: &client.owner,
            policy_uri: &client.policy_uri,
            allowed_cors_origins: &client.allowed_cors_origins,
            tos_uri: &client.tos_uri,
            client_uri: &client.client_uri,
            logo_uri: &client.logo_uri,
            contacts: &client.contacts,
            client_secret_expires_at: 0,
            subject_type: &client.subject_type,
            sector_identifier_uri: client.sector_identifier_uri.as_deref(),
            jwks_uri: client.jwks_uri.as_ref().map(GivenUrl::as_str),
            jwks: JwksBody { set: client.jwks.as_ref() },
            token_endpoint_auth_method: client.auth_method.as_str(),
            token_endpoint_auth_signing_alg: client.auth_signing_alg.as_deref(),
            request_uris: &client.request_uris,
            request_object_signing_alg: client.request_object_signing_alg.as_deref(),
            userinfo_signed_response_alg: client.userinfo_signed_response_alg.as_deref().unwrap_or("none"),
            id_token_signed_response_alg: client.id_token_signed_response_alg.as_deref(),
            created_at: rfc3339(client.created_at),
            updated_at: rfc3339(client.updated_at),
            logout: LogoutBody::from(client),
            metadata: Some(&client.metadata),
            access_token_strategy: client.access_token_strategy.map(strategy),
            skip_consent: client.skip_consent,
            skip_logout_consent: client.skip_logout_consent,
            lifespans: LifespansBody::from(&client.lifespans),
            extensions: ExtensionsBody::from(client),
        }
    }
}

/// Through a serializer, what is flattened costs more than all the rest.
impl WriteJson for ClientBody<'_> {
    fn write_json(&self, text: &mut Vec<u8>) {
        let mut object = JsonObject::begin(text);
        object.text("client_id", self.client_id);
        object.text("client_name", self.client_name);
        object.text_if("client_secret", self.client_secret);
        object.flattened(&self.management);
        object.texts("redirect_uris", &self.redirect_uris);
        object.texts("grant_types", &self.grant_types);
        object.texts("response_types", &self.response_types);
        object.text("scope", self.scope);
        object.texts("audience", self.audience);
        object.text("owner", self.owner);
        object.text("policy_uri", self.policy_uri);
        object.texts("allowed_cors_origins", self.allowed_cors_origins);
        object.text("tos_uri", self.tos_uri);
        object.text("client_uri", self.client_uri);
        object.text("logo_uri", self.logo_uri);
        object.texts("contacts", self.contacts);
        object.number("client_secret_expires_at", self.client_secret_expires_at);
        object.text("subject_type", self.subject_type);
        object.text_if("sector_identifier_uri", self.sector_identifier_uri);
        object.text_if("jwks_uri", self.jwks_uri);
        match self.jwks.set {
            Some(set) => object.value("jwks", set),
            None => object.value("jwks", &Map::new()),
        }
        object.text("token_endpoint_auth_method", self.token_endpoint_auth_method);
        object.text_if("token_endpoint_auth_signing_alg", self.token_endpoint_auth_signing_alg);
        if !self.request_uris.is_empty() {
            object.texts("request_uris", self.request_uris);
        }
        object.text_if("request_object_signing_alg", self.request_object_signing_alg);
        object.text("userinfo_signed_response_alg", self.userinfo_signed_response_alg);
        object.text_if("id_token_signed_response_alg", self.id_token_signed_response_alg);
        object.text("created_at", &self.created_at);
        object.text("updated_at", &self.updated_at);
        object.flattened(&self.logout);
        object.value_if("metadata", self.metadata);
        object.text_if("access_token_strategy", self.access_token_strategy);
        object.boolean("skip_consent", self.skip_consent);
        object.boolean("skip_logout_consent", self.skip_logout_consent);
        object.flattened(&self.lifespans);
        object.flattened(&self.extensions);
        object.end();
    }
}

impl<'a> From<&'a Client> for LogoutBody<'a> {
    fn from(client: &'a Client) -> Self {
        Self {
            frontchannel_logout_uri: client.frontchannel_logout.as_ref().map(GivenUrl::as_str),
            frontchannel_logout_session_required: client.logout_sessions.frontchannel,
            post_logout_redirect_uris: client
                .post_logout_redirect_uris
                .iter()
                .map(RedirectUri::as_str)
                .collect(),
            backchannel_logout_uri: client.backchannel_logout.as_ref().map(GivenUrl::as_str),
            backchannel_logout_session_required: client.logout_sessions.backchannel,
        }
    }
}

const fn strategy(strategy: AccessTokenStrategy) -> &'static str {
    match strategy {
        AccessTokenStrategy::Opaque => "opaque",
        AccessTokenStrategy::Jwt => "jwt",
    }
}

/// A point in time as RFC 3339 writes it, in UTC.
pub(crate) fn rfc3339(time: Timestamp) -> String {
    jiff::Timestamp::from_millisecond(time.as_millis()).unwrap_or_default().to_string()
}

#[cfg(test)]
mod tests;
