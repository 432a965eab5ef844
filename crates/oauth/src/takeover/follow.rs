//! What was imported earlier and is not there any more is taken away here, too, if it is as it was imported: what was made here since under the
//! same name stays. First all of it is counted: a database that is empty, or restored by half, is not one in which somebody deleted something.

use std::collections::{HashMap, HashSet};

use sluice_commit::StoreError;
use sluice_primitives::Timestamp;
use sluice_protocol::{ClientId, Subject};
use tracing::info;

use super::import::{Count, Takeover, TakeoverError, TakesAway};
use super::known_clients::{Fit, KnownClients};
use super::mark_repository::{Mark, MarkSet, both_names};
use super::report::Part;
use crate::client::Client;
use crate::consent::Forget;
use crate::keys::KeyServiceError;
use crate::trust::TrustId;

/// How many marks are looked at at a time.
const PAGE: u32 = 1_000;
/// How many are taken away between two writes of their marks.
const STEP: usize = 100;
/// So many may always go.
const FEW: u64 = 10;
/// And one of so many.
const SHARE: u64 = 10;

impl Takeover {
    /// Takes away what has gone there since an earlier import.
    pub(super) async fn drop_gone(&self, part: Part, count: &mut Count<'_>) -> Result<(), TakeoverError> {
        if self.takes_away == TakesAway::Nothing {
            return Ok(());
        }
        let (gone, imported) = self.gone(part).await?;
        let number = gone.len() as u64;
        if self.takes_away == TakesAway::Few && are_many(number, imported) {
            count.kept(number, imported);
            return Ok(());
        }
        let mut known = KnownClients::default();
        for marks in gone.chunks(STEP) {
            let before = count.all_ended();
            let done = self.take_all_away((part, marks), &mut known, count).await;
            // Also if not all of them are.
            if part == Part::Consents {
                tell_withdrawn(count.all_ended() - before);
            }
            done?;
        }
        Ok(())
    }

    /// The marks of what has gone there, and how many marks there are.
    async fn gone(&self, part: Part) -> Result<(Vec<Mark>, u64), TakeoverError> {
        let (of, mut gone, mut imported) = (self.marks_of_part(part), Vec::new(), 0);
        let mut after = String::new();
        loop {
            let page = self.marks.mark_page(of, &after, PAGE).await?;
            let Some(last) = page.last() else { return Ok((gone, imported)) };
            after.clone_from(&last.id);
            imported += page.len() as u64;
            let ids = page.iter().map(|mark| mark.id.clone()).collect();
            let there = self.hydra.there(part, ids).await.map_err(TakeoverError::Hydra)?;
            let there: HashSet<String> = there.into_iter().collect();
            gone.extend(page.into_iter().filter(|mark| !there.contains(&mark.id)));
        }
    }

    /// Takes away what these marks are of. They say so before, and leave after: whoever is interrupted goes on the next time, and what has a mark and
    /// is not here is never taken for something that was deleted here.
    async fn take_all_away(
        &self,
        (part, marks): (Part, &[Mark]),
        known: &mut KnownClients,
        count: &mut Count<'_>,
    ) -> Result<(), TakeoverError> {
        let of = self.marks_of_part(part);
        let going = marks.iter().map(|mark| Mark { is_going: true, ..mark.clone() }).collect();
        self.marks.put_marks(of, going).await?;
        for mark in marks {
            if self.take_away(part, mark, known).await? {
                count.taken_away(&mark.id);
            }
        }
        self.marks.delete_marks(of, marks.iter().map(|mark| mark.id.clone()).collect()).await?;
        Ok(())
    }

    /// The marks of what was imported of this Hydra.
    pub(super) const fn marks_of_part(&self, part: Part) -> MarkSet {
        MarkSet { network: self.network, part }
    }

    /// The marks of what has these ids, as far as it was imported, and was not being taken away.
    pub(super) async fn marked(
        &self,
        part: Part,
        ids: Vec<String>,
    ) -> Result<HashMap<String, Mark>, TakeoverError> {
        let marks = self.marks.marks_of(self.marks_of_part(part), ids).await?;
        let standing = marks.into_iter().filter(|mark| !mark.is_going);
        Ok(standing.map(|mark| (mark.id.clone(), mark)).collect())
    }

    /// Marks as on its way what is about to be imported: it may be here and not yet be marked for good when the import is interrupted, and
    /// somebody may take it away there before the next one.
    pub(super) async fn mark_coming(
        &self,
        part: Part,
        marks: impl Iterator<Item = Mark>,
    ) -> Result<(), StoreError> {
        let coming: Vec<Mark> = marks.map(|mark| Mark { is_going: true, ..mark }).collect();
        if coming.is_empty() {
            return Ok(());
        }
        self.marks.put_marks(self.marks_of_part(part), coming).await
    }

