//! Grants to be refreshed, drawn from those that were loaded.

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex};

use super::bulk::{Bulk, Slice};
use super::work::Grant;
use crate::error::BenchError;
use crate::scenario::each;
use crate::target::Target;

/// A load is told after each slice.
const SLICES: u32 = 40;

/// What was loaded in one go.
struct Region {
    loaded: u64,
    /// In the order of the slices in which they were made.
    drawn: Vec<Grant>,
}

/// All that was loaded so far.
#[derive(Default)]
pub(super) struct Regions(Vec<Region>);

impl Regions {
    /// Loads up to so many grants, and draws so many of those that are new. Where none are loaded logins make them.
    pub(super) async fn grow(
        &mut self,
        target: &Target,
        bulk: &mut Bulk<'_>,
        (grants, sample): (u64, usize),
    ) -> Result<(), BenchError> {
        let loaded: u64 = self.0.iter().map(|region| region.loaded).sum();
        let rows = grants.saturating_sub(loaded);
        let mut tokens = Vec::new();
        if rows == 0 {
            let logins = Arc::clone(bulk.logins());
            tokens = each(target, sample, async |agent, _| logins.one(agent).await).await?;
        } else {
            for slice in 0..SLICES {
                let here = Slice { slice, slices: SLICES };
                let shares = (here.share(rows), here.share(sample as u64));
                tokens.extend(bulk.load(target, shares, here).await?);
                let until_now = u64::from(slice + 1) * rows / u64::from(SLICES);
                eprintln!("loaded {} of {grants} grants and people", loaded + until_now);
            }
        }
        let drawn = tokens.into_iter().map(|token| Arc::new(Mutex::new(token))).collect();
        self.0.push(Region { loaded: rows, drawn });
        Ok(())
    }

    /// For the run of this number of so many: grants that no other run at this size has, as many among so many that were loaded,
    /// wherever. What a run has refreshed is in memory, and its pages in the log.
    pub(super) fn even(&self, run: usize, runs: NonZeroUsize) -> Vec<Grant> {
        self.all_even().into_iter().skip(run).step_by(runs.get()).collect()
    }

    /// As many of those that were drawn as there are with the same number among so many that were loaded, wherever.
    fn all_even(&self) -> Vec<Grant> {
        let loaded: u64 = self.0.iter().map(|region| region.loaded).sum();
        if loaded == 0 {
            return self.0.iter().flat_map(|region| region.drawn.iter().cloned()).collect();
        }
        let parts: Vec<_> = self.0.iter().map(|region| (region.loaded, region.drawn.len())).collect();
        let shares = shares(&parts);
        self.0.iter().zip(shares).flat_map(|(region, share)| spread(&region.drawn, share)).collect()
    }
}

/// How many of those drawn from each region, so that they are as many among so many loaded in each.
fn shares(regions: &[(u64, usize)]) -> Vec<usize> {
    let loaded: u128 = regions.iter().map(|(loaded, _)| u128::from(*loaded)).sum();
    let all = regions.iter().filter(|(loaded, _)| *loaded > 0);
    let all = all.map(|(own, drawn)| *drawn as u128 * loaded / u128::from(*own)).min().unwrap_or_default();
    let share = |own: u64| usize::try_from((all * u128::from(own)).checked_div(loaded).unwrap_or_default());
    regions.iter().map(|(own, drawn)| share(*own).unwrap_or(*drawn).min(*drawn)).collect()
}

/// So many, as far from each other as they can be.
fn spread(grants: &[Grant], count: usize) -> Vec<Grant> {
    (0..count).filter_map(|number| grants.get(number * grants.len() / count)).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_region_is_drawn_from_as_it_is_large() {
        assert_eq!(shares(&[(0, 20_000), (1_000_000, 20_000)]), [0, 20_000]);
        assert_eq!(shares(&[(0, 20_000), (1_000_000, 20_000), (9_000_000, 20_000)]), [0, 2_222, 19_999]);
        assert_eq!(shares(&[(0, 5)]), [0]);
    }

    fn grants(count: usize) -> Vec<Grant> {
        (0..count).map(|number| Arc::new(Mutex::new(number.to_string()))).collect()
    }

    fn names(grants: &[Grant]) -> Vec<String> {
        grants.iter().map(|grant| grant.lock().unwrap().clone()).collect()
    }

    #[test]
    fn what_is_drawn_is_spread() {
        assert_eq!(names(&spread(&grants(10), 4)), ["0", "2", "5", "7"]);
    }

    #[test]
    fn no_run_has_a_grant_of_another() {
        let runs = NonZeroUsize::new(3).unwrap();
        for loaded in [0, 1_000] {
            let regions = Regions(vec![Region { loaded, drawn: grants(8) }]);
            let of_runs = [0, 1, 2].map(|run| names(&regions.even(run, runs)).join(" "));
            assert_eq!(of_runs, ["0 3 6", "1 4 7", "2 5"]);
        }
    }
}
