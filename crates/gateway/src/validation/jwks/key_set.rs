//! The keys of another issuer, kept and renewed.

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use sluice_commit::chain;
use sluice_crypto::jws::VerifyingKey;
use sluice_primitives::{Clock, Lifetime, Timestamp};
use tokio::runtime::Handle;
use tracing::{info, warn};

use super::source::{FetchedKeys, KeysNotFetched, RemoteSource};
use crate::validation::flights::{Flight, Flights};

/// Keys are kept for at least this, whatever their `max-age`.
const SHORTEST: Duration = Duration::from_mins(1);
/// And for no longer than this without being asked for again.
const LONGEST: Duration = Duration::from_hours(1);
/// How long they are kept if the answer does not say.
const USUAL: Duration = Duration::from_mins(10);
/// The issuer is asked no sooner than this after the last time.
const PAUSE: Lifetime = Lifetime::secs(10);

/// The keys of an issuer. Key: the issuer's. Bound: one document of 512 KiB. Staleness: `max-age` of the answer, 1 min to 1 h;
/// renewed behind the back of the requests when three quarters of it have passed or somebody says so, and at once when a token names an
/// unknown key or is not signed with the one it names, but not within ten seconds of the last time. While the issuer cannot be reached,
/// old keys serve up to a bound.
pub(super) struct RemoteKeys {
    name: Arc<str>,
    source: RemoteSource,
    keep: Lifetime,
    clock: Arc<dyn Clock>,
    known: ArcSwap<Known>,
    flights: Flights<(), ()>,
}

/// What is known about the keys of an issuer.
#[derive(Default)]
pub(super) struct Known {
    /// The keys. `None`: they were never fetched.
    pub(super) keys: Option<KeySet>,
    /// When the issuer was last asked.
    tried_at: Option<Timestamp>,
    /// Whether that failed.
    pub(super) has_failed: bool,
    /// Another number whenever the keys have changed.
    pub(super) generation: u64,
}

#[derive(Clone)]
pub(super) struct KeySet {
    pub(super) keys: Arc<[VerifyingKey]>,
    document: Arc<[u8]>,
    fetched_at: Timestamp,
    renew_at: Timestamp,
    good_until: Timestamp,
}

impl Known {
    /// Whether the issuer was asked a moment ago. A time that is yet to come is one of before the clock was set back.
    fn was_asked_for_lately(&self, now: Timestamp) -> bool {
        self.tried_at.is_some_and(|tried_at| (tried_at..tried_at + PAUSE).contains(&now))
    }
}

impl KeySet {
    /// Whether it is too early to ask for them again.
    fn is_fresh(&self, now: Timestamp) -> bool {
        (self.fetched_at..self.renew_at).contains(&now)
    }
}

/// What to do for a token.
pub(super) enum Next {
    /// Use these keys.
    Use(Arc<Known>),
    /// Wait until the issuer has answered, then look again.
    Wait(Flight<()>),
    /// Give up: the issuer did not answer a moment ago.
    Unreachable,
}

impl RemoteKeys {
    pub(super) fn new(
        name: Arc<str>,
        source: RemoteSource,
        keep: Duration,
        (clock, runtime): (Arc<dyn Clock>, Handle),
    ) -> Arc<Self> {
        let (known, flights) = (ArcSwap::default(), Flights::new(runtime));
        Arc::new(Self { name, source, keep: keep.into(), clock, known, flights })
    }

    /// Whether what was verified with the keys of this generation counts at `now` without another look at it. The issuer is asked as
    /// for a token that is new; while the keys are fresh, and while it was asked in vain a moment ago, nothing is locked.
    pub(super) fn still_has(self: &Arc<Self>, generation: u64, now: Timestamp) -> bool {
        let known = self.known.load();
        if known.keys.as_ref().is_some_and(|set| set.is_fresh(now)) {
            return known.generation == generation;
        }
        matches!(self.next(now), Next::Use(known) if known.generation == generation)
    }

    /// The keys for a token at `now`.
    pub(super) fn next(self: &Arc<Self>, now: Timestamp) -> Next {
        let known = self.known.load();
        let Some(set) = &known.keys else {
            return self.ask(now).map_or(Next::Unreachable, Next::Wait);
        };
        if self.is_too_old(set, now) {
            return self.ask(now).map_or(Next::Unreachable, Next::Wait);
        }
        if set.is_fresh(now) || known.was_asked_for_lately(now) {
            return Next::Use(Arc::clone(&known));
        }
        match self.ask(now) {
            Some(flight) if now >= set.good_until && !known.has_failed => Next::Wait(flight),
            _ => Next::Use(Arc::clone(&known)),
        }
    }

    /// The keys when a wait is over: they may be old ones.
    pub(super) fn after_wait(&self, now: Timestamp) -> Option<Arc<Known>> {
        let known = self.known.load_full();
        let is_usable = known.keys.as_ref().is_some_and(|set| !self.is_too_old(set, now));
        is_usable.then_some(known)
    }

    /// Asks the issuer, unless it is being asked; `None` if it was a moment ago.
    pub(super) fn ask(self: &Arc<Self>, now: Timestamp) -> Option<Flight<()>> {
        self.flights.join((), || {
            if self.known.load().was_asked_for_lately(now) {
                return None;
            }
            let keys = Arc::clone(self);
            Some(async move { keys.renew(now).await })
        })
    }

    /// Asks the issuer behind the back of the requests, also if it was asked a moment ago: somebody says that its keys may have changed.
    /// Those that nobody has asked for yet come with the first token.
    pub(super) fn renew_now(self: &Arc<Self>) {
        if self.known.load().tried_at.is_none() {
            return;
        }
        let now = self.clock.now();
        drop(self.flights.join((), || {
            let keys = Arc::clone(self);
            Some(async move { keys.renew(now).await })
        }));
    }

    /// Old keys serve for so long while there are no new ones, and never less than the issuer said.
    fn is_too_old(&self, set: &KeySet, now: Timestamp) -> bool {
        now >= set.good_until && now >= set.fetched_at + self.keep
    }

    async fn renew(&self, now: Timestamp) {
        let fetched = self.source.fetch().await;
        let old = self.known.load_full();
        let known = match fetched {
            Ok(fetched) => self.renewed(&old, fetched, now),
            Err(why) => self.not_renewed(&old, &why, now),
        };
        self.known.store(Arc::new(known));
    }

    fn renewed(&self, old: &Known, fetched: FetchedKeys, asked_at: Timestamp) -> Known {
        let now = self.clock.now();
        let max_age = fetched.max_age.unwrap_or(USUAL).clamp(SHORTEST, LONGEST);
        let is_same = old.keys.as_ref().is_some_and(|set| *set.document == *fetched.document);
        if old.has_failed {
            info!(issuer.name = %self.name, "the keys of an issuer could be fetched again");
        }
        let keys = KeySet {
            keys: fetched.keys.into(),
            document: fetched.document.into(),
            fetched_at: now,
            renew_at: now + Lifetime::from(max_age * 3 / 4),
            good_until: now + Lifetime::from(max_age),
        };
        let generation = if is_same { old.generation } else { old.generation + 1 };
        Known { keys: Some(keys), tried_at: Some(asked_at), has_failed: false, generation }
    }

    fn not_renewed(&self, old: &Known, why: &KeysNotFetched, asked_at: Timestamp) -> Known {
        if !old.has_failed {
            warn!(issuer.name = %self.name, error = %chain(why), "the keys of an issuer could not be fetched");
        }
        Known {
            keys: old.keys.clone(),
            tried_at: Some(asked_at),
            has_failed: true,
            generation: old.generation,
        }
    }
}
