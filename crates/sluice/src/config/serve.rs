//! `serve`: the two listeners, the proxies before them and the cookies they set.

use ipnet::IpNet;
use sluice_http::is_name;
use url::Host;

use super::cookies::{self, CookieSettings};
use super::cors::CorsSettings;
use super::key::{Key, Kind};
use super::listener::{self, ListenAddress, ListenerSettings};
use super::mode::Mode;
use super::reader::Reader;
use super::secret_string::SecretString;
use super::tls;
use super::urls::UrlsSettings;

const CREDENTIALS: &str = "serve.public.cors.allow_credentials";
const BEARER_TOKEN: &str = "serve.admin.bearer_token";
/// The shortest bearer token that is accepted, in characters: who guesses it is an administrator.
const SHORTEST_TOKEN: usize = 16;

const PORT: Kind = Kind::Integer { min: 0, max: 65_535 };
const CONNECTIONS: Kind = Kind::Integer { min: 1, max: 1_048_576 };

pub(super) const KEYS: &[Key] = &[
    Key::hydra(
        "public.host",
        Kind::Host,
        "The address of the public listener, or `unix:<path>`; empty means every interface.",
    )
    .with_default("0.0.0.0"),
    Key::hydra("public.port", PORT, "The port of the public listener; 0 takes any that is free.")
        .with_default("4444"),
    Key::own(
        "public.max_connections",
        CONNECTIONS,
        "Connections that the public listener serves at once; more wait.",
    )
    .with_default("16384"),
    Key::hydra(
        "admin.host",
        Kind::Host,
        "The address of the admin listener, or `unix:<path>`; empty means every interface. \
         Hydra's default is every interface.",
    )
    .with_default("127.0.0.1"),
    Key::hydra("admin.port", PORT, "The port of the admin listener; 0 takes any that is free.")
        .with_default("4445"),
    Key::own(
        "admin.max_connections",
        CONNECTIONS,
        "Connections that the admin listener serves at once; more wait.",
    )
    .with_default("16384"),
    Key::own(
        "admin.bearer_token",
        Kind::Tokens,
        "The token that requests to the admin endpoints must bear, 16 characters or more; without it whoever \
         reaches them is trusted. Any of a list counts, so that it can be replaced; a variable has the list as JSON, and any other text is one token. Empty, it is refused.",
    ),
    Key::own(
        "admin.allowed_hosts",
        Kind::Texts,
        "The public host names, each in full, at which the admin port answers without a bearer token, to \
         browsers too; if there are none, it answers at any, but not to browsers.",
    ),
    Key::own("admin.profiling", Kind::Boolean, "Whether the admin listener serves CPU and memory profiles.")
        .with_default("false"),
    Key::own(
        "trusted_proxies",
        Kind::Networks,
        "The proxies whose word about a client's address is believed (`X-Forwarded-For`, `Forwarded`). The gateway has a list \
         of its own, in its routes file.",
    ),
];

/// The listeners and what they share.
#[derive(Debug, Clone)]
pub(crate) struct ServeSettings {
    pub(crate) public: ListenerSettings,
    pub(crate) admin: AdminSettings,
    pub(crate) cookies: CookieSettings,
    /// Proxies whose word about a client's address is believed. Default: none.
    pub(crate) trusted_proxies: Vec<IpNet>,
}

/// The admin listener.
#[derive(Debug, Clone)]
pub(crate) struct AdminSettings {
    pub(crate) listener: ListenerSettings,
    /// One of which requests must bear. None: whoever reaches the listener is trusted, as with Hydra.
    pub(crate) bearer_tokens: Vec<SecretString>,
    /// The public names at which it answers without a bearer token, in lower-case ASCII. Default: any, but not to browsers.
    pub(crate) allowed_hosts: Vec<String>,
    /// Whether CPU and memory profiles are served. Default: no.
    pub(crate) profiling: bool,
}

