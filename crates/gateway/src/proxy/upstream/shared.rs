//! An upstream as all cores see it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use sluice_commit::chain;
use sluice_net::{ClientTls, client_config};
use tokio_rustls::rustls::ClientConfig;
use tokio_util::sync::CancellationToken;
use tracing::{error, warn};

use super::budget::Budget;
use super::config::{ServerConfig, UpstreamConfig};
use super::health::Server;
use crate::proxy::body::BodyError;
use crate::proxy::fault::{AnswerFault, Fault};

/// An upstream: its servers and how busy it is.
#[derive(Debug)]
pub(in crate::proxy) struct SharedUpstream {
    pub(super) config: Arc<UpstreamConfig>,
    pub(super) servers: Vec<Arc<Server>>,
    /// `None`: no server speaks TLS, or it cannot be set up.
    pub(super) tls: Option<Arc<ClientConfig>>,
    /// Cancelled when it has left the file: an exchange that lasts may hold it for days, but nobody need know any more how its servers are.
    pub(super) left: CancellationToken,
    lanes: Box<[Lane]>,
    /// Of requests that are sent anew.
    budget: Budget,
}

/// Requests of one core, on a cache line of their own: in the lower half those under way, in the upper one all that there were, so that one
/// operation counts both.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Lane(AtomicU64);

/// One more under way.
const UNDER_WAY: u64 = 1;
/// One more that came, and is under way.
const CAME: u64 = 1 << 32 | UNDER_WAY;

/// How many are under way, of what a lane counts.
fn under_way(counted: u64) -> usize {
    usize::try_from(counted & u64::from(u32::MAX)).unwrap_or(usize::MAX)
}

impl SharedUpstream {
    /// Of `config`, used by `cores`; of servers that `former` had as well, one knows how they are doing.
    pub(super) fn new(config: Arc<UpstreamConfig>, cores: usize, former: Option<&Self>) -> Self {
        let known = |server: &ServerConfig| former?.servers.iter().find(|known| known.is_at(server));
        let server = |described: &ServerConfig| {
            let server = Server::new(described.clone(), config.name.clone());
            Arc::new(match known(described) {
                Some(known) => server.after(known, &config),
                None => server,
            })
        };
        let servers = config.servers.iter().map(server).collect();
        let tls = config.servers.iter().any(|server| server.tls).then(|| tls(&config)).flatten();
        let lanes = (0..cores).map(|_| Lane::default()).collect();
        Self { config, servers, tls, left: CancellationToken::new(), lanes, budget: Budget::new() }
    }

    /// Counts a request on `core`, if there may be one more.
    pub(super) fn enter(&self, core: usize) -> Result<(), Fault> {
        let Some(Lane(lane)) = self.lanes.get(core) else { return Err(Fault::NoUpstream) };
        let mine = under_way(lane.fetch_add(CAME, Ordering::Relaxed)) + 1;
        let most = self.config.breaker.requests.get();
        // Up to half of its share a core looks at its own line only. Should all of them have more, the sum is looked at by each.
        if mine.saturating_mul(2).saturating_mul(self.lanes.len()) <= most || self.in_flight() <= most {
            return Ok(());
        }
        lane.fetch_sub(CAME, Ordering::Relaxed);
        Err(Fault::Overloaded)
    }

    /// A request on `core` has ended.
    pub(super) fn leave(&self, core: usize) {
        if let Some(Lane(lane)) = self.lanes.get(core) {
            lane.fetch_sub(UNDER_WAY, Ordering::Relaxed);
        }
    }

    fn in_flight(&self) -> usize {
        self.lanes.iter().map(|Lane(lane)| under_way(lane.load(Ordering::Relaxed))).sum()
    }

    /// Whether a request that a server had may be sent anew.
    pub(super) fn may_repeat(&self) -> bool {
        self.config.retry_budget.as_ref().is_none_or(|budget| self.budget.take(budget, || self.came()))
    }

    /// How many requests there were, in a count that begins anew beyond 32 bits.
    fn came(&self) -> u32 {
        let came = |Lane(lane): &Lane| u32::try_from(lane.load(Ordering::Relaxed) >> 32).unwrap_or_default();
        self.lanes.iter().map(came).fold(0, u32::wrapping_add)
    }

