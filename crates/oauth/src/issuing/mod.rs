//! Which token a grant yields.
//!
//! [`access_token`], [`refresh_token`], [`id_token`]: one file per kind. [`lifetime`]: how long each lives.
//! [`issuer`]: the three together, as a token response.

pub mod access_token;
pub mod id_token;
pub mod issuer;
pub mod lifetime;
pub mod refresh_token;

pub use issuer::{Issue, IssueError, TokenIssuer};
pub use refresh_token::RefreshToken;
