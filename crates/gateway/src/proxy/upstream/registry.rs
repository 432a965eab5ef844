//! Which upstreams there are: the same for all cores, and for each core its connections to them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;
use hashbrown::HashMap;
use parking_lot::Mutex;
use smallvec::SmallVec;
use tokio::time::Instant;

use super::config::UpstreamConfig;
use super::pool::Upstream;
use super::probe;
use super::shared::SharedUpstream;

/// How long an upstream is still known that left the file: longer than a verdict may take.
const FORGOTTEN_AFTER: Duration = Duration::from_mins(2);
/// Not the number of any generation.
const NEVER: u64 = u64::MAX;

/// The upstreams in force.
#[derive(Debug)]
pub(in crate::proxy) struct Registry {
    cores: usize,
    current: Mutex<(u64, Vec<Described>)>,
}

/// How a server is doing, as far as requests and probes say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerState {
    /// The name of its upstream.
    pub upstream: Arc<str>,
    /// `host:port`.
    pub server: Arc<str>,
    /// Whether requests go there: it is not left alone, and probes do not find it ill.
    pub is_up: bool,
}

/// An upstream, as the table in force describes it: one that did not change was made from an equal description.
type Described = (Arc<UpstreamConfig>, Arc<SharedUpstream>);

/// The upstreams of one core.
pub(in crate::proxy) struct CoreUpstreams {
    core: usize,
    registry: Arc<Registry>,
    generation: AtomicU64,
    /// Held while `by_name` is made anew.
    renewing: Mutex<()>,
    by_name: ArcSwap<ByName>,
}

/// The one that is in force, if any, before those that left the file.
type ByName = HashMap<Arc<str>, SmallVec<[Held; 1]>>;

/// An upstream that may have left the file: requests that were judged before are still sent there.
#[derive(Clone)]
struct Held {
    config: Arc<UpstreamConfig>,
    upstream: Arc<Upstream>,
    /// Since when it has left.
    retired: Option<Instant>,
}

impl Held {
    fn is_forgotten(&self, now: Instant) -> bool {
        self.retired.is_some_and(|since| now.saturating_duration_since(since) >= FORGOTTEN_AFTER)
    }
}

impl Registry {
    pub(in crate::proxy) fn new(cores: usize) -> Self {
        Self { cores, current: Mutex::new((NEVER, Vec::new())) }
    }

    /// The upstreams of `generation`; what did not change keeps its connections, and servers that did not change their health.
    fn at(&self, generation: u64, configs: impl FnOnce() -> Vec<Arc<UpstreamConfig>>) -> Vec<Described> {
        let mut current = self.current.lock();
        let (of, upstreams) = &mut *current;
        if *of != generation {
            let configs = configs().into_iter();
            let renewed: Vec<_> =
                configs.map(|config| (config.clone(), self.renew(upstreams, config))).collect();
            only_in(&renewed, upstreams).for_each(probe::begin);
            only_in(upstreams, &renewed).for_each(|gone| gone.left.cancel());
            (*of, *upstreams) = (generation, renewed);
        }
        upstreams.clone()
    }

    /// How the servers of the upstreams in force are doing, a second after they came into force at the latest.
    pub(in crate::proxy) fn servers(&self) -> Vec<ServerState> {
        let current = self.current.lock();
        let all = current.1.iter().flat_map(|(_, upstream)| {
            upstream.servers.iter().map(move |server| ServerState {
                upstream: upstream.config.name.clone(),
                server: server.label.clone(),
                is_up: server.is_well(),
            })
        });
        all.collect()
    }

    /// One of a table that another has replaced: nobody asks its servers how they are.
    fn former(&self, config: &Arc<UpstreamConfig>) -> Arc<SharedUpstream> {
        self.renew(&self.current.lock().1, config.clone())
    }

    fn renew(&self, old: &[Described], config: Arc<UpstreamConfig>) -> Arc<SharedUpstream> {
        if let Some((_, same)) = old.iter().find(|(old, _)| *old == config) {
            return same.clone();
        }
        let former = old.iter().find(|(old, _)| old.name == config.name).map(|(_, former)| &**former);
        Arc::new(SharedUpstream::new(config, self.cores, former))
    }
}

/// Those that are not among `others`.
fn only_in<'a>(
    those: &'a [Described],
    others: &'a [Described],
) -> impl Iterator<Item = &'a Arc<SharedUpstream>> {
    let ones = those.iter().map(|(_, one)| one);
    ones.filter(move |one| !others.iter().any(|(_, other)| Arc::ptr_eq(one, other)))
}

impl CoreUpstreams {
    pub(in crate::proxy) fn new(core: usize, registry: Arc<Registry>) -> Self {
        Self {
            core,
            registry,
            generation: AtomicU64::new(NEVER),
            renewing: Mutex::new(()),
            by_name: ArcSwap::default(),
        }
    }

