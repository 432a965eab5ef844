//! What a grant is.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sluice_primitives::{AttemptId, GrantId, Lifetime, SessionId, Timestamp};
use sluice_protocol::{Audience, ClientId, Scope, Subject};
use sluice_token::Facts;
use uuid::Uuid;

use super::replaced::Replaced;

/// How many times the refresh token of a grant was rotated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Generation(pub u32);

impl Generation {
    /// The next generation.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

/// A grant as the store keeps it.
#[derive(Debug, Clone, PartialEq)]
pub struct Grant {
    /// Equal to the id of the flow that led to it.
    pub id: GrantId,
    /// To whom it was given.
    pub client: ClientId,
    /// By whom.
    pub subject: Subject,
    /// In which login session.
    pub session: Option<SessionId>,
    /// What was granted.
    pub scope: Scope,
    /// For which services.
    pub audience: Audience,
    /// When the user authenticated, in milliseconds.
    pub authenticated_at: Timestamp,
    /// When consent was accepted, in milliseconds.
    pub consented_at: Timestamp,
    /// When it can be forgotten. Never before the flow that made it would have expired.
    pub expires_at: Timestamp,
    /// When its code was redeemed.
    pub redeemed_at: Option<Timestamp>,
    /// When it was revoked.
    pub revoked_at: Option<Timestamp>,
    /// The generation of its refresh chain; 0 from redemption on.
    pub generation: Generation,
    /// When that generation was made: at redemption, or at the last rotation.
    pub rotated_at: Option<Timestamp>,
    /// The attempt that wrote the row last.
    pub attempt: AttemptId,
    /// What else its tokens say.
    pub claims: GrantClaims,
}

impl Grant {
    /// What revocation markers are held against.
    pub const fn facts(&self) -> Facts<'_> {
        Facts {
            grant: self.id,
            client: &self.client,
            subject: Some(&self.subject),
            session: self.session,
            authenticated_at: self.authenticated_at,
            consented_at: self.consented_at,
        }
    }
}

/// The flow that a remembered decision was made in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct MadeIn {
    session: Option<Uuid>,
    grant: Uuid,
}

impl MadeIn {
    /// The flow that led to this grant.
    pub fn new(grant: GrantId, session: Option<SessionId>) -> Self {
        Self { session: session.map(SessionId::as_uuid), grant: grant.as_uuid() }
    }

    /// The grant that it led to.
    pub const fn grant(self) -> GrantId {
        GrantId::from_uuid(self.grant)
    }

    /// In which login session.
    pub fn session(self) -> Option<SessionId> {
        self.session.map(SessionId::from_uuid)
    }
}

/// What was asked for where something else was granted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Requested {
    scope: String,
    audience: Vec<String>,
}

impl Requested {
    /// What was asked for, if it is not what was granted.
    pub fn beside(asked: (&Scope, &Audience), granted: (&Scope, &Audience)) -> Option<Self> {
        let ((scope, audience), (own_scope, own_audience)) = (asked, granted);
        let is_same = scope.covers(own_scope)
            && own_scope.covers(scope)
            && audience.covers(own_audience)
            && own_audience.covers(audience);
        (!is_same).then(|| Self { scope: scope.to_string(), audience: audience.as_slice().to_vec() })
    }

    /// The values of the scope, separated by spaces.
    pub fn scope(&self) -> &str {
        &self.scope
    }

    /// The names of the services.
    pub fn audience(&self) -> &[String] {
        &self.audience
    }
}

/// How a grant stands.
#[derive(Debug, Clone, PartialEq)]
pub struct Standing {
    /// The grant.
    pub grant: Grant,
    /// Whether it was revoked, by itself or by a wide marker.
    pub is_revoked: bool,
}

/// What the tokens of a grant say beside the facts that the server acts on. Stores keep it as one JSON text, and look at how
/// that begins: the first two fields stay the first.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct GrantClaims {
    /// Of a remembered decision: where it was made. Of a grant: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub made_in: Option<MadeIn>,
    /// Of a grant: whether its consent page could be skipped because of a remembered decision. Of such a decision: no.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub skipped: bool,
    /// Authentication context class (OpenID Connect Core §2).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub acr: Option<String>,
    /// Authentication methods (RFC 8176).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub amr: Vec<String>,
    /// Claims of the consent page for the id token and userinfo.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub id_token: Map<String, Value>,
    /// Claims of the consent page for access tokens.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub access_token: Map<String, Value>,
    /// What the login page handed to the consent page; kept for the list of consents.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<Value>,
    /// The `sub` that this client sees, if it is another than the subject: pairwise (OpenID Connect Core §8.1), by computation
    /// or as the login page forced it (Hydra's `force_subject_identifier`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shown_subject: Option<String>,
    /// The `claims` parameter of the authorization request (OpenID Connect Core §5.5).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claims_request: Option<Value>,
    /// What was granted in detail (RFC 9396 §2).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub authorization_details: Option<Value>,
    /// Whether the consent page asked to remember the decision, and for how many seconds (0: without end).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remember_for: Option<i64>,
    /// What was asked for, if it is not what was granted; grants and decisions of earlier versions do not know it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requested: Option<Requested>,
    /// Of a grant: what a hook said last, which counts instead of `id_token` and `access_token`. Of a decision: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replaced: Option<Replaced>,
}

impl GrantClaims {
    /// What a hook said last for access tokens, or else the consent page.
    pub fn of_access_tokens(&self) -> &Map<String, Value> {
        self.replaced.as_ref().map_or(&self.access_token, Replaced::access_token)
    }

