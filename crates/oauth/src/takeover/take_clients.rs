//! Clients: new ones, and those that were changed there since an earlier import and not here.

use sluice_commit::StoreError;
use sluice_primitives::{Lifetime, Timestamp};
use tracing::info;

use super::client::{self, BEHIND};
use super::import::{Count, PAGE, Pages, Takeover, TakeoverError};
use super::mark_repository::Mark;
use super::report::Part;
use super::source::HydraTable;
use crate::client::{Client, Replacement};
use crate::grant::Insertion;

/// What is told of a client that somebody else registered here.
const ANOTHERS: &str = "another client has this id here; it was not touched";
/// What is told of one that was changed on both sides, whichever change was later: Hydra's clock says nothing here.
const CHANGED_TWICE: &str = "it was changed here, and at Hydra since it was imported; it stays as it is here";

/// By so much at most two times of one registration differ.
const ROUNDING: Lifetime = Lifetime::secs(1);

impl Takeover {
    pub(super) async fn take_clients(&self, count: &mut Count<'_>) -> Result<(), TakeoverError> {
        self.drop_gone(Part::Clients, count).await?;
        let mut pages = Pages::of(self, HydraTable::Clients, PAGE);
        while let Some(rows) = pages.next().await? {
            for row in rows {
                match client::client(&row, &self.rules, self.now()) {
                    Ok(client) => match self.take_client(client, count).await {
                        Ok(is_written) => count.imported(usize::from(is_written), 1),
                        Err(TakeoverError::Store(StoreError::Invalid(reason))) => {
                            count.refused(row.key, reason);
                        }
                        Err(failed) => return Err(failed),
                    },
                    Err(reason) => count.refused(row.key, reason),
                }
            }
        }
        Ok(())
    }

    /// Whether something was written. A client of earlier and one that was registered anew under its id are told apart by when they were.
    async fn take_client(&self, client: Client, count: &mut Count<'_>) -> Result<bool, TakeoverError> {
        let (of, id) = (self.marks_of_part(Part::Clients), client.id.as_str().to_owned());
        let mark = self.marks.marks_of(of, vec![id.clone()]).await?.pop();
        let is_written = match self.clients.find(&client.id).await? {
            Some(stored) => return self.follow_client(&stored, client, (mark, count)).await,
            None if mark.as_ref().is_some_and(|mark| !mark.is_going && is_of(mark, &client)) => false,
            None => {
                self.mark_coming(Part::Clients, std::iter::once(mark_of(&client))).await?;
                let inserted = self.clients.insert(&client).await;
                self.unmark_refused(Part::Clients, id, inserted).await? == Insertion::Inserted
            }
        };
        if is_written {
            tell_imported(&client);
            self.tell_differences(&client, count);
            self.mark_client(mark_of(&client)).await?;
        }
        Ok(is_written)
    }

    /// Whether a client that is here was replaced by what it is there now: if it was changed there since it was imported, and not here.
    async fn follow_client(
        &self,
        stored: &Client,
        client: Client,
        (mark, count): (Option<Mark>, &mut Count<'_>),
    ) -> Result<bool, TakeoverError> {
        // On its way or not: an import that was interrupted could not say so of what it wrote.
        let mark = mark.filter(|mark| mark.at == stored.created_at);
        if mark.is_none() && stored.created_at != client.created_at {
            count.warned(stored.id.as_str(), ANOTHERS);
            return Ok(false);
        }
        let there = client.updated_at - BEHIND;
        // As a version wrote it that added nothing: such a client is written once more.
        let is_raw = stored.updated_at == there;
        if let Some(mark) = mark.as_ref().filter(|mark| mark.changed_at == there && !is_raw) {
            self.tell_differences(stored, count);
            if mark.is_going {
                // Perhaps once more: whether that import came to it is not known.
                tell_imported(stored);
                self.mark_client(Mark { is_going: false, ..mark.clone() }).await?;
            }
            return Ok(false);
        }
        let is_as_there = stored.updated_at == client.updated_at;
        let is_as_imported = is_raw || mark.is_some_and(|mark| is_unchanged(stored, &mark));
        if !is_as_there && !is_as_imported {
            count.warned(stored.id.as_str(), CHANGED_TWICE);
            return Ok(false);
        }
        let created_at = stored.created_at.max(client.created_at);
        let next = Client { revision: stored.revision, created_at, ..client };
        let is_replaced = !is_as_there && self.replace_client(stored, &next).await?;
        if is_as_there || is_replaced {
            tell_imported(&next);
            self.tell_differences(&next, count);
            self.mark_client(mark_of(&next)).await?;
        }
        Ok(is_replaced)
    }

    /// Says at each import what goes on otherwise for a client that is here: it may have been mended since.
    fn tell_differences(&self, client: &Client, count: &mut Count<'_>) {
        for difference in self.circumstances.differences(client) {
            count.warned(client.id.as_str(), &difference);
        }
    }

    /// Whether nobody changed it here at this moment: who does is told of the next time.
    async fn replace_client(&self, stored: &Client, next: &Client) -> Result<bool, StoreError> {
        if next.created_at > stored.created_at + ROUNDING {
            self.end_grants_of(stored, next.created_at).await?;
        }
        Ok(self.clients.replace(next).await? == Replacement::Replaced)
    }

    /// Ends what a client was granted before it was deleted and registered anew there, and nothing that came afterwards.
    async fn end_grants_of(&self, stored: &Client, anew_at: Timestamp) -> Result<(), StoreError> {
        let expires_at = self.marker_ends(stored);
        self.clients.revoke_grants(&stored.id, anew_at - Lifetime::millis(1), expires_at).await
    }

    async fn mark_client(&self, mark: Mark) -> Result<(), StoreError> {
        self.marks.put_marks(self.marks_of_part(Part::Clients), vec![mark]).await
    }
}

/// Says in the audit trail that a client is here now as it is there.
fn tell_imported(client: &Client) {
    info!(target: "sluice_audit", { client.id = %client.id }, "client imported");
}

/// The mark of a client as it is there.
fn mark_of(client: &Client) -> Mark {
    let changed_at = client.updated_at - BEHIND;
    Mark { changed_at, ..Mark::new(client.id.as_str().to_owned(), client.created_at) }
}

/// Whether a client is as the import wrote it that this mark is of.
fn is_unchanged(stored: &Client, mark: &Mark) -> bool {
    [mark.changed_at + BEHIND, mark.changed_at].contains(&stored.updated_at)
}

/// Whether a mark is of this registration of a client, and not of an earlier one under its id.
fn is_of(mark: &Mark, client: &Client) -> bool {
    mark.changed_at == client.updated_at - BEHIND || client.created_at <= mark.at
}
