//! The live markers in memory.

use std::cell::LazyCell;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use sluice_primitives::{GrantId, Lifetime, SessionId, Timestamp};
use sluice_protocol::{ClientId, Subject};

use super::fingerprint::Fingerprints;
use super::marker::{Marker, Target};
use super::markers::{Markers, Needed, PARTS};
use crate::claims::AccessTokenClaims;

/// So many parts of each table are searched for what has expired at a time; fewer entries than [`FEW`] are no work at all.
const PARTS_AT_A_TIME: usize = 8;
const FEW: usize = 4_096;

/// The live markers. Key: the target, as 128 bits. Bound: what is revoked within one longest token lifetime, and what was when
/// this process began for one more. Staleness: the feed's. Asked about each request: nothing is allocated, kinds without markers are not looked at, and readers wait only for
/// a writer in the same part of the same kind.
pub struct RevocationSet {
    began_at: Instant,
    /// Of all kinds.
    count: AtomicUsize,
    fingerprints: Fingerprints,
    grants: Markers,
    sessions: Markers,
    subjects: Markers,
    subject_clients: Markers,
    clients: Markers,
    subject_consents: Markers,
    /// The part where the search for what has expired goes on.
    next_part: AtomicUsize,
}

impl Default for RevocationSet {
    /// Nothing is revoked.
    fn default() -> Self {
        Self {
            began_at: Instant::now(),
            count: AtomicUsize::default(),
            fingerprints: Fingerprints::default(),
            grants: Markers::default(),
            sessions: Markers::default(),
            subjects: Markers::default(),
            subject_clients: Markers::default(),
            clients: Markers::default(),
            subject_consents: Markers::default(),
            next_part: AtomicUsize::default(),
        }
    }
}

impl fmt::Debug for RevocationSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RevocationSet").field("len", &self.len()).finish_non_exhaustive()
    }
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

impl RevocationSet {
    /// Adds a marker; a later one for the same target wins.
    pub fn apply(&self, marker: &Marker) {
        let prints = &self.fingerprints;
        let (markers, key) = match &marker.target {
            Target::Grant(grant) => (&self.grants, Fingerprints::grant(*grant)),
            Target::Session(session) => (&self.sessions, Fingerprints::session(*session)),
            Target::Subject(subject) => (&self.subjects, prints.subject(subject)),
            Target::SubjectClient(subject, client) => {
                let key = Fingerprints::subject_client(prints.subject(subject), prints.client(client));
                (&self.subject_clients, key)
            }
            Target::Client(client) => (&self.clients, prints.client(client)),
            Target::SubjectConsents(subject) => (&self.subject_consents, prints.subject(subject)),
        };
        // As long as its tokens have from when it was written: whatever this machine's clock says, it was written before it came.
        let needed =
            Needed::of(marker.expires_at, self.run(Instant::now()), marker.expires_at.since(marker.at));
        if markers.apply(key, marker.at, needed) {
            self.count.fetch_add(1, Ordering::Release);
        }
    }

