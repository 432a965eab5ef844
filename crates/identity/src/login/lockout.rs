//! How often one may guess. Guesses are slowed down, never stopped: every delay has an end, and an attempt that came too
//! early costs nothing.
//!
//! Three counts: of an account from one network, of a network, and of an account from networks that nobody has logged in
//! to it from. The first grows dear; the others stay cheap, because they also meet people who did nothing wrong. Accounts
//! that do not exist are counted like those that do.
//!
//! Whoever asks all the time takes every turn that a delay leaves, so strangers who guess could keep others out. Hence
//! nobody who is known waits for strangers elsewhere: a network from which the account was logged in to is spared the count of
//! the account, and a browser that whoever has the account now proves to have logged in with
//! ([`Attempt::known_as`](super::Attempt::known_as)) is spared both wide counts, and has one of its own beside that of the
//! others in its network.
//!
//! A network that waits does so with every account, whether that is known there or not: who filled its count would be told
//! who has an account, without a hash for all others, if some were still looked at.
//!
//! Behind one network there may be a whole company, where somebody mistypes a password every minute: the wide counts fade failure by
//! failure ([`Fading::OneByOne`]), so that only more of them than that make it wait.
//!
//! A network that is exempt from limits, because everybody may come from there (a proxy that nobody named), says nothing about
//! who guesses: from there only the account is counted, or a browser that is known, and no network becomes known.
//!
//! Counts are this node's alone and may be lost at any moment. Who floods them with other accounts and networks pays a
//! guess for each.

use std::convert::Infallible;
use std::hash::{BuildHasher, Hash, RandomState};
use std::sync::Arc;

use parking_lot::Mutex;
use quick_cache::sync::Cache;
use sluice_net::Network;
use sluice_net::bounded::half_for_new;
use sluice_primitives::{Lifetime, SessionId, Timestamp};

use crate::identity::LoginNameHash;

/// How many accounts, networks and pairs of them are counted; of more than that some start anew.
const CAPACITY: usize = 16_384;
/// How many pairs of account and network are remembered as familiar. Everybody who logs in makes one, so there are more.
const FAMILIAR: usize = 131_072;

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
    /// What becomes of failures before that.
    pub fading: Fading,
}

/// What becomes of failures that others follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fading {
    /// They count until all are forgotten.
    Together,
    /// They fade at an even pace, in [`Backoff::forget`] as many as are free: so many in that time make nobody wait, whenever
    /// others were before them.
    OneByOne,
}

impl Backoff {
    /// The time in which one failure fades, in milliseconds; none if they don't, or none is free.
    fn pace(&self) -> Option<i64> {
        match self.fading {
            Fading::Together => None,
            Fading::OneByOne => {
                self.forget.as_millis().checked_div(self.free.into()).filter(|pace| *pace > 0)
            }
        }
    }

    /// What one more failure adds to so many. Where they fade one by one that is nothing once the delay grows no more: who comes
    /// after a long attack would wait until all of it has faded.
    fn cost(&self, failures: u32) -> u32 {
        match self.fading {
            Fading::Together => 1,
            Fading::OneByOne => u32::from(self.delay(failures) < self.longest),
        }
    }

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
    /// Failures from one network; default 50 free, then 1 s to 5 s; 50 fade in 15 min.
    pub network: Backoff,
    /// Failures at one account from networks that are new to it; default 50 free, then 1 s to 5 s; 50 fade in 15 min.
    pub account: Backoff,
}

impl Default for LockoutConfig {
    fn default() -> Self {
        let forget = Lifetime::minutes(15);
        let (first, longest) = (Lifetime::secs(1), Lifetime::secs(60));
        let pair = Backoff { free: 5, first, longest, forget, fading: Fading::Together };
        let wide = Backoff { free: 50, longest: Lifetime::secs(5), fading: Fading::OneByOne, ..pair };
        Self { pair, network: wide, account: wide }
    }
}

/// Who guesses, and at whose password.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Guesser {
    pub(super) account: LoginNameHash,
    /// None if it is not counted.
    pub(super) network: Option<Network>,
    pub(super) standing: Standing,
}

