//! Which upstreams there are: the same for all cores, and for each core its connections to them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;
use hashbrown::HashMap;
use parking_lot::Mutex;
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
pub(in crate::proxy) struct Registry {
    cores: usize,
    current: Mutex<(u64, Vec<Arc<SharedUpstream>>)>,
}

/// The upstreams of one core, by name.
pub(in crate::proxy) struct CoreUpstreams {
    core: usize,
    registry: Arc<Registry>,
    generation: AtomicU64,
    /// Held while `by_name` is made anew.
    renewing: Mutex<()>,
    by_name: ArcSwap<HashMap<Arc<str>, Held>>,
}

/// An upstream that may have left the file: requests that were judged before are still sent there.
#[derive(Clone)]
struct Held {
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

    /// The upstreams of `generation`; what did not change keeps its health and its connections.
    fn at(
        &self,
        generation: u64,
        configs: impl FnOnce() -> Vec<Arc<UpstreamConfig>>,
    ) -> Vec<Arc<SharedUpstream>> {
        let mut current = self.current.lock();
        let (of, upstreams) = &mut *current;
        if *of != generation {
            let renewed = configs().into_iter().map(|config| self.renew(upstreams, config)).collect();
            (*of, *upstreams) = (generation, renewed);
        }
        upstreams.clone()
    }

    fn renew(&self, old: &[Arc<SharedUpstream>], config: Arc<UpstreamConfig>) -> Arc<SharedUpstream> {
        if let Some(same) = old.iter().find(|old| old.config == config) {
            return same.clone();
        }
        let made = Arc::new(SharedUpstream::new(config, self.cores));
        probe::begin(&made);
        made
    }
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
        let mut new: HashMap<Arc<str>, Held> = HashMap::default();
        for shared in self.registry.at(generation, configs) {
            let name = shared.config.name.clone();
            let same = old.get(&name).filter(|held| Arc::ptr_eq(&held.upstream.shared, &shared));
            let upstream = match same {
                Some(held) => held.upstream.clone(),
                None => Arc::new(Upstream::new(shared, self.core)),
            };
            new.insert(name, Held { upstream, retired: None });
        }
        for (name, held) in &**old {
            let retired = Some(held.retired.unwrap_or_else(Instant::now));
            new.entry(name.clone()).or_insert_with(|| Held { retired, ..held.clone() });
        }
        self.by_name.store(Arc::new(new));
        self.generation.store(generation, Ordering::Release);
    }

    /// The upstream of that name.
    pub(in crate::proxy) fn find(&self, name: &str) -> Option<Arc<Upstream>> {
        self.by_name.load().get(name).map(|held| held.upstream.clone())
    }

    /// Closes connections that are no longer needed, and forgets upstreams that left the file long ago.
    pub(in crate::proxy) fn sweep(&self, now: Instant) {
        let held = self.by_name.load();
        held.values().for_each(|held| held.upstream.sweep(now));
        if held.values().any(|held| held.is_forgotten(now)) {
            let _renewing = self.renewing.lock();
            let mut left = HashMap::clone(&self.by_name.load());
            left.retain(|_, held| !held.is_forgotten(now));
            self.by_name.store(Arc::new(left));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::num::{NonZeroU32, NonZeroUsize};

    use super::super::config::{Breaker, ServerConfig, Timeouts, UpstreamProtocol, UpstreamTls};
    use super::*;

    fn config(name: &str, port: u16) -> Arc<UpstreamConfig> {
        let server = ServerConfig { host: "127.0.0.1".into(), port, tls: false, weight: NonZeroU32::MIN };
        Arc::new(UpstreamConfig {
            name: name.into(),
            servers: vec![server],
            protocol: UpstreamProtocol::Http1,
            tls: UpstreamTls::default(),
            timeouts: Timeouts::default(),
            retries: 0,
            idle_connections: NonZeroUsize::MIN,
            breaker: Breaker::default(),
            passive_health: None,
            active_health: None,
        })
    }

    #[tokio::test(start_paused = true)]
    async fn an_upstream_that_did_not_change_is_kept_and_one_that_left_is_forgotten_in_time() {
        let upstreams = CoreUpstreams::new(0, Arc::new(Registry::new(1)));
        upstreams.follow(1, || vec![config("kept", 1), config("changed", 2), config("gone", 3)]);
        let before = ["kept", "changed", "gone"].map(|name| upstreams.find(name).unwrap());
        upstreams.follow(1, || panic!("the same file"));
        upstreams.follow(2, || vec![config("kept", 1), config("changed", 4)]);
        assert!(Arc::ptr_eq(&upstreams.find("kept").unwrap(), &before[0]));
        assert!(!Arc::ptr_eq(&upstreams.find("changed").unwrap(), &before[1]));
        upstreams.sweep(Instant::now());
        assert!(Arc::ptr_eq(&upstreams.find("gone").unwrap(), &before[2]), "for requests judged before");
        tokio::time::advance(FORGOTTEN_AFTER).await;
        upstreams.sweep(Instant::now());
        assert!(upstreams.find("gone").is_none() && upstreams.find("kept").is_some());
    }
}
