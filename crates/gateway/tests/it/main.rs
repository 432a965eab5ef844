//! The gateway from outside.

mod corpus;
mod proxy;
