//! Whether a token holds: from memory where it can be, by asking its authority where it must be.
//!
//! [`validator`]: the trait. `local`: tokens of this installation. `cache`: what was verified once is not verified again.
//! `jwks`: JWTs of other issuers. `introspection`: opaque tokens of others (RFC 7662). `holder`: tokens bound to a key.

mod validator;

pub use validator::{BoxedValidation, TokenFault, Validated, Validator};
