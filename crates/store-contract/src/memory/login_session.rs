//! Login sessions in memory.

use std::collections::HashSet;

use async_trait::async_trait;
use sluice_commit::StoreError;
use sluice_oauth::login_session::{
    EndSessions, EndedSession, LoginSession, LoginSessionRepository, SESSIONS_AT_ONCE, SessionClient,
};
use sluice_oauth::logout::LogoutNotice;
use sluice_primitives::{IdentityId, Lifetime, SessionId, Timestamp};
use sluice_protocol::{ClientId, Subject};
use sluice_token::{Marker, Target};

use super::{Data, MemoryStore, check, count, purge};

/// How many sessions of a subject are listed.
const LISTED: usize = 200;

fn includes(which: &EndSessions, now: Timestamp, session: &LoginSession) -> bool {
    match which {
        EndSessions::One(id) => session.id == *id,
        EndSessions::Subject(subject) => session.subject == *subject && session.authenticated_at <= now,
    }
}

fn goes_on(session: &LoginSession, now: Timestamp) -> bool {
    session.expires_at > now && now.since(session.last_seen_at) < session.idle
}

fn check_texts(session: &LoginSession) -> Result<(), StoreError> {
    let texts = [&session.acr, &session.provider_session];
    let origin = session.origin.iter().flat_map(|origin| [&origin.device, &origin.network]);
    check(texts.into_iter().flatten().chain(&session.amr).chain(origin).map(String::as_str))
}

impl Data {
    fn has_ended(&self, session: &LoginSession) -> bool {
        let targets = [Target::Session(session.id), Target::Subject(session.subject.clone())];
        targets.iter().any(|target| self.is_marked(target, session.authenticated_at))
    }

    /// Whether a marker ended sessions of its subject that are not deleted yet.
    pub(super) fn is_left_over(&self, marker: &Marker) -> bool {
        let Target::Subject(subject) = &marker.target else { return false };
        let is_ended =
            |session: &LoginSession| session.subject == *subject && session.authenticated_at <= marker.at;
        self.sessions.values().any(is_ended)
    }

    fn participants_of(&self, session: SessionId) -> Vec<SessionClient> {
        let all = self.session_clients.iter().filter(|((of, _), _)| *of == session);
        let client = |((_, client), shown): (&(SessionId, ClientId), &Option<String>)| SessionClient {
            client: client.clone(),
            shown_subject: shown.clone(),
        };
        all.map(client).collect()
    }

    /// Deletes a session; the target and the time of its marker, and who took part.
    fn end_one(
        &mut self,
        session: SessionId,
        now: Timestamp,
    ) -> ((Target, Timestamp), Vec<(SessionId, SessionClient)>) {
        let ended = self.sessions.remove(&session);
        let at = ended.map_or(now, |ended| ended.authenticated_at.max(now));
        let clients = self.participants_of(session).into_iter();
        let participants = clients.map(|client| (session, client)).collect();
        self.forget_participants(&[session]);
        ((Target::Session(session), at), participants)
    }

    /// Deletes a session that ended at `until`, unless others take part than are known; whether it did.
    fn clear(&mut self, ended: &EndedSession, until: Timestamp) -> bool {
        let session = ended.session;
        let has_ended = self.sessions.get(&session).is_some_and(|stored| stored.authenticated_at <= until);
        let is_known = self.participants_of(session).len() <= ended.clients.len();
        if has_ended && is_known {
            self.sessions.remove(&session);
            self.forget_participants(&[session]);
        }
        has_ended && is_known
    }

    fn forget_participants(&mut self, gone: &[SessionId]) {
        self.session_clients.retain(|(session, _), _| !gone.contains(session));
    }
}

#[async_trait]
impl LoginSessionRepository for MemoryStore {
    async fn insert(&self, session: LoginSession) -> Result<bool, StoreError> {
        check_texts(&session)?;
        self.write(|data| {
            if let Some(stored) = data.sessions.get(&session.id) {
                return stored.subject == session.subject && !data.has_ended(stored);
            }
            let lives = !data.has_ended(&session);
            if lives {
                data.sessions.insert(session.id, session);
            }
            lives
        })
        .await
    }

    async fn renew(&self, session: &LoginSession) -> Result<bool, StoreError> {
        check_texts(session)?;
        self.write(|data| {
            let lives =
                |stored: &&LoginSession| !data.has_ended(stored) && goes_on(stored, session.last_seen_at);
            let Some(stored) = data.sessions.get(&session.id).filter(lives) else { return false };
            let is_theirs = stored.subject == session.subject;
            if is_theirs && stored.authenticated_at < session.authenticated_at {
                let last_seen_at = stored.last_seen_at.max(session.last_seen_at);
                data.sessions.insert(session.id, LoginSession { last_seen_at, ..session.clone() });
            }
            is_theirs
        })
        .await
    }

