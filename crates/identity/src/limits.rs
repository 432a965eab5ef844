//! How often things may be asked for: leaky buckets by network, address and account, in this node's memory; and how many slow
//! hashes one network may wait for ([`Limits::place`]).
//!
//! A count is never what keeps a person out for good: each gives back what it took as time passes, and those that strangers
//! can fill for somebody else (mails to one address) only bound what that person is bothered with.

mod places;

use std::convert::Infallible;
use std::fmt;
use std::hash::Hash;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use governor::clock::Clock as _;
use governor::middleware::NoOpMiddleware;
use governor::nanos::Nanos;
use governor::state::StateStore;
use governor::{Quota, RateLimiter};
use ipnet::IpNet;
use parking_lot::Mutex;
use quick_cache::sync::Cache;
use sluice_net::bounded::half_for_new;
use sluice_net::{LimitClock, LimitMoment, NETWORKS_OF_A_SITE, Site};
use sluice_primitives::{Clock, IdentityId, Lifetime, SessionId};

use crate::config::{LimitsConfig, Rate};
use crate::identity::{Identity, LoginNameHash};
use crate::login::Network;
use places::Places;

pub use places::Place;

/// How many networks, addresses and accounts each limit counts; of more than that some start anew.
const CAPACITY: usize = 16_384;
/// How many networks' worth of everything a site may ask for: it has 65,536 of them.
const SITE: NonZeroU32 = NonZeroU32::new(NETWORKS_OF_A_SITE).unwrap();
/// What a person may change of the own record without a password, how often who is known shows a password apart from strangers,
/// and how often who is signed in shows a right one. Nobody needs more.
const CHANGES: Rate = Rate::per_hour(60);
/// When to come again, if as many hashes are waited for as may be: each takes a fraction of it.
const SOON: Lifetime = Lifetime::secs(1);

/// The limits of one node.
pub struct Limits {
    registrations: Networks,
    logins: Networks,
    known_logins: Limit<(LoginNameHash, Option<SessionId>)>,
    mails_to: Limit<LoginNameHash>,
    changes_to: Limit<LoginNameHash>,
    registrations_to: Limit<LoginNameHash>,
    recoveries_to: Limit<LoginNameHash>,
    verifications_to: Limit<LoginNameHash>,
    notices_to: Limit<LoginNameHash>,
    added_factors_to: Limit<LoginNameHash>,
    removed_factors_to: Limit<LoginNameHash>,
    new_codes_to: Limit<LoginNameHash>,
    used_codes_to: Limit<LoginNameHash>,
    mails_from: Networks,
    codes_of: Limit<(LoginNameHash, Network)>,
    codes_from: Networks,
    factor_codes_of: Limit<(IdentityId, Network)>,
    recoveries_of: Limit<(IdentityId, Network)>,
    changes: Limit<IdentityId>,
    passwords: Limit<SessionId>,
    confirmations: Limit<IdentityId>,
    places: Places,
    exempt: Vec<IpNet>,
}

