//! The request on its way to the upstream and back.
//!
//! [`upstream`]: servers, their connections and their health.

pub mod upstream;
