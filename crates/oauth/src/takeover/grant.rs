//! A refresh token of Hydra's table becomes a grant: what a login writes, with its code redeemed.

use serde::Deserialize;
use serde_json::{Map, Value};
use sluice_crypto::hydra::{HydraSecrets, read_mac};
use sluice_primitives::{AttemptId, Lifetime, Timestamp};
use sluice_protocol::{Audience, ClientId, Scope, Subject};

use super::columns::{read, time};
use super::consent::{grant_id, session};
use super::source::{HydraNetwork, HydraRow};
use super::token_repository::HydraToken;
use crate::grant::{Generation, Grant, GrantClaims, Requested};

/// The columns that are looked at, by their names; the last four are of the flow that it came of, if that is there.
#[derive(Deserialize)]
struct Columns {
    request_id: String,
    requested_at: String,
    client_id: String,
    subject: String,
    scope: String,
    granted_scope: String,
    requested_audience: Option<String>,
    granted_audience: Option<String>,
    session_data: String,
    expires_at: Option<String>,
    consent_handled_at: Option<String>,
    consent_skip: Option<bool>,
    login_session_id: Option<String>,
    #[serde(default)]
    has_flow: bool,
}

/// A session, which Hydra seals unless it is told not to (`oauth2.session.encrypt_at_rest`). The other names are those of a Hydra 1.x, whose
/// sessions stay as they are for as long as nobody refreshes.
#[derive(Deserialize)]
struct Session {
    #[serde(alias = "idToken")]
    id_token: OpenIdSession,
    #[serde(default, alias = "Extra")]
    extra: Option<Map<String, Value>>,
}

