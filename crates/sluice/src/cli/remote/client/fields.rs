//! The flags that describe a client, with Hydra's names and defaults.

use clap::Args;
use serde_json::{Map, Value, json};
use sluice_primitives::Secret;

use crate::cli::remote::error::RemoteError;
use crate::cli::value;

/// What describes a client. Lists are repeated or separated by commas; an empty value empties a list.
#[derive(Clone, Default, Args)]
pub(super) struct FieldArgs {
    /// The name that users see
    #[arg(long)]
    name: Option<String>,
    /// The secret; made up if there is none
    #[arg(long, allow_hyphen_values = true, value_parser = value::secret)]
    secret: Option<Secret<String>>,
    /// The grant types it may use [default: `authorization_code`]
    #[arg(long, value_delimiter = ',')]
    grant_type: Option<Vec<String>>,
    /// The response types it may use [default: code]
    #[arg(long, value_delimiter = ',')]
    response_type: Option<Vec<String>>,
    /// The scopes it may ask for
    #[arg(long, value_delimiter = ',')]
    scope: Option<Vec<String>>,
    /// The audiences it may ask for
    #[arg(long, value_delimiter = ',')]
    audience: Option<Vec<String>>,
    /// Where users may be sent after login
    #[arg(long, value_name = "URI", value_delimiter = ',')]
    redirect_uri: Option<Vec<String>>,
    /// Where users may be sent after logout
    #[arg(long, value_name = "URI", value_delimiter = ',')]
    post_logout_callback: Option<Vec<String>>,
    /// How it proves who it is: `client_secret_basic`, `client_secret_post`, `client_secret_jwt`, `private_key_jwt`,
    /// `tls_client_auth`, `self_signed_tls_client_auth` or none [default: `client_secret_basic`]
    #[arg(long, value_name = "METHOD")]
    token_endpoint_auth_method: Option<String>,
    /// The format of its access tokens: opaque or jwt
    #[arg(long, value_name = "STRATEGY")]
    access_token_strategy: Option<String>,
    /// What its JWT access tokens call themselves: at+jwt or JWT [default: that of the server]
    #[arg(long, value_name = "TYPE")]
    access_token_jwt_typ: Option<String>,
    /// Its authorization responses say who answers, in `iss` [default: true]
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL", value_parser = value::boolean)]
    authorization_response_iss: Option<bool>,
    /// How users are named to it: public or pairwise [default: public]
    #[arg(long, value_name = "TYPE")]
    subject_type: Option<String>,
    /// A file of redirect URIs that share pairwise names
    #[arg(long, value_name = "URI")]
    sector_identifier_uri: Option<String>,
    /// Where its public keys are
    #[arg(long, value_name = "URI")]
    jwks_uri: Option<String>,
    /// The algorithm of its id tokens; ES256 costs the server least [default: that of the server, RS256 if it has no other]
    #[arg(long, value_name = "ALG")]
    id_token_signed_response_alg: Option<String>,
    /// The algorithm of its request objects
    #[arg(long, value_name = "ALG")]
    request_object_signing_alg: Option<String>,
    /// Where its request objects may be
    #[arg(long, value_name = "URI", value_delimiter = ',')]
    request_uri: Option<Vec<String>>,
    /// Web pages that may call it from a browser, where serve.public.cors.enabled is set
    #[arg(long, value_name = "ORIGIN", value_delimiter = ',')]
    allowed_cors_origin: Option<Vec<String>>,
    #[command(flatten)]
    consent: ConsentArgs,
    #[command(flatten)]
    logout: LogoutArgs,
    #[command(flatten)]
    about: AboutArgs,
}

/// Where users are not asked.
#[derive(Clone, Default, Args)]
struct ConsentArgs {
    /// Users are not asked for consent
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL", value_parser = value::boolean)]
    skip_consent: Option<bool>,
    /// Users are not asked whether to log out, if an id token of theirs comes along: by the browser, or by a program without cookies
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL", value_parser = value::boolean)]
    skip_logout_consent: Option<bool>,
}

/// How the client learns of a logout.
#[derive(Clone, Default, Args)]
struct LogoutArgs {
    /// Told by the browser
    #[arg(long, value_name = "URI")]
    frontchannel_logout_callback: Option<String>,
    /// The browser has to say which session
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL", value_parser = value::boolean)]
    frontchannel_logout_session_required: Option<bool>,
    /// Told by the server
    #[arg(long, value_name = "URI")]
    backchannel_logout_callback: Option<String>,
    /// The server has to say which session
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL", value_parser = value::boolean)]
    backchannel_logout_session_required: Option<bool>,
}