impl Limits {
    /// The limits that are configured.
    pub fn new(config: &LimitsConfig, clock: &Arc<dyn Clock>) -> Self {
        Self {
            registrations: Networks::new(config.registrations_per_network, clock),
            logins: Networks::new(config.logins_per_network, clock),
            known_logins: Limit::new(Some(CHANGES), clock),
            mails_to: Limit::new(config.mails_per_address, clock),
            changes_to: Limit::new(config.mails_per_address, clock),
            registrations_to: Limit::new(config.mails_per_address, clock),
            recoveries_to: Limit::new(config.mails_per_address, clock),
            verifications_to: Limit::new(config.mails_per_address, clock),
            notices_to: Limit::new(config.mails_per_address, clock),
            added_factors_to: Limit::new(config.mails_per_address, clock),
            removed_factors_to: Limit::new(config.mails_per_address, clock),
            new_codes_to: Limit::new(config.mails_per_address, clock),
            used_codes_to: Limit::new(config.mails_per_address, clock),
            mails_from: Networks::new(config.mails_per_network, clock),
            codes_of: Limit::new(config.codes_per_account, clock),
            codes_from: Networks::new(config.codes_per_network, clock),
            factor_codes_of: Limit::new(config.codes_per_account, clock),
            recoveries_of: Limit::new(config.codes_per_account, clock),
            changes: Limit::new(Some(CHANGES), clock),
            passwords: Limit::new(Some(CHANGES), clock),
            confirmations: Limit::new(Some(CHANGES), clock),
            places: Places::default(),
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

    /// Counts a login with a browser that is known to the account, or a password that is shown once more in this session. Apart
    /// from the logins of the network, which strangers use up.
    ///
    /// # Errors
    /// How long to wait for another that is counted apart.
    pub fn check_known_login(
        &self,
        account: LoginNameHash,
        session: Option<SessionId>,
    ) -> Result<(), Lifetime> {
        self.known_logins.check(&(account, session))
    }

    /// Counts a mail to an address that its owner asks for, who is signed in. The network that asks is counted first.
    ///
    /// # Errors
    /// How long to wait.
    pub fn check_mail(&self, address: &LoginNameHash, network: Network) -> Result<(), Lifetime> {
        self.check_network(&self.mails_from, network)?;
        self.mails_to.check(address)
    }

    /// Counts a mail to an address that somebody wants instead of their own. Apart from the others: it may be that of somebody
    /// else, who is not kept from asking.
    ///
    /// # Errors
    /// How long to wait.
    pub fn check_email_change(&self, address: &LoginNameHash, network: Network) -> Result<(), Lifetime> {
        self.check_network(&self.mails_from, network)?;
        self.changes_to.check(address)
    }

    /// Counts a mail that comes of a registration with an address; the registration is counted, too. Apart from the others:
    /// strangers who register with an address do not keep its owner from asking for mail.
    ///
    /// # Errors
    /// How long to wait.
    pub fn check_registration_mail(&self, address: &LoginNameHash) -> Result<(), Lifetime> {
        self.registrations_to.check(address)
    }

    /// Counts a mail by which an account is recovered. Apart from the others: strangers who register with an address, or ask
    /// for it, do not keep its owner out.
    ///
    /// # Errors
    /// How long to wait.
    pub fn check_recovery_mail(&self, address: &LoginNameHash, network: Network) -> Result<(), Lifetime> {
        self.check_network(&self.mails_from, network)?;
        self.recoveries_to.check(address)
    }

    /// Counts a mail by which an address is verified, asked for by somebody who is not signed in. Apart from the others: strangers do
    /// not keep the owner, who is, from asking.
    ///
    /// # Errors
    /// How long to wait.
    pub fn check_verification_mail(&self, address: &LoginNameHash, network: Network) -> Result<(), Lifetime> {
        self.check_network(&self.mails_from, network)?;
        self.verifications_to.check(address)
    }

    /// Counts a notice of what was done to an account; whether it may be sent: the address is known to be the person's, and has
    /// not had too many. Apart from the others: strangers do not keep its owner from being told.
    pub(crate) fn may_be_told(&self, identity: &Identity) -> bool {
        identity.email_verified_at.is_some() && self.notices_to.check(&identity.login_name).is_ok()
    }

    /// Whether a notice of what an administrator does may be sent: as of the others, and with them. It is counted when that was done: what
    /// comes to nothing takes no place of a later one.
    pub(crate) fn may_be_told_by_administrator(&self, identity: &Identity) -> bool {
        identity.email_verified_at.is_some() && self.notices_to.has_room(&identity.login_name)
    }

    /// Counts one, if the address is one at which anybody is told.
    pub(crate) fn was_told_by_administrator(&self, identity: &Identity) {
        if identity.email_verified_at.is_some() {
            self.notices_to.count(&identity.login_name);
        }
    }

    /// The same of a notice that a second factor was added. Apart from the others: whoever adds factors, or confirms one, all the time does
    /// not keep their owner from being told of anything else.
    pub(crate) fn may_be_told_of_factor(&self, identity: &Identity) -> bool {
        identity.email_verified_at.is_some() && self.added_factors_to.check(&identity.login_name).is_ok()
    }

    /// The same of one that was taken away.
    pub(crate) fn may_be_told_of_removal(&self, identity: &Identity) -> bool {
        identity.email_verified_at.is_some() && self.removed_factors_to.check(&identity.login_name).is_ok()
    }

    /// Takes a removal back that was counted just now: nothing was taken away, and nobody is told.
    pub(crate) fn was_not_removed(&self, identity: &Identity) {
        self.removed_factors_to.give_back(&identity.login_name);
    }

    /// Whether a notice that recovery codes were made may be sent, as of others; apart from them. It is counted when they were.
    pub(crate) fn may_be_told_of_new_codes(&self, identity: &Identity) -> bool {
        identity.email_verified_at.is_some() && self.new_codes_to.has_room(&identity.login_name)
    }

    /// Counts one.
    pub(crate) fn was_told_of_new_codes(&self, identity: &Identity) {
        self.new_codes_to.count(&identity.login_name);
    }

    /// The same of a notice that a recovery code was used. Wrong ones, which may be typed at the same moment, take no place of it.
    pub(crate) fn may_be_told_of_used_code(&self, identity: &Identity) -> bool {
        identity.email_verified_at.is_some() && self.used_codes_to.has_room(&identity.login_name)
    }

    /// Counts one.
    pub(crate) fn was_told_of_used_code(&self, identity: &Identity) {
        self.used_codes_to.count(&identity.login_name);
    }

    /// Counts a code of a mail that is typed for an account. Anybody may type one.
    ///
    /// # Errors
    /// How long to wait.
    pub fn check_code(&self, account: &LoginNameHash, network: Network) -> Result<(), Lifetime> {
        self.check_network(&self.codes_from, network)?;
        if self.is_exempt(network) { Ok(()) } else { self.codes_of.check(&(*account, network)) }
    }

    /// Counts a code that is typed as a second factor: of an authenticator app, or a recovery code. Apart from those of
    /// mails, and not by network alone: whoever types it has shown a first factor of this account.
    ///
    /// # Errors
    /// How long to wait.
    pub fn check_factor_code(&self, identity: IdentityId, network: Network) -> Result<(), Lifetime> {
        self.check_own(&self.factor_codes_of, identity, network)
    }

    /// Counts a password that ends a recovery. Apart from the codes: whoever sets it reads the mail of this account.
    ///
    /// # Errors
    /// How long to wait.
    pub fn check_recovery(&self, identity: IdentityId, network: Network) -> Result<(), Lifetime> {
        self.check_own(&self.recoveries_of, identity, network)
    }

    /// Counts a change that somebody makes of the own record with nothing but an access token, which may be stolen.
    ///
    /// # Errors
    /// How long to wait.
    pub fn check_change(&self, identity: IdentityId) -> Result<(), Lifetime> {
        self.changes.check(&identity)
    }

    /// Counts a new password that somebody wants in this session, right or wrong. Whoever has the token of another keeps nobody
    /// from it.
    ///
    /// # Errors
    /// How long to wait.
    pub fn check_password_change(&self, session: SessionId) -> Result<(), Lifetime> {
        self.passwords.check(&session)
    }

    /// Counts a right password that somebody shows who is signed in, or another one that is set without. In whatever session, since
    /// a new one comes of it; whoever has a stolen token and no more uses nothing of it up.
    ///
    /// # Errors
    /// How long to wait.
    pub fn check_confirmation(&self, identity: IdentityId) -> Result<(), Lifetime> {
        self.confirmations.check(&identity)
    }

    /// Takes one back that was counted just now: the second factor that goes with the password was not shown.
    pub(crate) fn was_no_confirmation(&self, identity: IdentityId) {
        self.confirmations.give_back(&identity);
    }

    /// A place among those who wait for a slow hash that somebody asks for, of whom there may be so many. No network takes the places of
    /// others.
    ///
    /// # Errors
    /// How long to wait.
    pub fn place(&self, network: Network, places: usize) -> Result<Place, Lifetime> {
        if self.is_exempt(network) {
            return Ok(Place::uncounted());
        }
        self.places.take(network, places).ok_or(SOON)
    }

    fn check_network(&self, limit: &Networks, network: Network) -> Result<(), Lifetime> {
        if self.is_exempt(network) { Ok(()) } else { limit.check(network) }
    }

    fn check_own(
        &self,
        limit: &Limit<(IdentityId, Network)>,
        identity: IdentityId,
        network: Network,
    ) -> Result<(), Lifetime> {
        if self.is_exempt(network) { Ok(()) } else { limit.check(&(identity, network)) }
    }

    /// Whether what comes from there is not counted, because everybody may.
    pub(crate) fn is_exempt(&self, network: Network) -> bool {
        self.exempt.iter().any(|exempt| exempt.contains(&network.address()))
    }
}

impl fmt::Debug for Limits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Limits").field("exempt", &self.exempt).finish_non_exhaustive()
    }
}

