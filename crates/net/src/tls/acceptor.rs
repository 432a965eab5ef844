//! The TLS configuration in force, replaced when the certificate's files change.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::server::ProducesTickets;
use rustls::{ConfigBuilder, ServerConfig, WantsVerifier};
use sluice_primitives::{Clock, Timestamp};
use tokio::time::{Instant, MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::beside::Beside;
use super::by_name::ByName;
use super::certified::CertificateValidity;
use super::client_certificates::AnyClientCertificate;
use super::pair::Pair;
use super::sources::{Changes, Found, Refused, Sources};
use super::{ALPN_HTTP_1_1, ALPN_HTTP_2, AcceptorError, PemSource, TlsError};

/// How often it is said again what is no good and was not mended.
const SAY_AGAIN: Duration = Duration::from_hours(24);

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
    provider: Arc<CryptoProvider>,
    tickets: Tickets,
    current: ArcSwap<Configs>,
    /// What was found last, in force or not: a bad file is tried, and complained about, once.
    found: Mutex<Found>,
}

/// What sessions are resumed with, also after a reload. Each way to meet with the certificates has its own: a session that began without
/// being asked for a certificate is not resumed where one is.
#[derive(Debug)]
struct Tickets {
    silent: Arc<dyn ProducesTickets>,
    asking: Arc<dyn ProducesTickets>,
}

/// The certificates, met with in two ways.
#[derive(Debug)]
struct Configs {
    silent: Arc<ServerConfig>,
    /// Asks for the client's certificate.
    asking: Arc<ServerConfig>,
    /// All of them: the chain of the first, leaf first, then those of the others.
    shown: Arc<[Vec<u8>]>,
    /// How long the first is valid.
    validity: Option<CertificateValidity>,
    /// And the others that are shown.
    further: Arc<[CertificateValidity]>,
    beside: Beside,
}

/// What looking at the files came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reload {
    /// They are as they were.
    Unchanged,
    /// New connections are met with the new certificate.
    Replaced,
}

impl TlsAcceptorHandle {
    /// Reads the certificate chain, leaf first, and its private key (PKCS #8, PKCS #1 or SEC 1).
    ///
    /// # Errors
    /// [`AcceptorError`]: they cannot be read, or do not belong together.
    pub fn load(chain: PemSource, private_key: PemSource) -> Result<Self, AcceptorError> {
        // Of one alone it does not matter whether it is valid already.
        let any = Timestamp::from_secs(0);
        Self::load_all(Sources { first: Pair { chain, private_key }, folder: None }, any)
    }

    /// The same, and further certificates of a folder: each is shown to who asks for one of its names (SNI, RFC 6066 §3), the first to
    /// all others. Of several for one name, the first among them, that is shown which is valid `now` and expires last. A certificate is
    /// `NAME.crt` with its key `NAME.key`, or a folder with `fullchain.pem` and `privkey.pem`, or with `tls.crt` and `tls.key`; what begins
    /// with a dot, and all else, is passed over, also `ca.crt` and `lost+found`.
    ///
    /// # Errors
    /// [`AcceptorError`]: one of them cannot be read, is for no name, or does not belong to its key.
    pub fn load_with_folder(
        chain: PemSource,
        private_key: PemSource,
        folder: PathBuf,
        now: Timestamp,
    ) -> Result<Self, AcceptorError> {
        Self::load_all(Sources { first: Pair { chain, private_key }, folder: Some(folder) }, now)
    }

