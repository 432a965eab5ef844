//! What an access token says and whether it still holds. Used by the issuer and by the gateway.
//!
//! [`claims`]: the facts in a token. [`confirmation`]: to which key it is bound. [`dpop`]: proofs of that key. [`sealed`], [`jwt`],
//! [`paseto`]: one file per format, write and read. [`revocation`]: markers,
//! the set of them in memory, and the feed that fills it. [`link`]: the feed as a gateway elsewhere hears it.

pub mod claims;
pub mod confirmation;
pub mod dpop;
pub mod jwt;
pub mod link;
pub mod paseto;
pub mod revocation;
pub mod sealed;

pub use claims::{AccessTokenClaims, Origin, TokenId};
pub use confirmation::{Confirmation, UnknownConfirmation};
pub use paseto::PersonTokenClaims;
pub use revocation::{
    Change, FEED_PAGE, Facts, Feed, FeedBatch, FeedFollower, FeedPosition, Marker, Moment, RevocationSet,
    Target,
};
