//! The admin API: Hydra's paths, status codes and JSON.
//!
//! [`clients`], [`keys`], [`flows`], [`device`], [`sessions`], [`tokens`], [`trust`], [`identities`]: one file per resource. [`wire`]: the JSON. [`json_body`], [`path`]: how
//! bodies and paths are read. [`client_texts`]: the JSON of clients, made once. [`client_listings`]: pages of them, kept until a client changes.
//! [`total_count`]: how long a listing is.

pub(crate) mod client_listings;
pub(crate) mod client_texts;
pub(crate) mod clients;
pub(crate) mod device;
pub(crate) mod flows;
pub(crate) mod identities;
pub(crate) mod json_body;
pub(crate) mod keys;
pub(crate) mod path;
pub(crate) mod sessions;
pub(crate) mod tokens;
mod total_count;
pub(crate) mod trust;
pub(crate) mod wire;
