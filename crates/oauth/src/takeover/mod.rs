//! Takeover: what an Ory Hydra 2.x keeps, read from its database and kept here.
//!
//! [`source`]: rows as its database has them. [`import`]: all of a table, one by one, `take_clients`, `take_consents` and `take_tokens` of those that
//! need more; `follow`: what is taken away since; [`report`] is what is told of that. What a row becomes: `client`, `issuer`, `signing_keys`, `consent`,
//! `grant`; `differences`: what goes on otherwise here for a client. `columns`: how its texts, lists and times are read. [`tokens`]: its refresh tokens, presented here; [`token_repository`]: as stores keep
//! them; [`mark_repository`]: how these remember what was imported.
//!
//! Nothing is written there. All of it may be done again: what changed there since is followed, and what was made or changed here since stays.
//! Where so much has gone there that it is rather a database that is not whole, nothing is taken away.

mod client;
mod columns;
mod consent;
mod differences;
mod follow;
mod grant;
pub mod import;
mod issuer;
mod known_clients;
pub mod mark_repository;
pub mod report;
mod signing_keys;
pub mod source;
mod take_clients;
mod take_consents;
mod take_tokens;
pub mod token_repository;
pub mod tokens;

pub use differences::Circumstances;
pub use import::{Takeover, TakeoverError, TakesAway, network_of};
pub use mark_repository::{HydraMarkRepository, Mark, MarkSet};
pub use report::{Part, Refused, Taken, TakeoverWatcher};
pub use source::{HydraDatabase, HydraNetwork, HydraRow, HydraTable};
pub use token_repository::{HydraToken, HydraTokenRepository, TokenGrant, TokenMac};
pub use tokens::{HydraTokens, TOKEN_KEY_SET};
