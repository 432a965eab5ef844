//! The TLS configuration in force, replaced when the certificate's files change.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ConfigBuilder, ServerConfig, WantsVerifier};
use sluice_primitives::Secret;
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::client_certificates::AnyClientCertificate;
use super::pem_source::private_key;
use super::{ALPN_HTTP_1_1, ALPN_HTTP_2, AcceptorError, PemSource, TlsError};

/// What a listener accepts TLS with. Clones share the configuration: one reload is seen by all.
#[derive(Debug, Clone)]
pub struct TlsAcceptorHandle {
    shared: Arc<Shared>,
    plain_http: bool,
    client_certificates: bool,
}

#[derive(Debug)]
struct Shared {
    sources: Sources,
    current: ArcSwap<Configs>,
    /// What was last tried, in force or not: a bad file is tried, and complained about, once.
    last_tried: Mutex<Fingerprint>,
}

/// One certificate, met with in two ways. Each has its own tickets: a session that began without being asked for a
/// certificate is not resumed where one is.
#[derive(Debug)]
struct Configs {
    silent: Arc<ServerConfig>,
    /// Asks for the client's certificate.
    asking: Arc<ServerConfig>,
    /// What is shown, leaf first.
    chain: Arc<[Vec<u8>]>,
}

/// What looking at the files came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reload {
    /// They are as they were.
    Unchanged,
    /// New connections are met with the new certificate.
    Replaced,
}

/// A hash of the files' contents, to notice a change by. Equal hashes of different files would only delay a reload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Fingerprint(u64);

impl TlsAcceptorHandle {
    /// Reads the certificate chain, leaf first, and its private key (PKCS #8, PKCS #1 or SEC 1).
    ///
    /// # Errors
    /// [`AcceptorError`]: they cannot be read, or do not belong together.
    pub fn load(chain: PemSource, private_key: PemSource) -> Result<Self, AcceptorError> {
        let sources = Sources { chain, private_key };
        let pem = sources.read()?;
        let current = ArcSwap::from_pointee(sources.configs(&pem)?);
        let last_tried = Mutex::new(pem.fingerprint());
        let shared = Arc::new(Shared { sources, current, last_tried });
        Ok(Self { shared, plain_http: false, client_certificates: false })
    }

    /// Lets clients speak plain http on the same port, for proxies that end TLS themselves. Whether such a request
    /// may be believed is for [`is_tls_terminated`](crate::is_tls_terminated) to say.
    #[must_use]
    pub fn accepting_plain_http(mut self) -> Self {
        self.plain_http = true;
        self
    }

    /// Asks each client for a certificate and requires none (RFC 8705). Any certificate is taken, whoever issued it, if
    /// the client proves to hold its key; requests carry it as [`PeerCertificates`](crate::PeerCertificates).
    #[must_use]
    pub fn requesting_client_certificates(mut self) -> Self {
        self.client_certificates = true;
        self
    }

    /// Looks at the files; the old certificate stays in force if the new one is no good.
    ///
    /// # Errors
    /// [`AcceptorError`]: why the new one is no good, once for each content of the files.
    pub fn reload(&self) -> Result<Reload, AcceptorError> {
        let pem = self.shared.sources.read()?;
        let fingerprint = pem.fingerprint();
        let mut last_tried = self.shared.last_tried.lock();
        if *last_tried == fingerprint {
            return Ok(Reload::Unchanged);
        }
        *last_tried = fingerprint;
        self.shared.current.store(Arc::new(self.shared.sources.configs(&pem)?));
        Ok(Reload::Replaced)
    }

    /// Looks at the files `every` so often until `shutdown`, and tells of what came of it by the name of the `listener`.
    /// Returns at once if there are none.
    pub async fn reload_when_changed(
        self,
        listener: &'static str,
        every: Duration,
        shutdown: CancellationToken,
    ) {
        if !self.shared.sources.may_change() {
            return;
        }
        let mut ticks = interval(every);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut unreadable = false;
        while shutdown.run_until_cancelled(ticks.tick()).await.is_some() {
            let handle = self.clone();
            let Ok(outcome) = tokio::task::spawn_blocking(move || handle.reload()).await else { continue };
            let is_unreadable = matches!(&outcome, Err(error) if error.is_unreadable());
            let was_unreadable = std::mem::replace(&mut unreadable, is_unreadable);
            match outcome {
                Ok(Reload::Unchanged) => {}
                Ok(Reload::Replaced) => info!(listener, "the TLS certificate was replaced"),
                Err(_) if is_unreadable && was_unreadable => {}
                Err(error) => {
                    let cause = std::error::Error::source(&error).map(ToString::to_string);
                    warn!(
                        listener,
                        %error,
                        cause,
                        "the new TLS certificate is no good, the old one stays in force"
                    );
                }
            }
        }
    }

