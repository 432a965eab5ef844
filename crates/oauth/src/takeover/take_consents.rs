//! Remembered consents: page by page, those alone that were not imported yet.

use sluice_commit::StoreError;

use super::consent;
use super::import::{Count, PAGE, Pages, Takeover, TakeoverError};
use super::known_clients::KnownClients;
use super::mark_repository::{Mark, decision_id};
use super::report::Part;
use super::source::{HydraRow, HydraTable};
use crate::consent::RememberedConsent;

/// A decision, and what its row is called there.
type Named = (String, RememberedConsent);

impl Takeover {
    pub(super) async fn take_consents(&self, count: &mut Count<'_>) -> Result<(), TakeoverError> {
        self.drop_gone(Part::Consents, count).await?;
        let mut known = KnownClients::default();
        let mut pages = Pages::of(self, HydraTable::Consents, PAGE);
        while let Some(rows) = pages.next().await? {
            let decisions = self.decisions_of(rows, &mut known, count).await?;
            let found = decisions.len();
            let new = self.new_decisions(decisions).await?;
            count.imported(0, found.saturating_sub(new.len()));
            let marks = self.import_decisions(new, count).await?;
            if !marks.is_empty() {
                self.marks.put_marks(self.marks_of_part(Part::Consents), marks).await?;
            }
        }
        Ok(())
    }

    async fn decisions_of(
        &self,
        rows: Vec<HydraRow>,
        known: &mut KnownClients,
        count: &mut Count<'_>,
    ) -> Result<Vec<Named>, TakeoverError> {
        let mut decisions = Vec::with_capacity(rows.len());
        for row in rows {
            match consent::consent(&row, self.now()) {
                Ok(Some(decision)) => {
                    let made = (&decision.client, decision.decided_at);
                    match known.refusal_of_decision(made, &*self.clients).await? {
                        None => decisions.push((row.key, decision)),
                        Some(reason) => count.refused(row.key, reason),
                    }
                }
                Ok(None) => count.expired(1),
                Err(reason) => count.refused(row.key, reason),
            }
        }
        Ok(decisions)
    }

    /// Those that were not imported. One that was, and is not here, was forgotten here, or has a later one in its place.
    async fn new_decisions(&self, mut decisions: Vec<Named>) -> Result<Vec<Named>, TakeoverError> {
        let ids = decisions.iter().map(|(_, decision)| mark(decision).id).collect();
        let marked = self.marked(Part::Consents, ids).await?;
        decisions.retain(|(_, decision)| {
            let Mark { id, at, .. } = mark(decision);
            marked.get(&id).is_none_or(|imported| imported.at < at)
        });
        Ok(decisions)
    }

    /// The marks of those that were not refused: what is refused is told of each time.
    async fn import_decisions(
        &self,
        decisions: Vec<Named>,
        count: &mut Count<'_>,
    ) -> Result<Vec<Mark>, TakeoverError> {
        let marks = decisions.iter().map(|(_, decision)| mark(decision)).collect();
        let all: Vec<RememberedConsent> = decisions.iter().map(|(_, decision)| decision.clone()).collect();
        let found = all.len();
        match self.consents.import(all).await {
            Ok(imported) => {
                count.imported(usize::try_from(imported).unwrap_or(found), found);
                Ok(marks)
            }
            // One of them stands in the way of the others.
            Err(StoreError::Invalid(_)) => self.import_one_by_one(decisions, count).await,
            Err(failed) => Err(failed.into()),
        }
    }

    async fn import_one_by_one(
        &self,
        decisions: Vec<Named>,
        count: &mut Count<'_>,
    ) -> Result<Vec<Mark>, TakeoverError> {
        let mut marks = Vec::with_capacity(decisions.len());
        for (name, decision) in decisions {
            let of_it = mark(&decision);
            match self.consents.import(vec![decision]).await {
                Ok(imported) => {
                    count.imported(usize::from(imported > 0), 1);
                    marks.push(of_it);
                }
                Err(StoreError::Invalid(reason)) => count.refused(name, reason),
                Err(failed) => return Err(failed.into()),
            }
        }
        Ok(marks)
    }
}

fn mark(decision: &RememberedConsent) -> Mark {
    Mark::new(decision_id(&decision.client, &decision.subject), decision.decided_at)
}
