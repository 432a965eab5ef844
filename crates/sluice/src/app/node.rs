//! The whole: a node of the server, started and stopped.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use sluice_crypto::credential::CredentialKeys;
use sluice_http::{AdminState, IdentityState, Proxies, PublicState, UiState};
use sluice_identity::credential::StoredCredentials;
use sluice_net::TrustedProxies;
use sluice_oauth::client::ClientDirectory;
use sluice_oauth::keys::KeyRotation;
use sluice_primitives::{Clock, NodeId, OsRng, Rng, Secret, SystemClock};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{info, warn};

use super::background::Background;
use super::health::NodeHealth;
use super::listeners::Port;
use super::secrets::KeyMaterial;
use super::services::{Foundation, Services};
use super::stores::{StartError, Stores};
use super::{numbers, oauth_config};
use crate::cli::Listeners;
use crate::config::{DatabaseSettings, Dsn, Settings};
use crate::observability::{Metrics, RequestLogLayer, RequestLogOptions, metrics, profiles};

/// How long what is in flight may take once the node is told to stop.
const DRAIN: Duration = Duration::from_secs(30);

/// What is running.
pub(super) const BUILD: metrics::Build = metrics::Build {
    version: crate::VERSION,
    hash: match option_env!("SLUICE_GIT_HASH") {
        Some(hash) => hash,
        None => "unknown",
    },
    time: "unknown",
};

/// How a node starts, beside its settings.
#[derive(Debug, Clone)]
pub(crate) struct StartOptions {
    pub(crate) listeners: Listeners,
    pub(crate) tls_self_signed: bool,
    pub(crate) auto_migrate: bool,
    /// Where development keeps its secret.
    pub(crate) data_dir: PathBuf,
}

/// Where a node is reached.
#[derive(Debug, Clone, Default)]
pub(crate) struct Started {
    /// `host:port` of the public listener.
    pub(crate) public: Option<String>,
    /// `host:port` of the admin listener.
    pub(crate) admin: Option<String>,
}

/// Where a node takes time and randomness from.
#[derive(Clone)]
pub(crate) struct World {
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) rng: Arc<dyn Rng>,
}

impl World {
    /// The real one.
    pub(crate) fn real() -> Self {
        Self { clock: Arc::new(SystemClock), rng: Arc::new(OsRng) }
    }
}

/// A node that serves.
pub(crate) struct Node {
    pub(crate) started: Started,
    stores: Stores,
    services: Services,
    clock: Arc<dyn Clock>,
    tasks: TaskTracker,
    shutdown: CancellationToken,
}

impl Node {
    /// Starts a node: opens the store, reads keys and markers, binds the ports, serves.
    ///
    /// # Errors
    /// [`StartError`] says which part does not start.
    pub(crate) async fn start(
        settings: &Settings,
        options: &StartOptions,
        World { clock, rng }: World,
    ) -> Result<Self, StartError> {
        let stores = open(settings, options.auto_migrate, (&clock, &rng)).await?;
        let base = Foundation {
            store: stores.repositories(),
            network: stores.network_id().await?,
            secrets: key_material(settings, &options.data_dir, &*rng)?,
            clock: Arc::clone(&clock),
            rng: Arc::clone(&rng),
        };
        let services = Services::start(settings, base).await?;
        // A node that does not know what was revoked must not say that a token holds.
        services.catch_up().await?;
        check_secrets(&stores, &services.people.hardening.keys, (&clock, &rng)).await?;
        let mut node = Self {
            started: Started::default(),
            stores,
            services,
            clock: Arc::clone(&clock),
            tasks: TaskTracker::new(),
            shutdown: CancellationToken::new(),
        };
        node.listen(settings, options, (&*clock, &rng)).await?;
        node.work();
        Ok(node)
    }

    /// Reads the feed now instead of soon.
    pub(crate) async fn catch_up(&self) -> Result<(), sluice_commit::StoreError> {
        self.services.catch_up().await
    }

    /// The store, for those who want to see what was written.
    pub(crate) const fn stores(&self) -> &Stores {
        &self.stores
    }

