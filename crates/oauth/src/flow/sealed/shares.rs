//! How much of what is parked at once one network may take: nobody fills the store for everybody, however long they try.

use std::net::IpAddr;
use std::time::Duration;

use parking_lot::Mutex;
use quick_cache::sync::Cache;
use sluice_net::bounded::half_for_new;
use sluice_net::{Network, Site};
use sluice_primitives::{Lifetime, Timestamp};

use super::Quota;

/// How many networks, and sites, are counted at once.
const COUNTED: usize = 10_000;
/// One place in so many is a network's.
const OF_NETWORK: u64 = 16;
/// How many networks' worth a site may take.
const OF_SITE: u64 = 2;
/// In so many parts of a life it is counted what is parked.
const PARTS: i64 = 4;
/// The part that is under way, and those before that are not over.
const COUNTS: usize = 5;

/// What was parked by somebody in this part of a life, and in those before that are not over. Something that is parked now is counted for the
/// whole of its life, and for a part longer at most.
#[derive(Debug, Clone, Copy, Default)]
struct Recent {
    part: i64,
    counts: [u32; COUNTS],
}

impl Recent {
    /// Without those whose life is over.
    fn at(self, part: i64) -> Self {
        let gone = usize::try_from(part.saturating_sub(self.part)).unwrap_or(0);
        let mut counts = [0; COUNTS];
        counts.iter_mut().skip(gone).zip(self.counts).for_each(|(to, from)| *to = from);
        Self { part: self.part.max(part), counts }
    }

    fn all(self) -> u64 {
        self.counts.iter().copied().map(u64::from).sum()
    }

    fn one_more(mut self) -> Self {
        let [newest, ..] = &mut self.counts;
        *newest = newest.saturating_add(1);
        self
    }

    fn one_less(mut self) -> Self {
        let [newest, ..] = &mut self.counts;
        *newest = newest.saturating_sub(1);
        self
    }
}

/// Counts by network and by site. Bound: [`COUNTED`] of each; those that come again stay in a half of it, and the newest in the other.
/// Staleness: none, but every node counts for itself.
pub(super) struct Shares {
    /// How long a part of a life is.
    part: Lifetime,
    most_of_network: u64,
    most_exempt: u64,
    networks: Cache<Network, Recent>,
    sites: Cache<Site, Recent>,
    /// Those who are not told apart; whoever counts has this lock.
    exempt: Mutex<Recent>,
}

impl Shares {
    /// Of `quota` places, of which anybody may have `of_anybody`, and which are taken for `life` milliseconds.
    pub(super) fn new((quota, of_anybody): (u64, u64), life: i64) -> Self {
        // Never shorter than a part: what is parked must not be forgotten while it is there.
        let part = life.div_euclid(PARTS).saturating_add(1);
        Self {
            part: Duration::from_millis(part.unsigned_abs()).into(),
            most_of_network: (quota / OF_NETWORK).max(1),
            most_exempt: (of_anybody / 2).max(1),
            networks: half_for_new(COUNTED),
            sites: half_for_new(COUNTED),
            exempt: Mutex::default(),
        }
    }

    /// Counts one more of whoever is at this address, or of those who are exempt, who share half of what anybody may have; or why it may not be.
    /// What comes too fast, which is asked for last, is not counted.
    pub(super) fn allow(
        &self,
        address: Option<IpAddr>,
        now: Timestamp,
        comes_in_time: impl FnOnce() -> bool,
    ) -> Result<(), Quota> {
        let in_time = || if comes_in_time() { Ok(()) } else { Err(Quota::Network) };
        let room = |is_full: bool| if is_full { Err(Quota::Share(self.part)) } else { Ok(()) };
        let mut exempt = self.exempt.lock();
        let part = now.as_millis().div_euclid(self.part.as_millis());
        let Some(address) = address else {
            let counted = exempt.at(part);
            room(counted.all() >= self.most_exempt)?;
            in_time()?;
            *exempt = counted.one_more();
            return Ok(());
        };
        let network = Network::from(address);
        let of_network = self.networks.get(&network).unwrap_or_default().at(part);
        let of_site = network.site().map(|site| (site, self.sites.get(&site).unwrap_or_default().at(part)));
        let most_of_site = self.most_of_network.saturating_mul(OF_SITE);
        let is_full = of_network.all() >= self.most_of_network
            || of_site.is_some_and(|(_, of_site)| of_site.all() >= most_of_site);
        room(is_full)?;
        in_time()?;
        self.networks.insert(network, of_network.one_more());
        if let Some((site, of_site)) = of_site {
            self.sites.insert(site, of_site.one_more());
        }
        Ok(())
    }

    /// Takes one back that was counted a moment ago: it was not parked.
    pub(super) fn give_back(&self, address: Option<IpAddr>) {
        let mut exempt = self.exempt.lock();
        let Some(address) = address else {
            *exempt = exempt.one_less();
            return;
        };
        let network = Network::from(address);
        if let Some(counted) = self.networks.get(&network) {
            self.networks.insert(network, counted.one_less());
        }
        let Some(site) = network.site() else { return };
        if let Some(counted) = self.sites.get(&site) {
            self.sites.insert(site, counted.one_less());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIFE: Lifetime = Lifetime::minutes(90);
    const BEGIN: Timestamp = Timestamp::from_secs(1_800_000_000);

    fn shares(quota: u64) -> Shares {
        Shares::new((quota, quota - quota / 4), LIFE.as_millis())
    }

    /// When it was allowed, where it is tried each minute for ten hours, some times at once.
    fn allowed(shares: &Shares, address: Option<IpAddr>, times: usize) -> Vec<Timestamp> {
        let minutes = (0..600).map(|minute| BEGIN + Lifetime::minutes(minute));
        let tries = minutes.flat_map(|now| std::iter::repeat_n(now, times));
        tries.filter(|now| shares.allow(address, *now, || true).is_ok()).collect()
    }

    #[test]
    fn at_no_time_more_is_there_than_the_share_and_all_of_it_comes_free_again() {
        for (address, most) in [(Some([192, 0, 2, 1].into()), 10), (None, 60)] {
            for times in [1, 3, 100] {
                let allowed = allowed(&shares(160), address, times);
                for (index, now) in allowed.iter().enumerate() {
                    let alive = allowed.iter().take(index + 1).filter(|at| *now < **at + LIFE).count();
                    assert!(alive <= most, "{alive} of {most} at {now}");
                }
                assert!(allowed.len() >= 4 * most, "{} of {most}", allowed.len());
            }
        }
    }

    #[test]
    fn networks_that_come_no_more_do_not_keep_new_ones_from_being_counted() {
        let shares = shares(16);
        let allowed = |number: u32| {
            let address = std::net::Ipv4Addr::from_bits(number).into();
            shares.allow(Some(address), BEGIN, || true).is_ok()
        };
        assert!((0..34_000).all(allowed));
        assert_eq!((30_000..34_000).filter(|number| allowed(*number)).count(), 0);
    }

    #[test]
    fn what_comes_too_fast_and_what_is_given_back_is_not_counted() {
        for address in [None, Some("192.0.2.1".parse().unwrap()), Some("2001:db8::1".parse().unwrap())] {
            let shares = shares(16);
            for _ in 0..100 {
                assert_eq!(shares.allow(address, BEGIN, || false), Err(Quota::Network));
                assert_eq!(shares.allow(address, BEGIN, || true), Ok(()));
                shares.give_back(address);
            }
        }
    }
}