    /// The certificates in force (DER), leaf first, as they are shown to clients.
    pub fn certificates(&self) -> Arc<[Vec<u8>]> {
        Arc::clone(&self.shared.current.load().chain)
    }

    /// The configuration in force.
    pub(crate) fn server_config(&self) -> Arc<ServerConfig> {
        let current = self.shared.current.load();
        if self.client_certificates { current.asking.clone() } else { current.silent.clone() }
    }

    pub(crate) fn accepts_plain_http(&self) -> bool {
        self.plain_http
    }
}

/// Where a certificate chain and its key are.
#[derive(Debug)]
struct Sources {
    chain: PemSource,
    private_key: PemSource,
}

impl Sources {
    fn may_change(&self) -> bool {
        self.chain.may_change() || self.private_key.may_change()
    }

    fn read(&self) -> Result<Pem, AcceptorError> {
        Ok(Pem {
            chain: self.chain.read().map_err(|error| self.chain_is_bad(error))?,
            private_key: self.private_key.read().map_err(|error| self.key_is_bad(error))?,
        })
    }

    /// What is made of what was read here.
    fn configs(&self, pem: &Pem) -> Result<Configs, AcceptorError> {
        let chain = pem.certificates().map_err(|error| self.chain_is_bad(error))?;
        let key = private_key(pem.private_key.expose()).map_err(|error| self.key_is_bad(error))?;
        configs(chain, key).map_err(|error| self.pair_is_bad(error))
    }

    fn chain_is_bad(&self, error: TlsError) -> AcceptorError {
        AcceptorError { of: self.chain.name("cert"), error }
    }

    fn key_is_bad(&self, error: TlsError) -> AcceptorError {
        AcceptorError { of: self.private_key.name("key"), error }
    }

    fn pair_is_bad(&self, error: TlsError) -> AcceptorError {
        let of = format!("{} and {}", self.chain.name("cert"), self.private_key.name("key"));
        AcceptorError { of, error }
    }
}

/// A certificate chain and its key, as read.
struct Pem {
    chain: Secret<Vec<u8>>,
    private_key: Secret<Vec<u8>>,
}

impl Pem {
    fn fingerprint(&self) -> Fingerprint {
        let mut hasher = DefaultHasher::new();
        self.chain.expose().hash(&mut hasher);
        self.private_key.expose().hash(&mut hasher);
        Fingerprint(hasher.finish())
    }

    fn certificates(&self) -> Result<Vec<CertificateDer<'static>>, TlsError> {
        let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(self.chain.expose()).collect();
        let chain = chain.map_err(TlsError::NotPem)?;
        if chain.is_empty() { Err(TlsError::NoCertificate) } else { Ok(chain) }
    }
}

fn configs(chain: Vec<CertificateDer<'static>>, key: PrivateKeyDer<'static>) -> Result<Configs, TlsError> {
    let shown = chain.iter().map(|certificate| certificate.to_vec()).collect();
    let provider = Arc::new(aws_lc_rs::default_provider());
    let any = AnyClientCertificate::new(provider.signature_verification_algorithms);
    let silent =
        builder(&provider)?.with_no_client_auth().with_single_cert(chain, key).map_err(TlsError::Unusable)?;
    let asking = builder(&provider)?
        .with_client_cert_verifier(Arc::new(any))
        .with_cert_resolver(silent.cert_resolver.clone());
    Ok(Configs { silent: finished(silent)?, asking: finished(asking)?, chain: shown })
}

fn builder(provider: &Arc<CryptoProvider>) -> Result<ConfigBuilder<ServerConfig, WantsVerifier>, TlsError> {
    ServerConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(TlsError::Unusable)
}

fn finished(mut config: ServerConfig) -> Result<Arc<ServerConfig>, TlsError> {
    config.alpn_protocols = vec![ALPN_HTTP_2.to_vec(), ALPN_HTTP_1_1.to_vec()];
    config.ticketer = aws_lc_rs::Ticketer::new().map_err(TlsError::Unusable)?;
    Ok(Arc::new(config))
}