    /// Stops: what is in flight is answered, what is queued is written.
    pub(crate) async fn stop(self) {
        info!("stopping");
        self.shutdown.cancel();
        self.tasks.close();
        if tokio::time::timeout(DRAIN, self.tasks.wait()).await.is_err() {
            warn!("some requests were cut off");
        }
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
        let public = &settings.serve.public;
        let admin = &settings.serve.admin.listener;
        let proxies = TrustedProxies::new(settings.serve.trusted_proxies.clone());
        let log = |listener, skip_health| {
            let trusted_proxies = proxies.clone();
            let traced = settings.tracing.otlp.is_some();
            let options = RequestLogOptions { listener, skip_health, traced, trusted_proxies };
            RequestLogLayer::new(options, metrics.http(), Arc::clone(rng))
        };
        // Both ports are bound before either is served: a node never starts by half.
        let public_port = if options.listeners.has_public() {
            let port = Port::bind(public, options.tls_self_signed, clock).await?;
            Some(if settings.oauth2.mtls.listener_asks { port.asking_for_certificates() } else { port })
        } else {
            None
        };
        let admin_port = if options.listeners.has_admin() {
            Some(Port::bind(admin, options.tls_self_signed, clock).await?)
        } else {
            None
        };
        if let Some(port) = public_port {
            let router = sluice_http::public(self.public_state(settings, port.has_tls()));
            self.started.public = Some(port.address());
            port.serve(
                "public",
                router.layer(log("public", public.request_log_skips_health)),
                &self.tasks,
                &self.shutdown,
            );
        }
        if let Some(port) = admin_port {
            let mut own = metrics::routes(Arc::clone(&metrics));
            if settings.serve.admin.profiling {
                own = own.merge(profiles::routes());
            }
            let router = sluice_http::admin(self.admin_state(settings), own);
            self.started.admin = Some(port.address());
            port.serve(
                "admin",
                router.layer(log("admin", admin.request_log_skips_health)),
                &self.tasks,
                &self.shutdown,
            );
        }
        Ok(())
    }

    fn work(&self) {
        let background = Background { tasks: self.tasks.clone(), shutdown: self.shutdown.clone() };
        let (services, clock) = (&self.services, &self.clock);
        background.follow_feed(Arc::clone(&services.hearing));
        background.tidy(self.stores.repositories(), Arc::clone(clock));
        background.deliver_logouts(Arc::clone(&services.delivery));
        if let Some(delivery) = &services.people.delivery {
            background.deliver_mails(Arc::clone(delivery));
        }
        if services.people.hardening.config.enabled {
            background.harden(Arc::clone(&services.people.hardening));
        }
        let rotation = Arc::new(KeyRotation::new(Arc::clone(&services.ring)));
        background.rotate_keys(rotation, Arc::clone(clock));
    }

    fn health(&self) -> Arc<NodeHealth> {
        Arc::new(NodeHealth { stores: self.stores.clone(), follower: Arc::clone(&self.services.follower) })
    }

    fn public_state(&self, settings: &Settings, has_tls: bool) -> PublicState {
        let services = &self.services;
        let over_tls = has_tls || services.config.issuer.is_https();
        let cookies = Arc::new(oauth_config::cookies(settings, over_tls));
        let proxies = Arc::new(oauth_config::proxies(settings));
        PublicState {
            identity: Some(Arc::new(self.identity_state(&proxies))),
            config: Arc::clone(&services.config),
            authorization: Arc::clone(&services.authorization),
            pushed: Arc::clone(&services.pushed),
            tokens: Arc::clone(&services.tokens),
            devices: Arc::clone(&services.devices),
            registration: services.dynamic_registration.clone(),
            revocation: Arc::clone(&services.revocation),
            introspection: Arc::clone(&services.client_introspection),
            constraint: Arc::clone(&services.constraint),
            userinfo: Arc::clone(&services.userinfo),
            logout: Arc::clone(&services.logout),
            keys: Arc::clone(&services.ring),
            clients: Arc::clone(&services.directory),
            cors: settings.serve.public.cors.as_ref().map(|cors| Arc::new(oauth_config::cors(cors))),
            health: self.health(),
            ui: UiState {
                config: Arc::clone(&services.config),
                flows: Arc::clone(&services.flows),
                devices: Arc::clone(&services.user_codes),
                login: Arc::clone(&services.people.login),
                registration: Arc::clone(&services.people.registration),
                proof_of_work: Arc::clone(&services.people.proof_of_work),
                identities: self.stores.repositories() as _,
                cookies: Arc::clone(&cookies),
                logout: Arc::clone(&services.logout),
                rng: Arc::clone(&services.people.sessions.rng),
                login_sessions: Arc::clone(&services.sessions),
                consents: Arc::clone(&services.consents),
                accounts: Arc::clone(&services.people.accounts),
                factors: Arc::clone(&services.people.factors),
                proxies: Arc::clone(&proxies),
            },
            cookies,
            version: crate::VERSION,
        }
    }

    fn identity_state(&self, proxies: &Arc<Proxies>) -> IdentityState {
        let people = &self.services.people;
        IdentityState {
            registration: Arc::clone(&people.registration),
            login: Arc::clone(&people.login),
            sessions: Arc::clone(&people.sessions),
            accounts: Arc::clone(&people.accounts),
            factors: Arc::clone(&people.factors),
            proof_of_work: Arc::clone(&people.proof_of_work),
            proxies: Arc::clone(proxies),
        }
    }

