//! The whole: a node of the server, started and stopped.
//!
//! [`states`]: what each of its APIs works with. [`gateways`]: its gateway, and what it gives others. [`metrics`]: what an operator sees of it.

mod gateways;
mod metrics;
mod ports;
mod states;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use sluice_net::TrustedProxies;
use sluice_oauth::config::tokens_of_session;
use sluice_oauth::keys::{KeyMaker, KeyRotation, NewKeys};
use sluice_primitives::{Clock, Lifetime, OsRng, Rng, SystemClock};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{info, warn};

use super::agreement::{Agreement, shared_settings};
use super::background::Background;
use super::certificates::Serving;
use super::gateway::{self, RunningGateway};
use super::janitor::Janitor;
use super::lookout::Lookout;
use super::opening::{key_material, open};
use super::outage::Outage;
use super::required_secrets::{RequiredSecrets, tell_of_costly_passwords};
use super::services::{Foundation, Services};
use super::steady_clock::SteadyClock;
use super::stores::{StartError, Stores};
use crate::cli::Listeners;
use crate::config::Settings;
use crate::observability::metrics::{self as exposition, Build};
use crate::observability::{Finishing, RequestLogLayer, RequestLogOptions, profiles};
use ports::Ports;

/// How long what is in flight may take once the node is told to stop.
pub(super) const DRAIN: Duration = Duration::from_secs(30);
/// The listener for gateways in other processes, as it is called in the log.
const LINK: &str = "link";

/// What is running.
pub(super) const BUILD: Build = Build {
    version: crate::VERSION,
    hash: match option_env!("SLUICE_GIT_HASH") {
        Some(hash) => hash,
        None => "unknown",
    },
    time: match option_env!("SLUICE_BUILD_TIME") {
        Some(time) => time,
        None => "unknown",
    },
};

/// How a node starts, beside its settings.
#[derive(Debug, Clone)]
pub(crate) struct StartOptions {
    pub(crate) listeners: Listeners,
    pub(crate) tls_self_signed: bool,
    pub(crate) auto_migrate: bool,
    /// Where development keeps its secret.
    pub(crate) data_dir: PathBuf,
    /// How long a node that stops waits for requests that are on their way ([`Limits::idle_grace`](sluice_net::Limits)).
    pub(crate) idle_grace: Duration,
}

/// Where a node is reached.
#[derive(Debug, Clone, Default)]
pub(crate) struct Started {
    /// `host:port` of the public listener.
    pub(crate) public: Option<String>,
    /// `host:port` of the admin listener.
    pub(crate) admin: Option<String>,
    /// `host:port` of the gateway.
    pub(crate) gateway: Option<String>,
    /// `host:port` of the decisions for other proxies.
    pub(crate) decisions: Option<String>,
    /// `host:port` of the link for gateways in other processes.
    pub(crate) link: Option<String>,
}

/// Where a node takes time, randomness and its keys from.
#[derive(Clone)]
pub(crate) struct World {
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) rng: Arc<dyn Rng>,
    pub(crate) keys: Arc<dyn KeyMaker>,
}

impl World {
    /// The real one.
    pub(crate) fn real() -> Self {
        Self { clock: Arc::new(SystemClock), rng: Arc::new(OsRng), keys: Arc::new(NewKeys) }
    }
}

/// A node that serves.
pub(crate) struct Node {
    pub(crate) started: Started,
    stores: Stores,
    services: Services,
    /// None where there are no routes.
    gateway: Option<RunningGateway>,
    /// What those are told of the database who watch. None where nobody can.
    lookout: Option<Arc<Lookout>>,
    /// Whether other nodes have alike what must be.
    agreement: Arc<Agreement>,
    /// What is said while the database does not answer those who ask for the health of the node, at whatever port.
    outage: Arc<Outage>,
    clock: Arc<dyn Clock>,
    tasks: TaskTracker,
    shutdown: CancellationToken,
    /// What goes on until all else has ended: what is in flight is judged by the feed, and a gateway's health is asked.
    to_the_end: Background,
}

