//! The composition root: everything meets here, nothing is decided here.
//!
//! `secrets`: keys from secrets. `stores`: which database. `oauth_config`: settings in the words of the domain.
//! `services`: who works with what. `registration`: which clients there are besides. `hooks`: who is asked before tokens are issued. `health`: whether all of it can serve. `background`: what goes on by itself.
//! `listeners`: ports. `node`: the whole, started and stopped. `embedded`: a node
//! within another process.

mod background;
mod embedded;
mod health;
mod hearing;
mod hooks;
mod listeners;
mod node;
mod oauth_config;
mod policies;
mod registration;
mod secrets;
mod services;
mod stores;

pub(crate) use background::{JanitorKinds, janitor_round};
pub use embedded::{EmbeddedNode, EmbeddedOptions, Written};
pub(crate) use node::{Node, StartOptions, World, key_material, open_store};
pub(crate) use secrets::KeyMaterial;
pub(crate) use stores::{StartError, Stores};
