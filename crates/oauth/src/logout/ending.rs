//! Sessions end, and everybody who took part in them is told: also who joined them while their end was under way.
//!
//! A session that is named ends with its row. Those of a subject end by their marker, however many there are; their rows go afterwards, slice by
//! slice, each with its notices: the first at once, what is left then is found by whoever tidies up.

use sluice_commit::StoreError;
use sluice_primitives::{SessionId, Timestamp};
use sluice_protocol::Subject;
use sluice_token::{Marker, RevocationSet, Target};
use tracing::warn;
use url::Url;

use super::notice::notices_for;
use crate::client::ClientDirectory;
use crate::login_session::{EndSessions, EndedSession, LoginSessionRepository, SessionClient};

/// Where sessions are, what holds no longer with them, and who hears of their end.
#[derive(Clone, Copy)]
pub(crate) struct Ending<'a> {
    pub(crate) sessions: &'a dyn LoginSessionRepository,
    pub(crate) clients: &'a ClientDirectory,
    pub(crate) revocations: &'a RevocationSet,
    pub(crate) issuer: &'a str,
}

impl Ending<'_> {
    /// Ends sessions as of `now`, with their tokens; what clients of a session that is named want to be loaded in frames.
    pub(crate) async fn end(
        self,
        which: &EndSessions,
        now: Timestamp,
        marker_expires_at: Timestamp,
    ) -> Result<Vec<Url>, StoreError> {
        let marker = Marker { target: target_of(which), at: now, expires_at: marker_expires_at };
        match which {
            EndSessions::One(_) => self.end_one(which, &marker).await,
            EndSessions::Subject(subject) => self.end_all(subject, &marker).await.map(|()| Vec::new()),
        }
    }

    async fn end_one(self, which: &EndSessions, marker: &Marker) -> Result<Vec<Url>, StoreError> {
        let before = self.sessions.participants(which, marker.at).await?;
        let (notices, mut frames) = notices_for(&before, self.clients, self.issuer).await?;
        let ended = self.sessions.end(which.clone(), marker.at, marker.expires_at, notices).await?;
        self.revocations.apply(marker);
        match self.tell(which, &late(&before, ended), marker).await {
            Ok(more) => frames.extend(more),
            // The session is over: who would try once more finds nobody to be told.
            Err(why) => warn!(error = %why, "clients that joined a session at its end were not told of it"),
        }
        Ok(frames)
    }

    /// The answer waits for the marker and one slice, however many sessions there are.
    async fn end_all(self, subject: &Subject, marker: &Marker) -> Result<(), StoreError> {
        let which = EndSessions::Subject(subject.clone());
        self.sessions.end(which, marker.at, marker.expires_at, Vec::new()).await?;
        self.revocations.apply(marker);
        if let Err(why) = self.clear(subject, marker.at, marker.at).await {
            warn!(error = %why, "clients of sessions that ended are told later");
        }
        Ok(())
    }

    /// Deletes a slice of the sessions of a subject that ended at `until`, and tells their clients.
    pub(crate) async fn clear(
        self,
        subject: &Subject,
        until: Timestamp,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let ended = self.sessions.participants(&EndSessions::Subject(subject.clone()), until).await?;
        if ended.is_empty() {
            return Ok(());
        }
        let (notices, _) = notices_for(&ended, self.clients, self.issuer).await?;
        self.sessions.clear(&ended, until, notices, now).await
    }

    /// Tells those who were late; what they want to be loaded in frames.
    async fn tell(
        self,
        which: &EndSessions,
        late: &[EndedSession],
        marker: &Marker,
    ) -> Result<Vec<Url>, StoreError> {
        let (notices, frames) = notices_for(late, self.clients, self.issuer).await?;
        if !notices.is_empty() {
            // What has ended ends no more than once; what is new are the notices.
            self.sessions.end(which.clone(), marker.at, marker.expires_at, notices).await?;
        }
        Ok(frames)
    }
}

fn target_of(which: &EndSessions) -> Target {
    match which {
        EndSessions::One(session) => Target::Session(*session),
        EndSessions::Subject(subject) => Target::Subject(subject.clone()),
    }
}

