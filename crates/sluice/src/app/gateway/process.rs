//! A gateway in a process of its own: no database, no secret but that of the link. It has the key of access tokens and opens
//! nothing else.

use std::sync::Arc;

use axum::Router;
use axum::http::header::CACHE_CONTROL;
use axum::routing::get;
use sluice_commit::chain;
use sluice_gateway::link::{LinkClient, LinkConfig, LinkFeed};
use sluice_gateway::route::RoutesFile;
use sluice_gateway::validation::LocalParts;
use sluice_http::{Health, Ready, health_routes};
use sluice_net::Limits;
use sluice_primitives::Secret;
use sluice_token::{FeedFollower, RevocationSet};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{info, warn};

use super::link::{self, LinkAuthority, LinkedKeys};
use super::{GatewayStart, RunningGateway, numbers};
use crate::app::background::Background;
use crate::app::certificates::Serving;
use crate::app::health::ending;
use crate::app::listeners::Port;
use crate::app::lookout::show_ready;
use crate::app::node::{BUILD, DRAIN, World};
use crate::app::numbers::{count_unknown_keys, show_time};
use crate::app::stores::StartError;
use crate::config::GatewayProcessSettings;
use crate::observability::{Metrics, metrics};

/// Serves until `shutdown`, and then what is in flight.
///
/// # Errors
/// [`StartError`] says which part does not start.
pub(crate) async fn run(
    settings: &GatewayProcessSettings,
    tls_self_signed: bool,
    world: World,
    shutdown: impl Future<Output = ()> + Send,
) -> Result<(), StartError> {
    // SIGHUP means the routes: while there are none yet it must not end the process.
    let _hangups = signal(SignalKind::hangup());
    let to_the_end = Background::new();
    let process = Process::start(settings, tls_self_signed, world, &to_the_end).await?;
    let (tasks, stop, hearing) =
        (process.tasks.clone(), process.shutdown.clone(), process.hearing.clone().drop_guard());
    let told = async {
        shutdown.await;
        info!("stopping");
        stop.cancel();
    };
    let (served, ()) = tokio::join!(process.serve(), told_or_failed(told, &stop));
    stop.cancel();
    tasks.close();
    if tokio::time::timeout(DRAIN, tasks.wait()).await.is_err() {
        warn!("some requests were cut off");
    }
    drop(hearing);
    to_the_end.stop_soon().await;
    info!("stopped");
    served
}

/// Ends when it is told to, or when serving has failed.
async fn told_or_failed(told: impl Future<Output = ()> + Send, stop: &CancellationToken) {
    tokio::select! {
        () = told => {}
        () = stop.cancelled() => {}
    }
}

struct Process<'a> {
    settings: &'a GatewayProcessSettings,
    file: Arc<RoutesFile>,
    tls_self_signed: bool,
    world: World,
    client: Arc<LinkClient>,
    follower: Arc<FeedFollower>,
    revocations: Arc<RevocationSet>,
    health: Arc<GatewayHealth>,
    metrics: Arc<Metrics>,
    tasks: TaskTracker,
    shutdown: CancellationToken,
    /// Until when the link is heard: what is in flight is judged by what it tells.
    hearing: CancellationToken,
}

