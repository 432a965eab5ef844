//! The authorization server: rules. No HTTP, no SQL.
//!
//! Who asks: [`client`], [`client_auth`], [`caller`], [`sender_constraint`], [`dpop`], [`trust`]. What is asked: [`authorization`],
//! [`device`], [`flow`], [`login_session`], [`consent`], [`logout`]. What comes of it: [`grant`], [`grant_handler`], [`token_exchange`], [`hooks`],
//! [`issuing`], [`keys`], [`subject`], [`sector`]. What tokens are worth: [`access_token_reader`], [`introspection`], [`revocation`],
//! [`userinfo`]. [`discovery`] tells clients of it all, [`metrics`] and [`refusals`] tell the operator, [`refused_value`] both. [`network_limit`]: what anybody may do so often.
//! [`serving_node`]: what nodes on one database must agree on. [`takeover`]: what a Hydra kept before. `set_back`: what holds though the clock was set back.

pub mod access_token_reader;
pub mod authorization;
pub mod caller;
pub mod client;
pub mod client_auth;
pub mod config;
pub mod consent;
pub mod device;
pub mod discovery;
pub mod dpop;
pub mod flow;
pub mod grant;
pub mod grant_handler;
pub mod hooks;
pub mod introspection;
pub mod issuing;
pub mod keys;
pub mod login_session;
pub mod logout;
pub mod metrics;
pub mod network_limit;
mod page_token;
mod query;
pub mod refusals;
pub mod refused_value;
pub mod replay;
pub mod revocation;
pub mod sector;
pub mod sender_constraint;
pub mod serving_node;
mod set_back;
pub mod subject;
pub mod takeover;
pub mod token_exchange;
pub mod trust;
pub mod userinfo;

pub use config::Config;
pub use metrics::OAuthMetrics;