impl Node {
    /// Starts a node: opens the store, reads keys and markers, binds the ports, serves.
    ///
    /// # Errors
    /// [`StartError`] says which part does not start.
    pub(crate) async fn start(
        settings: &Settings,
        options: &StartOptions,
        World { clock, rng, keys }: World,
    ) -> Result<Self, StartError> {
        let stores = open(settings, options.auto_migrate, (&clock, &rng)).await?;
        info!(version = BUILD.version, hash = BUILD.hash, store = stores.kind(), "starting");
        let base = Foundation {
            store: stores.repositories(),
            network: stores.network_id().await?,
            secrets: key_material(settings, &options.data_dir, &*rng)?,
            clock: Arc::clone(&clock),
            rng: Arc::clone(&rng),
            keys,
        };
        let at_rest = Arc::new(base.secrets.at_rest(base.network));
        let shared = shared_settings(settings, &base.secrets, base.network);
        let agreement = Agreement::new(stores.repositories(), shared, (Arc::clone(&clock), &*rng));
        let services = Services::start(settings, base).await?;
        // A node that does not know what was revoked must not say that a token holds.
        services.catch_up().await?;
        let required = RequiredSecrets { store: stores.repositories(), clock: &clock, rng: &rng };
        let most_kib = required.of_passwords(&services.people.hardening.keys).await?;
        tell_of_costly_passwords(most_kib, settings.identity.hash_pool.max_memory_kib);
        required.of_factors(&at_rest).await?;
        required.of_clients(&at_rest).await?;
        required.of_mails(&at_rest).await?;
        let lookout = || Arc::new(Lookout::new(stores.clone(), Arc::clone(&clock)).counting());
        let mut node = Self {
            started: Started::default(),
            lookout: options.listeners.has_metrics().then(lookout),
            agreement: Arc::new(agreement),
            stores,
            services,
            gateway: None,
            outage: Arc::default(),
            clock: Arc::clone(&clock),
            tasks: TaskTracker::new(),
            shutdown: CancellationToken::new(),
            to_the_end: Background::new(),
        };
        node.listen(settings, options, (&*clock, &rng)).await?;
        node.work();
        Ok(node)
    }

    /// Reads the feed now instead of soon.
    pub(crate) async fn catch_up(&self) -> Result<(), sluice_commit::StoreError> {
        self.services.catch_up().await
    }

    /// Deletes what is left of sessions that have ended now instead of soon, and tells their clients.
    pub(crate) async fn clear_ended(&self) -> Result<(), sluice_commit::StoreError> {
        self.services.sessions.clear_ended().await
    }

    /// The store, for those who want to see what was written.
    pub(crate) const fn stores(&self) -> &Stores {
        &self.stores
    }

    /// For how long remembered sessions are kept after their end.
    pub(crate) fn sessions_kept(&self) -> Lifetime {
        tokens_of_session(self.services.config.lifetimes.refresh_token)
    }

    /// Stops: what is in flight is answered, what is queued is written.
    pub(crate) async fn stop(self) {
        info!("stopping");
        self.shutdown.cancel();
        self.tasks.close();
        if tokio::time::timeout(DRAIN, self.tasks.wait()).await.is_err() {
            warn!("some requests were cut off");
        }
        self.to_the_end.stop_soon().await;
        self.agreement.leave().await;
        self.stores.shutdown().await;
        let pool = Arc::clone(&self.services.pool);
        let _ = tokio::task::spawn_blocking(move || pool.shutdown()).await;
        info!("stopped");
    }

