//! A client of Hydra, held against the rules of this server like one that an administrator registers. Its id stays, and its secret: the
//! hash of that is kept as it is, and verified as it was made (`sluice_crypto::secret_hash`).
//!
//! Not taken over: the registration access token, of which there is a MAC only (RFC 7592). The document of a sector is not read again:
//! Hydra has read it.

use serde::Deserialize;
use serde_json::Value;
use sluice_crypto::jwk::{Jwk, JwkSet};
use sluice_crypto::secret_hash::StoredSecretHash;
use sluice_primitives::{Lifetime, Timestamp};
use sluice_protocol::ClientId;

use super::columns::{list, read, span, time};
use super::source::HydraRow;
use crate::client::registration::register;
use crate::client::{AuthMethod, Client, ClientMetadata, GrantLifespans, Lifespans, RegistrationRules};

/// Hydra rounds when a client was registered to the nearest second.
const ROUNDED: Lifetime = Lifetime::millis(500);

/// By so much at most a clock on a wall is behind UTC: `updated_at` is so much later here than there.
pub(super) const BEHIND: Lifetime = Lifetime::hours(12);

/// The columns that are looked at, by their names.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Columns {
    id: String,
    client_secret: Option<String>,
    client_name: Option<String>,
    owner: Option<String>,
    scope: Option<String>,
    redirect_uris: Option<Vec<String>>,
    grant_types: Option<Vec<String>>,
    response_types: Option<Vec<String>>,
    audience: Option<Vec<String>>,
    token_endpoint_auth_method: Option<String>,
    token_endpoint_auth_signing_alg: Option<String>,
    jwks: Option<String>,
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
    access_token_strategy: Option<String>,
    skip_consent: Option<bool>,
    skip_logout_consent: Option<bool>,
    metadata: Option<String>,
    created_at: Option<String>,
    updated_at: Option<String>,
}

/// A set of keys; `{}` for a client without.
#[derive(Deserialize)]
struct KeySet {
    keys: Option<Vec<Jwk>>,
}

/// The client of a row, new here at `now`.
///
/// # Errors
/// A sentence that says what stands in its way.
pub(super) fn client(row: &HydraRow, rules: &RegistrationRules, now: Timestamp) -> Result<Client, String> {
    let columns: Columns = read(row)?;
    let id = columns.id.parse::<ClientId>().map_err(|why| format!("its id is refused: {why}"))?;
    let created_at = columns.created_at.as_deref().and_then(time).unwrap_or(now);
    let updated_at = columns.updated_at.as_deref().and_then(time).unwrap_or(created_at);
    let hash = columns.client_secret.clone().unwrap_or_default();
    let asked = ClientMetadata { lifespans: lifespans(&row.columns), ..metadata(columns)? };
    let mut client = register(id, asked, rules, now).map_err(|why| why.to_string())?;
    client.secret_hashes = secret_hashes(client.auth_method, hash)?;
    // No decision about a client is older than that client.
    client.created_at = (created_at - ROUNDED).min(now).floor_to_secs();
    // By the clock on the wall there, put on so that it is not before it was changed: what was granted before may have been more than it has now.
    client.updated_at = updated_at + BEHIND;
    Ok(client)
}

/// The hash of the secret. That of a client that signs or shows a certificate waits for a method that uses it, as with Hydra; one that cannot be
/// read is no reason to refuse such a client. A public client has one that Hydra made up, and that nobody knows.
fn secret_hashes(method: AuthMethod, hash: String) -> Result<Vec<String>, String> {
    if method == AuthMethod::ClientSecretJwt {
        return Err("it signs with its secret (client_secret_jwt), of which Hydra keeps a hash alone: register it with a secret".to_owned());
    }
    if method == AuthMethod::None {
        return Ok(Vec::new());
    }
    match hash.parse::<StoredSecretHash>() {
        Ok(StoredSecretHash::Slow(_)) => Ok(vec![hash]),
        _ if !method.uses_secret() => Ok(Vec::new()),
        Ok(StoredSecretHash::Fast(_)) => Err("the hash of its secret is not one of Hydra's".to_owned()),
        Err(why) => Err(format!("the hash of its secret is refused: {why}")),
    }
}

