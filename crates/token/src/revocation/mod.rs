//! Revocation: a marker says what no longer holds, the feed carries it to every node, the set answers in memory.

mod feed;
mod fingerprint;
mod follower;
mod marker;
mod markers;
mod moment;
mod set;

pub use feed::{Change, FEED_PAGE, Feed, FeedBatch, FeedPosition};
pub use follower::FeedFollower;
pub use marker::{Marker, Target, UnknownTarget};
pub use moment::Moment;
pub use set::{Facts, RevocationSet};
