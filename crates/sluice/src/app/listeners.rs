//! Ports: bound, with or without TLS, served until the node ends.

use std::io::ErrorKind;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use http::HeaderName;
use ipnet::IpNet;
use sluice_http::Routes;
use sluice_net::{
    AcceptorError, BindAddress, ForwardedCertificatePolicy, Limits, ListenError, Listener, LocalAddress,
    PemSource, TlsAcceptorHandle, self_signed, serve,
};
use sluice_primitives::{Clock, Secret, Timestamp};
use tracing::info;

use super::certificates::Serving;
use super::dispatch::Dispatch;
use super::stores::StartError;
use crate::config::{
    self, CertificateHeader, CertificateSettings, ListenAddress, ListenerSettings, TlsSettings,
};
use crate::observability::RequestLogLayer;

/// A port that is about to be served.
pub(crate) struct Port {
    listener: Listener,
    tls: Option<TlsAcceptorHandle>,
    terminated_at: Arc<[IpNet]>,
    limits: Limits,
}

impl Port {
    /// Binds a port, which errors call so; requests wait until it is served.
    pub(crate) async fn bind(
        name: &'static str,
        settings: &ListenerSettings,
        with_self_signed: bool,
        clock: &dyn Clock,
    ) -> Result<Self, StartError> {
        let address = &settings.address;
        let listener = Listener::bind(&bind_address(address), NonZeroUsize::MIN)
            .await
            .map_err(|cause| unbound(name, address, cause))?;
        let tls = acceptor(name, &settings.tls, with_self_signed, clock)?;
        let terminated_at = settings.tls.allow_termination_from.clone().into();
        Ok(Self { listener, tls, terminated_at, limits: limits(settings) })
    }

    /// The same port, which asks its clients for certificates and requires none (RFC 8705).
    pub(crate) fn asking_for_certificates(self) -> Self {
        Self { tls: self.tls.map(TlsAcceptorHandle::requesting_client_certificates), ..self }
    }

    /// The same port, which waits so long at the end for requests that are on their way ([`Limits::idle_grace`]).
    pub(crate) fn waiting(self, idle_grace: Duration) -> Self {
        Self { limits: Limits { idle_grace, ..self.limits }, ..self }
    }

    /// Where it is reached, as `host:port` or a path.
    pub(crate) fn address(&self) -> String {
        match self.listener.local_address() {
            LocalAddress::Tcp(address) => address.to_string(),
            LocalAddress::Unix(path) => path.display().to_string(),
        }
    }

    /// Whether it speaks TLS.
    pub(crate) const fn has_tls(&self) -> bool {
        self.tls.is_some()
    }

    /// Serves it until the shutdown, and then what is in flight.
    pub(crate) fn serve(
        self,
        name: &'static str,
        (routes, log): (impl Into<Routes>, Option<&RequestLogLayer>),
        serving: &Serving<'_>,
    ) {
        let address = self.address();
        let listener = self.listener.named(name);
        let connections = listener.connections();
        let most = self.limits.max_connections;
        serving.metrics.register_connections(name, most, move || connections.served());
        if let Some(tls) = &self.tls {
            serving.look_after(tls, name);
        }
        // Without TLS and without a list of proxies that end it, plain http is what was asked for.
        let is_strict = self.tls.is_some() || !self.terminated_at.is_empty();
        let service = Dispatch::new(routes.into(), log, is_strict.then_some(self.terminated_at));
        let unreadable = log.map(RequestLogLayer::unreadable);
        info!(listener = name, %address, tls = self.tls.is_some(), "listening");
        let shutdown = serving.shutdown.clone();
        serving.tasks.spawn(async move {
            let drained = serve(listener, self.tls, service, unreadable, shutdown, self.limits).await;
            info!(listener = name, cut = drained.cut, "listener closed");
        });
    }
}

/// What clients of a listener are granted.
fn limits(settings: &ListenerSettings) -> Limits {
    let usual = Limits::default();
    Limits { max_connections: settings.max_connections.unwrap_or(usual.max_connections), ..usual }
}

/// Where a listener is to be bound.
pub(super) fn bind_address(address: &ListenAddress) -> BindAddress {
    match address {
        ListenAddress::Tcp { host, port } => BindAddress::Tcp { host: host.clone(), port: *port },
        ListenAddress::Unix { path, owner, group, mode } => {
            BindAddress::Unix { path: path.clone(), owner: owner.clone(), group: group.clone(), mode: *mode }
        }
    }
}

/// A listener that is not there, with what says where it is to be.
pub(super) fn unbound(listener: &'static str, address: &ListenAddress, cause: ListenError) -> StartError {
    let name = setting(address, &cause);
    let key = match listener {
        "metrics" => "--metrics-port".to_owned(),
        // It is where the admin port would be.
        "health" => format!("serve.admin.{name}"),
        _ => format!("serve.{listener}.{name}"),
    };
    StartError::Listen { listener, key, cause }
}

/// The setting of a listener that is to be mended: of an address that this machine does not have, and of a name that has none, that is
/// not the port.
fn setting(address: &ListenAddress, cause: &ListenError) -> &'static str {
    match (cause, address) {
        (ListenError::UnknownOwner { kind: "group", .. }, _) => "socket.group",
        (ListenError::UnknownOwner { .. }, _) => "socket.owner",
        (ListenError::NoAddress { .. }, _) | (ListenError::Bind { .. }, ListenAddress::Unix { .. }) => "host",
        (ListenError::Bind { source, .. }, _) if source.kind() == ErrorKind::AddrNotAvailable => "host",
        (ListenError::Bind { .. }, ListenAddress::Tcp { .. }) => "port",
    }
}

/// What speaks TLS on a port; none where it speaks none. Errors call the port by its `listener`.
pub(super) fn acceptor(
    listener: &'static str,
    settings: &TlsSettings,
    with_self_signed: bool,
    clock: &dyn Clock,
) -> Result<Option<TlsAcceptorHandle>, StartError> {
    let now = clock.now();
    let handle = match &settings.certificate {
        Some(certificates) => loaded(certificates, now).map_err(|cause| StartError::Certificate {
            listener,
            keys: certificates.keys.clone(),
            cause: Box::new(cause),
        })?,
        None if with_self_signed => {
            let hosts = ["localhost", "127.0.0.1", "::1"].map(str::to_owned);
            self_signed(&hosts, now)?.acceptor()?
        }
        None => return Ok(None),
    };
    Ok(Some(if settings.allow_termination_from.is_empty() { handle } else { handle.accepting_plain_http() }))
}

fn loaded(certificates: &CertificateSettings, now: Timestamp) -> Result<TlsAcceptorHandle, AcceptorError> {
    let (chain, key) = (pem(&certificates.chain), pem(&certificates.private_key));
    match &certificates.folder {
        Some(folder) => TlsAcceptorHandle::load_with_folder(chain, key, folder.clone(), now),
        None => TlsAcceptorHandle::load(chain, key),
    }
}

/// Whose word about certificates of clients counts: nobody's without a header.
pub(super) fn certificate_policy(proxy: Option<&CertificateHeader>) -> ForwardedCertificatePolicy {
    let policy = proxy.and_then(|proxy| {
        let name = proxy.name.parse::<HeaderName>().ok()?;
        Some(ForwardedCertificatePolicy { headers: vec![name.into()], from: proxy.from.clone() })
    });
    policy.unwrap_or_default()
}

fn pem(source: &config::PemSource) -> PemSource {
    match source {
        config::PemSource::File(path) => PemSource::File(path.clone()),
        config::PemSource::Base64(text) => PemSource::Base64(Secret::new(text.expose().to_owned())),
    }
}