fn metadata(columns: Columns) -> Result<ClientMetadata, String> {
    let text = Option::unwrap_or_default;
    Ok(ClientMetadata {
        client_id: columns.id,
        client_name: text(columns.client_name),
        owner: text(columns.owner),
        redirect_uris: list(columns.redirect_uris),
        grant_types: list(columns.grant_types),
        response_types: list(columns.response_types),
        scope: text(columns.scope),
        audience: list(columns.audience),
        token_endpoint_auth_method: text(columns.token_endpoint_auth_method),
        token_endpoint_auth_signing_alg: text(columns.token_endpoint_auth_signing_alg),
        jwks: key_set(&text(columns.jwks))?,
        jwks_uri: text(columns.jwks_uri),
        allowed_cors_origins: list(columns.allowed_cors_origins),
        post_logout_redirect_uris: list(columns.post_logout_redirect_uris),
        frontchannel_logout_uri: text(columns.frontchannel_logout_uri),
        frontchannel_logout_session_required: columns.frontchannel_logout_session_required == Some(true),
        backchannel_logout_uri: text(columns.backchannel_logout_uri),
        backchannel_logout_session_required: columns.backchannel_logout_session_required == Some(true),
        client_uri: text(columns.client_uri),
        logo_uri: text(columns.logo_uri),
        policy_uri: text(columns.policy_uri),
        tos_uri: text(columns.tos_uri),
        contacts: list(columns.contacts),
        subject_type: text(columns.subject_type),
        sector_identifier_uri: text(columns.sector_identifier_uri),
        request_uris: list(columns.request_uris),
        request_object_signing_alg: text(columns.request_object_signing_alg),
        userinfo_signed_response_alg: text(columns.userinfo_signed_response_alg),
        access_token_strategy: text(columns.access_token_strategy),
        skip_consent: columns.skip_consent == Some(true),
        skip_logout_consent: columns.skip_logout_consent == Some(true),
        metadata: free(&text(columns.metadata))?,
        ..ClientMetadata::default()
    })
}

fn key_set(json: &str) -> Result<Option<JwkSet>, String> {
    if json.is_empty() {
        return Ok(None);
    }
    let set: KeySet = serde_json::from_str(json).map_err(|_| "its jwks cannot be read".to_owned())?;
    Ok(set.keys.map(|keys| JwkSet { keys }))
}

/// What administrators noted about it.
fn free(json: &str) -> Result<Option<Value>, String> {
    if json.is_empty() {
        return Ok(None);
    }
    serde_json::from_str(json).map(Some).map_err(|_| "its metadata is no JSON".to_owned())
}

