//! Login sessions in memory.

use async_trait::async_trait;
use sluice_commit::StoreError;
use sluice_oauth::login_session::{
    EndSessions, EndedSession, LoginSession, LoginSessionRepository, SessionClient,
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
    check(texts.into_iter().flatten().chain(&session.amr).map(String::as_str))
}

impl Data {
    fn has_ended(&self, session: &LoginSession) -> bool {
        let targets = [Target::Session(session.id), Target::Subject(session.subject.clone())];
        targets.iter().any(|target| self.is_marked(target, session.authenticated_at))
    }

    fn participants_of(&self, session: SessionId) -> Vec<SessionClient> {
        let all = self.session_clients.iter().filter(|((of, _), _)| *of == session);
        let client = |((_, client), shown): (&(SessionId, ClientId), &Option<String>)| SessionClient {
            client: client.clone(),
            shown_subject: shown.clone(),
        };
        all.map(client).collect()
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
                return stored.subject == session.subject;
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
            found.filter(|session| session.remembered && goes_on(session, now)).cloned()
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

    async fn participants(
        &self,
        which: &EndSessions,
        now: Timestamp,
    ) -> Result<Vec<EndedSession>, StoreError> {
        Ok(self.read(|data| {
            let ending = data.sessions.values().filter(|session| includes(which, now, session));
            ending
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
            let at = match &which {
                EndSessions::One(session) => {
                    data.sessions.get(session).map_or(now, |session| session.authenticated_at.max(now))
                }
                EndSessions::Subject(_) => now,
            };
            let gone = purge(&mut data.sessions, u32::MAX, |session| includes(&which, now, session));
            let of = |session: &SessionId| {
                let session = *session;
                data.participants_of(session).into_iter().map(move |client| (session, client))
            };
            let participants: Vec<_> = gone.iter().flat_map(of).collect();
            data.forget_participants(&gone);
            let target = match which {
                EndSessions::One(session) => Target::Session(session),
                EndSessions::Subject(subject) => {
                    if let Ok(person) = subject.as_str().parse::<IdentityId>()
                        && person.to_string() == subject.as_str()
                    {
                        data.forget_identity_sessions(person, now);
                    }
                    Target::Subject(subject)
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