    /// Follows the file, if it has changed.
    pub(in crate::proxy) fn follow(
        &self,
        generation: u64,
        configs: impl FnOnce() -> Vec<Arc<UpstreamConfig>>,
    ) {
        if self.generation.load(Ordering::Acquire) == generation {
            return;
        }
        let _renewing = self.renewing.lock();
        let old = self.by_name.load();
        let mut new = ByName::default();
        for (config, shared) in self.registry.at(generation, configs) {
            let is_same = |held: &&Held| Arc::ptr_eq(&held.upstream.shared, &shared);
            let upstream = match old.get(&config.name).and_then(|held| held.iter().find(is_same)) {
                Some(held) => held.upstream.clone(),
                None => Arc::new(Upstream::new(shared, self.core)),
            };
            new.entry(config.name.clone()).or_default().push(Held { config, upstream, retired: None });
        }
        for (name, held) in &**old {
            let known = new.entry(name.clone()).or_default();
            for held in held {
                if !known.iter().any(|known| Arc::ptr_eq(&known.upstream, &held.upstream)) {
                    let retired = Some(held.retired.unwrap_or_else(Instant::now));
                    known.push(Held { retired, ..held.clone() });
                }
            }
        }
        self.by_name.store(Arc::new(new));
        self.generation.store(generation, Ordering::Release);
    }

    /// The upstream that the table of a request describes.
    pub(in crate::proxy) fn find(&self, config: &Arc<UpstreamConfig>) -> Arc<Upstream> {
        find(&self.by_name.load(), config).unwrap_or_else(|| self.learn(config))
    }

    /// Takes up an upstream of a table that was replaced before this core had looked at it.
    fn learn(&self, config: &Arc<UpstreamConfig>) -> Arc<Upstream> {
        let _renewing = self.renewing.lock();
        let mut known = ByName::clone(&self.by_name.load());
        if let Some(upstream) = find(&known, config) {
            return upstream;
        }
        let upstream = Arc::new(Upstream::new(self.registry.former(config), self.core));
        let retired = Some(Instant::now());
        let held = Held { config: config.clone(), upstream: upstream.clone(), retired };
        known.entry(config.name.clone()).or_default().push(held);
        self.by_name.store(Arc::new(known));
        upstream
    }

    /// Closes connections that are no longer needed, and forgets upstreams that left the file long ago.
    pub(in crate::proxy) fn sweep(&self, now: Instant) {
        let held = self.by_name.load();
        held.values().flatten().for_each(|held| held.upstream.sweep(now));
        if held.values().flatten().any(|held| held.is_forgotten(now)) {
            let _renewing = self.renewing.lock();
            let mut left = ByName::clone(&self.by_name.load());
            left.retain(|_, held| {
                held.iter().filter(|held| held.is_forgotten(now)).for_each(|held| held.upstream.close());
                held.retain(|held| !held.is_forgotten(now));
                !held.is_empty()
            });
            self.by_name.store(Arc::new(left));
        }
    }
}

