//! Remembered consents: page by page, those alone that were not imported yet.

use std::collections::HashMap;

use sluice_commit::StoreError;

use super::consent;
use super::import::{Count, PAGE, Pages, Takeover, TakeoverError};
use super::known_clients::{Fit, KnownClients};
use super::mark_repository::{Mark, decision_id};
use super::report::Part;
use super::source::{HydraRow, HydraTable};
use crate::consent::RememberedConsent;

/// A decision, and what its row is called there.
type Named = (String, RememberedConsent);
/// The same of one that is to be imported, with the mark of it while it is on its way.
type Coming = (String, RememberedConsent, Mark);

/// What is on its way no more.
#[derive(Default)]
struct Settled {
    /// The marks that stand.
    standing: Vec<Mark>,
    /// Who has none.
    unmarked: Vec<String>,
}

impl Settled {
    fn imported(&mut self, mark: Mark) {
        self.standing.push(Mark::new(mark.id, mark.at));
    }

    /// The one whose place it was to take is here as before.
    fn refused(&mut self, mark: Mark) {
        if mark.changed_at < mark.at {
            self.standing.push(Mark::new(mark.id, mark.changed_at));
        } else {
            self.unmarked.push(mark.id);
        }
    }
}

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
            self.mark_coming(Part::Consents, new.iter().map(|(_, _, mark)| mark.clone())).await?;
            let settled = self.import_decisions(new, count).await?;
            self.settle(settled).await?;
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
                    match known.fit_of_decision(made, self).await? {
                        Fit::Good => decisions.push((row.key, decision)),
                        Fit::Gone => count.imported(0, 1),
                        Fit::Refused(reason) => count.refused(row.key, reason),
                    }
                }
                Ok(None) => count.expired(1),
                Err(reason) => count.refused(row.key, reason),
            }
        }
        Ok(decisions)
    }

    /// Those that were not imported. One that was, and is not here, was forgotten here, or has a later one in its place.
    async fn new_decisions(&self, decisions: Vec<Named>) -> Result<Vec<Coming>, TakeoverError> {
        let ids = decisions.iter().map(|(_, decision)| mark(decision).id).collect();
        let marks = self.marks.marks_of(self.marks_of_part(Part::Consents), ids).await?;
        let marked: HashMap<String, Mark> = marks.into_iter().map(|mark| (mark.id.clone(), mark)).collect();
        let coming = decisions.into_iter().filter_map(|(name, decision)| {
            let own = mark(&decision);
            let coming = match marked.get(&own.id) {
                Some(imported) if !imported.is_going && imported.at >= own.at => return None,
                // One that was on its way itself says whose place it was to take.
                Some(before) => Mark { changed_at: before.changed_at, ..own },
                None => own,
            };
            Some((name, decision, coming))
        });
        Ok(coming.collect())
    }

    /// What becomes of their marks: what is refused is told of each time.
    async fn import_decisions(
        &self,
        decisions: Vec<Coming>,
        count: &mut Count<'_>,
    ) -> Result<Settled, TakeoverError> {
        let all: Vec<RememberedConsent> = decisions.iter().map(|(_, decision, _)| decision.clone()).collect();
        let found = all.len();
        match self.consents.import(all).await {
            Ok(imported) => {
                count.imported(usize::try_from(imported).unwrap_or(found), found);
                let mut settled = Settled::default();
                for (_, _, mark) in decisions {
                    settled.imported(mark);
                }
                Ok(settled)
            }
            // One of them stands in the way of the others.
            Err(StoreError::Invalid(_)) => self.import_one_by_one(decisions, count).await,
            Err(failed) => Err(failed.into()),
        }
    }

    async fn import_one_by_one(
        &self,
        decisions: Vec<Coming>,
        count: &mut Count<'_>,
    ) -> Result<Settled, TakeoverError> {
        let mut settled = Settled::default();
        for (name, decision, mark) in decisions {
            match self.consents.import(vec![decision]).await {
                Ok(imported) => {
                    count.imported(usize::from(imported > 0), 1);
                    settled.imported(mark);
                }
                Err(StoreError::Invalid(reason)) => {
                    count.refused(name, reason);
                    settled.refused(mark);
                }
                Err(failed) => return Err(failed.into()),
            }
        }
        Ok(settled)
    }

    async fn settle(&self, Settled { standing, unmarked }: Settled) -> Result<(), StoreError> {
        let of = self.marks_of_part(Part::Consents);
        // Before: of two rows about one thing one may have been imported.
        if !unmarked.is_empty() {
            self.marks.delete_marks(of, unmarked).await?;
        }
        if !standing.is_empty() {
            self.marks.put_marks(of, standing).await?;
        }
        Ok(())
    }
}

fn mark(decision: &RememberedConsent) -> Mark {
    Mark::new(decision_id(&decision.client, &decision.subject), decision.decided_at)
}