    fn load_all(sources: Sources, now: Timestamp) -> Result<Self, AcceptorError> {
        let provider = Arc::new(aws_lc_rs::default_provider());
        let tickets = Tickets::new().map_err(of_rustls)?;
        let found = Found::load(&sources, &provider, now)?;
        let current = ArcSwap::from_pointee(Configs::of(&found, &provider, &tickets)?);
        let shared = Arc::new(Shared { sources, provider, tickets, current, found: Mutex::new(found) });
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

    /// Looks at the files, and which certificates are valid `now`. One that is no good keeps its old one in force, and no other from being
    /// replaced.
    ///
    /// # Errors
    /// [`AcceptorError`]: why one of them is no good, once for each content of its files.
    pub fn reload(&self, now: Timestamp) -> Result<Reload, Arc<AcceptorError>> {
        let Changes { is_replaced, refused } = self.look_again(now);
        match refused.into_iter().next() {
            Some(Refused { error, .. }) => Err(error),
            None if is_replaced => Ok(Reload::Replaced),
            None => Ok(Reload::Unchanged),
        }
    }

    fn look_again(&self, now: Timestamp) -> Changes {
        let Shared { sources, provider, tickets, current, found } = &*self.shared;
        let mut found = found.lock();
        let mut changes = found.look_again(sources, provider, (Instant::now(), now));
        if changes.is_replaced {
            match Configs::of(&found, provider, tickets) {
                Ok(configs) => current.store(Arc::new(configs)),
                Err(error) => {
                    changes.is_replaced = false;
                    changes.refused.push(Refused { error: Arc::new(error), has_old: true });
                }
            }
        }
        changes
    }

    /// Looks at the files `every` so often until `shutdown`, and tells of what came of it by the name of the `listener`.
    /// Returns at once if there are none.
    pub async fn reload_when_changed(
        self,
        listener: &'static str,
        every: Duration,
        clock: Arc<dyn Clock>,
        shutdown: CancellationToken,
    ) {
        let mut told = self.shared.current.load_full();
        told.beside.tell(listener, &Beside::default());
        if !self.shared.sources.may_change() {
            return;
        }
        let mut ticks = interval(every);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut said = Instant::now();
        while shutdown.run_until_cancelled(ticks.tick()).await.is_some() {
            let (handle, now) = (self.clone(), clock.now());
            let Ok(changes) = tokio::task::spawn_blocking(move || handle.look_again(now)).await else {
                continue;
            };
            if changes.is_replaced {
                info!(listener, "the TLS certificate was replaced");
                let now = self.shared.current.load_full();
                now.beside.tell(listener, &told.beside);
                told = now;
            }
            let mut refused = changes.refused;
            if said.elapsed() >= SAY_AGAIN {
                said = Instant::now();
                refused = self.shared.found.lock().refused();
            }
            for refused in &refused {
                tell(listener, refused);
            }
        }
    }

    /// The certificates in force (DER) as they are shown to clients: the first with its chain, leaf first, then those of its folder.
    pub fn certificates(&self) -> Arc<[Vec<u8>]> {
        Arc::clone(&self.shared.current.load().shown)
    }

    /// How long the first certificate in force is valid; `None` if that cannot be read.
    pub fn validity(&self) -> Option<CertificateValidity> {
        self.shared.current.load().validity.clone()
    }

    /// How long those of its folder are valid that are in force, and shown by name.
    pub fn further_validities(&self) -> Arc<[CertificateValidity]> {
        Arc::clone(&self.shared.current.load().further)
    }

    /// Whether there may be further ones, of a folder.
    pub fn has_folder(&self) -> bool {
        self.shared.sources.folder.is_some()
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

/// Says what is no good, and what that means.
fn tell(listener: &'static str, Refused { error, has_old }: &Refused) {
    let cause = std::error::Error::source(&**error).map(ToString::to_string);
    if *has_old {
        warn!(listener, %error, cause, "the new TLS certificate is no good, the old one stays in force");
    } else {
        warn!(listener, %error, cause, "a further TLS certificate is no good, and is not shown");
    }
}

impl Tickets {
    fn new() -> Result<Self, rustls::Error> {
        Ok(Self { silent: aws_lc_rs::Ticketer::new()?, asking: aws_lc_rs::Ticketer::new()? })
    }
}

impl Configs {
    /// What is made of what was found here.
    fn of(found: &Found, provider: &Arc<CryptoProvider>, tickets: &Tickets) -> Result<Self, AcceptorError> {
        let (first, others) = found.certified();
        let Some(first) = first else {
            return Err(AcceptorError { of: "cert".to_owned(), error: TlsError::NoCertificate });
        };
        let (certificates, beside) = ByName::of(first, &others, found.seen_at());
        let all = std::iter::once(first).chain(&others);
        let shown = all.flat_map(|certified| certified.key.cert.iter().map(|der| der.to_vec())).collect();
        let further = beside.further.iter().filter_map(|further| further.validity.clone()).collect();
        let (silent, asking) = configs(provider, tickets, &Arc::new(certificates)).map_err(of_rustls)?;
        Ok(Self { silent, asking, shown, validity: first.validity.clone(), further, beside })
    }
}

fn of_rustls(error: rustls::Error) -> AcceptorError {
    AcceptorError { of: "rustls".to_owned(), error: TlsError::Unusable(error) }
}

fn configs(
    provider: &Arc<CryptoProvider>,
    tickets: &Tickets,
    certificates: &Arc<ByName>,
) -> Result<(Arc<ServerConfig>, Arc<ServerConfig>), rustls::Error> {
    let any = AnyClientCertificate::new(provider.signature_verification_algorithms);
    let silent = builder(provider)?.with_no_client_auth().with_cert_resolver(certificates.clone());
    let asking = builder(provider)?.with_client_cert_verifier(Arc::new(any));
    let asking = asking.with_cert_resolver(certificates.clone());
    Ok((finished(silent, &tickets.silent), finished(asking, &tickets.asking)))
}

fn builder(
    provider: &Arc<CryptoProvider>,
) -> Result<ConfigBuilder<ServerConfig, WantsVerifier>, rustls::Error> {
    ServerConfig::builder_with_provider(provider.clone()).with_safe_default_protocol_versions()
}

fn finished(mut config: ServerConfig, tickets: &Arc<dyn ProducesTickets>) -> Arc<ServerConfig> {
    config.alpn_protocols = vec![ALPN_HTTP_2.to_vec(), ALPN_HTTP_1_1.to_vec()];
    config.ticketer = Arc::clone(tickets);
    Arc::new(config)
}