#[derive(Deserialize)]
struct OpenIdSession {
    #[serde(alias = "Claims")]
    id_token_claims: Claims,
    #[serde(default, alias = "ExpiresAt")]
    expires_at: Option<Ends>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Claims {
    #[serde(alias = "Subject")]
    sub: String,
    #[serde(alias = "IssuedAt")]
    iat: Option<String>,
    #[serde(alias = "AuthTime")]
    auth_time: Option<String>,
    #[serde(alias = "AuthenticationContextClassReference")]
    acr: Option<String>,
    #[serde(alias = "AuthenticationMethodsReferences", alias = "AuthenticationMethodsReference")]
    amr: Option<Methods>,
    #[serde(alias = "Extra")]
    ext: Option<Map<String, Value>>,
}

/// How somebody logged in: one way by itself is what the first versions told.
#[derive(Deserialize)]
#[serde(untagged)]
enum Methods {
    All(Vec<String>),
    One(String),
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Ends {
    refresh_token: Option<String>,
}

/// So much longer than its last token a grant is kept, and with it that it was revoked here. Its chain may go on there: the next token of it would make
/// the grant anew, if more than this lies between two imports.
const KEPT: Lifetime = Lifetime::hours(31 * 24);

/// The claim that Hydra itself puts among those of the consent page: the login session. It is gone where a hook answered.
const SESSION: &str = "sid";

/// The token of a row, and its grant; none if it has ended. What its tokens said is what the last hook said.
///
/// # Errors
/// A sentence that says what stands in its way.
pub(super) fn token(
    row: &HydraRow,
    secrets: &HydraSecrets,
    (network, now, attempt): (HydraNetwork, Timestamp, AttemptId),
) -> Result<Option<HydraToken>, String> {
    let columns: Columns = read(row)?;
    let mac =
        read_mac(&row.key).ok_or_else(|| "its signature is not one of Hydra's own strategy".to_owned())?;
    let session = opened(&columns.session_data, secrets)?;
    let ends = session.id_token.expires_at.unwrap_or_default().refresh_token;
    let expires_at = moment(columns.expires_at.as_deref()).or_else(|| moment(ends.as_deref()));
    let expires_at = expires_at.unwrap_or(Timestamp::NEVER);
    if expires_at <= now {
        return Ok(None);
    }
    let requested_at = time(&columns.requested_at).ok_or_else(|| "its time cannot be read".to_owned())?;
    let grant = grant(columns, (session.id_token.id_token_claims, session.extra), requested_at)?;
    let grant = Grant { expires_at: expires_at + KEPT, attempt, ..grant };
    Ok(Some(HydraToken { mac, grant, expires_at, network }))
}

fn opened(session: &str, secrets: &HydraSecrets) -> Result<Session, String> {
    let unreadable = |_| "its session is not as a Hydra writes it".to_owned();
    if session.starts_with('{') {
        return serde_json::from_str(session).map_err(unreadable);
    }
    let opened =
        secrets.open(session).ok_or_else(|| "its session does not open with these secrets".to_owned())?;
    serde_json::from_slice(&opened).map_err(unreadable)
}

fn grant(
    columns: Columns,
    (mut claims, extra): (Claims, Option<Map<String, Value>>),
    requested_at: Timestamp,
) -> Result<Grant, String> {
    let issued_at = moment(claims.iat.as_deref()).unwrap_or(requested_at);
    let consented_at = moment(columns.consent_handled_at.as_deref()).unwrap_or(issued_at);
    let authenticated_at = moment(claims.auth_time.as_deref()).unwrap_or(consented_at);
    let (granted, asked) = (scope(&columns.granted_scope)?, scope(&columns.scope)?);
    let (own, others) = (audience(columns.granted_audience), audience(columns.requested_audience));
    let mut id_token = claims.ext.take().unwrap_or_default();
    let told = id_token.remove(SESSION);
    let sid = if columns.has_flow {
        columns.login_session_id.as_deref()
    } else {
        told.as_ref().and_then(Value::as_str)
    };
    let shown = Some(claims.sub).filter(|shown| !shown.is_empty() && *shown != columns.subject);
    Ok(Grant {
        id: grant_id(&columns.request_id, consented_at.floor_to_secs()),
        client: columns
            .client_id
            .parse::<ClientId>()
            .map_err(|why| format!("its client is refused: {why}"))?,
        subject: columns
            .subject
            .parse::<Subject>()
            .map_err(|why| format!("its subject is refused: {why}"))?,
        session: sid.and_then(session),
        claims: GrantClaims {
            skipped: columns.consent_skip == Some(true),
            acr: claims.acr.filter(|acr| !acr.is_empty()),
            amr: claims.amr.map(methods).unwrap_or_default(),
            id_token,
            access_token: extra.unwrap_or_default(),
            shown_subject: shown,
            requested: Requested::beside((&asked, &others), (&granted, &own)),
            ..GrantClaims::default()
        },
        scope: granted,
        audience: own,
        authenticated_at,
        consented_at,
        expires_at: Timestamp::NEVER,
        redeemed_at: Some(requested_at),
        revoked_at: None,
        generation: Generation(0),
        rotated_at: Some(requested_at),
        attempt: AttemptId::from_bytes([0; 16]),
    })
}

fn methods(told: Methods) -> Vec<String> {
    match told {
        Methods::All(all) => all,
        Methods::One(one) => Some(one).filter(|one| !one.is_empty()).into_iter().collect(),
    }
}

/// A time that is told; none where Go's zero stands for it.
fn moment(text: Option<&str>) -> Option<Timestamp> {
    text.and_then(time).filter(|at| at.as_millis() > 0)
}

fn scope(values: &str) -> Result<Scope, String> {
    let values = values.split('|').filter(|value| !value.is_empty());
    Scope::from_values(values).map_err(|why| format!("its scope is refused: {why}"))
}

fn audience(names: Option<String>) -> Audience {
    let names = names.unwrap_or_default();
    Audience::from_values(names.split('|').filter(|name| !name.is_empty()).map(str::to_owned))
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use sluice_primitives::Secret;

    use super::*;

    const MAC: &str = "bfMKCQ4SRdrFMNMytClZau6UVv61l3OFhf3zPdqj3js";

    fn session_of(claims: &Value) -> Value {
        let mut all = json!({
            "sub": "alice", "iat": "2026-11-28T01:09:29Z", "rat": "2026-11-28T01:09:29Z", "exp": "0001-01-01T00:00:00Z",
            "auth_time": "2026-11-28T01:09:28Z", "acr": "2", "amr": ["pwd", "otp"],
            "ext": {"email": "alice@example.com", "sid": "9634ebd8-4a2d-4642-95d6-5d4fe212c1f7"},
        });
        all.as_object_mut().unwrap().extend(claims.as_object().unwrap().clone());
        let ends = json!({"refresh_token": "2026-12-28T01:09:30Z"});
        json!({"id_token": {"id_token_claims": all, "expires_at": ends, "subject": "alice"}, "extra": {"plan": "gold"}, "kid": ""})
    }

    fn made(changes: &Value, session: &Value, now: i64) -> Result<Option<HydraToken>, String> {
        let mut columns = json!({
            "request_id": "d64fcbec-c322-4c44-b433-b838669a087b", "requested_at": "2026-11-28T01:09:29.889604",
            "client_id": "web", "subject": "alice", "scope": "openid|offline|photos", "granted_scope": "openid|offline",
            "requested_audience": "https://api.example.com", "granted_audience": "https://api.example.com",
            "session_data": session.to_string(), "expires_at": null,
            "consent_handled_at": "2026-11-28T01:09:29.840082", "consent_skip": false,
            "login_session_id": "9634ebd8-4a2d-4642-95d6-5d4fe212c1f7", "has_flow": true,
        });
        columns.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
        let secrets = HydraSecrets::new(&[Secret::new("this-is-a-long-system-secret-0123".to_owned())]);
        let row = HydraRow { key: MAC.to_owned(), columns };
        token(&row, &secrets, (NETWORK, Timestamp::from_secs(now), AttemptId::from_bytes([7; 16])))
    }

    const AT: i64 = 1_795_828_169;
    const NETWORK: HydraNetwork = HydraNetwork::from_uuid(uuid::Uuid::from_bytes([9; 16]));

    #[test]
    fn a_token_becomes_the_grant_that_it_was_issued_for() {
        let HydraToken { mac, grant, expires_at, network } =
            made(&json!({}), &session_of(&json!({})), AT).unwrap().unwrap();
        assert_eq!(network, NETWORK);
        assert_eq!(Some(mac), read_mac(MAC));
        assert_eq!((expires_at.as_secs(), grant.expires_at), (AT + 30 * 24 * 3600 + 1, expires_at + KEPT));
        assert_eq!((grant.client.as_str(), grant.subject.as_str()), ("web", "alice"));
        assert_eq!(
            (grant.scope.as_str(), grant.audience.as_slice()),
            ("openid offline", &["https://api.example.com".to_owned()][..])
        );
        assert_eq!(
            (grant.authenticated_at.as_secs(), grant.consented_at.as_millis()),
            (AT - 1, AT * 1000 + 840)
        );
        assert_eq!(grant.session.unwrap().to_string(), "9634ebd8-4a2d-4642-95d6-5d4fe212c1f7");
        assert_eq!(
            (grant.generation, grant.redeemed_at.is_some(), grant.attempt),
            (Generation(0), true, AttemptId::from_bytes([7; 16]))
        );
        assert_eq!(grant.id.made_at().as_secs(), AT);
        assert_eq!(grant.claims.access_token["plan"], "gold");
        assert_eq!(Value::from(grant.claims.id_token), json!({"email": "alice@example.com"}));
        assert_eq!((grant.claims.shown_subject, grant.claims.acr.as_deref()), (None, Some("2")));
        assert_eq!(grant.claims.requested.unwrap().scope(), "openid offline photos");
    }

    #[test]
    fn a_session_of_an_earlier_hydra_says_the_same_by_other_names() {
        let claims = |methods: &str, amr: &Value| {
            json!({
                "JTI": "", "Issuer": "https://id.example.com/", "Subject": "b7e2", "Audience": ["web"], "Nonce": "n",
                "ExpiresAt": "0001-01-01T00:00:00Z", "IssuedAt": "2026-11-28T01:09:29Z",
                "RequestedAt": "2026-11-28T01:09:20Z", "AuthTime": "2026-11-28T01:09:28Z", "AccessTokenHash": "",
                "AuthenticationContextClassReference": "2", methods: amr, "CodeHash": "",
                "Extra": {"email": "alice@example.com", "sid": "9634ebd8-4a2d-4642-95d6-5d4fe212c1f7"},
            })
        };
        let grant_of = |extra: &str, claims: Value| {
            let ends =
                json!({"access_token": "2026-11-28T02:09:29Z", "refresh_token": "2026-12-28T01:09:30.25Z"});
            let headers = json!({"Extra": {"kid": "k"}});
            let session = json!({
                "idToken": {"Claims": claims, "Headers": headers, "ExpiresAt": ends, "Username": "", "Subject": "alice"},
                extra: {"plan": "gold"}, "KID": "", "ClientID": "web", "ConsentChallenge": "c",
                "ExcludeNotBeforeClaim": false, "AllowedTopLevelClaims": [],
            });
            let unhandled = json!({"consent_handled_at": null, "has_flow": false});
            made(&unhandled, &session, AT).unwrap().unwrap()
        };
        let several = ("AuthenticationMethodsReferences", json!(["pwd", "otp"]));
        let one = ("AuthenticationMethodsReference", json!("pwd"));
        for (extra, (methods, amr), expected) in
            [("extra", several, &["pwd", "otp"][..]), ("Extra", one, &["pwd"][..])]
        {
            let HydraToken { grant, expires_at, .. } = grant_of(extra, claims(methods, &amr));
            assert_eq!(expires_at.as_millis(), (AT + 30 * 24 * 3600 + 1) * 1000 + 250);
            assert_eq!((grant.authenticated_at.as_secs(), grant.consented_at.as_secs()), (AT - 1, AT));
            assert_eq!(grant.session.unwrap().to_string(), "9634ebd8-4a2d-4642-95d6-5d4fe212c1f7");
            let GrantClaims { acr, amr, id_token, access_token, shown_subject, .. } = grant.claims;
            assert_eq!((acr.as_deref(), shown_subject.as_deref()), (Some("2"), Some("b7e2")));
            assert_eq!(amr, expected);
            assert_eq!(Value::from(id_token), json!({"email": "alice@example.com"}));
            assert_eq!(access_token["plan"], "gold");
        }
    }

    #[test]
    fn the_next_token_of_a_chain_is_of_the_same_grant() {
        let session = session_of(&json!({}));
        let first = made(&json!({}), &session, AT).unwrap().unwrap();
        let next = json!({"requested_at": "2026-12-01T10:00:00", "expires_at": "2026-12-31T10:00:00"});
        let next = made(&next, &session, AT).unwrap().unwrap();
        assert_eq!(first.grant.id, next.grant.id);
        assert!(next.expires_at > first.expires_at);
    }

    #[test]
    fn a_token_without_end_lives_on_and_one_that_has_ended_does_not() {
        let mut endless = session_of(&json!({}));
        endless["id_token"]["expires_at"] = json!({"refresh_token": "0001-01-01T00:00:00Z"});
        assert_eq!(made(&json!({}), &endless, AT).unwrap().unwrap().expires_at, Timestamp::NEVER);
        let ended = json!({"expires_at": "2026-11-28T01:09:30"});
        assert_eq!(made(&ended, &session_of(&json!({})), AT + 1), Ok(None));
    }

    #[test]
    fn the_session_is_that_of_the_flow_and_what_the_tokens_said_where_there_is_no_flow() {
        let session_of_the_token = |changes: &Value, claims: &Value| {
            let token = made(changes, &session_of(claims), AT).unwrap().unwrap();
            assert!(!token.grant.claims.id_token.contains_key("sid"));
            token.grant.session.map(|session| session.to_string())
        };
        let other = "11ada33b-804e-4e76-af65-bb0c85a927a5";
        let hooked = json!({"ext": {"plan": "of the hook"}});
        assert_eq!(
            session_of_the_token(&json!({}), &hooked).as_deref(),
            Some("9634ebd8-4a2d-4642-95d6-5d4fe212c1f7")
        );
        let told = json!({"ext": {"sid": other}});
        assert_ne!(session_of_the_token(&json!({}), &told).as_deref(), Some(other));
        let ended = json!({"login_session_id": null});
        assert_eq!(session_of_the_token(&ended, &told), None, "it has ended there");
        let alone = json!({"login_session_id": null, "has_flow": false});
        assert_eq!(session_of_the_token(&alone, &told).as_deref(), Some(other));
    }

    #[test]
    fn who_is_known_by_another_name_stays_so() {
        let pairwise = made(&json!({}), &session_of(&json!({"sub": "b7e2"})), AT).unwrap().unwrap();
        assert_eq!(pairwise.grant.claims.shown_subject.as_deref(), Some("b7e2"));
        assert_eq!(pairwise.grant.subject.as_str(), "alice");
    }

    #[test]
    fn what_cannot_be_here_is_refused_with_its_reason() {
        let session = session_of(&json!({}));
        let refused = |changes: &Value| made(changes, &session, AT).unwrap_err();
        assert!(refused(&json!({"session_data": "c2VhbGVk"})).contains("does not open"));
        assert!(refused(&json!({"session_data": "{}"})).contains("its session is not as"));
        assert!(refused(&json!({"subject": ""})).contains("subject"));
        assert!(refused(&json!({"granted_scope": "a\"b"})).contains("scope"));
    }
}
