//! What every crate may use: typed ids, time, randomness, secrets. Nothing here knows of OAuth.
//!
//! [`id`]: typed ids. [`time`], [`clock`]: points and spans of time, and who tells them. [`rng`]: randomness as an
//! argument. [`secret`]: a value that never prints. [`Tally`]: what many threads count at once.
//! [`AddressText`]: an address of the network as text, where it is written for each request. [`pinned`]: a future in a box without
//! a copy.

mod address_text;
pub mod clock;
pub mod id;
mod pinned;
pub mod rng;
pub mod secret;
mod tally;
pub mod time;

pub use address_text::AddressText;
pub use clock::{Clock, ManualClock, SystemClock};
pub use id::{AttemptId, GrantId, IdentityId, NetworkId, NodeId, SessionId, TrustId};
pub use pinned::pinned;
pub use rng::{OsRng, Rng, SeededRng};
pub use secret::Secret;
pub use tally::Tally;
pub use time::{Lifetime, Timestamp};