/// The upstream that is described so. While no other table has come into force its description is the very same, which is seen at once.
fn find(known: &ByName, config: &Arc<UpstreamConfig>) -> Option<Arc<Upstream>> {
    let held = known.get(&config.name)?.iter().find(|held| held.config == *config)?;
    Some(held.upstream.clone())
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use super::super::config::{ActiveHealth, PassiveHealth};
    use super::super::given::upstream;
    use super::*;

    fn config(name: &str, port: u16) -> Arc<UpstreamConfig> {
        Arc::new(upstream(name, &[port]))
    }

    #[tokio::test(start_paused = true)]
    async fn an_upstream_that_did_not_change_is_kept_and_one_that_left_is_forgotten_in_time() {
        let upstreams = CoreUpstreams::new(0, Arc::new(Registry::new(1)));
        let first = [config("kept", 1), config("changed", 2), config("gone", 3)];
        upstreams.follow(1, || first.to_vec());
        let before = first.each_ref().map(|one| upstreams.find(one));
        upstreams.follow(1, || panic!("the same file"));
        upstreams.follow(2, || vec![config("kept", 1), config("changed", 4)]);
        let changed = config("changed", 4);
        assert!(!Arc::ptr_eq(&upstreams.find(&changed), &before[1]));
        upstreams.sweep(Instant::now());
        for (one, before) in first.iter().zip(&before) {
            assert!(Arc::ptr_eq(&upstreams.find(one), before), "{}, for requests judged before", one.name);
        }
        tokio::time::advance(FORGOTTEN_AFTER).await;
        upstreams.sweep(Instant::now());
        let is_known = |one: &Arc<UpstreamConfig>| find(&upstreams.by_name.load(), one).is_some();
        assert_eq!(first.each_ref().map(is_known), [true, false, false]);
        assert!(is_known(&changed));
        assert_eq!(before.each_ref().map(|upstream| upstream.is_closed()), [false, true, true]);
    }

    /// A WebSocket may hold it for days.
    #[tokio::test]
    async fn the_servers_of_an_upstream_that_has_left_the_file_are_asked_no_more() {
        let upstreams = CoreUpstreams::new(0, Arc::new(Registry::new(1)));
        let probed = |port| {
            let active_health = Some(ActiveHealth::at("/health"));
            Arc::new(UpstreamConfig { active_health, ..upstream("app", &[port]) })
        };
        // Who asks holds a weak reference.
        let asking = |shared: &Arc<SharedUpstream>| Arc::weak_count(shared);
        let (first, second) = (probed(1), probed(2));
        upstreams.follow(1, || vec![first.clone()]);
        let held = upstreams.find(&first).shared.clone();
        assert_eq!(asking(&held), 1);
        upstreams.follow(2, || vec![first.clone()]);
        tokio::task::yield_now().await;
        assert_eq!(asking(&held), 1, "it is still there");
        upstreams.follow(3, || vec![second.clone()]);
        let follower = upstreams.find(&second).shared.clone();
        for _ in 0..10 {
            tokio::task::yield_now().await;
        }
        assert_eq!((asking(&held), asking(&follower)), (0, 1));
        let unseen = upstreams.find(&probed(3)).shared.clone();
        assert_eq!(asking(&unseen), 0, "it has left before it was looked at");
    }

    #[tokio::test]
    async fn how_a_server_is_doing_is_known_after_a_change_of_its_upstream() {
        let upstreams = CoreUpstreams::new(0, Arc::new(Registry::new(1)));
        let well = |generation: u64, config: UpstreamConfig| {
            let config = Arc::new(config);
            upstreams.follow(generation, || vec![config.clone()]);
            let shared = upstreams.find(&config).shared.clone();
            (shared.servers.iter().map(|server| server.is_well()).collect::<Vec<_>>(), shared)
        };
        let passive = PassiveHealth { failures: NonZeroU32::MIN, eject_for: Duration::from_hours(1) };
        let first = UpstreamConfig {
            passive_health: Some(passive),
            active_health: Some(ActiveHealth::at("/health")),
            ..upstream("app", &[1, 2, 3])
        };
        let (were_well, shared) = well(1, first.clone());
        assert_eq!(were_well, [true, true, true]);
        shared.servers[0].probed(&Err(probe::Ailment::Late));
        shared.note_failure(&shared.servers[1]);
        let mut more = UpstreamConfig { servers: upstream("app", &[4, 3, 2, 1]).servers, ..first };
        more.servers[3].weight = NonZeroU32::new(2).unwrap();
        assert_eq!(well(2, more.clone()).0, [true, true, false, false]);
        let mut of_others = more.clone();
        of_others.servers[2].tls = true;
        assert_eq!(well(3, of_others).0, [true, true, true, false], "with TLS it is another one");
        assert_eq!(well(4, more.clone()).0, [true, true, true, false]);
        let unprobed = UpstreamConfig { active_health: None, ..more };
        assert_eq!(well(5, unprobed).0, [true, true, true, true], "nothing would find it well again");
    }

    #[tokio::test]
    async fn the_servers_that_are_shown_are_those_in_force_and_how_they_are_doing() {
        let registry = Arc::new(Registry::new(1));
        let upstreams = CoreUpstreams::new(0, registry.clone());
        let shown = || {
            let states = registry.servers().into_iter();
            states.map(|one| format!("{} {} {}", one.upstream, one.server, one.is_up)).collect::<Vec<_>>()
        };
        assert!(shown().is_empty());
        let app = Arc::new(upstream("app", &[1, 2]));
        upstreams.follow(1, || vec![app.clone(), config("other", 3)]);
        upstreams.find(&app).shared.servers[1].probed(&Err(probe::Ailment::Late));
        assert_eq!(shown(), ["app 127.0.0.1:1 true", "app 127.0.0.1:2 false", "other 127.0.0.1:3 true"]);
        upstreams.follow(2, || vec![config("app", 1)]);
        assert_eq!(shown(), ["app 127.0.0.1:1 true"], "the others have left the file");
    }

    #[tokio::test(start_paused = true)]
    async fn an_upstream_of_a_table_that_was_replaced_unseen_is_the_one_that_it_describes() {
        let upstreams = CoreUpstreams::new(0, Arc::new(Registry::new(1)));
        upstreams.follow(2, || vec![config("app", 2)]);
        let port = |of: &Upstream| of.shared.config.servers[0].port;
        let unseen = upstreams.find(&config("app", 1));
        assert_eq!((port(&unseen), port(&upstreams.find(&config("app", 2)))), (1, 2));
        assert!(
            Arc::ptr_eq(&upstreams.find(&config("app", 1)), &unseen),
            "it is the same for the next request"
        );
        tokio::time::advance(FORGOTTEN_AFTER).await;
        upstreams.sweep(Instant::now());
        assert!(find(&upstreams.by_name.load(), &config("app", 1)).is_none());
        assert_eq!(port(&upstreams.find(&config("app", 2))), 2);
    }
}
