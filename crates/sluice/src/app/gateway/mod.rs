//! The gateway: made, served, followed.
//!
//! [`own_keys`]: what tokens of this installation are checked with, where it is in this process. [`link`]: the same, from
//! elsewhere. [`process`]: a gateway in a process of its own. [`served_link`]: what an authorization server gives such a process.
//! [`numbers`]: what an operator sees of it. [`resources`]: whether clients get to what it protects.

mod link;
mod numbers;
mod own_keys;
pub(crate) mod process;
mod resources;
mod served_link;

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::thread::available_parallelism;
use std::time::Duration;

use arc_swap::ArcSwap;
use sluice_crypto::Sealer;
use sluice_crypto::jwk::Jwk;
use sluice_gateway::decision::{DecisionConfig, RunningDecisions};
use sluice_gateway::enrichment::PhantomSigner;
use sluice_gateway::limit::RateLimits;
use sluice_gateway::proxy::{PlainHttp, ProxyConfig, RunningProxy, StartError as NotServed, Via};
use sluice_gateway::route::RoutesFile;
use sluice_gateway::validation::{HolderCheck, HolderParts, LocalParts, Validation, ValidationParts};
use sluice_gateway::{Gateway, GatewayParts, PhantomParts};
use sluice_net::{ConnectionCount, FetchPolicy, Fetcher, Limits, LocalAddress, TlsAcceptorHandle};
use sluice_primitives::{Lifetime, Rng};
use tokio::runtime::Handle;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::info;

use super::certificates::Serving;
use super::listeners::{acceptor, bind_address, certificate_policy, unbound};
use super::node::World;
use super::stores::StartError;
use crate::config::{
    AccessLogSetting, GatewaySettings, ListenerSettings, PhantomSettings, ShownCertificates,
};
use crate::observability::Metrics;
use crate::observability::gateway::{
    AccessLog, AccessLogFile, AccessLogGuard, AccessLogTarget, GatewayObserver,
};

pub(crate) use own_keys::{Known, RingKeys, local_parts};
pub(crate) use resources::tell_of_unreached;
pub(crate) use served_link::{Link, ServedKeys};

/// The most verdicts on signed tokens that are remembered: 512 MiB, most of them being some 1 KiB.
const CACHED_VERDICTS: usize = 131_072;
/// Connections kept open to an issuer that is asked about tokens.
const ISSUER_CONNECTIONS: usize = 64;
/// How old a DPoP proof may be, and how far ahead (RFC 9449 §11.1): each is remembered for so long.
const PROOF_LIFETIME: Lifetime = Lifetime::secs(60);
const PROOF_AHEAD: Lifetime = Lifetime::secs(15);
/// How long a nonce is good (RFC 9449 §8).
const NONCE_LIFETIME: Lifetime = Lifetime::minutes(5);
/// The most proofs that are remembered at a time: some 6,000 a second, and 40 MiB at worst.
const REMEMBERED_PROOFS: usize = 524_288;

/// What a gateway is started with.
pub(crate) struct GatewayStart<'a> {
    pub(crate) settings: &'a GatewaySettings,
    /// Whether a certificate is made up where none is configured.
    pub(crate) tls_self_signed: bool,
    /// How long it waits at the end for requests that are on their way ([`Limits::idle_grace`]).
    pub(crate) idle_grace: Duration,
    /// Tokens of this installation.
    pub(crate) local: LocalParts,
    /// Seals the nonces of DPoP proofs.
    pub(crate) nonces: Arc<ArcSwap<Sealer>>,
    pub(crate) metrics: &'a Metrics,
    pub(crate) world: &'a World,
    pub(crate) tasks: &'a TaskTracker,
    pub(crate) shutdown: &'a CancellationToken,
}

/// A gateway that serves.
pub(crate) struct RunningGateway {
    /// `host:port` or a path.
    pub(crate) address: String,
    /// The same of the decisions, if other proxies get any.
    pub(crate) decisions: Option<String>,
    pub(crate) file: Arc<RoutesFile>,
    #[expect(dead_code, reason = "held for its drop")]
    access_log: Option<AccessLogGuard>,
}