impl<'a> Process<'a> {
    /// Reads the routes, and binds the port of health and metrics, which says what is missing meanwhile, and is there `to_the_end`.
    async fn start(
        settings: &'a GatewayProcessSettings,
        tls_self_signed: bool,
        world: World,
        to_the_end: &Background,
    ) -> Result<Self, StartError> {
        let required = |key| StartError::Setting { key, reason: "is required by `serve gateway`".to_owned() };
        let link = settings.gateway.link.as_ref().ok_or_else(|| required("gateway.link.url"))?;
        let routes = settings.gateway.routes.clone().ok_or_else(|| required("gateway.routes"))?;
        // What is wrong with it is said at once, and not when the link is heard.
        let file = Arc::new(RoutesFile::open(routes, Arc::clone(&world.clock))?);
        let client = Arc::new(LinkClient::new(&LinkConfig {
            url: link.url.clone(),
            token: Secret::new(link.token.expose().to_owned()),
            ca_file: link.ca_file.clone(),
        })?);
        let revocations = Arc::new(RevocationSet::default());
        let feed = Arc::new(LinkFeed::new(Arc::clone(&client), Arc::clone(&world.clock)));
        let follower = Arc::new(FeedFollower::new(feed, Arc::clone(&revocations), Arc::clone(&world.clock)));
        let (tasks, shutdown) = (TaskTracker::new(), CancellationToken::new());
        let health = Arc::new(GatewayHealth {
            follower: Arc::clone(&follower),
            max_age: settings.gateway.max_feed_age.into(),
            routes: OnceCell::new(),
            shutdown: shutdown.clone(),
        });
        let metrics = Arc::new(Metrics::new(BUILD));
        numbers::show_knowledge(&metrics, &revocations, &follower);
        health.show(&metrics);
        show_time(&metrics, &world.clock);
        let port = Port::bind("health", &settings.admin, false, &*world.clock).await?;
        let router = observe(Arc::clone(&metrics), Arc::clone(&health) as _);
        let Background { tasks: last_tasks, shutdown: last } = to_the_end;
        let serving = Serving { metrics: &metrics, clock: &world.clock, tasks: last_tasks, shutdown: last };
        port.serve("health", (router, None), &serving);
        Ok(Self {
            settings,
            file,
            tls_self_signed,
            world,
            client,
            follower,
            revocations,
            health,
            metrics,
            tasks,
            shutdown,
            hearing: CancellationToken::new(),
        })
    }

    /// Waits for keys and revocations, then serves until shutdown.
    async fn serve(self) -> Result<(), StartError> {
        let stopped = self.shutdown.clone();
        let served = stopped.run_until_cancelled(self.begin()).await.unwrap_or(Ok(None));
        let running = match served {
            Ok(running) => running,
            Err(error) => {
                self.shutdown.cancel();
                return Err(error);
            }
        };
        self.shutdown.cancelled().await;
        drop(running);
        Ok(())
    }

    async fn begin(&self) -> Result<Option<RunningGateway>, StartError> {
        let keys = Arc::new(link::first_keys(&self.client).await);
        // A gateway that does not know what was revoked must not say that a token holds.
        while let Err(error) = self.follower.catch_up().await {
            warn!(error = %chain(&error), "revocations were not heard yet");
            tokio::time::sleep(std::time::Duration::from_millis(500)).await;
        }
        let following = link::follow(Arc::clone(&self.client), Arc::clone(&self.follower), Arc::clone(&keys));
        let hearing = self.hearing.clone();
        tokio::spawn(async move { hearing.run_until_cancelled(following).await });
        let start = GatewayStart {
            settings: &self.settings.gateway,
            tls_self_signed: self.tls_self_signed,
            idle_grace: Limits::default().idle_grace,
            local: self.local_parts(&keys),
            nonces: Arc::clone(&keys.sealer),
            metrics: &self.metrics,
            world: &self.world,
            tasks: &self.tasks,
            shutdown: &self.shutdown,
        };
        let sealer = Arc::clone(&keys.sealer);
        count_unknown_keys(&self.metrics, move |purpose| sealer.load().of_unknown_key(purpose));
        // It was read before the wait, and what it names may have changed since. What is wrong with it was logged.
        let file = Arc::clone(&self.file);
        let _ = tokio::task::spawn_blocking(move || file.reload()).await;
        let running = RunningGateway::start(Arc::clone(&self.file), start).await?;
        let _ = self.health.routes.set(Arc::clone(&running.file));
        Ok(Some(running))
    }

