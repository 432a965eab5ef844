//! How often routes may be called: leaky buckets by client, subject, address or route, in this process's memory.
//!
//! [`RateLimits`]: all of them. `counts`: one rule's buckets. `headers`: what a client is told (`RateLimit`, `RateLimit-Policy`).
//!
//! Limits are of one process: two gateways let through twice as much.

mod counts;
mod headers;

use std::collections::HashMap;
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use arc_swap::ArcSwap;
use sluice_net::Network;
use sluice_primitives::{Clock, Lifetime};
use smallvec::SmallVec;

use crate::route::{Limit, LimitBy, Route, RouteTable};
use counts::Counts;
pub use headers::RateLimitHeaders;
use headers::{Standing, policy};

/// The limits of all routes. What was counted survives a reload of the routes where name and rule stay the same.
pub struct RateLimits {
    clock: Arc<dyn Clock>,
    routes: ArcSwap<HashMap<Arc<str>, Arc<RouteLimits>>>,
}

/// The limits of a route.
struct RouteLimits {
    limits: Vec<(Limit, Arc<Counts>)>,
    policy: http::HeaderValue,
}

/// Who calls.
#[derive(Debug, Clone, Copy)]
pub struct Who<'a> {
    /// Whose subject and client they are, if not this installation's.
    pub issuer: Option<&'a str>,
    /// `sub`.
    pub subject: Option<&'a str>,
    /// With which client.
    pub client: Option<&'a str>,
    /// From where.
    pub address: IpAddr,
}

impl Who<'_> {
    /// Nobody in particular, from `address`.
    pub const fn at(address: IpAddr) -> Self {
        Self { issuer: None, subject: None, client: None, address }
    }
}

/// What a request was counted by before it was known who calls.
#[derive(Debug, Clone, Copy, Default)]
pub struct Counted(Option<Standing>);

/// Whether a request may pass.
#[derive(Debug, Clone)]
pub enum LimitOutcome {
    /// The route has no limits.
    Unlimited,
    /// It may.
    Allowed(RateLimitHeaders),
    /// It may not, until this time has passed.
    TooMany(Lifetime, RateLimitHeaders),
}

impl RateLimits {
    /// No limits yet; those of a route come with its first request.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, routes: ArcSwap::default() }
    }

    /// Counts a request. All limits of the route are asked in the order of the file, up to the first that refuses.
    pub fn check(&self, route: &Route, who: &Who<'_>) -> LimitOutcome {
        self.check_rest(route, who, Counted::default())
    }

    /// Counts a request by its address, if the route has such a limit: before anybody is asked who calls.
    ///
    /// # Errors
    /// [`LimitOutcome::TooMany`].
    pub fn check_address(&self, route: &Route, address: IpAddr) -> Result<Counted, LimitOutcome> {
        if !route.limits.iter().any(|limit| limit.by == LimitBy::Address) {
            return Ok(Counted::default());
        }
        self.of(route).check_address(&Who::at(address))
    }

    /// Counts a request by what it was not counted by before.
    pub fn check_rest(&self, route: &Route, who: &Who<'_>, before: Counted) -> LimitOutcome {
        if route.limits.is_empty() {
            return LimitOutcome::Unlimited;
        }
        self.of(route).check(who, before)
    }

    fn of(&self, route: &Route) -> Arc<RouteLimits> {
        let routes = self.routes.load();
        let known = routes.get(&route.name).filter(|known| known.are(&route.limits));
        known.map_or_else(|| self.learn(route), Arc::clone)
    }

    /// Forgets routes that are not in the table.
    pub fn keep_only(&self, table: &RouteTable) {
        self.routes.rcu(|routes| {
            let mut kept = HashMap::clone(routes);
            kept.retain(|name, _| table.routes().iter().any(|route| &route.name == name));
            kept
        });
    }

    /// Takes up the limits of a route that are not known, with the counts of those that stayed as they were.
    fn learn(&self, route: &Route) -> Arc<RouteLimits> {
        let fresh: Vec<_> = route
            .limits
            .iter()
            .map(|limit| (limit.clone(), Arc::new(Counts::new(limit, &self.clock))))
            .collect();
        let with_counts_of = |known: Option<&Arc<RouteLimits>>| {
            let kept = |(limit, counts): &(Limit, Arc<Counts>)| {
                let known = known.and_then(|known| known.counts_of(limit));
                (limit.clone(), known.unwrap_or_else(|| counts.clone()))
            };
            Arc::new(RouteLimits { limits: fresh.iter().map(kept).collect(), policy: policy(&route.limits) })
        };
        self.routes.rcu(|routes| {
            let mut more = HashMap::clone(routes);
            let known = more.get(&route.name);
            if !known.is_some_and(|known| known.are(&route.limits)) {
                let limits = with_counts_of(known);
                more.insert(route.name.clone(), limits);
            }
            more
        });
        self.routes.load().get(&route.name).cloned().unwrap_or_else(|| with_counts_of(None))
    }
}

impl RouteLimits {
    fn are(&self, limits: &[Limit]) -> bool {
        self.limits.iter().map(|(limit, _)| limit).eq(limits)
    }

    fn counts_of(&self, limit: &Limit) -> Option<Arc<Counts>> {
        self.limits.iter().find(|(known, _)| known == limit).map(|(_, counts)| counts.clone())
    }

    fn check_address(&self, who: &Who<'_>) -> Result<Counted, LimitOutcome> {
        let Some((limit, counts)) = self.limits.iter().find(|(limit, _)| limit.by == LimitBy::Address) else {
            return Ok(Counted::default());
        };
        let count = counts.check(whose(limit.by, who));
        let standing = Standing { by: limit.by, remaining: count.remaining, restored_in: count.restored_in };
        match count.wait {
            None => Ok(Counted(Some(standing))),
            Some(wait) => {
                let headers = RateLimitHeaders::new(&self.policy, SmallVec::from_iter([standing]));
                Err(LimitOutcome::TooMany(wait, headers))
            }
        }
    }

    fn check(&self, who: &Who<'_>, before: Counted) -> LimitOutcome {
        let mut standings: SmallVec<[Standing; 2]> = SmallVec::new();
        for (limit, counts) in &self.limits {
            if let Some(standing) = before.0.filter(|standing| standing.by == limit.by) {
                standings.push(standing);
                continue;
            }
            let count = counts.check(whose(limit.by, who));
            standings.push(Standing {
                by: limit.by,
                remaining: count.remaining,
                restored_in: count.restored_in,
            });
            if let Some(wait) = count.wait {
                return LimitOutcome::TooMany(wait, RateLimitHeaders::new(&self.policy, standings));
            }
        }
        LimitOutcome::Allowed(RateLimitHeaders::new(&self.policy, standings))
    }
}

impl fmt::Debug for RateLimits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RateLimits").field("routes", &self.routes.load().len()).finish_non_exhaustive()
    }
}

/// Those whose requests are counted together. Subjects and clients are those of an issuer: others may have some of the same name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Whose<'a> {
    Subject(Option<&'a str>, &'a str),
    Client(Option<&'a str>, &'a str),
    Address(Network),
    All,
}

fn whose<'a>(by: LimitBy, who: &Who<'a>) -> Whose<'a> {
    let address = || Whose::Address(Network::from(who.address));
    let client = || who.client.map_or_else(address, |client| Whose::Client(who.issuer, client));
    match by {
        LimitBy::Route => Whose::All,
        LimitBy::Address => address(),
        LimitBy::Client => client(),
        LimitBy::Subject => who.subject.map_or_else(client, |subject| Whose::Subject(who.issuer, subject)),
    }
}

#[cfg(test)]
mod tests;
