//! Token exchange (RFC 8693): a token for one that somebody else holds, or for a narrower one.
//!
//! [`kind`]: what kinds of tokens there are. [`presented`]: what a presented token says. [`policy`]: who may exchange which,
//! and who is told to act. [`error`]: refusals.
//!
//! The new token belongs to the grant of the old one and ends with it; it names what it was exchanged for
//! (`sluice_token::Origin`), so that it also ends with the client that the old one was issued to, and with each token in
//! between. It is never refreshed and never outlives the old one. The old one may be bound to a key of its holder
//! (RFC 9449, RFC 8705): its own client must have that key; another one need not, because the token was handed on by who
//! has, but must have a key of its own. So must who presents another client's id token, if all access tokens of that client
//! are bound. The new one is bound to the key of the client that asks, if that has one.

pub mod error;
pub mod kind;
pub mod policy;
pub mod presented;

pub use error::ExchangeError;
pub use kind::TokenKind;
pub use presented::{Presented, PresentedTokens};
