//! The repositories of Sluice on SQLite: one file, one thread that writes, readers beside it.
//!
//! `store`: opening and closing. `options`: which file, how patient. `file`: whether it is still there. `obstacle`: what keeps it from being
//! written. `connection`, `writer`, `reader`,
//! `work_queue`: threads and their connections. `slices`: walks through large tables. `migrate`: the schema. `copy`: backup and restore. One folder per
//! aggregate: the methods of its repository, each with its statement in the `.sql` file of the same name.
//!
//! A write travels: repository method → (hot ones) the group-commit queue of its kind → the writer's thread, where all
//! that waits shares one transaction. No statement runs on a thread of the runtime.

mod client;
mod connection;
mod consent;
mod copy;
mod device;
mod error;
mod factor;
mod feed;
mod file;
mod grant;
mod hardening;
mod hydra_mark;
mod hydra_token;
mod identity;
mod identity_session;
mod login_session;
mod mail;
mod mail_code;
mod migrate;
mod obstacle;
mod options;
mod outbox;
mod parked_flow;
mod reader;
mod replay;
mod row;
mod serving_node;
mod signing_key;
mod slices;
mod statistics;
mod store;
mod trust;
mod work_queue;
mod writer;

pub use copy::{CopyError, Restored, backup, restore};
pub use error::SqliteError;
pub use migrate::MigrationStatus;
pub use obstacle::Obstacle;
pub use options::{InvalidSqlitePath, SqlitePath, StoreOptions};
pub use statistics::{RowsWritten, StoreStatistics};
pub use store::SqliteStore;