    /// What a hook said last for id tokens and userinfo, or else the consent page.
    pub fn of_id_tokens(&self) -> &Map<String, Value> {
        self.replaced.as_ref().map_or(&self.id_token, Replaced::id_token)
    }
}

/// What a code that comes again does to its grant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SecondTime {
    /// It is revoked: somebody else may have its tokens (RFC 6749 §4.1.2).
    Revokes,
    /// Nothing: who got no answer asks again (RFC 8628 §3.5).
    IsRefused,
}

/// Redeems the code of a grant.
#[derive(Debug, Clone, PartialEq)]
pub struct RedeemCode {
    /// Which.
    pub grant: GrantId,
    /// This attempt.
    pub attempt: AttemptId,
    /// When.
    pub now: Timestamp,
    /// Until when the grant lives from now on.
    pub expires_at: Timestamp,
    /// The same if its scope may yield refresh tokens: if a value of it has `offline` in it.
    pub refreshable_until: Timestamp,
    /// Until when its marker lives, should it be revoked because its code came before.
    pub marker_expires_at: Timestamp,
    /// Its claims from now on, all of them, if a hook replaced some.
    pub claims: Option<Box<GrantClaims>>,
    /// What becomes of it if its code came before.
    pub second_time: SecondTime,
}

/// A digest of what a refresh asked for (scope, audience, binding): a retry must ask for the same.
pub type RefreshRequest = [u8; 16];

/// Rotates the refresh token of a grant.
#[derive(Debug, Clone, PartialEq)]
pub struct RotateRefresh {
    /// Which grant.
    pub grant: GrantId,
    /// This attempt.
    pub attempt: AttemptId,
    /// The generation of the refresh token that was presented.
    pub presented: Generation,
    /// What was asked for.
    pub request: RefreshRequest,
    /// When.
    pub now: Timestamp,
    /// How long after a rotation its predecessor is answered with the same pair again.
    pub window: Lifetime,
    /// Until when the grant lives from now on, at least: an end that was later stays, as long as any access token may live
    /// ([`LONGEST_ACCESS_TOKEN`](crate::config::LONGEST_ACCESS_TOKEN)) from now at most. Earlier ones may have been made to live longer.
    pub expires_at: Timestamp,
    /// Until when its marker lives, should it be revoked because an old token came again.
    pub marker_expires_at: Timestamp,
    /// Its claims from now on, all of them, if a hook replaced some.
    pub claims: Option<Box<GrantClaims>>,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_was_granted_as_it_was_asked_for_is_not_told_twice() {
        let scope = |text: &str| text.parse::<Scope>().unwrap();
        let audience = |names: &[&str]| Audience::from_values(names.iter().map(|name| (*name).to_owned()));
        let (asked, both) = (scope("openid email"), audience(&["a", "b"]));
        let beside = |granted: &str, names: &[&str]| {
            Requested::beside((&asked, &both), (&scope(granted), &audience(names)))
        };
        assert_eq!(beside("email openid", &["b", "a"]), None);
        let others: [(&str, &[&str]); 3] =
            [("openid", &["a", "b"]), ("openid email", &["a"]), ("openid email admin", &["a", "b"])];
        for (granted, names) in others {
            let requested = beside(granted, names).unwrap();
            assert_eq!((requested.scope(), requested.audience()), ("openid email", both.as_slice()));
        }
        assert_eq!(serde_json::to_string(&GrantClaims::default()).unwrap(), "{}");
    }

    #[test]
    fn a_hook_that_said_nothing_is_told_from_none() {
        let claims = json!({"plan": "gold"}).as_object().cloned().unwrap();
        let shown = GrantClaims { access_token: claims.clone(), id_token: claims, ..GrantClaims::default() };
        let silent = GrantClaims { replaced: Some(Replaced::default()), ..shown.clone() };
        assert_eq!((shown.of_access_tokens().len(), shown.of_id_tokens().len()), (1, 1));
        assert_eq!((silent.of_access_tokens().len(), silent.of_id_tokens().len()), (0, 0));
        for claims in [shown, silent] {
            let text = serde_json::to_string(&claims).unwrap();
            assert_eq!(serde_json::from_str::<GrantClaims>(&text).unwrap(), claims);
        }
    }

    /// Listings in both stores depend on it.
    #[test]
    fn the_text_of_claims_begins_with_what_stores_look_at() {
        let acr = Some("gold".to_owned());
        let skipped = GrantClaims { skipped: true, acr: acr.clone(), ..GrantClaims::default() };
        assert_eq!(serde_json::to_string(&skipped).unwrap(), r#"{"skipped":true,"acr":"gold"}"#);
        let (session, grant) = (SessionId::from_bytes([0xAB; 16]), GrantId::from_bytes([1; 16]));
        let made_in = Some(MadeIn::new(grant, Some(session)));
        let text = serde_json::to_string(&GrantClaims { made_in, acr, ..GrantClaims::default() }).unwrap();
        let begin = format!(r#"{{"made_in":{{"session":"{session}","grant":"{grant}"}},"acr""#);
        assert!(text.starts_with(&begin), "{text}");
        assert_eq!(text.get(70..106), Some(grant.to_string().as_str()), "an index of both stores");
        let read: GrantClaims = serde_json::from_str(&text).unwrap();
        assert_eq!(read.made_in.map(|flow| (flow.grant(), flow.session())), Some((grant, Some(session))));
    }
}