impl RunningGateway {
    /// Binds the ports, serves what the file says.
    ///
    /// # Errors
    /// [`StartError`] says which part does not start.
    pub(crate) async fn start(file: Arc<RoutesFile>, start: GatewayStart<'_>) -> Result<Self, StartError> {
        let parts = start.parts(&file)?;
        let (observer, access_log) = start.observer()?;
        let gateway = Arc::new(Gateway::new(GatewayParts { observer: Arc::new(observer), ..parts.gateway }));
        numbers::show(start.metrics, &file, &parts.validation);
        numbers::show_proofs(start.metrics, &parts.holder);
        let told = WhenTold {
            file: Arc::clone(&file),
            validation: Arc::clone(&parts.validation),
            access_log: access_log.as_ref().and_then(AccessLogGuard::file),
        };
        let follower =
            Follower { file: Arc::clone(&file), validation: parts.validation, limits: parts.limits };
        follower.spawn(start.tasks, start.shutdown);
        told.spawn(start.tasks, start.shutdown);
        let settings = start.settings;
        let decisions = match &settings.decisions {
            Some(listener) => {
                let limits = Limits {
                    max_connections: settings.max_connections,
                    idle_grace: start.idle_grace,
                    ..Limits::default()
                };
                let config =
                    start.proxy_config("decisions", listener, &settings.decision_certificates, limits)?;
                let served = DecisionConfig::default();
                Some(
                    RunningDecisions::start(config, served, Arc::clone(&gateway), start.shutdown.clone())
                        .await
                        .map_err(|cause| unserved("decisions", listener, cause))?,
                )
            }
            None => None,
        };
        let limits = Limits { idle_grace: start.idle_grace, ..client_limits(settings) };
        let config = start.proxy_config("gateway", &settings.listener, &settings.certificates, limits)?;
        let has_tls = config.tls.is_some();
        let proxy = RunningProxy::start(config, gateway, start.shutdown.clone()).await;
        let proxy = proxy.map_err(|cause| unserved("gateway", &settings.listener, cause))?;
        let address = text(proxy.local_address());
        numbers::show_servers(start.metrics, proxy.servers());
        let show = |listener, served: ConnectionCount| {
            let most = settings.max_connections;
            start.metrics.register_connections(listener, most, move || served.served());
        };
        show("gateway", proxy.connections());
        if let Some(decisions) = &decisions {
            show("decisions", decisions.connections());
        }
        let decided_at = decisions.as_ref().map(|decisions| text(decisions.local_address()));
        info!(listener = "gateway", %address, tls = has_tls, decisions = decided_at.as_deref(), "listening");
        start.tasks.spawn(async move {
            let drained = proxy.drained().await;
            if let Some(decisions) = decisions {
                decisions.drained().await;
            }
            info!(listener = "gateway", cut = drained.cut, "listener closed");
        });
        Ok(Self { address, decisions: decided_at, file, access_log })
    }
}

/// What is made before the gateway.
struct Made {
    gateway: GatewayParts,
    validation: Arc<Validation>,
    holder: Arc<HolderCheck>,
    limits: Arc<RateLimits>,
}