/// A limit of each network, and of each site, which has many.
struct Networks {
    each: Limit<Network>,
    sites: Limit<Site>,
}

impl Networks {
    fn new(rate: Option<Rate>, clock: &Arc<dyn Clock>) -> Self {
        let of_site = rate.map(|rate| Rate { burst: rate.burst.saturating_mul(SITE), ..rate });
        Self { each: Limit::new(rate, clock), sites: Limit::new(of_site, clock) }
    }

    /// Counts one more of a network. What it may not do is not counted for its site, nor the other way round.
    fn check(&self, network: Network) -> Result<(), Lifetime> {
        self.each.check(&network)?;
        let of_site = network.site().map_or(Ok(()), |site| self.sites.check(&site));
        of_site.inspect_err(|_| self.each.give_back(&network))
    }
}

type Limiter<K> = RateLimiter<K, Counts<K>, LimitClock, NoOpMiddleware<LimitMoment>>;

/// One limit; none if it is turned off.
struct Limit<K: Hash + Eq + Clone>(Option<Counted<K>>);

/// What says no, and what it has counted.
struct Counted<K: Hash + Eq + Clone> {
    limiter: Limiter<K>,
    counts: Counts<K>,
    /// By how much one more moves a count on.
    each: Nanos,
}

impl<K: Hash + Eq + Clone> Limit<K> {
    fn new(rate: Option<Rate>, clock: &Arc<dyn Clock>) -> Self {
        let counted = |rate: Rate| {
            let each = (rate.per.as_duration() / rate.burst.get()).max(Duration::from_nanos(1));
            let quota = Quota::with_period(each)?.allow_burst(rate.burst);
            let counts = Counts::new();
            let limiter = RateLimiter::new(quota, counts.clone(), LimitClock::new(Arc::clone(clock)));
            Some(Counted { limiter, counts, each: each.into() })
        };
        Self(rate.and_then(counted))
    }