/// Lifespans by grant type. Those of the resource owner's password have no place here.
fn lifespans(columns: &Value) -> Lifespans {
    let of = |grant: &str| {
        let read = |what: &str| columns.get(format!("{grant}_grant_{what}_lifespan")).and_then(Value::as_i64);
        GrantLifespans {
            access_token: span(read("access_token")),
            id_token: span(read("id_token")),
            refresh_token: span(read("refresh_token")),
        }
    };
    Lifespans {
        authorization_code: of("authorization_code"),
        refresh_token: of("refresh_token"),
        client_credentials: of("client_credentials"),
        implicit: of("implicit"),
        device_authorization: of("device_authorization"),
        jwt_bearer: of("jwt_bearer"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The hash of `web-secret-0123456`, as a Hydra 2.3.0 wrote it.
    const HASH: &str =
        "$pbkdf2-sha256$i=25000,l=32$sfHmwDhFGDHL6pkZaRvteQ$TE0UoI9VPU5jtHsmMSiRF93HfPRzlkk3qv9+Qny8LJU";

    fn made(changes: &Value) -> Result<Client, String> {
        let mut columns = json!({
            "id": "web", "client_secret": HASH, "client_name": "Web shop", "scope": "openid offline photos", "jwks": "{}",
            "metadata": "{\"a\": 1}", "token_endpoint_auth_method": "client_secret_basic", "userinfo_signed_response_alg": "none",
            "redirect_uris": ["https://web.example.com/cb"], "grant_types": ["authorization_code"], "response_types": ["code"],
            "subject_type": "public", "created_at": "2026-11-28T01:09:30", "updated_at": "2026-11-28T01:09:29.782294",
            "skip_logout_consent": null, "authorization_code_grant_access_token_lifespan": 7_200_000_000_000_i64,
            "a_column_of_a_later_version": [1],
        });
        columns.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
        let row = HydraRow { key: "web".to_owned(), columns };
        client(&row, &RegistrationRules::default(), Timestamp::from_secs(1_900_000_000))
    }

    #[test]
    fn a_client_keeps_its_id_its_secret_and_its_age() {
        let client = made(&json!({})).unwrap();
        assert_eq!((client.id.as_str(), client.name.as_str()), ("web", "Web shop"));
        assert_eq!(client.secret_hashes, [HASH]);
        assert_eq!(client.created_at.as_millis(), 1_795_828_169_000, "before it was rounded up");
        assert_eq!(client.updated_at.as_millis(), 1_795_871_369_782, "wherever that clock is");
        assert_eq!(client.metadata, json!({"a": 1}));
        assert_eq!(client.lifespans.authorization_code.access_token, Some(Lifetime::hours(2)));
        assert_eq!((client.jwks, client.skip_logout_consent), (None, false));
    }

    #[test]
    fn when_a_client_was_registered_does_not_depend_on_when_it_was_changed_and_is_past() {
        for updated_at in ["2026-11-27T18:00:00", "2026-11-28T10:09:29.782294"] {
            let client = made(&json!({"updated_at": updated_at})).unwrap();
            assert_eq!(client.created_at.as_millis(), 1_795_828_169_000, "{updated_at}");
        }
        let later = made(&json!({"created_at": "2099-01-01T00:00:00"})).unwrap();
        assert_eq!(later.created_at.as_secs(), 1_900_000_000);
    }

    #[test]
    fn a_public_client_has_no_secret() {
        for hash in [json!(""), json!(null), json!("plain"), json!(HASH)] {
            let public = json!({"token_endpoint_auth_method": "none", "client_secret": hash});
            assert!(made(&public).unwrap().secret_hashes.is_empty(), "{hash}");
        }
    }

    #[test]
    fn a_secret_is_kept_whatever_hashed_it_and_whatever_the_method() {
        let bcrypt = "$2b$05$f5Wln.c9p1tJ/BOosudp1uoOWFqgwCkFgK8NE3cdQZzAWfgiyskVe";
        assert_eq!(made(&json!({"client_secret": bcrypt})).unwrap().secret_hashes, [bcrypt]);
        for method in ["private_key_jwt", "client_secret_post"] {
            let keyed =
                json!({"token_endpoint_auth_method": method, "jwks_uri": "https://web.example.com/jwks"});
            assert_eq!(made(&keyed).unwrap().secret_hashes, [HASH], "{method}");
        }
    }

    #[test]
    fn what_cannot_be_here_is_refused_with_its_reason() {
        let refused = |changes: &Value| made(changes).unwrap_err();
        assert!(
            refused(&json!({"token_endpoint_auth_method": "client_secret_jwt"}))
                .contains("signs with its secret")
        );
        assert!(refused(&json!({"client_secret": "plain"})).contains("the hash of its secret is refused"));
        assert!(
            refused(&json!({"subject_type": "pairwise"})).contains("Subject type pairwise is not supported")
        );
        assert!(refused(&json!({"jwks": "["})).contains("jwks"));
        let endless = json!({"authorization_code_grant_access_token_lifespan": -1});
        assert!(refused(&endless).contains("must not be negative"));
        assert!(
            refused(&json!({"redirect_uris": "https://web.example.com/cb"}))
                .contains("as a Hydra 2.x writes it")
        );
    }
}
