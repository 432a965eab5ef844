//! How often one may guess. Guesses are slowed down, never stopped: every delay has an end, and an attempt that came too
//! early costs nothing.
//!
//! Three counts: of an account from one network, of a network, and of an account from networks that nobody has logged in
//! to it from. The first grows dear; the others stay cheap, because they also meet people who did nothing wrong. A
//! network from which the account was logged in to is spared the last, so that strangers who guess at an account do not
//! keep its owner out. Accounts that do not exist are counted like those that do.
//!
//! Counts are this node's alone and may be lost at any moment.

use std::convert::Infallible;
use std::fmt;
use std::hash::Hash;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;

use parking_lot::Mutex;
use quick_cache::sync::Cache;
use sluice_primitives::{Lifetime, Timestamp};

use crate::identity::LoginNameHash;

/// How many accounts, networks and pairs of them are counted; of more than that some start anew.
const CAPACITY: usize = 16_384;

/// How one count slows guesses down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backoff {
    /// So many failures cost nothing.
    pub free: u32,
    /// The delay after the next one; each further one doubles it.
    pub first: Lifetime,
    /// No delay is longer.
    pub longest: Lifetime,
    /// After so long without a failure the count starts anew.
    pub forget: Lifetime,
}

impl Backoff {
    /// How long after the last of so many failures the next guess may come.
    fn delay(&self, failures: u32) -> Lifetime {
        let Some(beyond) = failures.checked_sub(self.free).and_then(|beyond| beyond.checked_sub(1)) else {
            return Lifetime::ZERO;
        };
        let doubled = self.first.as_duration().saturating_mul(1_u32.checked_shl(beyond).unwrap_or(u32::MAX));
        Lifetime::from(doubled).min(self.longest)
    }
}

/// How guessing is slowed down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LockoutConfig {
    /// Failures at one account from one network; default 5 free, then 1 s to 60 s, forgotten after 15 min.
    pub pair: Backoff,
    /// Failures from one network; default 50 free, then 1 s to 5 s, forgotten after 15 min.
    pub network: Backoff,
    /// Failures at one account from networks that are new to it; default 50 free, then 1 s to 5 s, forgotten after 15
    /// min.
    pub account: Backoff,
}

impl Default for LockoutConfig {
    fn default() -> Self {
        let forget = Lifetime::minutes(15);
        let wide = Backoff { free: 50, first: Lifetime::secs(1), longest: Lifetime::secs(5), forget };
        let pair = Backoff { free: 5, first: Lifetime::secs(1), longest: Lifetime::secs(60), forget };
        Self { pair, network: wide, account: wide }
    }
}

/// Where a guess comes from: an IPv4 address, or the /64 of an IPv6 one, which one customer has as a rule.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Network(IpAddr);

impl From<IpAddr> for Network {
    fn from(address: IpAddr) -> Self {
        Self(match address.to_canonical() {
            IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & (u128::MAX << 64))),
            v4 @ IpAddr::V4(_) => v4,
        })
    }
}

impl fmt::Debug for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// The three counts.
pub(super) struct Lockout {
    pair: Failures<(LoginNameHash, Network)>,
    network: Failures<Network>,
    account: Failures<LoginNameHash>,
    /// Networks from which accounts were logged in to. Key: both. Bound: [`CAPACITY`]. Staleness: none to speak of; a
    /// forgotten one is new again. Nobody empties it.
    familiar: Cache<(LoginNameHash, Network), ()>,
}

/// A guess that was let through. It counts as a failure until it is said to be none.
pub(super) struct Guess {
    account: LoginNameHash,
    network: Network,
    familiar: bool,
}

impl Lockout {
    pub(super) fn new(config: &LockoutConfig) -> Self {
        Self {
            pair: Failures::new(config.pair),
            network: Failures::new(config.network),
            account: Failures::new(config.account),
            familiar: Cache::new(CAPACITY),
        }
    }

    /// Lets a guess through, or says how long to wait.
    pub(super) fn guess(
        &self,
        account: LoginNameHash,
        network: Network,
        now: Timestamp,
    ) -> Result<Guess, Lifetime> {
        let guess = Guess { account, network, familiar: self.familiar.get(&(account, network)).is_some() };
        self.pair.count(&(account, network), now)?;
        if let Err(wait) = self.network.count(&network, now) {
            self.pair.give_back(&(account, network));
            return Err(wait);
        }
        if guess.familiar {
            return Ok(guess);
        }
        if let Err(wait) = self.account.count(&account, now) {
            self.pair.give_back(&(account, network));
            self.network.give_back(&network);
            return Err(wait);
        }
        Ok(guess)
    }

    /// The guess was right: the pair starts anew, the wide counts get back what this one cost.
    pub(super) fn was_right(&self, guess: &Guess) {
        self.pair.forget(&(guess.account, guess.network));
        self.give_back_wide(guess);
        self.familiar.insert((guess.account, guess.network), ());
    }

    /// The guess was never looked at.
    pub(super) fn was_none(&self, guess: &Guess) {
        self.pair.give_back(&(guess.account, guess.network));
        self.give_back_wide(guess);
    }

