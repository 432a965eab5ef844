//! What strangers send, as its readers see it.

mod corpus;
