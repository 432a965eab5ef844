//! Servers behind the gateway: what is configured, their connections, and how they are doing.

mod config;

pub use config::{
    ActiveHealth, Breaker, PassiveHealth, ServerConfig, Timeouts, UpstreamConfig, UpstreamProtocol,
    UpstreamTls,
};
