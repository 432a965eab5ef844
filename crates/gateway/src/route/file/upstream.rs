//! `upstreams`: servers behind the gateway.

use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use sluice_net::{ClientTls, TlsError};
use url::{Host, Url};

use super::section::Section;
use super::value;
use crate::proxy::upstream::{
    ActiveHealth, Breaker, PassiveHealth, RetryBudget, ServerConfig, Timeouts, TlsClient, UpstreamConfig,
    UpstreamProtocol, UpstreamTls,
};

/// A request is sent anew so often at most.
const MOST_RETRIES: u8 = 3;
const DEFAULT_RETRIES: u8 = 1;
const DEFAULT_IDLE_CONNECTIONS: NonZeroUsize = NonZeroUsize::new(1024).unwrap();
/// What Node and Python's servers take.
const DEFAULT_MAX_HEAD: NonZeroUsize = NonZeroUsize::new(65_535).unwrap();
const SHORTEST: Duration = Duration::from_millis(10);
const LONGEST: Duration = Duration::from_hours(24);

/// Reads an upstream.
pub(super) fn read(name: Arc<str>, mut section: Section<'_>, directory: &Path) -> UpstreamConfig {
    let servers = servers(&mut section);
    let protocol = section.parse("protocol", protocol).unwrap_or_default();
    let tls = section.section("tls").map(|section| tls(section, protocol, directory));
    if tls.is_some() && !servers.iter().any(|server| server.tls) {
        section.mistake("tls", "no server of this upstream has an https URL");
    }
    let timeouts = section.section("timeouts").map(timeouts).unwrap_or_default();
    let retries = section.read("retries").unwrap_or(DEFAULT_RETRIES);
    if retries > MOST_RETRIES {
        section.mistake("retries", format_args!("must be 0 to {MOST_RETRIES}"));
    }
    let retry_budget = retry_budget(&mut section);
    let idle_connections = section.read("idle_connections").unwrap_or(DEFAULT_IDLE_CONNECTIONS);
    let max_head = section.read("max_head");
    if max_head.is_some() && protocol != UpstreamProtocol::Http2 {
        section.mistake("max_head", "is for `protocol: http2`");
    }
    let breaker = section.section("breaker").map(breaker).unwrap_or_default();
    let passive_health = passive_health(&mut section);
    let active_health = section.section("health").map(active_health);
    section.finish();
    let tls = tls.unwrap_or_default();
    UpstreamConfig {
        name,
        servers,
        protocol,
        tls,
        timeouts,
        retries,
        retry_budget,
        idle_connections,
        max_head: max_head.unwrap_or(DEFAULT_MAX_HEAD),
        breaker,
        passive_health,
        active_health,
    }
}

fn servers(section: &mut Section<'_>) -> Vec<ServerConfig> {
    let is_there = section.has("servers");
    let sections = section.sections_or_texts("servers", "url");
    if !is_there {
        section.mistake("servers", "is missing");
    } else if sections.is_empty() {
        section.mistake("servers", "must name at least one");
    }
    let servers: Vec<ServerConfig> = sections.into_iter().filter_map(server).collect();
    for (index, server) in servers.iter().enumerate() {
        let is_same = |other: &ServerConfig| (&other.host, other.port) == (&server.host, server.port);
        if servers.iter().take(index).any(is_same) {
            section.mistake(
                "servers",
                format_args!("{} port {} stands there twice: give it a weight", server.host, server.port),
            );
        }
    }
    servers
}

fn server(mut section: Section<'_>) -> Option<ServerConfig> {
    if !section.has("url") {
        section.mistake("url", "is missing");
    }
    let (url, weight) = (section.parse("url", server_url), section.parse("weight", value::weight));
    section.finish();
    let (host, port, tls) = url?;
    Some(ServerConfig { host, port, tls, weight: weight.unwrap_or(std::num::NonZeroU32::MIN) })
}

/// `http://host:port`, and nothing after it.
fn server_url(text: &str) -> Result<(String, u16, bool), &'static str> {
    const FORM: &str = "must be a URL such as http://10.0.0.1:8080, without path";
    let url = Url::parse(text).map_err(|_| FORM)?;
    let is_bare = url.path() == "/" && url.query().is_none() && url.fragment().is_none();
    let is_nobodys = url.username().is_empty() && url.password().is_none();
    let tls = match url.scheme() {
        "http" => false,
        "https" => true,
        _ => return Err(FORM),
    };
    let host = match url.host() {
        Some(Host::Domain(name)) => name.to_owned(),
        Some(Host::Ipv4(address)) => address.to_string(),
        Some(Host::Ipv6(address)) => address.to_string(),
        None => return Err(FORM),
    };
    match url.port_or_known_default() {
        Some(port) if is_bare && is_nobodys => Ok((host, port, tls)),
        _ => Err(FORM),
    }
}

fn protocol(text: &str) -> Result<UpstreamProtocol, &'static str> {
    match text {
        "http1" => Ok(UpstreamProtocol::Http1),
        "http2" => Ok(UpstreamProtocol::Http2),
        _ => Err("must be http1 or http2"),
    }
}

