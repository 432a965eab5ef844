//! What every crate may use: typed ids, time, randomness, secrets. Nothing here knows of OAuth.
//!
//! [`id`]: typed ids. [`time`], [`clock`]: points and spans of time, and who tells them. [`rng`]: randomness as an
//! argument. [`secret`]: a value that never prints.

pub mod clock;
pub mod id;
pub mod rng;
pub mod secret;
pub mod time;

pub use clock::{Clock, ManualClock, SystemClock};
pub use id::{AttemptId, GrantId, IdentityId, NetworkId, NodeId, SessionId, TrustId};
pub use rng::{OsRng, Rng, SeededRng};
pub use secret::Secret;
pub use time::{Lifetime, Timestamp};