    async fn listen(
        &mut self,
        settings: &Settings,
        options: &StartOptions,
        (clock, rng): (&dyn Clock, &Arc<dyn Rng>),
    ) -> Result<(), StartError> {
        let metrics = Arc::new(self.metrics());
        let proxies = TrustedProxies::new(settings.serve.trusted_proxies.clone());
        let finishing = Finishing::new(self.tasks.clone());
        let log = |listener, skip_health| {
            let trusted_proxies = proxies.clone();
            let traced = settings.tracing.otlp.is_some();
            // What gateways ask writes nothing, and waits for long.
            let finishing = Some(finishing.clone()).filter(|_| listener != LINK);
            let options = RequestLogOptions { listener, skip_health, traced, trusted_proxies, finishing };
            RequestLogLayer::new(options, metrics.http(), Arc::clone(rng))
        };
        let ports = Ports::bind(settings, options, clock).await?;
        self.gateway = self.start_gateway(settings, options, (&metrics, rng)).await?;
        self.started.gateway = self.gateway.as_ref().map(|gateway| gateway.address.clone());
        self.started.decisions = self.gateway.as_ref().and_then(|gateway| gateway.decisions.clone());
        let (tasks, shutdown) = (&self.tasks, &self.shutdown);
        let serving = Serving { metrics: &metrics, clock: &self.clock, tasks, shutdown };
        if let Some(port) = ports.link {
            self.started.link = Some(port.address());
            let router = sluice_http::link(self.link_state(settings));
            let log = log(LINK, settings.link.listener.request_log_skips_health);
            port.serve(LINK, (router, Some(&log)), &serving);
        }
        if let Some(port) = ports.health {
            self.started.admin = Some(port.address());
            let router = gateway::process::observe(Arc::clone(&metrics), self.gateway_health());
            let Background { tasks, shutdown } = &self.to_the_end;
            port.serve("health", (router, None), &Serving { tasks, shutdown, ..serving });
        }
        if let Some(port) = ports.public {
            let routes = sluice_http::public(self.public_state(settings, port.has_tls()));
            self.started.public = Some(port.address());
            let log = log("public", settings.serve.public.request_log_skips_health);
            port.serve("public", (routes, Some(&log)), &serving);
        }
        if let Some(port) = ports.admin {
            let mut own = exposition::routes(Arc::clone(&metrics));
            if settings.serve.admin.profiling {
                own = own.merge(profiles::routes());
            }
            let routes = sluice_http::admin(self.admin_state(settings), own);
            self.started.admin = Some(port.address());
            let log = log("admin", settings.serve.admin.listener.request_log_skips_health);
            port.serve("admin", (routes, Some(&log)), &serving);
        }
        Ok(())
    }

    fn work(&self) {
        let background = Background { tasks: self.tasks.clone(), shutdown: self.shutdown.clone() };
        let (services, steady) = (&self.services, Arc::new(SteadyClock::new(Arc::clone(&self.clock))));
        self.to_the_end.follow_feed(Arc::clone(&services.hearing));
        let (store, sessions_kept) = (self.stores.repositories(), self.sessions_kept());
        let sessions = Arc::clone(&services.sessions);
        let (clock, first) = (Arc::clone(&steady), AtomicUsize::default());
        background.tidy(Janitor { store, clock, sessions, sessions_kept, first });
        if let Some(authorities) = &services.authorities {
            let (tasks, shutdown) = (&self.tasks, self.shutdown.clone());
            tasks.spawn(Arc::clone(authorities).follow(shutdown));
        }
        background.deliver_logouts(Arc::clone(&services.delivery));
        if let Some(delivery) = &services.people.delivery {
            background.deliver_mails(Arc::clone(delivery));
        }
        let hardening = Arc::clone(&services.people.hardening);
        if hardening.config.enabled {
            background.harden(hardening);
        } else {
            background.count_unhardened(hardening);
        }
        if let Some(lookout) = &self.lookout {
            background.look_out(Arc::clone(lookout));
        }
        background.agree(Arc::clone(&self.agreement));
        let rotation = Arc::new(KeyRotation::new(Arc::clone(&services.ring)));
        background.rotate_keys(rotation, steady);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Mode, Sources, load};

    async fn node(listeners: Listeners) -> Node {
        let local = ("serve.public.host", "127.0.0.1");
        let overrides = [("dsn", "memory"), local, ("serve.public.port", "0"), ("serve.admin.port", "0")];
        let sources = Sources {
            files: Vec::new(),
            environment: Vec::new(),
            overrides: overrides.map(|(key, value)| (key.to_owned(), value.to_owned())).to_vec(),
            mode: Mode::Development,
            data_dir: PathBuf::from("."),
        };
        let settings = load(&sources).unwrap_or_else(|error| panic!("{error}")).settings;
        let data_dir = sources.data_dir;
        let options = StartOptions {
            listeners,
            tls_self_signed: false,
            auto_migrate: true,
            data_dir,
            idle_grace: Duration::ZERO,
        };
        let node = Box::pin(Node::start(&settings, &options, World::real())).await;
        node.unwrap_or_else(|error| panic!("{error}"))
    }

    #[tokio::test]
    async fn a_node_looks_out_for_those_who_watch_and_has_a_port_for_them() {
        for (listeners, is_watched) in [(Listeners::Public, false), (Listeners::Admin, true)] {
            let node = node(listeners).await;
            assert_eq!(node.lookout.is_some(), is_watched, "{listeners:?}");
            assert_eq!(node.started.admin.is_some(), is_watched, "{listeners:?}");
            node.stop().await;
        }
    }
}
