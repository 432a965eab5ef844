//! Which token a grant yields.
//!
//! [`access_token`], [`refresh_token`], [`id_token`]: one file per kind. [`lifetime`]: how long each lives.
//! [`algorithm`]: how it is signed. [`issuer`]: the three together, as a token response. [`front_channel`]: those of the
//! authorization endpoint; `authorization_response`: its answers as tokens. [`encrypt`]: to whom they are encrypted.
//! `room`: how much a hook may say in them.

pub mod access_token;
pub mod algorithm;
mod authorization_response;
pub mod encrypt;
pub mod front_channel;
pub mod id_token;
pub mod issuer;
pub mod lifetime;
pub mod refresh_token;
pub(crate) mod room;

pub use front_channel::{FrontChannelTokens, InFront};
pub use issuer::{Issue, IssueError, TokenIssuer};
pub use refresh_token::RefreshToken;
