//! A decision that Hydra remembers. Its claims go with it, for those who skip the page from now on.

use serde::Deserialize;
use serde_json::Value;
use sluice_crypto::digest::sha256;
use sluice_primitives::{GrantId, Lifetime, SessionId, Timestamp};
use sluice_protocol::{Audience, ClientId, Scope, Subject};

use super::columns::{list, members, read, said, time};
use super::source::HydraRow;
use crate::consent::RememberedConsent;
use crate::grant::{GrantClaims, MadeIn, Requested};

/// The columns that are looked at, by their names.
#[derive(Deserialize)]
struct Columns {
    subject: String,
    client_id: String,
    consent_challenge_id: Option<String>,
    login_session_id: Option<String>,
    requested_at: String,
    consent_handled_at: Option<String>,
    consent_remember_for: Option<i64>,
    requested_scope: Option<Vec<String>>,
    granted_scope: Option<Vec<String>>,
    requested_at_audience: Option<Vec<String>>,
    granted_at_audience: Option<Vec<String>>,
    acr: Option<String>,
    amr: Option<Vec<String>>,
    #[serde(default)]
    context: Value,
    #[serde(default)]
    session_access_token: Value,
    #[serde(default)]
    session_id_token: Value,
}

/// The decision of a row; none if it has ended.
///
/// # Errors
/// A sentence that says what stands in its way.
pub(super) fn consent(row: &HydraRow, now: Timestamp) -> Result<Option<RememberedConsent>, String> {
    let columns: Columns = read(row)?;
    let decided_at = columns.consent_handled_at.as_deref().unwrap_or(&columns.requested_at);
    let unreadable = || "its time cannot be read".to_owned();
    let decided_at = time(decided_at).ok_or_else(unreadable)?;
    let requested_at = time(&columns.requested_at).ok_or_else(unreadable)?;
    let remember_for = columns.consent_remember_for.unwrap_or(0);
    // From the request on, as Hydra counts.
    let expires_at = match u32::try_from(remember_for) {
        Ok(seconds @ 1..) => requested_at + Lifetime::secs(seconds),
        Err(_) if remember_for > 0 => requested_at + Lifetime::secs(u32::MAX),
        _ => Timestamp::NEVER,
    };
    if expires_at <= now {
        return Ok(None);
    }
    let (scope, asked_scope) = (scope(columns.granted_scope)?, scope(columns.requested_scope)?);
    let audience = Audience::from_values(list(columns.granted_at_audience));
    let asked_audience = Audience::from_values(list(columns.requested_at_audience));
    let flow = columns.consent_challenge_id.as_deref().unwrap_or(&row.key);
    let session = columns.login_session_id.as_deref().and_then(session);
    let claims = GrantClaims {
        made_in: Some(MadeIn::new(grant_id(flow, decided_at.floor_to_secs()), session)),
        acr: columns.acr.filter(|acr| !acr.is_empty()),
        amr: list(columns.amr),
        id_token: members(columns.session_id_token),
        access_token: members(columns.session_access_token),
        context: said(columns.context),
        remember_for: Some(remember_for),
        requested: Requested::beside((&asked_scope, &asked_audience), (&scope, &audience)),
        ..GrantClaims::default()
    };
    Ok(Some(RememberedConsent {
        subject: columns
            .subject
            .parse::<Subject>()
            .map_err(|why| format!("its subject is refused: {why}"))?,
        client: columns
            .client_id
            .parse::<ClientId>()
            .map_err(|why| format!("its client is refused: {why}"))?,
        scope,
        audience,
        claims,
        decided_at,
        expires_at,
    }))
}

fn scope(values: Option<Vec<String>>) -> Result<Scope, String> {
    let values = list(values);
    Scope::from_values(values.iter().map(String::as_str))
        .map_err(|why| format!("its scope is refused: {why}"))
}

/// A login session by the id that it has there.
pub(super) fn session(id: &str) -> Option<SessionId> {
    id.parse().ok()
}

