//! Servers behind the gateway: what is configured, their connections, and how they are doing.
//!
//! `config`: what is configured; `tls_client`: what its files held. `shared`: an upstream as all cores see it: `health` of its servers, how busy it is.
//! `pool`: an upstream as one core sees it, with connections of its own: `link` (HTTP/1.1, which wakes by a `bell`, and whose wire is
//! `enduring`: it reads on where nothing can be written), `multiplexed` (HTTP/2, up to a `stream_limit`), both made by `connect`, which has
//! a name resolved by `dial`. `attempt`: a request is sent, and sent anew if need be, from a `spare`, within a `budget`. `waiting`: for how long. `registry`:
//! which upstreams there are. `probe`: servers are asked how they are.

mod attempt;
mod bell;
mod budget;
mod config;
mod connect;
mod dial;
mod enduring;
#[cfg(test)]
mod given;
mod health;
mod link;
mod multiplexed;
mod pool;
mod probe;
mod registry;
mod shared;
mod spare;
mod stream_limit;
mod tls_client;
mod waiting;

pub use config::{
    ActiveHealth, Breaker, PassiveHealth, RetryBudget, ServerConfig, Timeouts, UpstreamConfig,
    UpstreamProtocol, UpstreamTls,
};
pub use registry::ServerState;
pub use tls_client::TlsClient;

pub(super) use attempt::{Answered, Course};
pub(super) use link::Link;
pub(super) use multiplexed::End;
pub(super) use pool::{Ticket, Upstream, by_weight};
pub(super) use registry::{CoreUpstreams, Registry};
