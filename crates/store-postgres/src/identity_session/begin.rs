//! Beginning sessions: one statement for a batch. To do so twice is harmless.

use std::collections::HashMap;
use std::sync::Arc;

use sluice_commit::{BoxError, CommitFailure, StoreError, Writer};
use sluice_identity::session::{IdentitySession, MAX_SESSIONS};
use tokio_postgres::Row;
use uuid::Uuid;

use crate::connection::Params;
use crate::error::{Failure, column};
use crate::grant::{Hot, mixed};
use crate::statistics::Kind;
use crate::storable;

const BEGIN: &str = include_str!("begin.sql");
/// How many sessions of a person stay beside a new one.
const OTHERS: i64 = MAX_SESSIONS as i64 - 1;

/// A session that can be stored.
pub(crate) struct NewSession {
    session: IdentitySession,
    amr: String,
}

impl NewSession {
    /// The session, if all of it can be stored.
    pub(super) fn new(session: &IdentitySession) -> Result<Self, StoreError> {
        let amr = storable::list(&session.amr);
        storable::each("amr", &session.amr)?;
        storable::text("amr", &amr)?;
        storable::text("the device of a session", &session.device)?;
        storable::text("the network of a session", &session.network)?;
        Ok(Self { session: session.clone(), amr })
    }
}

/// The sessions of the person that are too many beside one that is there now; none if that is over.
type Oldest = Option<Vec<Uuid>>;

/// Begins batches of sessions.
pub(crate) struct BeginSessions(pub(crate) Arc<Hot>);

impl Writer for BeginSessions {
    type Op = NewSession;
    type Out = Oldest;

    /// Of the person: a statement does not see what it inserts, and would leave as many too many as it has of one.
    fn key(op: &NewSession) -> u64 {
        mixed(op.session.identity.as_uuid())
    }

    async fn commit(&mut self, batch: &[NewSession]) -> Result<Vec<Oldest>, CommitFailure> {
        let mut sessions: Vec<&NewSession> = batch.iter().collect();
        sessions.sort_unstable_by_key(|new| new.session.id);
        let begun = self.begin(&sessions).await.map_err(Failure::into_commit_failure)?;
        self.0.counters.count(Kind::Other, 1, batch.len());
        Ok(batch.iter().map(|new| begun.get(&new.session.id.as_uuid()).cloned()).collect())
    }

    async fn reconnect(&mut self) -> Result<(), BoxError> {
        self.0.reconnect().await
    }
}

impl BeginSessions {
    /// Those that are there now, and of each the others that are too many.
    async fn begin(&self, sessions: &[&NewSession]) -> Result<HashMap<Uuid, Vec<Uuid>>, Failure> {
        let all = || sessions.iter().map(|new| &new.session);
        let uuids = |of: fn(&IdentitySession) -> Uuid| all().map(of).collect::<Vec<_>>();
        let numbers = |of: fn(&IdentitySession) -> i64| all().map(of).collect::<Vec<_>>();
        let (ids, people) =
            (uuids(|session| session.id.as_uuid()), uuids(|session| session.identity.as_uuid()));
        let attempts = uuids(|session| session.attempt.as_uuid());
        let authenticated = numbers(|session| session.authenticated_at.as_millis());
        let seen = numbers(|session| session.last_seen_at.as_millis());
        let ends = numbers(|session| session.expires_at.as_millis());
        let generations = numbers(|session| session.generation);
        let rotated = numbers(|session| session.rotated_at.as_millis());
        let methods: Vec<&str> = sessions.iter().map(|new| new.amr.as_str()).collect();
        let devices: Vec<&str> = all().map(|session| session.device.as_str()).collect();
        let networks: Vec<&str> = all().map(|session| session.network.as_str()).collect();
        let params: Params<'_> = &[
            &ids,
            &people,
            &authenticated,
            &seen,
            &ends,
            &generations,
            &rotated,
            &methods,
            &devices,
            &networks,
            &attempts,
            &OTHERS,
        ];
        let rows = self.0.link.query(BEGIN, params).await?;
        Ok(begun(&rows))
    }
}

fn begun(rows: &[Row]) -> HashMap<Uuid, Vec<Uuid>> {
    let mut begun: HashMap<Uuid, Vec<Uuid>> = HashMap::with_capacity(rows.len());
    for row in rows {
        let (Ok(session), Ok(oldest)) = (column::<Uuid>(row, 0), column::<Option<Uuid>>(row, 1)) else {
            continue;
        };
        begun.entry(session).or_default().extend(oldest);
    }
    begun
}