    fn give_back_wide(&self, guess: &Guess) {
        self.network.give_back(&guess.network);
        if !guess.familiar {
            self.account.give_back(&guess.account);
        }
    }
}

#[derive(Clone, Copy, Default)]
struct Count {
    failures: u32,
    last: Timestamp,
}

/// One count. Key: whose. Bound: [`CAPACITY`]. Staleness: none; a forgotten one starts anew. Nobody empties it.
struct Failures<K> {
    backoff: Backoff,
    counts: Cache<K, Arc<Mutex<Count>>>,
}

impl<K: Hash + Eq + Clone> Failures<K> {
    fn new(backoff: Backoff) -> Self {
        Self { backoff, counts: Cache::new(CAPACITY) }
    }

    fn count(&self, key: &K, now: Timestamp) -> Result<(), Lifetime> {
        let entry = match self.counts.get_or_insert_with(key, || Ok::<_, Infallible>(Arc::default())) {
            Ok(entry) => entry,
            Err(never) => match never {},
        };
        let mut count = entry.lock();
        if now >= count.last + self.backoff.forget {
            *count = Count::default();
        }
        let wait = (count.last + self.backoff.delay(count.failures)).since(now);
        if wait > Lifetime::ZERO {
            return Err(wait);
        }
        *count = Count { failures: count.failures.saturating_add(1), last: now };
        Ok(())
    }

    fn give_back(&self, key: &K) {
        if let Some(entry) = self.counts.get(key) {
            let mut count = entry.lock();
            count.failures = count.failures.saturating_sub(1);
        }
    }

    fn forget(&self, key: &K) {
        self.counts.remove(key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALICE: LoginNameHash = [1; 32];
    const BOB: LoginNameHash = [2; 32];
    const START: Timestamp = Timestamp::from_secs(1_000_000);

    fn lockout() -> Lockout {
        Lockout::new(&LockoutConfig::default())
    }

    fn network(n: u32) -> Network {
        IpAddr::from(n.to_be_bytes()).into()
    }

    #[test]
    fn delays_grow_and_have_an_end() {
        let backoff = LockoutConfig::default().pair;
        let seconds = |failures| backoff.delay(failures).as_secs();
        assert_eq!([0, 5, 6, 7, 8, 11].map(seconds), [0, 0, 1, 2, 4, 32]);
        assert_eq!([12, 37, 38, 1000, u32::MAX].map(seconds), [60; 5]);
    }

    #[test]
    fn failures_at_one_account_slow_down_that_account_from_that_network_only() {
        let lockout = lockout();
        for _ in 0..6 {
            assert!(lockout.guess(ALICE, network(1), START).is_ok());
        }
        assert_eq!(lockout.guess(ALICE, network(1), START).err(), Some(Lifetime::secs(1)));
        assert!(lockout.guess(ALICE, network(2), START).is_ok());
        assert!(lockout.guess(BOB, network(1), START).is_ok());
        assert!(lockout.guess(ALICE, network(1), START + Lifetime::secs(1)).is_ok());
    }

    #[test]
    fn an_attempt_that_comes_too_early_costs_nothing() {
        let lockout = lockout();
        while lockout.guess(ALICE, network(1), START).is_ok() {}
        for _ in 0..1000 {
            assert_eq!(lockout.guess(ALICE, network(1), START).err(), Some(Lifetime::secs(1)));
        }
        assert!(lockout.guess(BOB, network(1), START).is_ok());
    }

    #[test]
    fn strangers_who_guess_do_not_keep_the_owner_out() {
        let lockout = lockout();
        let guess = lockout.guess(ALICE, network(0), START).ok().unwrap();
        lockout.was_right(&guess);
        for n in 1..=1000 {
            let _ = lockout.guess(ALICE, network(n), START);
        }
        assert!(lockout.guess(ALICE, network(1001), START).is_err());
        assert!(lockout.guess(ALICE, network(0), START).is_ok());
        assert!(lockout.guess(ALICE, network(1001), START + Lifetime::secs(5)).is_ok());
    }

    #[test]
    fn one_network_that_tries_many_accounts_is_slowed_down() {
        let lockout = lockout();
        let tried = (0..=255).take_while(|n| lockout.guess([*n; 32], network(1), START).is_ok()).count();
        assert_eq!(tried, 51);
        assert!(lockout.guess(ALICE, network(2), START).is_ok());
    }

    #[test]
    fn what_was_right_or_never_looked_at_costs_nothing() {
        let lockout = lockout();
        for n in 0..1000 {
            let guess = lockout.guess(ALICE, network(1), START).ok().unwrap();
            if n % 2 == 0 { lockout.was_right(&guess) } else { lockout.was_none(&guess) }
        }
    }

    #[test]
    fn the_addresses_of_one_ipv6_customer_are_one_network() {
        let of = |text: &str| Network::from(text.parse::<IpAddr>().unwrap());
        assert_eq!(of("2001:db8::1"), of("2001:db8::ffff:1"));
        assert_ne!(of("2001:db8::1"), of("2001:db8:0:1::1"));
        assert_eq!(of("::ffff:192.0.2.1"), of("192.0.2.1"));
    }
}
