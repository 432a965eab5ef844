//! The live markers in memory.

use std::collections::HashMap;

use parking_lot::RwLock;
use sluice_primitives::{GrantId, SessionId, Timestamp};
use sluice_protocol::{ClientId, Subject};

use super::marker::{Marker, Target};
use crate::claims::{AccessTokenClaims, TokenId};

/// The live markers. Key: the target. Bound: what is revoked within one longest token lifetime. Staleness: the feed's.
#[derive(Debug, Default)]
pub struct RevocationSet(RwLock<HashMap<Target, Entry>>);

#[derive(Debug, Clone, Copy)]
struct Entry {
    at: Timestamp,
    expires_at: Timestamp,
}

/// What markers are held against.
#[derive(Debug, Clone, Copy)]
pub struct Facts<'a> {
    /// The grant.
    pub grant: GrantId,
    /// Its client.
    pub client: &'a ClientId,
    /// Its subject, if it has one.
    pub subject: Option<&'a Subject>,
    /// Its login session, if it has one.
    pub session: Option<SessionId>,
    /// When the user authenticated.
    pub authenticated_at: Timestamp,
    /// When consent was accepted.
    pub consented_at: Timestamp,
}

fn covers(markers: &HashMap<Target, Entry>, facts: &Facts<'_>) -> bool {
    let not_later =
        |target: Target, time: Timestamp| markers.get(&target).is_some_and(|entry| time <= entry.at);
    if markers.is_empty() {
        return false;
    }
    if markers.contains_key(&Target::Grant(facts.grant)) {
        return true;
    }
    if not_later(Target::Client(facts.client.clone()), facts.consented_at) {
        return true;
    }
    // A session authenticates once: whatever the clocks of two nodes say, its end comes after.
    if facts.session.is_some_and(|session| markers.contains_key(&Target::Session(session))) {
        return true;
    }
    facts.subject.is_some_and(|subject| {
        not_later(Target::Subject(subject.clone()), facts.authenticated_at)
            || not_later(Target::SubjectClient(subject.clone(), facts.client.clone()), facts.consented_at)
            || not_later(Target::SubjectConsents(subject.clone()), facts.consented_at)
    })
}

/// An exchanged token ends by itself, and with each of those that it was exchanged for (RFC 8693).
fn origin_is_covered(
    markers: &HashMap<Target, Entry>,
    claims: &AccessTokenClaims,
    facts: &Facts<'_>,
) -> bool {
    let origins = &claims.rare.origins;
    let alone = |token: TokenId| markers.contains_key(&Target::Grant(token.as_grant()));
    !origins.is_empty() && alone(claims.id)
        || origins.iter().any(|origin| {
            let of_origin = Facts { client: &origin.client, consented_at: origin.consented_at, ..*facts };
            alone(origin.token) || covers(markers, &of_origin)
        })
}

impl RevocationSet {
    /// Adds a marker; a later one for the same target wins.
    pub fn apply(&self, marker: &Marker) {
        let mut markers = self.0.write();
        let entry = markers
            .entry(marker.target.clone())
            .or_insert(Entry { at: marker.at, expires_at: marker.expires_at });
        entry.at = entry.at.max(marker.at);
        entry.expires_at = entry.expires_at.max(marker.expires_at);
    }

    /// Whether the token was revoked.
    pub fn holds(&self, claims: &AccessTokenClaims) -> bool {
        let markers = self.0.read();
        if markers.is_empty() {
            return false;
        }
        let facts = Facts {
            grant: claims.grant,
            client: &claims.client,
            subject: claims.subject.as_ref(),
            session: claims.session,
            authenticated_at: claims.authenticated_at,
            consented_at: claims.consented_at,
        };
        covers(&markers, &facts) || origin_is_covered(&markers, claims, &facts)
    }

    /// Whether the grant with these facts was revoked.
    pub fn covers_grant(&self, facts: &Facts<'_>) -> bool {
        covers(&self.0.read(), facts)
    }

    /// Whether the grant itself was revoked, whatever wide markers say.
    pub fn holds_grant(&self, grant: GrantId) -> bool {
        self.0.read().contains_key(&Target::Grant(grant))
    }

    /// Whether a login of `subject` in `session` was signed out after it happened.
    pub fn covers_login(&self, session: SessionId, subject: &Subject, authenticated_at: Timestamp) -> bool {
        let markers = self.0.read();
        let covers = |target: Target| markers.get(&target).is_some_and(|entry| authenticated_at <= entry.at);
        !markers.is_empty() && (covers(Target::Session(session)) || covers(Target::Subject(subject.clone())))
    }

    /// Whether a session that belongs to no grant is over: it was ended, or its subject was signed out not before it
    /// authenticated.
    pub fn covers_session(&self, session: SessionId, subject: &Subject, authenticated_at: Timestamp) -> bool {
        let markers = self.0.read();
        let of_subject = || markers.get(&Target::Subject(subject.clone()));
        // As with grants: a session authenticates once, and its end comes after, whatever the clocks of two nodes say.
        !markers.is_empty()
            && (markers.contains_key(&Target::Session(session))
                || of_subject().is_some_and(|entry| authenticated_at <= entry.at))
    }

