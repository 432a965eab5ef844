//! The repositories of Sluice on PostgreSQL.
//!
//! [`PostgresStore`] implements every repository trait of `oauth` and `identity`, and the feed. One folder per aggregate:
//! `mod.rs` and a `.sql` file per statement. [`migrate`]: the schema.
//!
//! Four kinds of connections. `link`: readers, pipelined by all who read, and lanes, pipelined by the group-commit
//! queues and by writes of a single statement; both hold nothing but single statements, and so does one for upkeep, which nobody asked
//! for. `serial`: one that runs transactions of several statements, in one go each. `feed/listener`: one of the feed, which hears of other nodes' appends.
//!
//! `dialer` opens them, to one of the servers that an address leads to, and `dialing` is what a link does to have one; `servers` knows when a node
//! is to go over to another server. `pooling` refuses connections that are no sessions of their own. `connection_count`: how many there are.
//!
//! `queues` says which lanes a kind of hot write goes over, and what is looked for by the batch, `error` what a failure means, `retry` who tries again until when, `silence`
//! what becomes of connections on which nothing is answered, and `caller` of statements whose callers leave. `rounds` goes through large tables in slices. `hydra` reads the database of another program.

pub mod migrate;
pub mod statistics;

mod caller;
mod client;
mod connection;
mod connection_count;
mod consent;
mod device;
mod dialer;
mod dialing;
mod dsn;
mod error;
mod factor;
mod feed;
mod grant;
mod guess;
mod hardening;
mod hydra;
mod hydra_mark;
mod hydra_token;
mod identity;
mod identity_session;
mod lenders;
mod link;
mod login_session;
mod mail;
mod mail_code;
mod outbox;
mod parked_flow;
mod pooling;
mod queues;
mod replay;
mod retry;
mod rounds;
mod serial;
mod servers;
mod serving_node;
mod signing_key;
mod silence;
mod storable;
mod store;
mod tls;
mod trust;
mod turn;

pub use connection_count::ConnectionCount;
pub use dsn::{InvalidDsn, check_dsn};
pub use hydra::HydraReader;
pub use migrate::MigrationStatus;
pub use statistics::{StoreStatistics, WriteCount};
pub use store::{PostgresStore, StoreOptions};
