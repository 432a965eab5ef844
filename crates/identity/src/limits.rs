//! How often things may be asked for: leaky buckets by network, address and account, in this node's memory.
//!
//! A count is never what keeps a person out for good: each gives back what it took as time passes, and those that strangers
//! can fill for somebody else (mails to one address) only bound what that person is bothered with.

use std::convert::Infallible;
use std::fmt;
use std::hash::Hash;
use std::ops::Add;
use std::sync::Arc;
use std::time::Duration;

use governor::clock::{Clock as GovernorClock, Reference};
use governor::middleware::NoOpMiddleware;
use governor::nanos::Nanos;
use governor::state::StateStore;
use governor::{Quota, RateLimiter};
use ipnet::IpNet;
use parking_lot::Mutex;
use quick_cache::sync::Cache;
use sluice_primitives::{Clock, Lifetime, Timestamp};

use crate::config::{LimitsConfig, Rate};
use crate::identity::LoginNameHash;
use crate::login::Network;

/// How many networks, addresses and accounts each limit counts; of more than that some start anew.
const CAPACITY: usize = 16_384;

/// The limits of one node.
pub struct Limits {
    registrations: Limit<Network>,
    logins: Limit<Network>,
    mails_to: Limit<LoginNameHash>,
    mails_from: Limit<Network>,
    codes_of: Limit<(LoginNameHash, Network)>,
    codes_from: Limit<Network>,
    exempt: Vec<IpNet>,
}

impl Limits {
    /// The limits that are configured.
    pub fn new(config: &LimitsConfig, clock: &Arc<dyn Clock>) -> Self {
        Self {
            registrations: Limit::new(config.registrations_per_network, clock),
            logins: Limit::new(config.logins_per_network, clock),
            mails_to: Limit::new(config.mails_per_address, clock),
            mails_from: Limit::new(config.mails_per_network, clock),
            codes_of: Limit::new(config.codes_per_account, clock),
            codes_from: Limit::new(config.codes_per_network, clock),
            exempt: config.exempt.clone(),
        }
    }

    /// Counts a registration.
    ///
    /// # Errors
    /// How long to wait; then nothing was counted.
    pub fn check_registration(&self, network: Network) -> Result<(), Lifetime> {
        self.check_network(&self.registrations, network)
    }

    /// Counts a login.
    ///
    /// # Errors
    /// How long to wait; then nothing was counted.
    pub fn check_login(&self, network: Network) -> Result<(), Lifetime> {
        self.check_network(&self.logins, network)
    }

    /// Counts a mail to an address that somebody asks for. The network that asks is counted first.
    ///
    /// # Errors
    /// How long to wait.
    pub fn check_mail(&self, address: &LoginNameHash, network: Network) -> Result<(), Lifetime> {
        self.check_network(&self.mails_from, network)?;
        self.mails_to.check(address)
    }

    /// Counts a mail to an address that comes of something else that is counted.
    ///
    /// # Errors
    /// How long to wait.
    pub fn check_mail_to(&self, address: &LoginNameHash) -> Result<(), Lifetime> {
        self.mails_to.check(address)
    }

    /// Counts a code that is typed for an account: of a mail, of an authenticator app, for recovery.
    ///
    /// # Errors
    /// How long to wait.
    pub fn check_code(&self, account: &LoginNameHash, network: Network) -> Result<(), Lifetime> {
        self.check_network(&self.codes_from, network)?;
        if self.is_exempt(network) { Ok(()) } else { self.codes_of.check(&(*account, network)) }
    }

    fn check_network(&self, limit: &Limit<Network>, network: Network) -> Result<(), Lifetime> {
        if self.is_exempt(network) { Ok(()) } else { limit.check(&network) }
    }

    fn is_exempt(&self, network: Network) -> bool {
        self.exempt.iter().any(|exempt| exempt.contains(&network.address()))
    }
}

impl fmt::Debug for Limits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Limits").field("exempt", &self.exempt).finish_non_exhaustive()
    }
}

type Limiter<K> = RateLimiter<K, Counts<K>, Told, NoOpMiddleware<Moment>>;

/// One limit; none if it is turned off.
struct Limit<K: Hash + Eq + Clone>(Option<Limiter<K>>);

impl<K: Hash + Eq + Clone> Limit<K> {
    fn new(rate: Option<Rate>, clock: &Arc<dyn Clock>) -> Self {
        let limiter = |rate: Rate| {
            let each = (rate.per.as_duration() / rate.burst.get()).max(Duration::from_nanos(1));
            let quota = Quota::with_period(each)?.allow_burst(rate.burst);
            Some(RateLimiter::new(quota, Counts::new(), Told(Arc::clone(clock))))
        };
        Self(rate.and_then(limiter))
    }

    fn check(&self, key: &K) -> Result<(), Lifetime> {
        let Some(limiter) = &self.0 else { return Ok(()) };
        limiter.check_key(key).map_err(|early| {
            let wait = Lifetime::from(early.wait_time_from(limiter.clock().now()));
            wait.max(Lifetime::millis(1))
        })
    }
}

/// What is counted. Key: whose. Bound: [`CAPACITY`]; those that are asked for most stay. Staleness: none; a forgotten one
/// starts anew. Nobody empties it.
struct Counts<K>(Cache<K, Arc<Mutex<Option<Nanos>>>>);

impl<K: Hash + Eq + Clone> Counts<K> {
    fn new() -> Self {
        Self(Cache::new(CAPACITY))
    }
}

impl<K: Hash + Eq + Clone> StateStore for Counts<K> {
    type Key = K;

    fn measure_and_replace<T, F, E>(&self, key: &K, f: F) -> Result<T, E>
    where
        F: Fn(Option<Nanos>) -> Result<(T, Nanos), E>,
    {
        let entry = match self.0.get_or_insert_with(key, || Ok::<_, Infallible>(Arc::default())) {
            Ok(entry) => entry,
            Err(never) => match never {},
        };
        let mut counted = entry.lock();
        let (outcome, now) = f(*counted)?;
        *counted = Some(now);
        Ok(outcome)
    }
}

/// The clock that services are given.
struct Told(Arc<dyn Clock>);

/// A moment as the clock tells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Moment(Timestamp);

impl GovernorClock for Told {
    type Instant = Moment;

    fn now(&self) -> Moment {
        Moment(self.0.now())
    }
}

impl Add<Nanos> for Moment {
    type Output = Self;

    /// Rounded up: whoever waits so long does not come too early.
    fn add(self, span: Nanos) -> Self {
        let millis = span.as_u64().div_ceil(1_000_000);
        Self(self.0 + Lifetime::from(Duration::from_millis(millis)))
    }
}

impl Reference for Moment {
    fn duration_since(&self, earlier: Self) -> Nanos {
        Nanos::from(self.0.since(earlier.0).as_duration())
    }

    fn saturating_sub(&self, span: Nanos) -> Self {
        Self(self.0 - Lifetime::from(Duration::from_nanos(span.as_u64())))
    }
}

#[cfg(test)]
mod tests;