    fn admin_state(&self, settings: &Settings) -> AdminState {
        let services = &self.services;
        let bearer = settings.serve.admin.bearer_token.as_ref();
        AdminState {
            identities: Some(Arc::clone(&services.people.administration)),
            flows: Arc::clone(&services.flows),
            devices: Arc::clone(&services.user_codes),
            logout: Arc::clone(&services.logout),
            consents: Arc::clone(&services.consents),
            sessions: Arc::clone(&services.sessions),
            introspection: Arc::clone(&services.introspection),
            clients: Arc::clone(&services.clients),
            keys: Arc::clone(&services.keys),
            trust: Arc::clone(&services.trust),
            public_keys: Arc::clone(&services.ring),
            cors: settings.serve.admin.listener.cors.as_ref().map(|cors| Arc::new(oauth_config::cors(cors))),
            health: self.health(),
            bearer: bearer.map(|token| Arc::new(Secret::new(token.expose().to_owned()))),
            version: crate::VERSION,
        }
    }

    fn metrics(&self) -> Metrics {
        let metrics = Metrics::new(BUILD);
        metrics.register_commit("hot", Arc::clone(self.stores.commit_metrics()));
        metrics.register_hash_pool(&self.services.pool);
        numbers::count_flows(&metrics, &self.services.metrics);
        let directory = |read: fn(&ClientDirectory) -> u64| {
            let directory = Arc::clone(&self.services.directory);
            Box::new(move || read(&directory)) as Box<dyn Fn() -> u64 + Send + Sync>
        };
        let readers = metrics::CacheReaders {
            entries: directory(|clients| u64::try_from(clients.len()).unwrap_or(u64::MAX)),
            hits_total: directory(|clients| clients.lookups().0),
            misses_total: directory(|clients| clients.lookups().1),
        };
        metrics.register_cache("clients", readers);
        let set = Arc::clone(&self.services.revocations);
        metrics.register_gauge_fn(
            "sluice_revocation_markers",
            "Live revocation markers in memory",
            move || f64::from(u32::try_from(set.len()).unwrap_or(u32::MAX)),
        );
        numbers::show_deliveries(&metrics, &self.services.delivery.metrics);
        numbers::show_people(&metrics, &self.services.people, &self.clock);
        let follower = Arc::clone(&self.services.follower);
        metrics.register_gauge_fn("sluice_feed_age_seconds", "How long ago the feed was heard", move || {
            follower.age().as_duration().as_secs_f64()
        });
        metrics
    }
}

/// Whether the passwords of a sample of people need no secret but those that are known here. All of them would take
/// minutes where there are many people.
pub(super) async fn check_secrets(
    stores: &Stores,
    keys: &CredentialKeys,
    (clock, rng): (&Arc<dyn Clock>, &Arc<dyn Rng>),
) -> Result<(), StartError> {
    let everybody = StoredCredentials {
        identities: stores.repositories() as _,
        keys: keys.clone(),
        clock: Arc::clone(clock),
        rng: Arc::clone(rng),
    };
    let missing = everybody.sample().await?.missing(&keys.peppers().ids());
    Ok(missing.map_or(Ok(()), Err)?)
}

/// Opens the store of a node: one of this version.
async fn open(
    settings: &Settings,
    auto_migrate: bool,
    sources: (&Arc<dyn Clock>, &Arc<dyn Rng>),
) -> Result<Stores, StartError> {
    // A laptop's database and one that goes with the process are always of this version.
    let migrate =
        auto_migrate || settings.mode.is_development() || matches!(settings.database.dsn, Dsn::Memory);
    let stores = open_store(&settings.database, migrate, sources).await?;
    if !migrate && stores.migrations().await?.iter().any(|migration| migration.applied_at.is_none()) {
        return Err(StartError::NotMigrated);
    }
    Ok(stores)
}

/// Opens a store, and brings it to the schema of this version if told so.
pub(crate) async fn open_store(
    database: &DatabaseSettings,
    migrate: bool,
    (clock, rng): (&Arc<dyn Clock>, &Arc<dyn Rng>),
) -> Result<Stores, StartError> {
    let id = NodeId::generate(clock.now(), &**rng);
    let stores = Stores::open(database, id, (Arc::clone(clock), Arc::clone(rng))).await?;
    if migrate {
        stores.migrate_up().await?;
    }
    Ok(stores)
}

pub(crate) fn key_material(
    settings: &Settings,
    data_dir: &Path,
    rng: &dyn Rng,
) -> Result<KeyMaterial, StartError> {
    if settings.secrets.system.is_empty() && matches!(settings.database.dsn, Dsn::Memory) {
        return Ok(KeyMaterial::passing(rng));
    }
    let directory = match &settings.database.dsn {
        Dsn::Sqlite { path } => path.parent().map(Path::to_owned),
        _ => None,
    };
    let directory = directory.unwrap_or_else(|| data_dir.to_owned());
    let directory = settings.mode.is_development().then_some(directory);
    Ok(KeyMaterial::of(&settings.secrets, directory.as_deref(), rng)?)
}