/// Who took part in the end and had not before, of sessions that were known before: of another nobody knows whose it was.
fn late(before: &[EndedSession], ended: Vec<(SessionId, SessionClient)>) -> Vec<EndedSession> {
    let mut late = Vec::new();
    for (session, client) in ended {
        let Some(known) = before.iter().find(|known| known.session == session) else { continue };
        if !known.clients.iter().any(|other| other.client == client.client) {
            late.push(EndedSession { session, subject: known.subject.clone(), clients: vec![client] });
        }
    }
    late
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use futures_util::FutureExt;
    use sluice_primitives::Lifetime;

    use super::*;
    use crate::client::fake::directory_of_silent_hosts;
    use crate::login_session::fake::FakeSessions;

    fn client(name: &str) -> SessionClient {
        SessionClient { client: name.parse().unwrap(), shown_subject: None }
    }

    #[test]
    fn who_joined_while_a_session_ended_is_told_and_nobody_twice() {
        let (one, other) = (SessionId::from_bytes([1; 16]), SessionId::from_bytes([2; 16]));
        let alice: Subject = "alice".parse().unwrap();
        let ended = |session, clients: &[&str]| EndedSession {
            session,
            subject: alice.clone(),
            clients: clients.iter().map(|name| client(name)).collect(),
        };
        let before = [ended(one, &["shop"])];
        let at_the_end = vec![(one, client("shop")), (one, client("bank")), (other, client("shop"))];
        assert_eq!(late(&before, at_the_end), [ended(one, &["bank"])]);
    }

    #[test]
    fn sessions_end_while_the_host_of_a_document_does_not_answer() {
        let document = "https://app.example/client.json";
        let (one, alice): (_, Subject) = (SessionId::from_bytes([1; 16]), "alice".parse().unwrap());
        let took_part =
            EndedSession { session: one, subject: alice.clone(), clients: vec![client(document)] };
        let sessions = FakeSessions { participants: vec![took_part], ..FakeSessions::default() };
        let (clients, revocations) = (directory_of_silent_hosts(Arc::default()), RevocationSet::default());
        let issuer = "https://id.example";
        let ending = Ending { sessions: &sessions, clients: &clients, revocations: &revocations, issuer };
        let (which, now) = (EndSessions::Subject(alice), Timestamp::from_secs(1_000_000));
        let ended = ending.end(&which, now, now + Lifetime::hours(1)).now_or_never();
        assert!(ended.expect("nobody is waited for").unwrap().is_empty());
        let ends = sessions.ends.lock();
        let told = ends.iter().flatten().map(|notice| (notice.client.as_str(), notice.uri.as_str()));
        let stand_in = format!("described:{document}");
        assert_eq!(told.collect::<Vec<_>>(), [(document, &*stand_in)], "where it listens is looked up later");
    }

    /// What comes after the end may fail or never come: those of one who joined late, those of all whose sessions are deleted afterwards.
    #[test]
    fn sessions_have_ended_before_all_of_their_clients_are_told() {
        let (one, alice): (_, Subject) = (SessionId::from_bytes([1; 16]), "alice".parse().unwrap());
        for which in [EndSessions::One(one), EndSessions::Subject(alice.clone())] {
            let took_part = EndedSession { session: one, subject: alice.clone(), clients: vec![] };
            let sessions = FakeSessions {
                late: vec![(one, client("https://app.example/client.json"))],
                participants: vec![took_part],
                fails_after: Some(1),
                ..FakeSessions::default()
            };
            let (clients, revocations) =
                (directory_of_silent_hosts(Arc::default()), RevocationSet::default());
            let issuer = "https://id.example";
            let ending = Ending { sessions: &sessions, clients: &clients, revocations: &revocations, issuer };
            let now = Timestamp::from_secs(1_000_000);
            let ended = ending.end(&which, now, now + Lifetime::hours(1)).now_or_never().unwrap();
            assert!(ended.is_ok() && sessions.ends.lock().len() == 2, "{ended:?}");
            assert!(revocations.covers_login(one, &alice, now));
        }
    }
}