    /// Whether the token was revoked, alone or with others.
    pub fn holds(&self, claims: &AccessTokenClaims) -> bool {
        if self.is_empty() {
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
        self.covers_grant(&facts)
            || claims.may_end_alone() && self.holds_grant(claims.id.as_grant())
            || self.origin_is_covered(claims, &facts)
    }

    /// Whether the grant with these facts was revoked.
    pub fn covers_grant(&self, facts: &Facts<'_>) -> bool {
        if self.is_empty() {
            return false;
        }
        if self.holds_grant(facts.grant) || facts.session.is_some_and(|session| self.session_is_over(session))
        {
            return true;
        }
        // Each name is hashed once at most, and not at all where no marker names one.
        let client = LazyCell::new(|| self.fingerprints.client(facts.client));
        if self.clients.at(|| *client).is_some_and(|at| facts.consented_at <= at) {
            return true;
        }
        let Some(subject) = facts.subject else { return false };
        let subject = LazyCell::new(|| self.fingerprints.subject(subject));
        let with_client = || self.subject_clients.at(|| Fingerprints::subject_client(*subject, *client));
        let consents = || self.subject_consents.at(|| *subject);
        self.subjects.at(|| *subject).is_some_and(|at| facts.authenticated_at <= at)
            || with_client().is_some_and(|at| facts.consented_at <= at)
            || consents().is_some_and(|at| facts.consented_at <= at)
    }

    /// Whether the grant itself was revoked, whatever wide markers say.
    pub fn holds_grant(&self, grant: GrantId) -> bool {
        self.grants.at(|| Fingerprints::grant(grant)).is_some()
    }

    /// Whether a login of `subject` in `session` was signed out after it happened.
    pub fn covers_login(&self, session: SessionId, subject: &Subject, authenticated_at: Timestamp) -> bool {
        let of_session = || self.sessions.at(|| Fingerprints::session(session));
        of_session().is_some_and(|at| authenticated_at <= at) || self.is_signed_out(subject, authenticated_at)
    }

    /// Whether a session that belongs to no grant is over: it was ended, or its subject was signed out not before it
    /// authenticated.
    pub fn covers_session(&self, session: SessionId, subject: &Subject, authenticated_at: Timestamp) -> bool {
        self.session_is_over(session) || self.is_signed_out(subject, authenticated_at)
    }

    /// Forgets markers whose tokens have all expired: at `now` by the time of day, and at `moment` by the monotonic clock, which does
    /// not jump.
    pub fn forget_expired(&self, now: Timestamp, moment: Instant) {
        self.forget_expired_of(0..PARTS, Needed::at(now, self.run(moment)));
    }

    /// Forgets some of them, others at the next call, so that a million markers are not searched at once. Of a few, all.
    pub(super) fn forget_some_expired(&self, now: Timestamp, moment: Instant) {
        if self.len() < FEW {
            return self.forget_expired(now, moment);
        }
        let next = self.next_part.fetch_add(PARTS_AT_A_TIME, Ordering::Relaxed) % PARTS;
        self.forget_expired_of(next..next + PARTS_AT_A_TIME, Needed::at(now, self.run(moment)));
    }

    /// How many markers are live.
    pub fn len(&self) -> usize {
        self.count.load(Ordering::Acquire)
    }

    /// Whether nothing is revoked.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The memory that the markers take, in bytes.
    pub fn memory(&self) -> usize {
        self.kinds().iter().map(|kind| kind.bytes()).sum()
    }

    /// Whether a session was ended. It does not come back: whatever the clocks of two nodes say, that comes after all who authenticated in it.
    pub fn session_is_over(&self, session: SessionId) -> bool {
        self.sessions.at(|| Fingerprints::session(session)).is_some()
    }

    fn is_signed_out(&self, subject: &Subject, authenticated_at: Timestamp) -> bool {
        let revoked = self.subjects.at(|| self.fingerprints.subject(subject));
        revoked.is_some_and(|at| authenticated_at <= at)
    }

    /// An exchanged token ends with each of those that it was exchanged for (RFC 8693).
    fn origin_is_covered(&self, claims: &AccessTokenClaims, facts: &Facts<'_>) -> bool {
        claims.rare.origins.iter().any(|origin| {
            let of_origin = Facts { client: &origin.client, consented_at: origin.consented_at, ..*facts };
            self.holds_grant(origin.token.as_grant()) || self.covers_grant(&of_origin)
        })
    }

    /// How long this process has run.
    fn run(&self, moment: Instant) -> Lifetime {
        moment.saturating_duration_since(self.began_at).into()
    }

    fn forget_expired_of(&self, parts: std::ops::Range<usize>, now: Needed) {
        for part in parts {
            for kind in self.kinds() {
                self.count.fetch_sub(kind.forget_expired_of(part, now), Ordering::Release);
            }
        }
    }

    const fn kinds(&self) -> [&Markers; 6] {
        [
            &self.grants,
            &self.sessions,
            &self.subjects,
            &self.subject_clients,
            &self.clients,
            &self.subject_consents,
        ]
    }
}

#[cfg(test)]
mod tests;