/// What is known of who guesses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Standing {
    /// Nothing.
    Stranger,
    /// The browser proved that whoever has the account logged in with it.
    KnownBrowser,
    /// Somebody is logged in, in this session, and shows the password once more.
    SignedIn(SessionId),
}

impl Standing {
    const fn is_known(self) -> bool {
        !matches!(self, Self::Stranger)
    }
}

impl Guesser {
    /// With whom it counts. Known browsers of an account count together wherever they are: a cookie that was taken along to many networks
    /// does not begin anew in each. So does a session, whose token may be stolen: it has a count of its own.
    fn paired(self) -> Self {
        Self { network: self.network.filter(|_| !self.standing.is_known()), ..self }
    }
}

/// The three counts.
pub(super) struct Lockout {
    pair: Failures<Guesser>,
    network: Failures<Network>,
    account: Failures<LoginNameHash>,
    /// Networks from which accounts were logged in to. Key: a keyed hash of both; two pairs with one hash would spare each
    /// other the delay of the account. Bound: [`FAMILIAR`], half of it for those that are new. Staleness: none to speak of; a forgotten
    /// one is new again. Nobody empties it.
    familiar: Cache<u64, ()>,
    /// The key of that hash.
    hasher: RandomState,
}

/// A guess that was let through. It counts as a failure until it is said to be none.
pub(super) struct Guess {
    guesser: Guesser,
    /// With the guesses of its pair. Not where everybody is one network.
    pair: Option<Counted>,
    /// If strangers hold it up.
    wide: Option<CountedWide>,
}

/// How a guess was counted that strangers hold up.
struct CountedWide {
    /// None if networks are not counted.
    network: Option<Counted>,
    /// None if the account was logged in to from the network.
    account: Option<Counted>,
}

impl Lockout {
    pub(super) fn new(config: &LockoutConfig) -> Self {
        Self {
            pair: Failures::new(config.pair),
            network: Failures::new(config.network),
            account: Failures::new(config.account),
            familiar: half_for_new(FAMILIAR),
            hasher: RandomState::new(),
        }
    }

    /// Lets a guess through, or says how long to wait.
    pub(super) fn guess(&self, guesser: Guesser, now: Timestamp) -> Result<Guess, Lifetime> {
        let is_of_pair = guesser.standing.is_known() || guesser.network.is_some();
        let mut guess = Guess { guesser, pair: None, wide: None };
        if is_of_pair {
            guess.pair = Some(self.pair.count(&guesser.paired(), now)?);
        }
        if !guesser.standing.is_known() {
            let counted = self.count_wide(&guesser, now).inspect_err(|_| self.give_back_pair(&guess))?;
            guess.wide = Some(counted);
        }
        Ok(guess)
    }

    fn count_wide(&self, guesser: &Guesser, now: Timestamp) -> Result<CountedWide, Lifetime> {
        let network = match &guesser.network {
            Some(network) => Some(self.network.count(network, now)?),
            None => None,
        };
        let is_familiar = |network| self.familiar.get(&self.pair_hash(&guesser.account, network)).is_some();
        if guesser.network.is_some_and(is_familiar) {
            return Ok(CountedWide { network, account: None });
        }
        let account = self.account.count(&guesser.account, now);
        let account = account.inspect_err(|_| self.give_back_network(guesser, network))?;
        Ok(CountedWide { network, account: Some(account) })
    }

    /// The guess was right: the pair starts anew, the wide counts get back what this one cost.
    pub(super) fn was_right(&self, guess: &Guess) {
        self.pair.forget(&guess.guesser.paired());
        self.give_back_wide(guess);
        if let Some(network) = guess.guesser.network {
            self.is_familiar(&guess.guesser.account, network);
        }
    }

    /// From now on nobody waits for strangers in other networks who logs in to the account from this one.
    pub(super) fn is_familiar(&self, account: &LoginNameHash, network: Network) {
        self.familiar.insert(self.pair_hash(account, network), ());
    }

    /// The guess was never looked at.
    pub(super) fn was_none(&self, guess: &Guess) {
        self.give_back_pair(guess);
        self.give_back_wide(guess);
    }