    /// Notes that a request to a server failed.
    pub(super) fn note_failure(&self, server: &Server) {
        if let Some(health) = &self.config.passive_health {
            server.failed(health, || self.is_alone(server));
        }
    }

    /// Notes that an answer of a server broke off.
    pub(super) fn note_broken_answer(&self, server: &Server) {
        if let Some(health) = &self.config.passive_health {
            server.broke_off(health, || self.is_alone(server));
        }
    }

    /// Says why a request to a server failed, once for a crowd of them: the access log tells of the fault alone.
    pub(super) fn report_failure(&self, server: &Server, fault: Fault, why: impl FnOnce() -> String) {
        if server.is_failure_to_be_reported() {
            let (upstream, server, error) = (&self.config.name, &server.label, why());
            warn!(%upstream, %server, fault = fault.label(), %error, "a request to a server failed");
        }
    }

    /// Says that an answer of a server broke off, once for a crowd of them: the access log told of its head alone.
    pub(super) fn report_broken_answer(&self, server: &Server, fault: AnswerFault, error: &BodyError) {
        if server.is_breach_to_be_reported() {
            let (upstream, server) = (&self.config.name, &server.label);
            warn!(%upstream, %server, fault = fault.label(), error = %chain(error), "an answer of a server broke off");
        }
    }

    /// Whether no other server is well.
    fn is_alone(&self, server: &Server) -> bool {
        let is_other = |other: &Arc<Server>| !std::ptr::eq::<Server>(&raw const **other, server);
        !self.servers.iter().any(|other| is_other(other) && other.is_well())
    }
}

fn tls(config: &UpstreamConfig) -> Option<Arc<ClientConfig>> {
    if let Some(client) = &config.tls.client {
        return Some(client.config.clone());
    }
    let of_system = ClientTls { protocols: config.protocol.alpn(), ..ClientTls::default() };
    match client_config(&of_system) {
        Ok(config) => Some(config),
        Err(failure) => {
            error!(upstream = %config.name, error = %failure, "TLS with an upstream cannot be set up: it gets no requests");
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroUsize;
    use std::thread;

    use super::super::config::{Breaker, RetryBudget};
    use super::super::given;
    use super::*;

    /// Of no more requests at a time, used by so many cores.
    fn shared(most: usize, cores: usize, retry_budget: Option<RetryBudget>) -> SharedUpstream {
        let breaker = Breaker { requests: NonZeroUsize::new(most).unwrap(), ..Breaker::default() };
        let config = UpstreamConfig { retry_budget, breaker, ..given::upstream("a", &[1]) };
        SharedUpstream::new(Arc::new(config), cores, None)
    }

    #[tokio::test]
    async fn no_more_requests_are_let_in_than_the_breaker_permits_over_all_cores() {
        let shared = shared(3, 2, None);
        assert_eq!([shared.enter(0), shared.enter(0), shared.enter(1)], [Ok(()), Ok(()), Ok(())]);
        assert_eq!(shared.enter(1), Err(Fault::Overloaded));
        shared.leave(0);
        assert_eq!(shared.enter(1), Ok(()));
        assert_eq!((shared.came(), shared.in_flight()), (4, 3), "who was not let in has not come");
    }
    /// They count and are turned away meanwhile, so that the count goes up and down.
    #[tokio::test]
    async fn cores_that_ask_at_once_send_no_more_anew_than_the_budget_has() {
        const EACH: u32 = 20_000;
        let shared = shared(3, 4, Some(RetryBudget { percent: 20, at_least: 10 }));
        let asks = |core: usize| {
            let asked = (0..EACH).filter(|_| {
                let is_in = shared.enter(core).is_ok();
                let may_repeat = is_in && shared.may_repeat();
                if is_in {
                    shared.leave(core);
                }
                may_repeat
            });
            asked.count()
        };
        let permitted: usize = thread::scope(|scope| {
            let cores: Vec<_> = (0..4).map(|core| scope.spawn(move || asks(core))).collect();
            cores.into_iter().map(|core| core.join().unwrap()).sum()
        });
        let budget = usize::try_from(shared.came()).unwrap() / 5 + 10;
        // What grows old meanwhile gives ten back in ten seconds; and those that were just being turned away may have been counted.
        assert!(permitted <= budget + 20, "{permitted} of {budget}");
        assert!(permitted >= 10, "{permitted}");
    }
}