/// What people want to know of the client.
#[derive(Clone, Default, Args)]
struct AboutArgs {
    /// Who owns it
    #[arg(long)]
    owner: Option<String>,
    /// How to reach those who are responsible for it
    #[arg(long, value_delimiter = ',')]
    contact: Option<Vec<String>>,
    /// A page about it
    #[arg(long, value_name = "URI")]
    client_uri: Option<String>,
    /// Its logo
    #[arg(long, value_name = "URI")]
    logo_uri: Option<String>,
    /// Its privacy policy
    #[arg(long, value_name = "URI")]
    policy_uri: Option<String>,
    /// Its terms of service
    #[arg(long, value_name = "URI")]
    tos_uri: Option<String>,
    /// Anything you like to keep with it, as JSON
    #[arg(long, value_name = "JSON", value_parser = metadata)]
    metadata: Option<Value>,
}

impl FieldArgs {
    /// A new client: Hydra's defaults, and what is given.
    pub(super) fn as_new_client(&self) -> Map<String, Value> {
        let mut client = Map::from_iter([
            ("grant_types".to_owned(), json!(["authorization_code"])),
            ("response_types".to_owned(), json!(["code"])),
            ("token_endpoint_auth_method".to_owned(), "client_secret_basic".into()),
            ("subject_type".to_owned(), "public".into()),
            ("metadata".to_owned(), json!({})),
        ]);
        client.extend(self.given().map(|(name, value)| (name.to_owned(), value)));
        client
    }

    /// What is given, as a JSON Patch (RFC 6902). `add` also replaces what is there.
    pub(super) fn as_patch(&self) -> Result<Value, RemoteError> {
        let operations: Vec<Value> = self
            .given()
            .map(|(name, value)| json!({ "op": "add", "path": format!("/{name}"), "value": value }))
            .collect();
        if operations.is_empty() {
            return Err(RemoteError::Usage("name at least one field to change, or a --file".to_owned()));
        }
        Ok(operations.into())
    }

    /// What is given, by its name in the API.
    fn given(&self) -> impl Iterator<Item = (&'static str, Value)> {
        let (about, logout, consent) = (&self.about, &self.logout, &self.consent);
        let fields = [
            ("client_name", text(self.name.as_deref())),
            ("client_secret", self.secret.as_ref().map(|secret| secret.expose().as_str().into())),
            ("grant_types", list(self.grant_type.as_deref())),
            ("response_types", list(self.response_type.as_deref())),
            ("scope", self.scope.as_ref().map(|scopes| joined(scopes))),
            ("audience", list(self.audience.as_deref())),
            ("redirect_uris", list(self.redirect_uri.as_deref())),
            ("post_logout_redirect_uris", list(self.post_logout_callback.as_deref())),
            ("token_endpoint_auth_method", text(self.token_endpoint_auth_method.as_deref())),
            ("access_token_strategy", text(self.access_token_strategy.as_deref())),
            ("access_token_jwt_typ", text(self.access_token_jwt_typ.as_deref())),
            ("authorization_response_iss", self.authorization_response_iss.map(Value::from)),
            ("subject_type", text(self.subject_type.as_deref())),
            ("sector_identifier_uri", text(self.sector_identifier_uri.as_deref())),
            ("jwks_uri", text(self.jwks_uri.as_deref())),
            ("id_token_signed_response_alg", text(self.id_token_signed_response_alg.as_deref())),
            ("request_object_signing_alg", text(self.request_object_signing_alg.as_deref())),
            ("request_uris", list(self.request_uri.as_deref())),
            ("allowed_cors_origins", list(self.allowed_cors_origin.as_deref())),
            ("skip_consent", consent.skip_consent.map(Value::from)),
            ("skip_logout_consent", consent.skip_logout_consent.map(Value::from)),
            ("frontchannel_logout_uri", text(logout.frontchannel_logout_callback.as_deref())),
            (
                "frontchannel_logout_session_required",
                logout.frontchannel_logout_session_required.map(Value::from),
            ),
            ("backchannel_logout_uri", text(logout.backchannel_logout_callback.as_deref())),
            (
                "backchannel_logout_session_required",
                logout.backchannel_logout_session_required.map(Value::from),
            ),
            ("owner", text(about.owner.as_deref())),
            ("contacts", list(about.contact.as_deref())),
            ("client_uri", text(about.client_uri.as_deref())),
            ("logo_uri", text(about.logo_uri.as_deref())),
            ("policy_uri", text(about.policy_uri.as_deref())),
            ("tos_uri", text(about.tos_uri.as_deref())),
            ("metadata", about.metadata.clone()),
        ];
        fields.into_iter().filter_map(|(name, value)| Some((name, value?)))
    }
}

fn text(value: Option<&str>) -> Option<Value> {
    value.map(Value::from)
}

/// `--audience ""` is an empty list.
fn list(values: Option<&[String]>) -> Option<Value> {
    let values = values?.iter().filter(|value| !value.is_empty());
    Some(values.map(String::as_str).collect())
}

fn joined(scopes: &[String]) -> Value {
    let scopes: Vec<&str> = scopes.iter().flat_map(|scope| scope.split_whitespace()).collect();
    scopes.join(" ").into()
}

fn metadata(text: &str) -> Result<Value, &'static str> {
    serde_json::from_str(text).map_err(|_| "is not JSON")
}
