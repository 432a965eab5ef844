use std::num::NonZeroU32;
use std::time::Duration;

use http::HeaderMap;
use sluice_primitives::{ManualClock, Timestamp};

use super::*;
use crate::route::{Enrichment, RoutePolicy};

fn limit(by: LimitBy, requests: u32, period: u64, burst: u32) -> Limit {
    let (requests, burst) = (NonZeroU32::new(requests).unwrap(), NonZeroU32::new(burst).unwrap());
    Limit { by, requests, period: Duration::from_secs(period), burst }
}

fn route(name: &str, limits: Vec<Limit>) -> Route {
    Route {
        name: name.into(),
        upstreams: Vec::new(),
        rewrite_prefix: None,
        prefix_segments: 0,
        rewrite_location: false,
        max_body: None,
        total_timeout: None,
        preserve_host: true,
        policy: RoutePolicy::default(),
        enrichment: Enrichment::default(),
        limits,
    }
}

struct World {
    clock: Arc<ManualClock>,
    limits: RateLimits,
}

impl World {
    fn new() -> Self {
        let clock = Arc::new(ManualClock::at(Timestamp::from_secs(1_000_000)));
        Self { limits: RateLimits::new(clock.clone()), clock }
    }

    /// How long somebody has to wait; `None`: not at all.
    fn wait(&self, route: &Route, who: &Who<'_>) -> Option<Lifetime> {
        match self.limits.check(route, who) {
            LimitOutcome::TooMany(wait, _) => Some(wait),
            LimitOutcome::Allowed(_) | LimitOutcome::Unlimited => None,
        }
    }

    fn headers(&self, route: &Route, who: &Who<'_>) -> (String, String) {
        let (LimitOutcome::Allowed(headers) | LimitOutcome::TooMany(_, headers)) =
            self.limits.check(route, who)
        else {
            return Default::default();
        };
        let mut map = HeaderMap::new();
        headers.write(&mut map);
        let text = |name: &str| map[name].to_str().unwrap().to_owned();
        (text("ratelimit-policy"), text("ratelimit"))
    }
}

fn from(address: &str) -> Who<'static> {
    Who::at(address.parse().unwrap())
}

const ADA: Who<'_> = Who {
    issuer: None,
    subject: Some("ada"),
    client: Some("web"),
    address: IpAddr::V4(std::net::Ipv4Addr::LOCALHOST),
};
const BOB: Who<'_> = Who { subject: Some("bob"), ..ADA };

#[test]
fn so_many_may_come_at_once_and_the_rest_as_time_passes() {
    let (world, route) = (World::new(), route("orders", vec![limit(LimitBy::Subject, 6, 60, 3)]));
    for _ in 0..3 {
        assert_eq!(world.wait(&route, &ADA), None);
    }
    assert_eq!(world.wait(&route, &ADA), Some(Lifetime::secs(10)));
    world.clock.advance(Lifetime::millis(9_999));
    assert_eq!(world.wait(&route, &ADA), Some(Lifetime::millis(1)));
    world.clock.advance(Lifetime::millis(1));
    assert_eq!(world.wait(&route, &ADA), None);
    assert_eq!(world.wait(&route, &ADA), Some(Lifetime::secs(10)));
    world.clock.advance(Lifetime::hours(1));
    assert_eq!((0..5).filter(|_| world.wait(&route, &ADA).is_none()).count(), 3);
}

#[test]
fn everybody_is_counted_apart_and_every_route_too() {
    let world = World::new();
    let (orders, users) = (
        route("orders", vec![limit(LimitBy::Subject, 1, 60, 1)]),
        route("users", vec![limit(LimitBy::Subject, 1, 60, 1)]),
    );
    assert_eq!(world.wait(&orders, &ADA), None);
    assert!(world.wait(&orders, &ADA).is_some());
    assert_eq!(world.wait(&orders, &BOB), None);
    assert_eq!(world.wait(&users, &ADA), None);
}

#[test]
fn who_has_no_subject_is_counted_by_client_and_without_that_by_address() {
    let world = World::new();
    let route = route("orders", vec![limit(LimitBy::Subject, 1, 60, 1)]);
    let machine = Who { subject: None, ..ADA };
    let nobody = Who::at(ADA.address);
    for who in [&ADA, &machine, &nobody] {
        assert_eq!(world.wait(&route, who), None);
        assert!(world.wait(&route, who).is_some());
    }
    // A subject that is called like a client is not that client.
    assert_eq!(world.wait(&route, &Who { subject: Some("web"), ..ADA }), None);
}

#[test]
fn subjects_and_clients_of_another_issuer_are_others_than_ours_of_the_same_name() {
    for by in [LimitBy::Subject, LimitBy::Client] {
        let (world, route) = (World::new(), route("orders", vec![limit(by, 1, 60, 1)]));
        let theirs = Who { issuer: Some("https://login.partner.example"), ..ADA };
        for who in [ADA, theirs, Who { issuer: Some("https://login.other.example"), ..ADA }] {
            assert_eq!(world.wait(&route, &who), None, "{who:?}");
            assert!(world.wait(&route, &who).is_some(), "{who:?}");
        }
    }
}

