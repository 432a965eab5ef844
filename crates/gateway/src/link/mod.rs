//! Keys and revocations for a gateway in a process of its own, from an authorization server's link: a port of its own, where
//! each request bears a secret that is good for nothing else.
//!
//! [`LinkClient`]: the requests. [`LinkFeed`]: the feed, as if a store were there.

mod client;
mod feed;

pub use client::{LinkClient, LinkConfig, LinkError};
pub use feed::LinkFeed;