impl GatewayStart<'_> {
    fn parts(&self, file: &RoutesFile) -> Result<Made, StartError> {
        let World { clock, rng, .. } = self.world;
        let table = file.routes().load();
        // Other issuers are configured: they may be inside.
        let policy =
            FetchPolicy { allow_private: true, idle_per_host: ISSUER_CONNECTIONS, ..FetchPolicy::default() };
        let validation = Arc::new(Validation::new(
            ValidationParts {
                local: Some(self.local.clone()),
                fetcher: Arc::new(Fetcher::new(policy)?),
                runtime: Handle::current(),
                clock: Arc::clone(clock),
                cache_entries: NonZeroUsize::new(CACHED_VERDICTS).unwrap_or(NonZeroUsize::MIN),
            },
            &table.settings().issuers,
        ));
        let limits = Arc::new(RateLimits::new(Arc::clone(clock)));
        let holder = Arc::new(HolderCheck::new(HolderParts {
            sealer: Arc::clone(&self.nonces),
            rng: Arc::clone(rng),
            proof_lifetime: PROOF_LIFETIME,
            proof_ahead: PROOF_AHEAD,
            nonce_lifetime: NONCE_LIFETIME,
            remembered_proofs: REMEMBERED_PROOFS,
        }));
        let gateway = GatewayParts {
            routes: Arc::clone(file.routes()),
            validation: Arc::clone(&validation) as _,
            holder: Arc::clone(&holder),
            limits: Arc::clone(&limits),
            country: Arc::clone(file.country()),
            phantom: Some(phantom(&self.settings.phantom, rng)?),
            via: Via::random(&**rng),
            observer: Arc::new(sluice_gateway::observer::Silent),
            clock: Arc::clone(clock),
        };
        Ok(Made { gateway, validation, holder, limits })
    }

    fn observer(&self) -> Result<(GatewayObserver, Option<AccessLogGuard>), StartError> {
        let target = match &self.settings.access_log {
            AccessLogSetting::Off => None,
            AccessLogSetting::StandardError => Some(AccessLogTarget::StandardError),
            AccessLogSetting::File(path) => Some(AccessLogTarget::File(path.clone())),
        };
        let started = target.map(|target| AccessLog::start(&target)).transpose();
        let unwritable = |cause| match &self.settings.access_log {
            AccessLogSetting::File(path) => StartError::AccessLog { path: path.clone(), cause },
            AccessLogSetting::Off | AccessLogSetting::StandardError => {
                StartError::AccessLog { path: "stderr".into(), cause }
            }
        };
        let (log, guard) = started.map_err(unwritable)?.unzip();
        if let Some(log) = &log {
            let dropped = log.dropped_lines();
            self.metrics.register_dropped_lines("access", move || dropped.total());
        }
        Ok((GatewayObserver { metrics: Arc::new(self.metrics.gateway()), log }, guard))
    }

    fn proxy_config(
        &self,
        name: &'static str,
        listener: &ListenerSettings,
        certificates: &ShownCertificates,
        limits: Limits,
    ) -> Result<ProxyConfig, StartError> {
        let cores = self.settings.threads.and_then(NonZeroUsize::new);
        let cores = cores.or_else(|| available_parallelism().ok()).unwrap_or(NonZeroUsize::MIN);
        let mut tls = acceptor(name, &listener.tls, self.tls_self_signed, &*self.world.clock)?;
        if certificates.listener_asks {
            tls = tls.map(TlsAcceptorHandle::requesting_client_certificates);
        }
        if let Some(tls) = &tls {
            let (metrics, clock) = (self.metrics, &self.world.clock);
            let serving = Serving { metrics, clock, tasks: self.tasks, shutdown: self.shutdown };
            serving.look_after(tls, name);
        }
        // Without TLS and without a list of proxies that end it, plain http is what was asked for.
        let terminated_at = &listener.tls.allow_termination_from;
        let plain_http = if tls.is_none() && terminated_at.is_empty() {
            PlainHttp::Anybody
        } else {
            PlainHttp::TerminatedAt(terminated_at.clone().into())
        };
        Ok(ProxyConfig {
            address: bind_address(&listener.address),
            cores,
            tls,
            limits,
            certificates: certificate_policy(certificates.proxy.as_ref()),
            plain_http,
        })
    }
}

/// A listener that does not serve, by its name.
fn unserved(name: &'static str, settings: &ListenerSettings, cause: NotServed) -> StartError {
    match cause {
        NotServed::Listen(cause) => unbound(name, &settings.address, cause),
        other @ NotServed::Thread(_) => StartError::Gateway(other),
    }
}

/// What clients of the gateway are granted.
fn client_limits(settings: &GatewaySettings) -> Limits {
    Limits {
        max_connections: settings.max_connections,
        first_request_timeout: settings.client_timeouts.head,
        keep_alive_timeout: settings.client_timeouts.idle,
        ..Limits::default()
    }
}