    /// What became of something that was marked as on its way; if it was refused, it is so no more.
    pub(super) async fn unmark_refused<T>(
        &self,
        part: Part,
        id: String,
        written: Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        if matches!(written, Err(StoreError::Invalid(_))) {
            self.marks.delete_marks(self.marks_of_part(part), vec![id]).await?;
        }
        written
    }

    /// Whether it was here.
    async fn take_away(
        &self,
        part: Part,
        mark: &Mark,
        known: &mut KnownClients,
    ) -> Result<bool, TakeoverError> {
        match part {
            Part::SigningKeys => self.delete_key(&mark.id).await,
            Part::Clients => self.delete_client(mark).await,
            Part::Issuers => self.end_trust(&mark.id).await,
            Part::Consents => self.forget_decision(mark, known).await,
            Part::Tokens => Ok(false),
        }
    }

    async fn delete_key(&self, id: &str) -> Result<bool, TakeoverError> {
        let Some((set, kid)) = both_names(id) else { return Ok(false) };
        match self.keys.key(set, kid).await {
            Err(KeyServiceError::NoSuchKey) => Ok(false),
            Err(failed) => Err(failed.into()),
            Ok(_) => {
                self.keys.delete_key(set, kid).await?;
                Ok(true)
            }
        }
    }

    async fn end_trust(&self, id: &str) -> Result<bool, TakeoverError> {
        let Ok(id) = id.parse::<TrustId>() else { return Ok(false) };
        let was_here = self.issuers.delete(id).await?;
        if was_here {
            info!(target: "sluice_audit", { trust.id = %id }, "trust in an issuer ended by an import");
        }
        Ok(was_here)
    }

    /// As an administrator deletes one, with all that it was granted.
    async fn delete_client(&self, mark: &Mark) -> Result<bool, TakeoverError> {
        let Ok(id) = mark.id.parse::<ClientId>() else { return Ok(false) };
        let Some(stored) = self.clients.find(&id).await?.filter(|stored| stored.created_at == mark.at) else {
            return Ok(false);
        };
        let was_here = self.clients.delete(&id, self.now(), self.marker_ends(&stored)).await?;
        if was_here {
            info!(target: "sluice_audit", { client.id = %id }, "client deleted by an import");
        }
        Ok(was_here)
    }

    /// Until when a marker about a client counts: as long as its tokens could live.
    pub(super) fn marker_ends(&self, client: &Client) -> Timestamp {
        let longest = client.lifespans.longest_access_token().unwrap_or_default();
        self.now() + longest.max(self.marker_lifetime)
    }

    /// As somebody withdraws one, with what was granted by it. What was decided or granted later stays: the marker is as old as the decision.
    async fn forget_decision(&self, mark: &Mark, known: &mut KnownClients) -> Result<bool, TakeoverError> {
        let Some((client, subject)) = both_names(&mark.id) else { return Ok(false) };
        let (Ok(client), Ok(subject)) = (client.parse::<ClientId>(), subject.parse::<Subject>()) else {
            return Ok(false);
        };
        // One about a client that has gone holds no more, and its client may have many.
        if !matches!(known.fit_of_decision((&client, mark.at), self).await?, Fit::Good) {
            return Ok(false);
        }
        // Of one that was on its way the one may be here whose place it was to take.
        let is_as_imported = |at: &Timestamp| [mark.at, mark.changed_at].contains(at);
        let stored = self.consents.find(&subject, &client, self.now()).await?;
        let Some(decided_at) = stored.map(|stored| stored.decided_at).filter(is_as_imported) else {
            return Ok(false);
        };
        let marker_expires_at = self.now() + self.marker_lifetime;
        let forget = Forget { subject, client: Some(client), now: decided_at, marker_expires_at };
        self.consents.forget(forget).await?;
        Ok(true)
    }
}

/// Says in the audit trail how many consents are here no more. Not whose: subjects may be addresses.
fn tell_withdrawn(count: u64) {
    if count > 0 {
        info!(target: "sluice_audit", { count }, "consents withdrawn by an import");
    }
}

/// Whether so many of what was imported are more than somebody deletes.
const fn are_many(gone: u64, imported: u64) -> bool {
    gone > FEW && gone.saturating_mul(SHARE) > imported
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_and_a_tenth_are_not_many() {
        for (gone, imported) in [(0, 0), (10, 10), (11, 110), (100, 1_000), (180_000, 1_800_000)] {
            assert!(!are_many(gone, imported), "{gone} of {imported}");
        }
        for (gone, imported) in [(11, 11), (11, 109), (101, 1_000), (1_800_000, 1_800_000)] {
            assert!(are_many(gone, imported), "{gone} of {imported}");
        }
    }
}
