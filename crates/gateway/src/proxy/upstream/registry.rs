//! Which upstreams there are: the same for all cores, and for each core its connections to them.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use tokio::time::Instant;

use super::config::UpstreamConfig;
use super::pool::Upstream;
use super::probe;
use super::shared::SharedUpstream;

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
    retired: bool,
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
        let mut new: HashMap<Arc<str>, Held> = HashMap::new();
        for shared in self.registry.at(generation, configs) {
            let name = shared.config.name.clone();
            let same = old.get(&name).filter(|held| Arc::ptr_eq(&held.upstream.shared, &shared));
            let upstream = match same {
                Some(held) => held.upstream.clone(),
                None => Arc::new(Upstream::new(shared, self.core)),
            };
            new.insert(name, Held { upstream, retired: false });
        }
        for (name, held) in old.iter().filter(|(_, held)| !held.retired) {
            let retired = || Held { retired: true, ..held.clone() };
            new.entry(name.clone()).or_insert_with(retired);
        }
        self.by_name.store(Arc::new(new));
        self.generation.store(generation, Ordering::Release);
    }

    /// The upstream of that name.
    pub(in crate::proxy) fn find(&self, name: &str) -> Option<Arc<Upstream>> {
        self.by_name.load().get(name).map(|held| held.upstream.clone())
    }

    /// Closes connections that are no longer needed.
    pub(in crate::proxy) fn sweep(&self, now: Instant) {
        self.by_name.load().values().for_each(|held| held.upstream.sweep(now));
    }
}