    async fn find(&self, session: SessionId, now: Timestamp) -> Result<Option<LoginSession>, StoreError> {
        Ok(self.read(|data| {
            let found = data.sessions.get(&session);
            let lives = |session: &&LoginSession| goes_on(session, now) && !data.has_ended(session);
            found.filter(|session| session.remembered).filter(lives).cloned()
        }))
    }

    async fn of_subject(&self, subject: &Subject, now: Timestamp) -> Result<Vec<LoginSession>, StoreError> {
        Ok(self.read(|data| {
            let lives = |session: &&LoginSession| goes_on(session, now) && !data.has_ended(session);
            let own = data.sessions.values().filter(|session| session.subject == *subject).filter(lives);
            let mut own: Vec<_> = own.cloned().collect();
            own.sort_by_key(|session| std::cmp::Reverse((session.authenticated_at, session.id)));
            own.truncate(LISTED);
            own
        }))
    }

    async fn touch(
        &self,
        session: SessionId,
        now: Timestamp,
        expires_at: Option<Timestamp>,
    ) -> Result<(), StoreError> {
        self.write(|data| {
            if let Some(session) = data.sessions.get_mut(&session).filter(|session| goes_on(session, now)) {
                session.last_seen_at = session.last_seen_at.max(now);
                session.expires_at = expires_at.unwrap_or(session.expires_at);
            }
        })
        .await
    }

    async fn keep(&self, session: SessionId, now: Timestamp, until: Timestamp) -> Result<(), StoreError> {
        self.write(|data| {
            let kept = |session: &&mut LoginSession| {
                session.expires_at < until && (!session.remembered || session.expires_at < now)
            };
            if let Some(session) = data.sessions.get_mut(&session).filter(kept) {
                session.expires_at = until;
                if session.remembered {
                    (session.remembered, session.idle) = (false, Lifetime::ZERO);
                }
            }
        })
        .await
    }

    async fn participants(
        &self,
        which: &EndSessions,
        now: Timestamp,
    ) -> Result<Vec<EndedSession>, StoreError> {
        Ok(self.read(|data| {
            let ending = data.sessions.values().filter(|session| includes(which, now, session));
            ending
                .take(SESSIONS_AT_ONCE)
                .map(|session| EndedSession {
                    session: session.id,
                    subject: session.subject.clone(),
                    clients: data.participants_of(session.id),
                })
                .collect()
        }))
    }

    async fn end(
        &self,
        which: EndSessions,
        now: Timestamp,
        marker_expires_at: Timestamp,
        notices: Vec<LogoutNotice>,
    ) -> Result<Vec<(SessionId, SessionClient)>, StoreError> {
        self.write(|data| {
            let ((target, at), participants) = match which {
                EndSessions::One(session) => data.end_one(session, now),
                EndSessions::Subject(subject) => {
                    if let Ok(person) = subject.as_str().parse::<IdentityId>()
                        && person.to_string() == subject.as_str()
                    {
                        data.forget_identity_sessions(person, now);
                    }
                    ((Target::Subject(subject), now), Vec::new())
                }
            };
            data.mark(self.node, Marker { target, at, expires_at: marker_expires_at });
            for notice in notices {
                data.notify(notice, now);
            }
            participants
        })
        .await
    }

    async fn clear(
        &self,
        ended: &[EndedSession],
        until: Timestamp,
        notices: Vec<LogoutNotice>,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        self.write(|data| {
            let cleared = ended.iter().filter(|ended| data.clear(ended, until));
            let cleared: HashSet<SessionId> = cleared.map(|ended| ended.session).collect();
            for notice in notices.into_iter().filter(|notice| cleared.contains(&notice.session)) {
                data.notify(notice, now);
            }
        })
        .await
    }

    async fn left_over(&self, after: Option<&Subject>) -> Result<Option<(Subject, Timestamp)>, StoreError> {
        Ok(self.read(|data| {
            let left = data.markers.values().filter(|marker| data.is_left_over(marker));
            let subjects = left.filter_map(|marker| {
                let Target::Subject(subject) = &marker.target else { return None };
                Some((subject.clone(), marker.at))
            });
            subjects.filter(|(subject, _)| after.is_none_or(|after| subject > after)).min()
        }))
    }

    async fn purge_expired(&self, now: Timestamp, kept: Lifetime, limit: u32) -> Result<u64, StoreError> {
        let is_over =
            |session: &LoginSession| session.expires_at < if session.remembered { now - kept } else { now };
        self.write(|data| {
            let gone = purge(&mut data.sessions, limit, is_over);
            data.forget_participants(&gone);
            count(&gone)
        })
        .await
    }
}
