//! Sessions of the identity service in memory.

use async_trait::async_trait;
use sluice_commit::StoreError;
use sluice_identity::factor::{Aal, WeakerSessions};
use sluice_identity::session::{
    IdentitySession, IdentitySessionRepository, MAX_SESSIONS, Rotation, SessionRotation,
};
use sluice_primitives::{IdentityId, NodeId, SessionId, Timestamp};
use sluice_token::{Marker, Target};

use super::{Data, MemoryStore, check, count, purge};

/// The same as a number of things.
const MOST: usize = MAX_SESSIONS as usize;

impl Data {
    fn begin_session(
        &mut self,
        node: NodeId,
        session: &IdentitySession,
        marker_expires_at: Timestamp,
    ) -> bool {
        let person = session.identity.to_string().parse().map(Target::Subject);
        let is_marked = |target: &Target| self.is_marked(target, session.authenticated_at);
        let is_over =
            is_marked(&Target::Session(session.id)) || person.is_ok_and(|target| is_marked(&target));
        if is_over || self.identity_sessions.contains_key(&session.id) {
            return !is_over;
        }
        self.identity_sessions.insert(session.id, session.clone());
        let newest_first = self.identity_sessions.values().rev();
        let own = newest_first.filter(|other| other.identity == session.identity);
        let oldest: Vec<_> = own.skip(MOST).map(|other| other.id).collect();
        for id in oldest {
            self.end_identity_session(node, id, (session.authenticated_at, marker_expires_at));
        }
        true
    }

    /// Deletes the sessions of a person that a marker up to this time covers.
    pub(super) fn forget_identity_sessions(&mut self, identity: IdentityId, at: Timestamp) {
        self.identity_sessions
            .retain(|_, session| session.identity != identity || session.authenticated_at > at);
    }

    /// Ends a session, and appends its marker.
    pub(super) fn end_identity_session(
        &mut self,
        node: NodeId,
        id: SessionId,
        (at, expires_at): (Timestamp, Timestamp),
    ) {
        self.identity_sessions.remove(&id);
        self.mark(node, Marker { target: Target::Session(id), at, expires_at });
    }

    /// Ends the sessions of a person that no second factor was shown in, but the one that goes on.
    pub(super) fn end_weaker_sessions(&mut self, node: NodeId, identity: IdentityId, ends: WeakerSessions) {
        let own = self.identity_sessions.values().filter(|session| session.identity == identity);
        let weaker =
            own.filter(|session| session.id != ends.keep && Aal::reached_by(&session.amr) < Aal::Aal2);
        let weaker: Vec<_> = weaker.map(|session| session.id).collect();
        for session in weaker {
            self.end_identity_session(node, session, (ends.now, ends.marker_expires_at));
        }
    }

    fn rotate_session(&mut self, node: NodeId, rotation: &SessionRotation) -> Rotation {
        let Some(session) = self.identity_sessions.get(&rotation.id).cloned() else { return Rotation::Gone };
        if session.expires_at <= rotation.now || !self.may_log_in(session.identity) {
            return Rotation::Gone;
        }
        let within = rotation.now.since(session.rotated_at) < rotation.window;
        match session.generation - rotation.presented {
            0 => self.next_generation(session, rotation),
            1 if within || session.attempt == rotation.attempt => Rotation::Rotated(session),
            2 if within => Rotation::Stale,
            1.. => {
                self.end_identity_session(node, session.id, (rotation.now, rotation.marker_expires_at));
                Rotation::Reused(session)
            }
            _ => Rotation::Gone,
        }
    }

    fn next_generation(&mut self, before: IdentitySession, rotation: &SessionRotation) -> Rotation {
        let session = IdentitySession {
            generation: before.generation + 1,
            rotated_at: rotation.now,
            last_seen_at: rotation.now,
            expires_at: rotation.expires_at,
            attempt: rotation.attempt,
            ..before
        };
        self.identity_sessions.insert(session.id, session.clone());
        Rotation::Rotated(session)
    }
}

#[async_trait]
impl IdentitySessionRepository for MemoryStore {
    async fn begin(
        &self,
        session: &IdentitySession,
        marker_expires_at: Timestamp,
    ) -> Result<bool, StoreError> {
        let texts = [session.device.as_str(), session.network.as_str()];
        check(texts.into_iter().chain(session.amr.iter().map(String::as_str)))?;
        self.write(|data| data.begin_session(self.node, session, marker_expires_at)).await
    }

    async fn find(&self, id: SessionId, now: Timestamp) -> Result<Option<IdentitySession>, StoreError> {
        let living = |session: &&IdentitySession| session.expires_at > now;
        Ok(self.read(|data| data.identity_sessions.get(&id).filter(living).cloned()))
    }

    async fn rotate(&self, rotation: &SessionRotation) -> Result<Rotation, StoreError> {
        self.write(|data| data.rotate_session(self.node, rotation)).await
    }

    async fn of_identity(
        &self,
        identity: IdentityId,
        now: Timestamp,
    ) -> Result<Vec<IdentitySession>, StoreError> {
        Ok(self.read(|data| {
            let newest_first = data.identity_sessions.values().rev();
            let own = newest_first.filter(|session| session.identity == identity && session.expires_at > now);
            own.take(MOST).cloned().collect()
        }))
    }

    async fn end(
        &self,
        id: SessionId,
        identity: IdentityId,
        times: (Timestamp, Timestamp),
    ) -> Result<bool, StoreError> {
        self.write(|data| {
            let own = data.identity_sessions.get(&id).is_some_and(|session| session.identity == identity);
            if own {
                data.end_identity_session(self.node, id, times);
            }
            own
        })
        .await
    }

    async fn purge_expired(&self, before: Timestamp, limit: u32) -> Result<u64, StoreError> {
        let expired = |session: &IdentitySession| session.expires_at < before;
        self.write(|data| count(&purge(&mut data.identity_sessions, limit, expired))).await
    }
}
