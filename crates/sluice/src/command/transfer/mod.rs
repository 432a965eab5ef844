//! `sluice import identities`, `sluice export identities`.
//!
//! [`import`], [`export`]: what they do. `report`: what is said of lines that were rejected. `progress`: what is shown
//! meanwhile.

mod export;
mod import;
pub(super) mod progress;
mod report;

pub(crate) use export::export;
pub(crate) use import::import;
