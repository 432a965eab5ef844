//! `gateway`, `serve.gateway` and `serve.link`: the proxy, and what it needs where it is a process of its own.

use std::path::PathBuf;
use std::time::Duration;

use url::Url;

use super::key::{Key, Kind};
use super::listener::{self, ListenerSettings};
use super::mtls::{self, ShownCertificates};
use super::reader::Reader;
use super::secret_string::SecretString;
use super::tls;

const ROUTES: &str = "gateway.routes";
pub(super) const LINK_URL: &str = "gateway.link.url";
const LINK_TOKEN: &str = "gateway.link.token";
/// Where the public keys of phantom tokens are unless something else is said.
pub(crate) const JWKS_PATH: &str = "/.well-known/sluice-gateway-jwks.json";
const PHANTOM_ISSUER: &str = "gateway.phantom.issuer";
const SERVED_TOKEN: &str = "serve.link.token";
/// What switches off what a text says otherwise: an empty one counts as not set.
const OFF: &str = "off";
/// What a link's token must have at least, in bytes: it is compared, not hashed, and nobody types it.
const SHORTEST_TOKEN: usize = 32;
const SHORTEST_TIMEOUT: Duration = Duration::from_millis(100);
const LONGEST_HEAD: Duration = Duration::from_hours(1);
const LONGEST_IDLE: Duration = Duration::from_hours(24);
/// An answer about revocations may take two seconds while all is well: the feed is asked, and waits for news.
const SHORTEST_FEED_AGE: Duration = Duration::from_secs(5);
const LONGEST_FEED_AGE: Duration = Duration::from_hours(24);
const PORT: Kind = Kind::Integer { min: 0, max: 65_535 };

pub(super) const KEYS: &[Key] = &[
    Key::own(
        "routes",
        Kind::Path,
        "The file of the gateway's routes (docs/gateway/routes.md); with it `serve all` serves the gateway too. It is read \
         again when it changes.",
    ),
    Key::own(
        "threads",
        Kind::Integer { min: 1, max: 1024 },
        "The threads of the gateway, each with its own connections; one for each core by default.",
    ),
    Key::own(
        "max_feed_age",
        Kind::Duration,
        "How old the gateway's knowledge of revocations may be before a route's `stale` policy is followed. From 5s to 24h: news \
         is waited for, so what is known is some seconds old while all is well.",
    )
    .with_default("10s"),
    Key::own(
        "access_log",
        Kind::Text,
        "Where the gateway's access log goes, a JSON object a line: `stderr`, `off`, or a file that is appended to, and opened \
         anew on `SIGHUP`.",
    )
    .with_default("stderr"),
    Key::own(
        "phantom.key",
        Kind::Path,
        "The private key (PEM or JWK) that signs phantom tokens, ES256 best; made at each start by default, so set it where \
         there is more than one gateway.",
    ),
    Key::own("phantom.issuer", Kind::Text, "`iss` of phantom tokens.").with_default("sluice-gateway"),
    Key::own(
        "phantom.jwks_path",
        Kind::Text,
        "The path under which the gateway serves the public keys of phantom tokens; `off`: nowhere.",
    )
    .with_default(JWKS_PATH),
    Key::own(
        "link.url",
        Kind::Url,
        "Where a gateway in a process of its own (`serve gateway`) gets keys and revocations: the link of an authorization \
         server (`serve.link`). Without it, it reads the database and needs its secrets.",
    ),
    Key::own(
        "link.token",
        Kind::Secret,
        "The `serve.link.token` of that authorization server, 32 bytes or more.",
    ),
    Key::own(
        "link.ca_file",
        Kind::Path,
        "A PEM file of certificates to trust there, besides those of the system.",
    ),
];

pub(super) const GATEWAY_LISTENER: &[Key] = &[
    Key::own(
        "host",
        Kind::Host,
        "The address of the gateway, or `unix:<path>`; empty means every interface.",
    )
    .with_default("0.0.0.0"),
    Key::own("port", PORT, "The port of the gateway; 0 takes any that is free.").with_default("4455"),
    Key::own(
        "max_connections",
        Kind::Integer { min: 1, max: 1_048_576 },
        "Connections that the gateway serves at once, all threads together; more wait.",
    )
    .with_default("65536"),
    Key::own(
        "timeouts.head",
        Kind::Duration,
        "How long a client of the gateway may take for its first request head, after the TLS handshake, and over HTTP/1.1 for a later one \
         once it has begun; one that has begun is answered 408 then. From 100ms to 1h.",
    )
    .with_default("10s"),
    Key::own(
        "timeouts.idle",
        Kind::Duration,
        "How long a client of the gateway may keep a connection without a new request; keep it above that of a load balancer in front. \
         From 100ms to 24h.",
    )
    .with_default("75s"),
];

