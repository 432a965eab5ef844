//! A process that hardens passwords, and does nothing else.

use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;

use sluice_crypto::credential::CredentialKeys;
use sluice_crypto::hash_pool::HashPool;
use sluice_identity::hardening::{HardeningMetrics, HardeningWorker};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::info;

use super::background::Background;
use super::certificates::Serving;
use super::identity_config;
use super::listeners::Port;
use super::lookout::Lookout;
use super::node::{BUILD, World};
use super::numbers::{show_connections, show_hardening, show_time};
use super::opening::{await_store, key_material, log_waiting};
use super::required_secrets::RequiredSecrets;
use super::secrets::SecretsError;
use super::stores::{StartError, Stores};
use crate::config::{DatabaseSettings, ListenAddress, ListenerSettings, Settings};
use crate::observability::{Metrics, metrics};

/// How a worker starts, beside its settings.
#[derive(Debug, Clone)]
pub(crate) struct WorkerOptions {
    /// Where development keeps its secret.
    pub(crate) data_dir: PathBuf,
    /// Where metrics are served, if anywhere.
    pub(crate) metrics_port: Option<u16>,
}

/// A worker that may begin.
struct Started {
    stores: Stores,
    worker: HardeningWorker,
    tasks: TaskTracker,
    served: CancellationToken,
}

/// Hardens until `shutdown`, and then what is in hand; begins with nothing if that comes first.
///
/// # Errors
/// [`StartError`] says which part does not start.
pub(crate) async fn run(
    settings: &Settings,
    options: &WorkerOptions,
    world: World,
    shutdown: impl Future<Output = ()> + Send,
) -> Result<(), StartError> {
    let mut shutdown = pin!(shutdown);
    let started = tokio::select! {
        biased;
        () = &mut shutdown => {
            info!("stopped before it hardened");
            return Ok(());
        }
        started = start(settings, options, &world) => started,
    };
    let Started { stores, worker, tasks, served } = started?;
    info!("hardening");
    worker.run(shutdown).await;
    info!("stopping");
    served.cancel();
    tasks.close();
    tasks.wait().await;
    stores.shutdown().await;
    let pool = Arc::clone(&worker.pool);
    let _ = tokio::task::spawn_blocking(move || pool.shutdown()).await;
    info!("stopped");
    Ok(())
}

async fn start(settings: &Settings, options: &WorkerOptions, world: &World) -> Result<Started, StartError> {
    let database = DatabaseSettings {
        max_connections: Some(settings.identity.hardening.max_connections),
        ..settings.database.clone()
    };
    let stores = await_store(&database, false, (&world.clock, &world.rng), log_waiting).await?;
    let worker = worker(settings, options, &stores, world).await?;
    let required = RequiredSecrets { store: stores.repositories(), clock: &world.clock, rng: &world.rng };
    required.of_passwords(&worker.keys).await?;
    let (tasks, served) = (TaskTracker::new(), CancellationToken::new());
    if let Some(port) = options.metrics_port {
        let metrics = metrics_of(&worker, &stores, world);
        let lookout = Arc::new(Lookout::new(stores.clone(), Arc::clone(&world.clock)));
        lookout.show(&metrics);
        serve_metrics(settings, port, (metrics, world), (&tasks, &served)).await?;
        Background { tasks: tasks.clone(), shutdown: served.clone() }.look_out(lookout);
    }
    Ok(Started { stores, worker, tasks, served })
}

async fn worker(
    settings: &Settings,
    options: &WorkerOptions,
    stores: &Stores,
    world: &World,
) -> Result<HardeningWorker, StartError> {
    let secrets = key_material(settings, &options.data_dir, &*world.rng)?;
    let at_rest = Arc::new(secrets.at_rest(stores.network_id().await?));
    let config = identity_config::identity(&settings.identity);
    let mut pool = identity_config::hash_pool(&settings.identity);
    pool.threads = config.hardening.jobs.unwrap_or(pool.threads);
    Ok(HardeningWorker {
        repo: stores.repositories() as _,
        keys: CredentialKeys::new(secrets.peppers().ok_or(SecretsError::Missing)?, at_rest),
        pool: Arc::new(HashPool::start(&pool).map_err(StartError::HashPool)?),
        params: config.password_hash,
        clock: Arc::clone(&world.clock),
        config: config.hardening,
        metrics: Arc::new(HardeningMetrics::default()),
    })
}

/// What an operator sees of a worker.
fn metrics_of(worker: &HardeningWorker, stores: &Stores, world: &World) -> Metrics {
    let metrics = Metrics::new(BUILD);
    metrics.register_hash_pool(&worker.pool);
    metrics.register_refusals(stores.refusals());
    show_hardening(&metrics, &worker.metrics, &world.clock);
    show_connections(&metrics, stores);
    show_time(&metrics, &world.clock);
    metrics
}

/// Serves metrics where the admin endpoint would be, at a port of their own.
async fn serve_metrics(
    settings: &Settings,
    port: u16,
    (metrics, world): (Metrics, &World),
    (tasks, shutdown): (&TaskTracker, &CancellationToken),
) -> Result<(), StartError> {
    let admin = &settings.serve.admin.listener;
    let host = match &admin.address {
        ListenAddress::Tcp { host, .. } => host.clone(),
        ListenAddress::Unix { .. } => "127.0.0.1".to_owned(),
    };
    let listener = ListenerSettings { address: ListenAddress::Tcp { host, port }, ..admin.clone() };
    let port = Port::bind("metrics", &listener, false, &*world.clock).await?;
    let metrics = Arc::new(metrics);
    let serving = Serving { metrics: &metrics, clock: &world.clock, tasks, shutdown };
    port.serve("metrics", (metrics::own_routes(Arc::clone(&metrics)), None), &serving);
    Ok(())
}
