//! Finding remembered decisions: those that are looked for at the same time share a statement.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use sluice_commit::{BoxError, CommitFailure, StoreError, Writer};
use sluice_oauth::consent::RememberedConsent;
use sluice_primitives::Timestamp;
use sluice_protocol::{Audience, ClientId, Subject};
use tokio_postgres::Row;

use crate::connection::Params;
use crate::error::{Failure, Unreadable, column};
use crate::grant::row::claims;
use crate::link::Link;
use crate::storable::read_list;

const FIND: &str = include_str!("find.sql");

/// Whose decision about whom is looked for.
pub(crate) struct Wanted {
    subject: Subject,
    client: ClientId,
    now: Timestamp,
    /// Tells lookups apart: a batch may hold two of one pair.
    number: u64,
}

impl Wanted {
    /// The decision of a subject about a client, as of `now`.
    pub(crate) fn new(subject: &Subject, client: &ClientId, now: Timestamp) -> Self {
        static LOOKUPS: AtomicU64 = AtomicU64::new(0);
        let number = LOOKUPS.fetch_add(1, Ordering::Relaxed);
        Self { subject: subject.clone(), client: client.clone(), now, number }
    }
}

/// Looks for batches of decisions. Nothing is written: a lookup may be repeated at will.
pub(crate) struct FindConsents(pub(crate) Arc<Link>);

impl Writer for FindConsents {
    type Op = Wanted;
    type Out = Result<Option<RememberedConsent>, StoreError>;

    fn key(op: &Wanted) -> u64 {
        op.number
    }

    async fn commit(&mut self, batch: &[Wanted]) -> Result<Vec<Self::Out>, CommitFailure> {
        let rows = self.find(batch).await.map_err(Failure::into_commit_failure)?;
        let lost = |unreadable: Unreadable| CommitFailure::Lost(Box::new(unreadable));
        let mut outcomes: Vec<Self::Out> = batch.iter().map(|_| Ok(None)).collect();
        for row in &rows {
            let place = usize::try_from(column::<i64>(row, 0).map_err(lost)?).unwrap_or_default();
            let asked = place.checked_sub(1).and_then(|place| batch.get(place).zip(outcomes.get_mut(place)));
            if let Some((wanted, outcome)) = asked {
                let whose = (wanted.subject.clone(), wanted.client.clone());
                *outcome = read(row, whose).map(Some).map_err(StoreError::from);
            }
        }
        Ok(outcomes)
    }

    async fn reconnect(&mut self) -> Result<(), BoxError> {
        self.0.session().await.map(drop).map_err(BoxError::from)
    }
}

impl FindConsents {
    /// A row for each that was found, with its place in the batch.
    async fn find(&self, batch: &[Wanted]) -> Result<Vec<Row>, Failure> {
        let subjects: Vec<&str> = batch.iter().map(|wanted| wanted.subject.as_str()).collect();
        let clients: Vec<&str> = batch.iter().map(|wanted| wanted.client.as_str()).collect();
        let times: Vec<i64> = batch.iter().map(|wanted| wanted.now.as_millis()).collect();
        let params: Params<'_> = &[&subjects, &clients, &times];
        self.0.query(FIND, params).await
    }
}

/// Reads what follows the first column of a decision.
pub(super) fn read(
    row: &Row,
    (subject, client): (Subject, ClientId),
) -> Result<RememberedConsent, Unreadable> {
    let unreadable = |cause: &dyn std::fmt::Display| Unreadable::new("consent", cause);
    Ok(RememberedConsent {
        subject,
        client,
        scope: column::<&str>(row, 1)?.parse().map_err(|cause| unreadable(&cause))?,
        audience: Audience::from_values(read_list(column(row, 2)?).map_err(|cause| unreadable(&cause))?),
        claims: claims(column(row, 3)?)?,
        decided_at: Timestamp::from_millis(column(row, 4)?),
        expires_at: Timestamp::from_millis(column(row, 5)?),
    })
}