    fn check(&self, key: &K) -> Result<(), Lifetime> {
        let Some(Counted { limiter, .. }) = &self.0 else { return Ok(()) };
        limiter.check_key(key).map_err(|early| {
            let wait = Lifetime::from(early.wait_time_from(limiter.clock().now()));
            wait.max(Lifetime::millis(1))
        })
    }

    /// Whether one more may be counted. Two who are told so at the same moment may both be counted, where one is left.
    fn has_room(&self, key: &K) -> bool {
        let has_room = self.check(key).is_ok();
        if has_room {
            self.give_back(key);
        }
        has_room
    }

    /// Counts what has happened, as far as there is room.
    fn count(&self, key: &K) {
        let _ = self.check(key);
    }

    /// Takes one back that was counted just now.
    fn give_back(&self, key: &K) {
        let Some(Counted { counts, each, .. }) = &self.0 else { return };
        if let Some(count) = counts.0.get(key) {
            let mut count = count.lock();
            *count = count.map(|until| until.saturating_sub(*each));
        }
    }
}

/// Until when the requests of one reach, which come one by one.
type Count = Arc<Mutex<Option<Nanos>>>;

/// What is counted. Key: whose. Bound: [`CAPACITY`]; those that are asked for most stay in a half of it, and the newest in the other.
/// Staleness: none; a forgotten one starts anew. Nobody empties it.
#[derive(Clone)]
struct Counts<K>(Arc<Cache<K, Count>>);

impl<K: Hash + Eq + Clone> Counts<K> {
    fn new() -> Self {
        Self(Arc::new(half_for_new(CAPACITY)))
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

#[cfg(test)]
mod tests;
