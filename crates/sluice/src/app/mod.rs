//! The composition root: everything meets here, nothing is decided here.
//!
//! `secrets`: keys from secrets. `stores`: which database; `opening`: both together. `required_secrets`: whether they belong together; `agreement`: whether other nodes have the same. `oauth_config`: settings in the words of the domain; `look`: files that pages are shown with.
//! `services`: who works with what. `people`: the same for identities; `identity_config`, `identity_tokens`: what they are told, and sign with; `signing_out`: what ends with their records. `registration`: which clients there are besides. `hooks`: who is asked before tokens are issued. `health`: whether all of it can serve; `outage`: what is said while something does not answer. `background`: what goes on by itself; `janitor`: what it deletes, and `steady_clock`: by which clock.
//! `numbers`: what metrics show; `lookout`: what the database is asked for them, `last_time`: how old that is. `listeners`: ports; `certificates`: how long those they show are valid; `authorities`: who vouches for those of clients. `node`: the whole, started and stopped. `worker`: a process that hardens passwords. `gateway`: the proxy, here or in a process of its own. `embedded`: a node
//! within another process.

mod agreement;
mod authorities;
mod background;
mod certificates;
mod dispatch;
mod embedded;
mod gateway;
mod health;
mod hearing;
mod hooks;
mod identity_config;
mod identity_tokens;
mod janitor;
mod last_time;
mod listeners;
mod look;
mod lookout;
mod node;
mod numbers;
mod oauth_config;
mod opening;
mod outage;
mod page_languages;
mod pause;
mod people;
mod policies;
mod registration;
mod required_secrets;
mod secrets;
mod services;
mod signing_out;
mod steady_clock;
mod stores;
mod worker;

pub(crate) use agreement::{differing, secrets_shared, serving_nodes};
pub use embedded::{EmbeddedNode, EmbeddedOptions, Written};
pub(crate) use gateway::process::run as run_gateway_process;
pub(crate) use janitor::{JanitorKind, Round, Task, janitor_round};
pub(crate) use node::{Node, StartOptions, World};
pub(crate) use oauth_config::oauth as oauth_settings;
pub(crate) use opening::{Reminder, await_store, key_material, open_migrated, open_store};
pub(crate) use page_languages::page_languages;
pub(crate) use registration::registration_rules;
pub(crate) use required_secrets::RequiredSecrets;
pub(crate) use secrets::{KeyMaterial, SecretsError};
pub(crate) use services::fetch_policy;
pub(crate) use stores::{AppliedMigration, StartError, Stores};
pub(crate) use worker::{WorkerOptions, run as run_worker};

#[cfg(test)]
pub(crate) use identity_config::identity as identity_config;