fn phantom(settings: &PhantomSettings, rng: &Arc<dyn Rng>) -> Result<PhantomParts, StartError> {
    let unusable = |reason: String| StartError::Setting { key: "gateway.phantom.key", reason };
    let issuer = settings.issuer.clone();
    let signer = match &settings.key {
        Some(path) => {
            let text = std::fs::read_to_string(path)
                .map_err(|error| unusable(format!("{}: {error}", path.display())))?;
            let key: Result<Jwk, String> = if text.trim_start().starts_with('{') {
                serde_json::from_str(&text).map_err(|error| error.to_string())
            } else {
                Jwk::from_pem(&text).map_err(|error| error.to_string())
            };
            PhantomSigner::new(issuer, &key.map_err(&unusable)?, Arc::clone(rng))
        }
        None => PhantomSigner::generate(issuer, Arc::clone(rng)),
    };
    let signer = signer.map_err(|error| unusable(error.to_string()))?;
    Ok(PhantomParts { signer: Arc::new(signer), jwks_path: settings.jwks_path.clone() })
}

fn text(address: &LocalAddress) -> String {
    match address {
        LocalAddress::Tcp(address) => address.to_string(),
        LocalAddress::Unix(path) => path.display().to_string(),
    }
}

/// What follows the routes file.
struct Follower {
    file: Arc<RoutesFile>,
    validation: Arc<Validation>,
    limits: Arc<RateLimits>,
}

impl Follower {
    fn spawn(self, tasks: &TaskTracker, shutdown: &CancellationToken) {
        tasks.spawn(Arc::clone(&self.file).follow(shutdown.clone()));
        tasks.spawn(Arc::clone(self.file.country()).run(shutdown.clone()));
        let shutdown = shutdown.clone();
        tasks.spawn(async move {
            shutdown.run_until_cancelled(self.run()).await;
        });
    }

    /// What is not needed any more is forgotten; what a new table needs comes with its first request. Issuers are asked for their keys:
    /// who has the file read again may wait for one to be gone.
    async fn run(self) {
        let mut replaced = self.file.routes().subscribe();
        while replaced.changed().await.is_ok() {
            let table = Arc::clone(&self.file.routes().load());
            self.validation.keep_only(&table.settings().issuers);
            self.validation.renew_keys();
            self.limits.keep_only(&table);
        }
    }
}

/// What is done on SIGHUP.
#[derive(Clone)]
struct WhenTold {
    file: Arc<RoutesFile>,
    validation: Arc<Validation>,
    access_log: Option<AccessLogFile>,
}

impl WhenTold {
    /// From now on the signal does not end the process, also if the task has not begun.
    fn spawn(self, tasks: &TaskTracker, shutdown: &CancellationToken) {
        let Ok(mut hangups) = signal(SignalKind::hangup()) else { return };
        let shutdown = shutdown.clone();
        tasks.spawn(async move {
            while shutdown.run_until_cancelled(hangups.recv()).await.flatten().is_some() {
                let told = self.clone();
                let _ = tokio::task::spawn_blocking(move || told.act()).await;
            }
        });
    }

    /// The access log is opened anew; the routes file is read again, whether or not it changed, and the keys of other issuers with it. What
    /// goes wrong is logged there.
    fn act(&self) {
        if let Some(access_log) = &self.access_log {
            access_log.reopen();
        }
        // With a table that comes into force the [`Follower`] asks for them.
        if self.file.reload().is_err() {
            self.validation.renew_keys();
        }
    }
}

#[cfg(test)]
mod tests {
    use sluice_primitives::OsRng;

    use super::*;

    #[test]
    fn a_key_of_phantom_tokens_that_cannot_be_read_is_named() {
        let settings = PhantomSettings {
            key: Some("/nowhere/phantom.pem".into()),
            issuer: "https://gateway.example".to_owned(),
            jwks_path: None,
        };
        let rng: Arc<dyn Rng> = Arc::new(OsRng);
        let refused = phantom(&settings, &rng).err().unwrap().to_string();
        let names = "gateway.phantom.key: /nowhere/phantom.pem: ";
        assert!(refused.contains(names), "{refused}");
    }
}
