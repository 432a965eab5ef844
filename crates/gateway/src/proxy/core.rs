//! One core: its upstreams, and what it shares with the others.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use sluice_net::ForwardedCertificatePolicy;
use tokio::time::{Instant, MissedTickBehavior, interval};
use tokio_util::task::TaskTracker;

use super::body::{Hearing, Watch};
use super::fault::{AnswerFault, Fault};
use super::plain_refusals::PlainRefusals;
use super::traffic::Traffic;
use super::upstream::{CoreUpstreams, Registry, Upstream, by_weight};
use crate::cores::PlainHttp;
use crate::route::Route;

/// How often idle connections are looked at, and the file's upstreams followed without a request.
const SWEEP_EVERY: Duration = Duration::from_secs(1);

/// Whose word about certificates counts, and about TLS; and what was said of those whose word does not.
pub(super) type Believed = (ForwardedCertificatePolicy, PlainHttp, Arc<PlainRefusals>);

/// What the requests of one core are handled with.
pub(super) struct Core<T> {
    pub(super) traffic: Arc<T>,
    /// Whose word about certificates of clients counts.
    pub(super) certificates: Arc<ForwardedCertificatePolicy>,
    /// Whose plain http is answered.
    pub(super) plain_http: PlainHttp,
    /// What was said of that of others, by all cores.
    pub(super) plain_refusals: Arc<PlainRefusals>,
    /// Answers that clients may let wait.
    pub(super) watch: Watch,
    /// Who hears of answers that broke off.
    pub(super) hearing: Hearing,
    /// Connections that became something else.
    pub(super) tunnels: TaskTracker,
    upstreams: CoreUpstreams,
    turn: AtomicU64,
}

impl<T: Traffic> Core<T> {
    /// The core with that number.
    pub(super) fn new(
        number: usize,
        traffic: Arc<T>,
        (certificates, plain_http, plain_refusals): Believed,
        registry: Arc<Registry>,
    ) -> Self {
        let upstreams = CoreUpstreams::new(number, registry);
        let (watch, tunnels) = (Watch::default(), TaskTracker::new());
        let certificates = Arc::new(certificates);
        let (hearing, turn) = (hearing(traffic.clone()), AtomicU64::new(0));
        Self { traffic, certificates, plain_http, plain_refusals, watch, hearing, tunnels, upstreams, turn }
    }

    /// The upstream for a request under `route`.
    ///
    /// # Errors
    /// [`Fault::NotForwarded`]: the route has none. One that left the file meanwhile is still there for it.
    pub(super) fn upstream(&self, route: &Route) -> Result<Arc<Upstream>, Fault> {
        self.follow();
        let chosen = match route.upstreams.as_slice() {
            [only] => Some(only),
            several => {
                let turn = self.turn.fetch_add(1, Ordering::Relaxed);
                let weights = several.iter().map(|upstream| u64::from(upstream.weight.get()));
                by_weight(turn, weights).and_then(|place| several.get(place))
            }
        };
        chosen.map(|chosen| self.upstreams.find(&chosen.config)).ok_or(Fault::NotForwarded)
    }

    fn follow(&self) {
        self.upstreams.follow(self.traffic.generation(), || self.traffic.upstreams());
    }

    /// Looks after idle connections and answers that nobody takes, for ever.
    pub(super) async fn sweep(&self) {
        let mut ticks = interval(SWEEP_EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            self.follow();
            let now = Instant::now();
            self.upstreams.sweep(now);
            self.watch.sweep(now);
        }
    }
}

/// Tells the observer of `traffic`.
fn hearing<T: Traffic>(traffic: Arc<T>) -> Hearing {
    Arc::new(move |route: &str, fault: AnswerFault| traffic.observer().broken_answer(route, fault.label()))
}
