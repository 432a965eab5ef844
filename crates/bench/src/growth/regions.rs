//! Real grants, spread among those that were loaded.

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex};

use super::bulk::{Bulk, Slice};
use super::work::{Grant, Logins};
use crate::error::BenchError;
use crate::scenario::each;
use crate::target::Target;

/// A load is told after each slice.
const SLICES: u32 = 40;

/// What was loaded in one go.
struct Region {
    loaded: u64,
    /// In the order in which they were made.
    real: Vec<Grant>,
}

/// All that was loaded so far.
#[derive(Default)]
pub(super) struct Regions(Vec<Region>);

impl Regions {
    /// Makes so many real grants, loads up to so many others, and spreads the real ones among these.
    pub(super) async fn grow(
        &mut self,
        target: &Target,
        logins: &Arc<Logins>,
        bulk: &mut Bulk<'_>,
        (grants, sample): (u64, usize),
    ) -> Result<(), BenchError> {
        let loaded: u64 = self.0.iter().map(|region| region.loaded).sum();
        let rows = grants.saturating_sub(loaded);
        let since = bulk.now().await?;
        let made = each(target, sample, async |agent, _| logins.one(agent).await).await?;
        let real = made.into_iter().map(|token| Arc::new(Mutex::new(token))).collect();
        if rows > 0 {
            bulk.set_aside(&since, SLICES).await?;
            let until_now = |slice: u32| u64::from(slice) * rows / u64::from(SLICES);
            for slice in 0..SLICES {
                let here = Slice { slice, slices: SLICES };
                bulk.load(target, until_now(slice + 1) - until_now(slice), here).await?;
                eprintln!("loaded {} of {grants} grants and people", loaded + until_now(slice + 1));
            }
            bulk.all_are_back().await?;
        }
        self.0.push(Region { loaded: rows, real });
        Ok(())
    }

    /// For the run of this number of so many: real grants that no other run at this size has, as many among so many that were loaded,
    /// wherever. What a run has refreshed is in memory, and its pages in the log.
    pub(super) fn even(&self, run: usize, runs: NonZeroUsize) -> Vec<Grant> {
        self.all_even().into_iter().skip(run).step_by(runs.get()).collect()
    }

    /// As many real grants as there are with the same number among so many that were loaded, wherever.
    fn all_even(&self) -> Vec<Grant> {
        let loaded: u64 = self.0.iter().map(|region| region.loaded).sum();
        if loaded == 0 {
            return self.0.iter().flat_map(|region| region.real.iter().cloned()).collect();
        }
        let parts: Vec<_> = self.0.iter().map(|region| (region.loaded, region.real.len())).collect();
        let shares = shares(&parts);
        self.0.iter().zip(shares).flat_map(|(region, share)| spread(&region.real, share)).collect()
    }
}

/// How many of the real ones of each region, so that they are as many among so many loaded in each.
fn shares(regions: &[(u64, usize)]) -> Vec<usize> {
    let loaded: u128 = regions.iter().map(|(loaded, _)| u128::from(*loaded)).sum();
    let all = regions.iter().filter(|(loaded, _)| *loaded > 0);
    let all = all.map(|(own, real)| *real as u128 * loaded / u128::from(*own)).min().unwrap_or_default();
    let share = |own: u64| usize::try_from((all * u128::from(own)).checked_div(loaded).unwrap_or_default());
    regions.iter().map(|(own, real)| share(*own).unwrap_or(*real).min(*real)).collect()
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
            let regions = Regions(vec![Region { loaded, real: grants(8) }]);
            let of_runs = [0, 1, 2].map(|run| names(&regions.even(run, runs)).join(" "));
            assert_eq!(of_runs, ["0 3 6", "1 4 7", "2 5"]);
        }
    }
}