pub(super) const DECISION_LISTENER: &[Key] = &[
    Key::own(
        "enabled",
        Kind::Boolean,
        "Whether other proxies may ask for verdicts (docs/gateway/other-proxies.md), beside the gateway or instead of it.",
    )
    .with_default("true"),
    Key::own(
        "host",
        Kind::Host,
        "The address of the decisions, or `unix:<path>`; empty means every interface. Only trusted proxies of the routes file \
         and this machine are answered.",
    )
    .with_default("127.0.0.1"),
    Key::own("port", PORT, "The port of the decisions; 0 takes any that is free.").with_default("4456"),
];

pub(super) const LINK_LISTENER: &[Key] = &[
    Key::own("host", Kind::Host, "The address of the link, or `unix:<path>`; empty means every interface.")
        .with_default("127.0.0.1"),
    Key::own("port", PORT, "The port of the link; 0 takes any that is free.").with_default("4446"),
    Key::own(
        "token",
        Kind::Tokens,
        "What gateways in other processes must bear, 32 bytes or more; with it the link is served. It gives the key of access tokens away: \
         share it with nobody else, and set `serve.link.tls` where it leaves the machine. Any of a list counts, so that it can be replaced; \
         a variable has the list as JSON, and any other text is one token.",
    ),
    Key::own(
        "sealing_key",
        Kind::Boolean,
        "Whether the link gives the key of sealed access tokens away. Who has it can make them; without it gateways ask about each \
         sealed token, and check JWTs and PASETOs themselves.",
    )
    .with_default("true"),
];

/// The gateway.
#[derive(Debug, Clone)]
pub(crate) struct GatewaySettings {
    /// `None`: there is none in `serve all`.
    pub(crate) routes: Option<PathBuf>,
    pub(crate) listener: ListenerSettings,
    pub(crate) certificates: ShownCertificates,
    /// `None`: other proxies get no verdicts.
    pub(crate) decisions: Option<ListenerSettings>,
    /// Of the clients of other proxies.
    pub(crate) decision_certificates: ShownCertificates,
    pub(crate) access_log: AccessLogSetting,
    pub(crate) phantom: PhantomSettings,
    pub(crate) max_connections: usize,
    pub(crate) client_timeouts: ClientTimeouts,
    /// `None`: one for each core.
    pub(crate) threads: Option<usize>,
    /// Default: 10 s.
    pub(crate) max_feed_age: Duration,
    /// `None`: from the database.
    pub(crate) link: Option<LinkSettings>,
}

/// How long clients may take.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ClientTimeouts {
    /// For the first head of a connection. Default: 10 s.
    pub(crate) head: Duration,
    /// From one request to the next. Default: 75 s.
    pub(crate) idle: Duration,
}

/// Where the access log goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum AccessLogSetting {
    Off,
    StandardError,
    File(PathBuf),
}

/// How phantom tokens are signed.
#[derive(Debug, Clone)]
pub(crate) struct PhantomSettings {
    /// `None`: with one that is made at the start.
    pub(crate) key: Option<PathBuf>,
    pub(crate) issuer: String,
    /// `None`: the public keys are served nowhere.
    pub(crate) jwks_path: Option<String>,
}

/// Where a gateway gets its keys and revocations.
#[derive(Debug, Clone)]
pub(crate) struct LinkSettings {
    pub(crate) url: Url,
    pub(crate) token: SecretString,
    pub(crate) ca_file: Option<PathBuf>,
}

/// The link of an authorization server.
#[derive(Debug, Clone)]
pub(crate) struct ServedLinkSettings {
    pub(crate) listener: ListenerSettings,
    /// Any of which a gateway may bear. None: no link is served.
    pub(crate) tokens: Vec<SecretString>,
    /// Whether gateways open sealed tokens themselves. Default: yes.
    pub(crate) gives_sealing_key: bool,
}

pub(super) fn read(reader: &mut Reader<'_>) -> GatewaySettings {
    let settings = GatewaySettings {
        routes: reader.path(ROUTES),
        listener: listener::read_without_request_log(reader, "serve.gateway"),
        certificates: mtls::read_gateway(reader),
        decisions: read_decisions(reader),
        decision_certificates: mtls::read_decisions(reader),
        access_log: match reader.text("gateway.access_log").as_deref() {
            Some(OFF) => AccessLogSetting::Off,
            Some("stderr") | None => AccessLogSetting::StandardError,
            Some(path) => AccessLogSetting::File(PathBuf::from(path)),
        },
        phantom: read_phantom(reader),
        max_connections: reader.integer("serve.gateway.max_connections").unwrap_or(65_536),
        client_timeouts: read_client_timeouts(reader),
        threads: reader.integer("gateway.threads"),
        max_feed_age: reader.duration_within("gateway.max_feed_age", SHORTEST_FEED_AGE..=LONGEST_FEED_AGE),
        link: read_link(reader),
    };
    if settings.routes.is_some() {
        warn_of_plain_http(reader, "serve.gateway", &settings.listener);
        if let Some(decisions) = &settings.decisions {
            warn_of_plain_http(reader, "serve.decisions", decisions);
        }
    }
    settings
}

