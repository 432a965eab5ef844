//! Second factors: one-time passwords, passkeys, recovery codes.
//!
//! [`model`]: what a factor is. [`repository`]: the atomic steps.

pub mod model;
pub mod repository;

pub use model::{Factor, FactorKind};
pub use repository::{AddedFactor, FactorRepository, FactorUse, MAX_FACTORS};
