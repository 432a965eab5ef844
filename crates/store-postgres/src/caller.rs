//! Caller: who runs a single statement, and what they hold while it is under way.
//!
//! Callers may leave before they are answered. Their statement does not: it was sent, and the server comes to it. So what they hold is
//! given back when the server has come so far; else clients that leave and ask again would pile up statements without end.

use std::sync::Arc;

use sluice_commit::StoreError;
use tokio::runtime::Handle;
use tokio::sync::OwnedMutexGuard;
use tokio_postgres::Row;

use crate::connection::{Params, Session};
use crate::error::Failure;
use crate::link::Link;
use crate::turn::Place;

/// Somebody who runs a statement over a link, again if need be.
pub(crate) struct Caller<'a> {
    link: &'a Link,
    held: Option<(Arc<Link>, Held)>,
    /// Where the statement is under way.
    asked: Option<Arc<Session>>,
}

/// What is given back when dropped.
type Held = (Place, Option<OwnedMutexGuard<()>>);

impl<'a> Caller<'a> {
    /// One who is not counted, and holds nothing.
    pub(crate) const fn new(link: &'a Link) -> Self {
        Self { link, held: None, asked: None }
    }

    /// One who takes a place on the link, and may have a turn as well.
    ///
    /// # Errors
    /// [`StoreError::Busy`] if there are too many.
    pub(crate) fn with_place(
        link: &'a Arc<Link>,
        turn: Option<OwnedMutexGuard<()>>,
    ) -> Result<Self, StoreError> {
        Ok(Self { link, held: Some((Arc::clone(link), (link.place()?, turn))), asked: None })
    }

    /// One who has a place already.
    pub(crate) fn holding(link: &'a Arc<Link>, place: Place) -> Self {
        Self { link, held: Some((Arc::clone(link), (place, None))), asked: None }
    }

    /// Runs the statement once.
    pub(crate) async fn query(&mut self, sql: &'static str, params: Params<'_>) -> Result<Vec<Row>, Failure> {
        let session = self.link.session().await?;
        self.asked = Some(session.clone());
        let answer = self.link.query_on(&session, sql, params).await;
        // Who gave up has not been answered.
        if !matches!(answer, Err(Failure::Late(_))) {
            self.asked = None;
        }
        answer
    }
}

impl Drop for Caller<'_> {
    fn drop(&mut self) {
        let (Some((link, held)), Some(session)) = (self.held.take(), self.asked.take()) else { return };
        // Without a runtime there is no connection either.
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(async move {
                // Perhaps nobody else waited for so long.
                if let Err(failure) = session.caught_up().await {
                    link.note(&session, &failure);
                }
                drop(held);
            });
        }
    }
}