    fn give_back_pair(&self, guess: &Guess) {
        if let Some(counted) = guess.pair {
            self.pair.give_back(&guess.guesser.paired(), counted);
        }
    }

    fn give_back_wide(&self, guess: &Guess) {
        if let Some(counted) = &guess.wide {
            self.give_back_network(&guess.guesser, counted.network);
            if let Some(counted) = counted.account {
                self.account.give_back(&guess.guesser.account, counted);
            }
        }
    }

    fn give_back_network(&self, guesser: &Guesser, counted: Option<Counted>) {
        if let (Some(network), Some(counted)) = (&guesser.network, counted) {
            self.network.give_back(network, counted);
        }
    }

    fn pair_hash(&self, account: &LoginNameHash, network: Network) -> u64 {
        self.hasher.hash_one((account, network))
    }
}

#[derive(Clone, Copy, Default)]
struct Count {
    failures: u32,
    last: Timestamp,
    /// Up to when failures have faded.
    faded: Timestamp,
    /// The number of the attempt that was counted last.
    attempt: u32,
}

impl Count {
    /// Forgets what no longer counts.
    fn fade(&mut self, backoff: &Backoff, now: Timestamp) {
        if now >= self.last + backoff.forget {
            *self = Self { attempt: self.attempt, ..Self::default() };
        }
        // A clock that was set back: a failure was never later than now, or the wait would be as long as the step.
        self.last = self.last.min(now);
        if let Some(pace) = backoff.pace() {
            let elapsed = now.since(self.faded.min(now)).as_millis();
            let gone = u32::try_from(elapsed / pace).unwrap_or(u32::MAX);
            self.failures = self.failures.saturating_sub(gone);
            // What is left of the last step counts for the next one, unless there was nothing to fade.
            let left = if self.failures == 0 { 0 } else { elapsed % pace };
            self.faded = Timestamp::from_millis(now.as_millis().saturating_sub(left));
        }
    }
}

/// An attempt that was counted, so that it can be given back.
#[derive(Clone, Copy)]
pub(crate) struct Counted {
    attempt: u32,
    /// What it added to the failures.
    cost: u32,
    /// When the failure before it was.
    before: Timestamp,
}

/// One count. Key: whose. Bound: [`CAPACITY`], half of it for those that are new. Staleness: none; a forgotten one starts anew. Nobody
/// empties it.
pub(crate) struct Failures<K> {
    backoff: Backoff,
    counts: Cache<K, Arc<Mutex<Count>>>,
}

impl<K: Hash + Eq + Clone> Failures<K> {
    pub(crate) fn new(backoff: Backoff) -> Self {
        Self { backoff, counts: half_for_new(CAPACITY) }
    }

    pub(crate) fn count(&self, key: &K, now: Timestamp) -> Result<Counted, Lifetime> {
        let entry = match self.counts.get_or_insert_with(key, || Ok::<_, Infallible>(Arc::default())) {
            Ok(entry) => entry,
            Err(never) => match never {},
        };
        let mut count = entry.lock();
        count.fade(&self.backoff, now);
        let wait = (count.last + self.backoff.delay(count.failures)).since(now);
        if wait > Lifetime::ZERO {
            return Err(wait);
        }
        let cost = self.backoff.cost(count.failures);
        let counted = Counted { attempt: count.attempt.wrapping_add(1), cost, before: count.last };
        let failures = count.failures.saturating_add(cost);
        *count = Count { failures, last: now, attempt: counted.attempt, ..*count };
        Ok(counted)
    }

    /// As if the attempt had not been made: it makes nobody wait, unless others were counted after it.
    pub(crate) fn give_back(&self, key: &K, counted: Counted) {
        if let Some(entry) = self.counts.get(key) {
            let mut count = entry.lock();
            count.failures = count.failures.saturating_sub(counted.cost);
            if count.attempt == counted.attempt {
                count.last = counted.before;
            }
        }
    }

    pub(crate) fn forget(&self, key: &K) {
        self.counts.remove(key);
    }
}

#[cfg(test)]
mod tests;