/// Reads the section; `urls` says which hosts the cookies are for, if it is known.
pub(super) fn read(reader: &mut Reader<'_>, mode: Mode, urls: Option<&UrlsSettings>) -> ServeSettings {
    tls::check_common(reader);
    let public = listener::read(reader, "serve.public");
    let admin = AdminSettings {
        listener: listener::read(reader, "serve.admin"),
        bearer_tokens: read_bearer_tokens(reader),
        allowed_hosts: read_hosts(reader, "serve.admin.allowed_hosts"),
        profiling: reader.boolean("serve.admin.profiling"),
    };
    if collide(&public.address, &admin.listener.address) {
        reader.refuse("serve.admin.port", "is taken by the public listener");
    }
    warn_of_public(reader, &public);
    warn_of_admin(reader, &admin);
    ServeSettings {
        public,
        admin,
        cookies: cookies::read(reader, mode, urls),
        trusted_proxies: reader.networks("serve.trusted_proxies"),
    }
}

/// What an operator had better know of the public port.
fn warn_of_public(reader: &mut Reader<'_>, public: &ListenerSettings) {
    let names_nobody = |cors: &CorsSettings| !cors.allowed_origins.iter().any(|origin| is_name(origin));
    let is_for_nobody = |cors: &CorsSettings| cors.allow_credentials && names_nobody(cors);
    if reader.is_given(CREDENTIALS) && public.cors.as_ref().is_some_and(is_for_nobody) {
        let message = "has no effect for pages that only `*` lets in: name their origins in \
                       serve.public.cors.allowed_origins, or those of a client in its allowed_cors_origins";
        reader.warn(CREDENTIALS, message);
    }
}

/// What an operator had better know of the admin port.
fn warn_of_admin(reader: &mut Reader<'_>, admin: &AdminSettings) {
    if admin.bearer_tokens.is_empty() && !admin.listener.address.is_local() {
        let message =
            "other machines may reach the admin endpoints; set serve.admin.bearer_token, or keep them out";
        reader.warn("serve.admin.host", message);
    }
    let common = "serve.tls.allow_termination_from";
    if reader.has(common) && !reader.has("serve.admin.tls.allow_termination_from") {
        reader.warn(common, "does not count for the admin port, which speaks plain http");
    }
    let names_nobody = |cors: &CorsSettings| cors.allowed_origins.iter().any(|origin| !is_name(origin));
    if admin.bearer_tokens.is_empty() && admin.listener.cors.as_ref().is_some_and(names_nobody) {
        let message = "`*` for any host lets no page in without serve.admin.bearer_token; name the origins of those that administrate";
        reader.warn("serve.admin.cors.allowed_origins", message);
    }
}

fn read_bearer_tokens(reader: &mut Reader<'_>) -> Vec<SecretString> {
    reader.refuse_blank(BEARER_TOKEN, "whoever reaches the admin port is an administrator");
    let tokens = reader.bearer_tokens(BEARER_TOKEN);
    if tokens.iter().any(|token| token.expose().chars().count() < SHORTEST_TOKEN) {
        reader.refuse(BEARER_TOKEN, format!("is shorter than {SHORTEST_TOKEN} characters"));
    }
    tokens
}

/// Names without a port.
fn read_hosts(reader: &mut Reader<'_>, key: &str) -> Vec<String> {
    let mut hosts = Vec::new();
    for text in reader.texts(key) {
        match host(&text) {
            Some(host) => hosts.push(host),
            None => reader.refuse(key, format!("{text:?} is not a host name such as admin.example.com")),
        }
    }
    hosts
}

/// The name as `Host` has it, without a dot at the end: in lower-case ASCII.
fn host(text: &str) -> Option<String> {
    let host = Host::parse(text).ok()?.to_string();
    let name = host.strip_suffix('.').unwrap_or(&host);
    (!name.is_empty() && !name.contains('*')).then(|| name.to_owned())
}

fn collide(left: &ListenAddress, right: &ListenAddress) -> bool {
    match (left, right) {
        (ListenAddress::Tcp { host, port }, ListenAddress::Tcp { host: other_host, port: other_port }) => {
            let every = |host: &str| matches!(host, "" | "0.0.0.0" | "::");
            *port != 0 && port == other_port && (host == other_host || every(host) || every(other_host))
        }
        (ListenAddress::Unix { path, .. }, ListenAddress::Unix { path: other, .. }) => path == other,
        _ => false,
    }
}