    fn local_parts(&self, keys: &Arc<LinkedKeys>) -> LocalParts {
        LocalParts {
            sealer: Arc::clone(&keys.sealer),
            keys: Arc::clone(keys) as _,
            revocations: Arc::clone(&self.revocations),
            freshness: Arc::clone(&self.follower) as _,
            max_age: self.settings.gateway.max_feed_age.into(),
            authority: Some(Arc::new(LinkAuthority::new(Arc::clone(&self.client)))),
        }
    }
}

/// Whether a gateway knows enough to serve.
pub(crate) struct GatewayHealth {
    pub(crate) follower: Arc<FeedFollower>,
    pub(crate) max_age: sluice_primitives::Lifetime,
    /// There once it serves.
    pub(crate) routes: OnceCell<Arc<RoutesFile>>,
    /// Cancelled when the process ends.
    pub(crate) shutdown: CancellationToken,
}

#[async_trait::async_trait]
impl Health for GatewayHealth {
    async fn ready(&self) -> Ready {
        let mut reasons: Vec<_> = ending(&self.shutdown).into_iter().collect();
        let age = self.follower.age();
        if age.is_forever() {
            reasons.push(("feed", "revocations were not heard yet".to_owned()));
        } else if age > self.max_age {
            reasons.push(("feed", format!("revocations were last heard {} s ago", age.as_secs())));
        }
        if self.routes.get().is_none() {
            reasons.push(("routes", "no routes are served yet".to_owned()));
        }
        if reasons.is_empty() { Ready::Yes { feed_age: Some(age) } } else { Ready::No(reasons) }
    }
}

impl GatewayHealth {
    /// Whether revocations were heard lately.
    fn hears(&self) -> bool {
        let age = self.follower.age();
        !age.is_forever() && age <= self.max_age
    }

    /// Shows to those who watch what it takes to be ready.
    fn show(self: &Arc<Self>, metrics: &Metrics) {
        let health = Arc::clone(self);
        show_ready(metrics, "feed", move || health.hears());
        let health = Arc::clone(self);
        show_ready(metrics, "routes", move || health.routes.get().is_some());
    }
}

/// Health and metrics, and nothing else.
pub(crate) fn observe(metrics: Arc<Metrics>, health: Arc<dyn Health>) -> Router {
    metrics::own_routes(metrics)
        .merge(health_routes(health))
        .route("/version", get(|| async { ([(CACHE_CONTROL, "no-store")], crate::VERSION) }))
}

#[cfg(test)]
mod tests {
    use sluice_commit::StoreError;
    use sluice_primitives::{Lifetime, ManualClock, Timestamp};
    use sluice_token::{Feed, FeedBatch, FeedPosition};

    use super::*;

    /// A link that tells nothing.
    struct Silent;

    #[async_trait::async_trait]
    impl Feed for Silent {
        async fn read(&self, _: &FeedPosition) -> Result<FeedBatch, StoreError> {
            Err(StoreError::Unavailable(None))
        }

        async fn wait(&self) {}
    }

    #[test]
    fn who_has_heard_nothing_shows_that_it_is_not_ready_and_knows_of_no_age() {
        let clock = Arc::new(ManualClock::at(Timestamp::from_secs(1_750_000_000)));
        let revocations = Arc::new(RevocationSet::default());
        let follower = Arc::new(FeedFollower::new(Arc::new(Silent), Arc::clone(&revocations), clock));
        let health = Arc::new(GatewayHealth {
            follower: Arc::clone(&follower),
            max_age: Lifetime::minutes(5),
            routes: OnceCell::new(),
            shutdown: CancellationToken::new(),
        });
        let metrics = Metrics::new(BUILD);
        numbers::show_knowledge(&metrics, &revocations, &follower);
        health.show(&metrics);
        let encoded = metrics.encode();
        for expected in [
            "sluice_feed_age_seconds inf",
            "sluice_ready{check=\"feed\"} 0.0",
            "sluice_ready{check=\"routes\"} 0.0",
        ] {
            assert!(encoded.lines().any(|line| line == expected), "{expected}\nis not in\n{encoded}");
        }
    }
}
