//! Scratch target, removed when done.

#![expect(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, reason = "tests may fail loudly")]

#[path = "../it/both_stores.rs"]
mod both_stores;
#[path = "../it/flow/mod.rs"]
mod flow;
#[path = "../it/jwt.rs"]
mod jwt;
#[path = "../it/legs.rs"]
mod legs;
#[path = "../it/refresh.rs"]
mod refresh;
#[path = "../it/logout/mod.rs"]
mod logout;
#[path = "../it/revocation.rs"]
mod revocation;
