//! Sessions end, and everybody who took part in them is told: also who joined them while their end was under way.
//!
//! A session that is named ends with its row. Those of a subject end by their marker, however many there are; their rows go afterwards, slice by
//! slice, each with its notices: the first at once, what is left then is found by whoever tidies up.

use sluice_commit::{StoreError, chain};
use sluice_primitives::{Clock, SessionId, Timestamp};
use sluice_protocol::Subject;
use sluice_token::{Marker, RevocationSet, Target};
use tracing::warn;
use url::Url;

use super::notice::notices_for;
use crate::client::ClientDirectory;
use crate::config::Config;
use crate::login_session::{EndSessions, EndedSession, LoginSessionRepository, SessionClient, trail};

/// How many slices of what has ended are deleted at a time. The rest waits for the next one.
const SLICES: usize = 1_000;
/// After how many that fail, other than for what is in them, the rest waits, too.
const IN_VAIN: usize = 10;

/// Where sessions are, what holds no longer with them, and who hears of their end.
#[derive(Clone, Copy)]
pub(crate) struct Ending<'a> {
    pub(crate) sessions: &'a dyn LoginSessionRepository,
    pub(crate) clients: &'a ClientDirectory,
    pub(crate) revocations: &'a RevocationSet,
    pub(crate) config: &'a Config,
}

impl<'a> Ending<'a> {
    fn issuer(self) -> &'a str {
        self.config.issuer.as_str()
    }

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
        let (notices, mut frames) = notices_for(&before, self.clients, self.issuer()).await?;
        let ended = self.sessions.end(which.clone(), marker.at, marker.expires_at, notices).await?;
        self.revocations.apply(marker);
        for known in &before {
            trail::signed_out(self.config, &known.subject, known.session);
        }
        match self.tell(which, &late(&before, ended), marker).await {
            Ok(more) => frames.extend(more),
            // The session is over: who would try once more finds nobody to be told.
            Err(why) => {
                warn!(error = %chain(&why), "clients that joined a session at its end were not told of it");
            }
        }
        Ok(frames)
    }

    /// The answer waits for the marker and one slice, however many sessions there are.
    async fn end_all(self, subject: &Subject, marker: &Marker) -> Result<(), StoreError> {
        let which = EndSessions::Subject(subject.clone());
        self.sessions.end(which, marker.at, marker.expires_at, Vec::new()).await?;
        self.revocations.apply(marker);
        if let Err(why) = self.clear(subject, marker.at, marker.at).await {
            warn!(error = %chain(&why), "clients of sessions that ended are told later");
        }
        Ok(())
    }

    /// Deletes what is left of sessions of subjects that have ended, and tells their clients. A subject for whom this fails holds up no other;
    /// what failed first is told.
    pub(crate) async fn clear_left_over(self, clock: &dyn Clock) -> Result<(), StoreError> {
        let (mut after, mut failed): (Option<Subject>, Option<StoreError>) = (None, None);
        let mut in_vain = 0;
        for _ in 0..SLICES {
            let Some((subject, until)) = self.sessions.left_over(after.as_ref()).await? else { break };
            let Err(why) = self.clear(&subject, until, clock.now()).await else { continue };
            // What is wrong with a row says nothing of others. Anything else may be waited for in vain with each of them.
            in_vain += usize::from(!matches!(why, StoreError::Fault(_)));
            failed = failed.or(Some(why));
            after = Some(subject);
            if in_vain == IN_VAIN {
                break;
            }
        }
        failed.map_or(Ok(()), Err)
    }

    /// Deletes a slice of the sessions of a subject that ended at `until`, and tells their clients.
    async fn clear(self, subject: &Subject, until: Timestamp, now: Timestamp) -> Result<(), StoreError> {
        let ended = self.sessions.participants(&EndSessions::Subject(subject.clone()), until).await?;
        if ended.is_empty() {
            return Ok(());
        }
        let (notices, _) = notices_for(&ended, self.clients, self.issuer()).await?;
        self.sessions.clear(&ended, until, notices, now).await
    }

    /// Tells those who were late; what they want to be loaded in frames.
    async fn tell(
        self,
        which: &EndSessions,
        late: &[EndedSession],
        marker: &Marker,
    ) -> Result<Vec<Url>, StoreError> {
        let (notices, frames) = notices_for(late, self.clients, self.issuer()).await?;
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
mod tests;
