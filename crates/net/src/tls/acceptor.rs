//! The TLS configuration in force, replaced when the certificate's files change.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::{ConfigBuilder, ServerConfig, WantsVerifier};
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::by_name::{ByName, Further};
use super::client_certificates::AnyClientCertificate;
use super::folder::pairs;
use super::pair::{Pair, Pem};
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

/// The certificates, met with in two ways. Each has its own tickets: a session that began without being asked for a
/// certificate is not resumed where one is.
#[derive(Debug)]
struct Configs {
    silent: Arc<ServerConfig>,
    /// Asks for the client's certificate.
    asking: Arc<ServerConfig>,
    /// What is shown: the chain of the first, leaf first, then those of the others.
    shown: Arc<[Vec<u8>]>,
    /// What the others are for.
    further: Arc<[Further]>,
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
        Self::load_all(Sources { first: Pair { chain, private_key }, folder: None })
    }

    /// The same, and further certificates of a folder: each is shown to who asks for one of its names (SNI, RFC 6066 §3), the first to
    /// all others. A certificate is `NAME.crt` with its key `NAME.key`, or a folder with `fullchain.pem` and `privkey.pem`, or with
    /// `tls.crt` and `tls.key`; what begins with a dot, and all else, is passed over, also `ca.crt`.
    ///
    /// # Errors
    /// [`AcceptorError`]: one of them cannot be read, is for no name, or does not belong to its key.
    pub fn load_with_folder(
        chain: PemSource,
        private_key: PemSource,
        folder: PathBuf,
    ) -> Result<Self, AcceptorError> {
        Self::load_all(Sources { first: Pair { chain, private_key }, folder: Some(folder) })
    }

    fn load_all(sources: Sources) -> Result<Self, AcceptorError> {
        let read = sources.read()?;
        let current = ArcSwap::from_pointee(Configs::of(&read)?);
        let last_tried = Mutex::new(fingerprint(&read));
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
        let read = self.shared.sources.read()?;
        let fingerprint = fingerprint(&read);
        let mut last_tried = self.shared.last_tried.lock();
        if *last_tried == fingerprint {
            return Ok(Reload::Unchanged);
        }
        *last_tried = fingerprint;
        self.shared.current.store(Arc::new(Configs::of(&read)?));
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
        self.tell_of_further(listener);
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
                Ok(Reload::Replaced) => {
                    info!(listener, "the TLS certificate was replaced");
                    self.tell_of_further(listener);
                }
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

    fn tell_of_further(&self, listener: &'static str) {
        for Further { source, names } in &*self.shared.current.load().further {
            info!(listener, source, names = names.join(" "), "a further TLS certificate is shown by name");
        }
    }

    /// The certificates in force (DER) as they are shown to clients: the first with its chain, leaf first, then those of its folder.
    pub fn certificates(&self) -> Arc<[Vec<u8>]> {
        Arc::clone(&self.shared.current.load().shown)
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

/// Where the certificates and their keys are.
#[derive(Debug)]
struct Sources {
    first: Pair,
    folder: Option<PathBuf>,
}

impl Sources {
    fn may_change(&self) -> bool {
        self.first.may_change() || self.folder.is_some()
    }

    /// The first, then those of the folder, in the order of their names.
    fn read(&self) -> Result<Vec<Pem>, AcceptorError> {
        let mut read = vec![self.first.read()?];
        if let Some(folder) = &self.folder {
            for pair in pairs(folder)? {
                read.push(pair.read()?);
            }
        }
        Ok(read)
    }
}

fn fingerprint(read: &[Pem]) -> Fingerprint {
    let mut hasher = DefaultHasher::new();
    read.hash(&mut hasher);
    Fingerprint(hasher.finish())
}

impl Configs {
    /// What is made of what was read here.
    fn of(read: &[Pem]) -> Result<Self, AcceptorError> {
        let provider = Arc::new(aws_lc_rs::default_provider());
        let (certificates, further) = ByName::of(read, &provider)?;
        let shown = certificates.shown();
        let made = configs(&provider, Arc::new(certificates));
        let (silent, asking) = made
            .map_err(|error| AcceptorError { of: "rustls".to_owned(), error: TlsError::Unusable(error) })?;
        Ok(Self { silent, asking, shown, further })
    }
}

fn configs(
    provider: &Arc<CryptoProvider>,
    certificates: Arc<ByName>,
) -> Result<(Arc<ServerConfig>, Arc<ServerConfig>), rustls::Error> {
    let any = AnyClientCertificate::new(provider.signature_verification_algorithms);
    let silent = builder(provider)?.with_no_client_auth().with_cert_resolver(certificates.clone());
    let asking = builder(provider)?.with_client_cert_verifier(Arc::new(any)).with_cert_resolver(certificates);
    Ok((finished(silent)?, finished(asking)?))
}

fn builder(
    provider: &Arc<CryptoProvider>,
) -> Result<ConfigBuilder<ServerConfig, WantsVerifier>, rustls::Error> {
    ServerConfig::builder_with_provider(provider.clone()).with_safe_default_protocol_versions()
}

fn finished(mut config: ServerConfig) -> Result<Arc<ServerConfig>, rustls::Error> {
    config.alpn_protocols = vec![ALPN_HTTP_2.to_vec(), ALPN_HTTP_1_1.to_vec()];
    config.ticketer = aws_lc_rs::Ticketer::new()?;
    Ok(Arc::new(config))
}