/// Whoever switched TLS on for all listeners may take this one for one of them.
fn warn_of_plain_http(reader: &mut Reader<'_>, prefix: &str, listener: &ListenerSettings) {
    let own = format!("{prefix}.tls.enabled");
    let is_meant = reader.has(&own) || !listener.tls.allow_termination_from.is_empty();
    let is_said = tls::is_passed_over(reader, &format!("{prefix}.tls"));
    if reader.is_true("serve.tls.enabled") && !is_meant && !is_said && !listener.address.is_local() {
        reader.warn(&own, "is not set, and serve.tls does not count here: this listener speaks plain http");
    }
}

fn read_client_timeouts(reader: &mut Reader<'_>) -> ClientTimeouts {
    ClientTimeouts {
        head: reader.duration_within("serve.gateway.timeouts.head", SHORTEST_TIMEOUT..=LONGEST_HEAD),
        idle: reader.duration_within("serve.gateway.timeouts.idle", SHORTEST_TIMEOUT..=LONGEST_IDLE),
    }
}

fn read_decisions(reader: &mut Reader<'_>) -> Option<ListenerSettings> {
    let enabled = reader.boolean("serve.decisions.enabled");
    let listener = listener::read_without_request_log(reader, "serve.decisions");
    enabled.then_some(listener)
}

fn read_phantom(reader: &mut Reader<'_>) -> PhantomSettings {
    let jwks_path = reader.text("gateway.phantom.jwks_path").filter(|path| path != OFF);
    if jwks_path.as_ref().is_some_and(|path| !path.starts_with('/')) {
        reader.refuse("gateway.phantom.jwks_path", "must begin with a slash, or be off");
    }
    let issuer = reader.text(PHANTOM_ISSUER).unwrap_or_default();
    if issuer.trim() != issuer || issuer.contains(char::is_control) {
        reader.refuse(
            PHANTOM_ISSUER,
            "has a line end, or a space at an end: it is used exactly as it is written",
        );
    }
    PhantomSettings { key: reader.path("gateway.phantom.key"), issuer, jwks_path }
}

fn read_link(reader: &mut Reader<'_>) -> Option<LinkSettings> {
    let (url, token) = (reader.url(LINK_URL), read_token(reader, LINK_TOKEN));
    let ca_file = reader.path("gateway.link.ca_file");
    if reader.has(LINK_URL) && !reader.has(LINK_TOKEN) {
        reader.refuse(LINK_TOKEN, format!("is required with {LINK_URL}"));
    }
    let is_plain = url.as_ref().is_some_and(|url| url.scheme() != "https" && !is_loopback(url));
    if is_plain {
        reader.refuse(LINK_URL, "must be https: keys come that way. Plain http is for loopback");
    }
    Some(LinkSettings { url: url?, token: token?, ca_file })
}

/// The token of the link that a gateway has: no server takes a shorter one.
fn read_token(reader: &mut Reader<'_>, key: &str) -> Option<SecretString> {
    let token = reader.bearer_token(key)?;
    refuse_short(reader, key, std::slice::from_ref(&token));
    Some(token)
}

fn refuse_short(reader: &mut Reader<'_>, key: &str, tokens: &[SecretString]) {
    if tokens.iter().any(|token| token.expose().len() < SHORTEST_TOKEN) {
        reader.refuse(key, format!("must have {SHORTEST_TOKEN} bytes or more"));
    }
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(url::Host::Ipv4(address)) => address.is_loopback(),
        Some(url::Host::Ipv6(address)) => address.is_loopback(),
        Some(url::Host::Domain(name)) => name == "localhost",
        None => false,
    }
}

pub(super) fn read_served(reader: &mut Reader<'_>) -> ServedLinkSettings {
    let listener = listener::read_without_cors(reader, "serve.link");
    let tokens = reader.bearer_tokens(SERVED_TOKEN);
    refuse_short(reader, SERVED_TOKEN, &tokens);
    if !tokens.is_empty() && !listener.address.is_local() && listener.tls.certificate.is_none() {
        reader.refuse(
            "serve.link.tls",
            "is required where other machines reach the link: keys go that way in clear otherwise",
        );
    }
    ServedLinkSettings { listener, tokens, gives_sealing_key: reader.boolean("serve.link.sealing_key") }
}
