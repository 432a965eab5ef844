//! Whether a token holds: from memory where it can be, by asking its authority where it must be.
//!
//! [`Validation`]: which issuer a token is checked by. `local`: tokens of this installation. `cache`: what was verified once is not
//! verified again. `last_token`: nor opened again on the same connection. `remembered`, `footprint`: within how much memory.
//! `jwks`: JWTs of other issuers. `introspection`: opaque tokens of others (RFC 7662). `asking`, `flights`, `places`: questions that requests share, and how many there are. [`holder`]: tokens bound to
//! a key. [`config`]: what is configured about other issuers.

mod asking;
mod cache;
mod chain;
pub mod config;
mod dispatch;
#[cfg(test)]
mod fake;
mod flights;
mod footprint;
pub mod holder;
mod introspection;
mod jwks;
mod last_token;
mod local;
mod places;
mod remembered;
mod validator;

pub use cache::{LookupStats, Lookups, VerdictCache};
pub use config::{
    ClientMark, IntrospectionClient, IntrospectionConfig, IssuerConfig, JwtConfig, KeySource, OWN_ISSUER,
};
pub use dispatch::{Validation, ValidationParts};
pub use holder::{HolderCheck, HolderParts};
pub use introspection::IntrospectionStats;
pub use last_token::LastToken;
pub use local::{Authority, Freshness, LocalParts, OwnKeys};
pub use validator::{BoxedValidation, Question, TokenFault, Validated};