    /// Forgets markers whose tokens have all expired.
    pub fn forget_expired(&self, now: Timestamp) {
        self.0.write().retain(|_, entry| entry.expires_at > now);
    }

    /// How many markers are live.
    pub fn len(&self) -> usize {
        self.0.read().len()
    }

    /// Whether nothing is revoked.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::{Extra, Origin, RareClaims};

    #[test]
    fn consents_of_a_subject_are_told_apart_by_when_they_were_accepted() {
        let (alice, bob): (Subject, Subject) = ("alice".parse().unwrap(), "bob".parse().unwrap());
        let set = RevocationSet::default();
        let at = Timestamp::from_secs(50);
        let target = Target::SubjectConsents(alice.clone());
        set.apply(&Marker { target, at, expires_at: Timestamp::from_secs(90) });
        let client: ClientId = "shop".parse().unwrap();
        let covers = |subject: Option<&Subject>, consented_at| {
            set.covers_grant(&Facts {
                grant: GrantId::from_bytes([1; 16]),
                client: &client,
                subject,
                session: None,
                authenticated_at: Timestamp::from_secs(0),
                consented_at: Timestamp::from_secs(consented_at),
            })
        };
        assert!(covers(Some(&alice), 49) && covers(Some(&alice), 50));
        assert!(!covers(Some(&alice), 51), "a consent after the revocation holds");
        assert!(!covers(Some(&bob), 49) && !covers(None, 49));
        set.forget_expired(Timestamp::from_secs(90));
        assert!(!covers(Some(&alice), 49));
    }

    #[test]
    fn a_session_of_no_grant_ends_by_itself_and_with_its_subject() {
        let session = SessionId::from_bytes([1; 16]);
        let alice: Subject = "alice".parse().unwrap();
        let ends = |target: Target, authenticated_at: i64| {
            let set = RevocationSet::default();
            set.apply(&Marker { target, at: Timestamp::from_secs(50), expires_at: Timestamp::NEVER });
            set.covers_session(session, &alice, Timestamp::from_secs(authenticated_at))
        };
        let of_alice = || Target::Subject("alice".parse().unwrap());
        assert!(ends(Target::Session(session), 49) && ends(Target::Session(session), 51));
        assert!(ends(of_alice(), 50) && !ends(of_alice(), 51));
        assert!(!ends(Target::Session(SessionId::from_bytes([2; 16])), 49));
        assert!(!ends(Target::Subject("bob".parse().unwrap()), 49));
        assert!(!ends(Target::SubjectConsents("alice".parse().unwrap()), 49));
    }

    fn exchanged() -> AccessTokenClaims {
        let client = |name: &str| name.parse::<ClientId>().unwrap();
        let origin = |name: &str, token: u8, consented_at| Origin {
            client: client(name),
            token: TokenId::from_bytes([token; 16]),
            consented_at: Timestamp::from_secs(consented_at),
        };
        AccessTokenClaims {
            id: TokenId::from_bytes([3; 16]),
            grant: GrantId::from_bytes([1; 16]),
            client: client("billing"),
            subject: Some("alice".parse().unwrap()),
            session: None,
            scope: "profile".parse().unwrap(),
            audience: Vec::new(),
            issued_at: Timestamp::from_secs(30),
            expires_at: Timestamp::from_secs(90),
            authenticated_at: Timestamp::from_secs(10),
            consented_at: Timestamp::from_secs(30),
            extra: Extra::None,
            rare: RareClaims {
                origins: vec![origin("shop", 1, 10), origin("cart", 2, 20)],
                ..RareClaims::default()
            },
        }
    }

    #[test]
    fn an_exchanged_token_ends_with_each_of_its_origins_and_by_itself() {
        let client = |name: &str| name.parse::<ClientId>().unwrap();
        let ends = |target: Target, at: i64| {
            let set = RevocationSet::default();
            set.apply(&Marker { target, at: Timestamp::from_secs(at), expires_at: Timestamp::NEVER });
            set.holds(&exchanged())
        };
        assert!(ends(Target::Grant(GrantId::from_bytes([1; 16])), 40), "the grant");
        assert!(ends(Target::Grant(TokenId::from_bytes([3; 16]).as_grant()), 40), "the token alone");
        assert!(ends(Target::Grant(TokenId::from_bytes([2; 16]).as_grant()), 40), "the one in between");
        assert!(!ends(Target::Grant(TokenId::from_bytes([4; 16]).as_grant()), 40), "another one");
        assert!(ends(Target::Client(client("shop")), 40) && ends(Target::Client(client("cart")), 40));
        assert!(ends(Target::SubjectClient("alice".parse().unwrap(), client("shop")), 40));
        assert!(ends(Target::SubjectConsents("alice".parse().unwrap()), 15), "of the first consent");
        assert!(!ends(Target::Client(client("billing")), 25), "what the client lost before the exchange");
        assert!(ends(Target::Client(client("billing")), 30));
    }
}
