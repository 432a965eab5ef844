//! `oauth2.mtls`: clients that show a certificate (RFC 8705). `serve.gateway.mtls`, `serve.decisions.mtls`: the same where
//! tokens are judged that are bound to one.

use std::path::PathBuf;

use ipnet::IpNet;
use url::Url;

use super::key::{Key, Kind};
use super::reader::Reader;

const ENABLED: &str = "oauth2.mtls.enabled";
const HEADER: &str = "oauth2.mtls.header";
const PROXY_VERIFIES: &str = "oauth2.mtls.proxy_verifies";
const GATEWAY_ENABLED: &str = "serve.gateway.mtls.enabled";

pub(super) const KEYS: &[Key] = &[
    Key::own(
        "enabled",
        Kind::Boolean,
        "Whether the public listener asks for client certificates; needs `serve.public.tls.enabled`.",
    )
    .with_default("false"),
    Key::own(
        "header",
        Kind::Text,
        "The header in which a proxy that ends TLS passes the client's certificate on; needs \
         `oauth2.mtls.header_from`. Its name says how: `Client-Cert` as RFC 9440 has it, `X-Forwarded-Client-Cert` as \
         Envoy writes it, any other percent-encoded PEM, as nginx's `$ssl_client_escaped_cert`.",
    ),
    Key::own("header_from", Kind::Networks, "The proxies whose `oauth2.mtls.header` is believed."),
    Key::own(
        "proxy_verifies",
        Kind::Boolean,
        "Whether that proxy verifies who issued a certificate and passes on no other: then `tls_client_auth` \
         accepts what it passes on without `oauth2.mtls.trust_anchors`. Set for one that does not, it lets anybody be \
         any such client.",
    )
    .with_default("false"),
    Key::own(
        "trust_anchors",
        Kind::Path,
        "The PEM file of the authorities whose certificates `tls_client_auth` accepts, shown to the listener or \
         passed on by a proxy; without it, it accepts none but those of `oauth2.mtls.proxy_verifies`. What a proxy \
         passes on comes without its chain: then the issuing authority itself must be in the file. It is read again \
         when it changes. `self_signed_tls_client_auth` needs none.",
    ),
    Key::own(
        "endpoint_aliases_url",
        Kind::Url,
        "The base of the addresses in `mtls_endpoint_aliases` (RFC 8705 §5), if those that ask for certificates \
         are others; with the path of `urls.self.public`, if it has one.",
    ),
];

pub(super) const GATEWAY_KEYS: &[Key] = &[
    Key::own(
        "enabled",
        Kind::Boolean,
        "Whether the gateway asks for client certificates, for tokens that are bound to one; needs \
         `serve.gateway.tls.enabled`.",
    )
    .with_default("false"),
    Key::own(
        "header",
        Kind::Text,
        "The header in which a proxy that ends TLS before the gateway passes the client's certificate on; needs \
         `serve.gateway.mtls.header_from`.",
    ),
    Key::own("header_from", Kind::Networks, "The proxies whose `serve.gateway.mtls.header` is believed."),
];

pub(super) const DECISION_KEYS: &[Key] = &[
    Key::own(
        "header",
        Kind::Text,
        "The header in which an asking proxy passes its client's certificate on, for tokens that are bound to one; \
         needs `serve.decisions.mtls.header_from`.",
    ),
    Key::own(
        "header_from",
        Kind::Networks,
        "The asking proxies whose `serve.decisions.mtls.header` is believed.",
    ),
];

/// How clients show a certificate.
#[derive(Debug, Clone)]
pub(crate) struct MtlsSettings {
    /// Whether the public listener asks for one. Default: no.
    pub(crate) listener_asks: bool,
    /// `None`: no proxy passes them on.
    pub(crate) proxy: Option<CertificateHeader>,
    /// Whether that proxy passes on only certificates whose issuers it has verified. Default: no.
    pub(crate) proxy_verifies: bool,
    /// PEM; `None`: `tls_client_auth` accepts no certificate but those that a proxy verifies.
    pub(crate) trust_anchors: Option<PathBuf>,
    /// `None`: no aliases are announced.
    pub(crate) endpoint_aliases_url: Option<Url>,
}

/// A header in which proxies pass certificates on.
#[derive(Debug, Clone)]
pub(crate) struct CertificateHeader {
    /// A token of RFC 9110 §5.6.2, in any case.
    pub(crate) name: String,
    /// Who is believed; one at least.
    pub(crate) from: Vec<IpNet>,
}

/// How clients show a certificate where a token may be bound to it.
#[derive(Debug, Clone)]
pub(crate) struct ShownCertificates {
    /// Whether the listener asks for one. Default: no.
    pub(crate) listener_asks: bool,
    /// `None`: no proxy passes them on.
    pub(crate) proxy: Option<CertificateHeader>,
}

pub(super) fn read(reader: &mut Reader<'_>) -> MtlsSettings {
    let listener_asks = reader.boolean(ENABLED);
    if listener_asks && !reader.is_true("serve.public.tls.enabled") {
        reader.refuse(
            ENABLED,
            "needs serve.public.tls.enabled; behind a proxy that ends TLS set oauth2.mtls.header",
        );
    }
    let proxy = read_header(reader, "oauth2.mtls");
    let proxy_verifies = reader.boolean(PROXY_VERIFIES);
    if proxy_verifies && !reader.has(HEADER) {
        reader.warn(PROXY_VERIFIES, format!("has no effect without {HEADER}"));
    }
    MtlsSettings {
        listener_asks,
        proxy,
        proxy_verifies,
        trust_anchors: reader.path("oauth2.mtls.trust_anchors"),
        endpoint_aliases_url: reader.url("oauth2.mtls.endpoint_aliases_url"),
    }
}

/// `serve.gateway.mtls`.
pub(super) fn read_gateway(reader: &mut Reader<'_>) -> ShownCertificates {
    let listener_asks = reader.boolean(GATEWAY_ENABLED);
    if listener_asks && !reader.is_true("serve.gateway.tls.enabled") {
        reader.refuse(
            GATEWAY_ENABLED,
            "needs serve.gateway.tls.enabled; behind a proxy that ends TLS set serve.gateway.mtls.header",
        );
    }
    ShownCertificates { listener_asks, proxy: read_header(reader, "serve.gateway.mtls") }
}

/// `serve.decisions.mtls`: who asks there is a proxy, whose own certificate is not its client's.
pub(super) fn read_decisions(reader: &mut Reader<'_>) -> ShownCertificates {
    ShownCertificates { listener_asks: false, proxy: read_header(reader, "serve.decisions.mtls") }
}

/// A header that anybody may send proves nothing.
fn read_header(reader: &mut Reader<'_>, section: &str) -> Option<CertificateHeader> {
    let (header, header_from) = (format!("{section}.header"), format!("{section}.header_from"));
    let name = reader.header_name(&header);
    let problems = reader.problem_count();
    let from = reader.networks(&header_from);
    if reader.has(&header) && from.is_empty() && reader.problem_count() == problems {
        reader.refuse(&header_from, format!("is required with {header}: anybody could send that header"));
    }
    if reader.has(&header_from) && !reader.has(&header) {
        reader.warn(&header_from, format!("has no effect without {header}"));
    }
    Some(CertificateHeader { name: name?, from })
}
