//! Swap: what redeeming and rotating have in common. One UPDATE for the batch; those it did not touch are read and told
//! why. Usually nobody is.

use std::collections::HashMap;

use sluice_commit::{CommitFailure, StoreError};
use sluice_oauth::grant::{Grant, Standing};
use sluice_primitives::Timestamp;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use super::{Hot, row};
use crate::connection::Params;
use crate::error::{Failure, Unreadable, column};
use crate::statistics::Kind;

pub(super) const EXAMINE: &str = include_str!("examine.sql");
/// A row that appears or changes between the UPDATE and the second read is given another chance, this many times.
const CHANCES: usize = 3;

/// The columns of a batch, in the order of the placeholders.
pub(crate) type Values = Vec<Box<dyn ToSql + Sync + Send>>;

/// What became of a compare-and-swap on a grant.
#[derive(Debug, Clone)]
pub(crate) enum Swapped<T> {
    /// The answer.
    Done(T),
    /// The grant is to be revoked before anything is answered.
    Misused {
        /// The answer if it is revoked by that.
        by_me: T,
        /// The answer if it was revoked meanwhile.
        before: T,
        /// How long its marker lives.
        marker_expires_at: Timestamp,
    },
}

/// A grant that was not swapped.
pub(crate) struct Examined {
    pub(crate) grant: Grant,
    pub(crate) request: Option<Uuid>,
    /// Whether a marker covers it.
    pub(crate) covered: bool,
}

/// A compare-and-swap on a grant.
pub(crate) trait Swap: Sized + Send + Sync {
    /// What it counts as.
    const KIND: Kind;
    /// What its caller hears.
    type Outcome: Send;

    /// The statement and its values for these swaps.
    fn statement(ops: &[&Self]) -> (&'static str, Values);

    /// Which grant.
    fn grant(&self) -> Uuid;

    /// The answer when it took place.
    fn swapped(grant: Box<Grant>) -> Self::Outcome;

    /// The answer when there is no such grant.
    fn unknown() -> Self::Outcome;

    /// The answer when it did not take place; none if by the row's present state it would.
    fn examine(&self, examined: Examined) -> Option<Swapped<Self::Outcome>>;
}

type Answer<S> = Result<Swapped<<S as Swap>::Outcome>, StoreError>;

/// Swaps what can be swapped of the batch and tells the others why not.
pub(crate) async fn swap<S: Swap>(hot: &Hot, batch: &[S]) -> Result<Vec<Answer<S>>, CommitFailure> {
    let mut answers: HashMap<Uuid, Answer<S>> = HashMap::with_capacity(batch.len());
    for _ in 0..CHANCES {
        let open: Vec<&S> = batch.iter().filter(|op| !answers.contains_key(&op.grant())).collect();
        if open.is_empty() {
            break;
        }
        attempt(hot, &open, &mut answers).await?;
    }
    Ok(batch
        .iter()
        .map(|op| answers.remove(&op.grant()).unwrap_or_else(|| Ok(Swapped::Done(S::unknown()))))
        .collect())
}

async fn attempt<S: Swap>(
    hot: &Hot,
    open: &[&S],
    answers: &mut HashMap<Uuid, Answer<S>>,
) -> Result<(), CommitFailure> {
    let nothing_is_written = answers.is_empty();
    let (sql, values) = S::statement(open);
    let params: Vec<&(dyn ToSql + Sync)> =
        values.iter().map(|values| -> &(dyn ToSql + Sync) { values.as_ref() }).collect();
    let rows = hot.link.query(sql, &params).await.map_err(|failure| {
        if nothing_is_written { failure.into_commit_failure() } else { failure.after_commit() }
    })?;
    hot.counters.count(S::KIND, 1, rows.len());
    answers.extend(rows.iter().filter_map(|found| {
        let answer = row::read(found).map(|stored| Swapped::Done(S::swapped(Box::new(stored.grant))));
        Some((id(found)?, answer.map_err(StoreError::from)))
    }));
    let left: HashMap<Uuid, &S> =
        open.iter().filter(|op| !answers.contains_key(&op.grant())).map(|op| (op.grant(), *op)).collect();
    if left.is_empty() {
        return Ok(());
    }
    let ids: Vec<Uuid> = left.keys().copied().collect();
    let params: Params<'_> = &[&ids];
    let rows = hot.link.query(EXAMINE, params).await.map_err(Failure::after_commit)?;
    let mut missing = left.clone();
    for found in &rows {
        let Some(id) = id(found) else { continue };
        missing.remove(&id);
        let answer = left.get(&id).and_then(|op| examine(*op, found).transpose());
        answers.extend(answer.map(|answer| (id, answer)));
    }
    answers.extend(missing.into_keys().map(|id| (id, Ok(Swapped::Done(S::unknown())))));
    Ok(())
}

fn examine<S: Swap>(op: &S, found: &Row) -> Result<Option<Swapped<S::Outcome>>, StoreError> {
    let stored = row::read(found)?;
    let examined = Examined { grant: stored.grant, request: stored.request, covered: column(found, 16)? };
    Ok(op.examine(examined))
}

/// How an examined grant stands.
pub(super) fn standing(found: &Row) -> Result<Standing, Unreadable> {
    let grant = row::read(found)?.grant;
    let is_covered: bool = column(found, 16)?;
    let is_revoked = is_covered || grant.revoked_at.is_some();
    Ok(Standing { grant, is_revoked })
}

fn id(found: &Row) -> Option<Uuid> {
    column(found, 0).ok()
}