#[test]
fn ipv6_addresses_are_counted_by_network_and_mapped_ones_as_ipv4() {
    let world = World::new();
    let route = route("orders", vec![limit(LimitBy::Address, 1, 60, 1)]);
    assert_eq!(world.wait(&route, &from("2001:db8:0:1::1")), None);
    assert!(world.wait(&route, &from("2001:db8:0:1:ffff::9")).is_some());
    assert_eq!(world.wait(&route, &from("2001:db8:0:2::1")), None);
    assert_eq!(world.wait(&route, &from("192.0.2.1")), None);
    assert!(world.wait(&route, &from("::ffff:192.0.2.1")).is_some());
    assert_eq!(world.wait(&route, &from("192.0.2.2")), None);
}

#[test]
fn a_limit_of_the_route_counts_all_together() {
    let world = World::new();
    let route = route("orders", vec![limit(LimitBy::Route, 2, 60, 2)]);
    assert_eq!(world.wait(&route, &ADA), None);
    assert_eq!(world.wait(&route, &BOB), None);
    assert!(world.wait(&route, &from("192.0.2.1")).is_some());
}

#[test]
fn the_headers_say_what_the_rules_are_and_how_the_caller_stands() {
    let world = World::new();
    let limits = vec![limit(LimitBy::Subject, 6, 60, 3), limit(LimitBy::Route, 1000, 1, 1000)];
    let route = route("orders", limits);
    let policy = r#""subject";q=6;w=60, "route";q=1000;w=1"#.to_owned();
    assert_eq!(
        world.headers(&route, &ADA),
        (policy.clone(), r#""subject";r=2;t=10, "route";r=999;t=1"#.to_owned())
    );
    world.wait(&route, &ADA);
    world.wait(&route, &ADA);
    assert_eq!(world.headers(&route, &ADA), (policy, r#""subject";r=0;t=30"#.to_owned()));
}

#[test]
fn counts_survive_a_reload_that_leaves_their_rule_alone() {
    let world = World::new();
    let (strict, wide) = (limit(LimitBy::Subject, 1, 60, 1), limit(LimitBy::Route, 100, 60, 100));
    let before = route("orders", vec![strict.clone()]);
    assert_eq!(world.wait(&before, &ADA), None);
    let after = route("orders", vec![wide, strict]);
    assert!(world.wait(&after, &ADA).is_some());
    let changed = route("orders", vec![limit(LimitBy::Subject, 2, 60, 2)]);
    assert_eq!(world.wait(&changed, &ADA), None);
}

#[test]
fn what_was_counted_by_its_address_before_is_not_counted_so_again() {
    let world = World::new();
    let rules = vec![limit(LimitBy::Subject, 9, 60, 9), limit(LimitBy::Address, 2, 60, 2)];
    let route = route("orders", rules);
    for remaining in [1, 0] {
        let counted = world.limits.check_address(&route, ADA.address).unwrap();
        let LimitOutcome::Allowed(headers) = world.limits.check_rest(&route, &ADA, counted) else {
            panic!("too many")
        };
        let mut told = HeaderMap::new();
        headers.write(&mut told);
        let told = told["ratelimit"].to_str().unwrap().to_owned();
        assert!(told.contains(&format!("\"address\";r={remaining};")), "{told}");
    }
    let third = world.limits.check_address(&route, ADA.address);
    assert!(matches!(third, Err(LimitOutcome::TooMany(..))), "{third:?}");
    let by_subject = self::route("people", vec![limit(LimitBy::Subject, 1, 60, 1)]);
    for _ in 0..3 {
        assert!(
            world.limits.check_address(&by_subject, ADA.address).is_ok(),
            "nothing is counted by address"
        );
    }
}

/// A file may say no more: it takes 500 years to be given back.
#[test]
fn the_largest_burst_is_counted() {
    let world = World::new();
    let route = route("orders", vec![limit(LimitBy::Subject, 1, 30 * 24 * 3600, 6_083)]);
    for left in (0..6_083).rev() {
        let (_, standing) = world.headers(&route, &ADA);
        assert!(standing.starts_with(&format!("\"subject\";r={left};")), "{left}: {standing}");
    }
    let days = Lifetime::hours(30 * 24);
    assert_eq!(world.wait(&route, &ADA), Some(days));
    world.clock.advance(days);
    assert_eq!(world.wait(&route, &ADA), None);
}

#[test]
fn counts_of_routes_that_are_gone_are_forgotten() {
    let world = World::new();
    let route = route("orders", vec![limit(LimitBy::Subject, 1, 60, 1)]);
    assert_eq!(world.wait(&route, &ADA), None);
    world.limits.keep_only(&RouteTable::default());
    assert_eq!(world.wait(&route, &ADA), None);
}

#[test]
fn of_too_many_callers_some_are_forgotten_and_memory_stays_bounded() {
    let clock: Arc<dyn Clock> = Arc::new(ManualClock::at(Timestamp::from_secs(1)));
    let counts = Counts::new(&limit(LimitBy::Client, 1, 60, 1), &clock);
    for number in 0..110_000 {
        counts.check(Whose::Client(None, &number.to_string()));
    }
    let callers = counts.callers();
    assert!((50_000..=100_000).contains(&callers), "{callers}");
}

#[test]
fn callers_who_come_no_more_do_not_keep_new_ones_from_being_counted() {
    let clock: Arc<dyn Clock> = Arc::new(ManualClock::at(Timestamp::from_secs(1)));
    let counts = Counts::new(&limit(LimitBy::Client, 1, 60, 1), &clock);
    let passes = |number: u32| counts.check(Whose::Client(None, &number.to_string())).wait.is_none();
    assert!((0..220_000).all(passes));
    assert_eq!((200_000..220_000).filter(|number| passes(*number)).count(), 0);
}
