//! What every store promises: one function per promise, each named as a sentence, run on PostgreSQL, SQLite and the
//! memory fake by [`store_contract!`].
//!
//! [`Fixture`]: what a store hands in. [`given`]: values to store. [`memory`]: the fake; [`people`]: the services of people on
//! it; [`interrupted`]: people to whom something happens meanwhile. All other modules: promises, one module per aggregate; `refresh` is the table of [`Rotation`](sluice_oauth::grant::Rotation), `revocation` the markers, `overload` the group commit.

#![expect(clippy::missing_panics_doc, reason = "a promise that is broken panics: that is what it is for")]

pub mod client;
pub mod consent;
pub mod device;
pub mod factor;
pub mod feed;
pub mod given;
pub mod grant;
pub mod hardening;
pub mod hydra_mark;
pub mod hydra_token;
pub mod identity;
pub mod identity_change;
pub mod identity_contention;
pub mod identity_delete;
pub mod identity_letters;
pub mod identity_list;
pub mod identity_notices;
pub mod identity_revision;
pub mod identity_session;
pub mod identity_session_bounds;
pub mod interrupted;
pub mod keys;
pub mod login_session;
pub mod login_session_contention;
pub mod login_session_endings;
pub mod mail;
pub mod mail_code;
pub mod memory;
pub mod outbox;
pub mod overload;
pub mod parked_flow;
pub mod people;
pub mod refresh;
pub mod replay;
pub mod revocation;
pub mod serving_node;
pub mod trust;

mod fixture;
mod promises;
mod refresh_model;

pub use fixture::{Fixture, Limits, Stores};
pub use interrupted::{Interrupted, Interruption};
pub use memory::MemoryStore;
