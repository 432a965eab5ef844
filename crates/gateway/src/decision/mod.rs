//! The same verdict for other proxies, over HTTP and gRPC.
//!
//! [`DecisionService`]: all of it, as a service. `endpoint`: which decision a path is about. `original`: the request that is
//! asked about. `decide`: the verdict on it, and the answer. `envoy`: what Envoy wants said in its own way. [`Judge`]: what
//! decisions are made with. `malformed`: questions that are none. `complaints`: what the log says of them.
//!
//! | path | who asks | what is asked about |
//! |---|---|---|
//! | `/oauth/token_validation` | Varnish | the token in `OAuth-Token` or `Authorization`, under [`DecisionConfig::validation`]; `OAuth-Ip` is the client, words in `OAuth-Scope` must have been granted |
//! | `/oauth/auth_request` | nginx, haproxy | the request in `X-Original-Method`, `-URI`, `-Host`, under its route |
//! | `/oauth/forward_auth` | Caddy, Traefik | the request in `X-Forwarded-Method`, `-Uri`, `-Host`, under its route |
//! | `/oauth/ext_authz/…` | Envoy | the request itself, under its route |
//! | `/envoy.service.auth.v3.Authorization/Check` | Envoy, gRPC | the request in the message, under its route |
//!
//! An asking proxy is believed, so only trusted proxies and this machine may ask; others get 403. A request that may pass is answered with
//! 200 and the headers that the upstream is to get; one that may not, with what its client is to get. When an authority cannot be
//! asked that is 502, and 503 at `/oauth/token_validation`.

mod body;
mod complaints;
mod decide;
mod endpoint;
mod envoy;
mod judge;
mod malformed;
mod original;
mod server;
mod service;

#[cfg(test)]
mod tests;

pub use body::DecisionBody;
pub use decide::DecisionConfig;
pub use judge::Judge;
pub use server::RunningDecisions;
pub use service::{DecisionFuture, DecisionService};