/// The id of the grant that a flow of Hydra's led to: the same each time, and in the order of `at`, as each id of a grant is.
pub(super) fn grant_id(flow: &str, at: Timestamp) -> GrantId {
    let mut random = [0; 10];
    random.iter_mut().zip(sha256(flow.as_bytes())).for_each(|(to, from)| *to = from);
    let millis = u64::try_from(at.as_millis()).unwrap_or(0);
    GrantId::from_uuid(uuid::Builder::from_unix_timestamp_millis(millis, &random).into_uuid())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn made(changes: &Value, now: i64) -> Result<Option<RememberedConsent>, String> {
        let mut columns = json!({
            "subject": "alice", "client_id": "web", "consent_challenge_id": "d64fcbec-c322-4c44-b433-b838669a087b",
            "login_session_id": "9634ebd8-4a2d-4642-95d6-5d4fe212c1f7", "requested_at": "2026-11-28T01:09:29",
            "consent_handled_at": "2026-11-28T01:09:29.840082", "consent_remember_for": 3600,
            "requested_scope": ["openid", "offline", "photos"], "granted_scope": ["openid", "offline"],
            "requested_at_audience": ["https://api.example.com"], "granted_at_audience": [],
            "acr": "2", "amr": ["pwd", "otp"], "context": {}, "session_access_token": {"plan": "gold"},
            "session_id_token": {"email": "alice@example.com"},
        });
        columns.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
        consent(&HydraRow { key: "68aac63e".to_owned(), columns }, Timestamp::from_secs(now))
    }

    const DECIDED: i64 = 1_795_828_169;

    #[test]
    fn a_decision_is_what_it_was() {
        let decision = made(&json!({}), DECIDED + 1).unwrap().unwrap();
        assert_eq!((decision.subject.as_str(), decision.client.as_str()), ("alice", "web"));
        assert_eq!((decision.scope.as_str(), decision.audience.as_slice().len()), ("openid offline", 0));
        assert_eq!(decision.decided_at.as_millis(), DECIDED * 1000 + 840);
        assert_eq!(decision.expires_at.as_secs(), DECIDED + 3600, "from the request on");
        let claims = decision.claims;
        assert_eq!((claims.acr.as_deref(), claims.amr.len(), claims.context), (Some("2"), 2, None));
        assert_eq!(
            (&claims.access_token["plan"], &claims.id_token["email"]),
            (&json!("gold"), &json!("alice@example.com"))
        );
        assert_eq!(claims.requested.unwrap().audience(), ["https://api.example.com"]);
        let session = claims.made_in.unwrap().session().unwrap();
        assert_eq!(session.to_string(), "9634ebd8-4a2d-4642-95d6-5d4fe212c1f7");
    }

    #[test]
    fn what_has_ended_is_passed_over_and_what_has_no_end_is_not() {
        assert_eq!(made(&json!({}), DECIDED + 3601), Ok(None));
        for endless in [0, -1] {
            let endless =
                made(&json!({"consent_remember_for": endless}), DECIDED + 999_999).unwrap().unwrap();
            assert_eq!(endless.expires_at, Timestamp::NEVER);
        }
        let earlier = json!({"requested_at": "2026-11-28T01:09:19"});
        assert_eq!(made(&earlier, DECIDED + 3590), Ok(None), "ten seconds before the decision");
        assert!(made(&json!({"subject": ""}), DECIDED).unwrap_err().contains("subject"));
    }

    #[test]
    fn the_grant_of_a_flow_is_the_same_each_time() {
        let at = Timestamp::from_secs(DECIDED);
        let id = grant_id("d64fcbec-c322-4c44-b433-b838669a087b", at);
        assert_eq!((id, id.made_at()), (grant_id("d64fcbec-c322-4c44-b433-b838669a087b", at), at));
        assert_ne!(id, grant_id("65111128-a78d-4f6b-87f0-118d20f8e558", at));
    }
}