fn tls(mut section: Section<'_>, protocol: UpstreamProtocol, directory: &Path) -> UpstreamTls {
    let file = |text: &str| value::file(text, directory);
    let has_both = section.has("certificate") == section.has("key");
    let (certificate, key) = (section.parse("certificate", file), section.parse("key", file));
    if !has_both {
        section.mistake("", "`certificate` and `key` go together");
    }
    let files = ClientTls {
        ca_file: section.parse("ca_file", file),
        certificate: certificate.zip(key),
        protocols: protocol.alpn(),
    };
    let server_name = section.parse("server_name", server_name);
    let client = tls_client(&section, &files);
    section.finish();
    UpstreamTls { server_name, client }
}

/// What the files hold; `None` without any, and if one of them is no good.
fn tls_client(section: &Section<'_>, files: &ClientTls) -> Option<TlsClient> {
    if files.ca_file.is_none() && files.certificate.is_none() {
        return None;
    }
    let mistake = |key, error: &TlsError| match std::error::Error::source(error) {
        Some(why) => section.mistake(key, format_args!("{error}: {why}")),
        None => section.mistake(key, error),
    };
    let trusting = ClientTls { certificate: None, ..files.clone() };
    if files.ca_file.is_some()
        && let Err(error) = TlsClient::read(&trusting)
    {
        mistake("ca_file", &error);
        return None;
    }
    TlsClient::read(files).inspect_err(|error| mistake("certificate", error)).ok()
}

fn server_name(text: &str) -> Result<String, &'static str> {
    Host::parse(text).map(|host| host.to_string()).map_err(|_| "must be the name of a host")
}

fn timeouts(mut section: Section<'_>) -> Timeouts {
    let usual = Timeouts::default();
    let mut timeout = |key, usual| section.parse(key, value::duration(SHORTEST..=LONGEST)).unwrap_or(usual);
    let timeouts = Timeouts {
        connect: timeout("connect", usual.connect),
        first_byte: timeout("first_byte", usual.first_byte),
        idle: timeout("idle", usual.idle),
        keep_alive: timeout("keep_alive", usual.keep_alive),
        max_age: timeout("max_age", usual.max_age),
    };
    section.finish();
    timeouts
}

fn breaker(mut section: Section<'_>) -> Breaker {
    let usual = Breaker::default();
    let breaker = Breaker {
        requests: section.read("requests").unwrap_or(usual.requests),
        connecting: section.read("connecting").unwrap_or(usual.connecting),
    };
    section.finish();
    breaker
}

/// There is one, unless it is `off`.
fn retry_budget(section: &mut Section<'_>) -> Option<RetryBudget> {
    const KEY: &str = "retry_budget";
    let usual = RetryBudget::default();
    if section.take_if(KEY, is_off) {
        return None;
    }
    let Some(mut section) = section.section(KEY) else { return Some(usual) };
    let percent = section.read("percent").unwrap_or(usual.percent);
    if percent > 100 {
        section.mistake("percent", "must be 0 to 100");
    }
    let at_least = section.read("at_least").unwrap_or(usual.at_least);
    section.finish();
    Some(RetryBudget { percent, at_least })
}

/// On, unless it is `off`.
fn passive_health(section: &mut Section<'_>) -> Option<PassiveHealth> {
    const KEY: &str = "passive_health";
    let usual = PassiveHealth::default();
    if section.take_if(KEY, is_off) {
        return None;
    }
    let Some(mut section) = section.section(KEY) else { return Some(usual) };
    let eject_for = value::duration(SHORTEST..=Duration::from_hours(1));
    let health = PassiveHealth {
        failures: section.read("failures").unwrap_or(usual.failures),
        eject_for: section.parse("eject_for", eject_for).unwrap_or(usual.eject_for),
    };
    section.finish();
    Some(health)
}

/// `off`, which older YAML takes for `false`.
fn is_off(value: &Value) -> bool {
    value.as_str() == Some("off") || value.as_bool() == Some(false)
}

fn active_health(mut section: Section<'_>) -> ActiveHealth {
    let usual = ActiveHealth::at("/");
    if !section.has("path") {
        section.mistake("path", "is missing");
    }
    let interval = value::duration(Duration::from_millis(100)..=Duration::from_hours(1));
    let timeout = value::duration(SHORTEST..=Duration::from_mins(1));
    let health = ActiveHealth {
        path: section.parse("path", probe_path).unwrap_or(usual.path),
        interval: section.parse("interval", interval).unwrap_or(usual.interval),
        timeout: section.parse("timeout", timeout).unwrap_or(usual.timeout),
        unhealthy_after: section.read("unhealthy_after").unwrap_or(usual.unhealthy_after),
        healthy_after: section.read("healthy_after").unwrap_or(usual.healthy_after),
    };
    section.finish();
    health
}

/// A path, with a query if need be.
fn probe_path(text: &str) -> Result<String, &'static str> {
    let is_path = text.starts_with('/') && text.parse::<http::uri::PathAndQuery>().is_ok();
    if is_path { Ok(text.to_owned()) } else { Err("must be a path such as /health") }
}
