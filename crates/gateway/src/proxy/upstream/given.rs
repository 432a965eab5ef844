//! An upstream for tests.

use std::num::{NonZeroU32, NonZeroUsize};

use super::config::{Breaker, ServerConfig, Timeouts, UpstreamConfig, UpstreamProtocol, UpstreamTls};

/// An upstream whose servers are at these ports of this machine, without TLS.
pub(super) fn upstream(name: &str, ports: &[u16]) -> UpstreamConfig {
    let weight = NonZeroU32::MIN;
    let server = |port: &u16| ServerConfig { host: "127.0.0.1".into(), port: *port, tls: false, weight };
    UpstreamConfig {
        name: name.into(),
        servers: ports.iter().map(server).collect(),
        protocol: UpstreamProtocol::Http1,
        tls: UpstreamTls::default(),
        timeouts: Timeouts::default(),
        retries: 0,
        retry_budget: None,
        idle_connections: NonZeroUsize::MIN,
        max_head: NonZeroUsize::new(65_535).unwrap(),
        breaker: Breaker::default(),
        passive_health: None,
        active_health: None,
    }
}
