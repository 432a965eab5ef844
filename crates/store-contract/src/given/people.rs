//! People: their records, sessions, factors, codes and mails.

use sluice_identity::factor::{Enroller, Factor, FactorKind, HashedRecoveryCodes, WithFirst};
use sluice_identity::identity::{
    Changed, Identity, IdentityChange, IdentityDirectory, IdentityRepository, IdentityStatus, NewEmail,
    Registration,
};
use sluice_identity::mail::{CodePurpose, MailCode, QueuedMail};
use sluice_identity::session::{IdentitySession, IdentitySessionRepository, SessionRotation};
use sluice_primitives::rng::random_bytes;
use sluice_primitives::{IdentityId, OsRng, SessionId};
use sluice_token::Target;
use uuid::Uuid;

use super::{WINDOW, at, attempt, random_hash, subject};

/// An identity.
pub fn identity(email: &str) -> Identity {
    Identity {
        id: identity_id(),
        email: email.to_owned(),
        login_name: login_name(email),
        username: "Alice".to_owned(),
        credential: "$argon2id$first".to_owned(),
        hardening: false,
        status: IdentityStatus::Active,
        email_verified_at: None,
        created_at: at(0),
        updated_at: at(0),
        revision: 1,
        attempt: attempt(),
    }
}

/// A new id of an identity.
pub fn identity_id() -> IdentityId {
    IdentityId::generate(at(0), &OsRng)
}

/// Stands for the hash of a login name: different for different short names.
pub fn login_name(email: &str) -> [u8; 32] {
    let mut hash = [b'.'; 32];
    for (place, byte) in hash.iter_mut().zip(email.bytes()) {
        *place = byte;
    }
    hash
}

/// Registers an identity whose name must be free.
pub async fn registered(store: &impl IdentityRepository, identity: Identity) -> Identity {
    let registration = store.register(identity.clone().into()).await;
    assert!(matches!(registration, Ok(Registration::Registered)), "{registration:?}");
    identity
}

/// An identity that must be there.
pub async fn person(store: &impl IdentityRepository, id: IdentityId) -> Identity {
    match store.find(id).await {
        Ok(Some(identity)) => identity,
        other => panic!("the identity is there, not {other:?}"),
    }
}

/// A change of nothing yet at second `now`, whose markers live until second 9000.
pub fn change(identity: &Identity, now: i64) -> IdentityChange {
    IdentityChange { marker_expires_at: at(9000), ..IdentityChange::of(identity, at(now), attempt()) }
}

/// Makes a change that must be possible; the identity as it is then.
pub async fn changed(store: &impl IdentityDirectory, change: &IdentityChange) -> Identity {
    let outcome = store.change(change).await;
    assert!(matches!(outcome, Ok(Changed::Done)), "{outcome:?}");
    person(store, change.id).await
}

/// Another address.
pub fn new_email(email: &str) -> Option<NewEmail> {
    Some(NewEmail { email: email.to_owned(), login_name: login_name(email) })
}

/// What the marker of all that was issued for somebody is for.
pub fn marked_person(id: IdentityId) -> Target {
    Target::Subject(subject(&id.to_string()))
}

/// A session that was begun at second `begun` and ends at second 3600.
pub fn identity_session(identity: IdentityId, begun: i64) -> IdentitySession {
    IdentitySession {
        id: SessionId::generate(at(begun), &OsRng),
        identity,
        authenticated_at: at(begun),
        last_seen_at: at(begun),
        expires_at: at(3600),
        generation: 0,
        rotated_at: at(begun),
        amr: vec!["pwd".to_owned(), "otp".to_owned()],
        device: "Müller's browser".to_owned(),
        network: "2001:db8::/64".to_owned(),
        attempt: attempt(),
    }
}

/// Begins a session at second `begun`. The markers of those that it pushes out live until second 9000.
pub async fn begun(
    store: &impl IdentitySessionRepository,
    identity: IdentityId,
    begun: i64,
) -> IdentitySession {
    let session = identity_session(identity, begun);
    let outcome = store.begin(&session, at(9000)).await;
    assert!(outcome.is_ok(), "{outcome:?}");
    session
}

/// Whether a session is there.
pub async fn has_session(store: &impl IdentitySessionRepository, session: &IdentitySession) -> bool {
    matches!(store.find(session.id, at(0)).await, Ok(Some(_)))
}

/// Rotates a session at second `now`; from then on it lives until second 100,000.
pub fn session_rotation(id: SessionId, presented: i64, now: i64) -> SessionRotation {
    SessionRotation {
        id,
        presented,
        window: WINDOW,
        now: at(now),
        expires_at: at(100_000),
        marker_expires_at: at(9000),
        attempt: attempt(),
    }
}

/// Recovery codes of one key.
pub const fn recovery_codes(hashes: &[[u8; 32]]) -> HashedRecoveryCodes<'_> {
    HashedRecoveryCodes { key: 7, hashes }
}

/// The same, with a first factor that ends no session.
pub const fn with_first(hashes: &[[u8; 32]]) -> WithFirst<'_> {
    WithFirst { codes: recovery_codes(hashes), ends: None, only: false }
}

/// Somebody who adds a factor in no session.
pub const fn enroller(identity: &Identity) -> Enroller<'_> {
    Enroller { identity, ends: None, only_first: false }
}

/// A source of one-time passwords, enrolled at second `created`.
pub fn factor(identity: IdentityId, created: i64) -> Factor {
    Factor {
        identity,
        // As a session's: in the order of time.
        id: SessionId::generate(at(created), &OsRng).as_uuid(),
        kind: FactorKind::Totp,
        name: "Telephone".to_owned(),
        sealed: "the sealed secret".to_owned(),
        created_at: at(created),
        last_used_at: None,
        counter: 7,
    }
}

/// A mail that may be sent from second `due` on.
pub fn mail(due: i64) -> QueuedMail {
    let id = Uuid::from_bytes(random_bytes(&OsRng));
    QueuedMail { id, sealed: format!("the sealed mail {id}"), due_at: at(due) }
}

/// A code that is good until second 600.
pub fn mail_code(identity: IdentityId, purpose: CodePurpose) -> MailCode {
    MailCode {
        identity,
        purpose,
        email: "alice@example.org".to_owned(),
        hash: random_hash(),
        expires_at: at(600),
        attempt: attempt(),
    }
}
