//! People who register while everything breaks: crowds of them, with duplicates and nonsense among them, while passwords are
//! hardened and server, worker and PostgreSQL are killed. What was answered is there, all of it and once.
//!
//! [`crowd`]: who comes, and what they send. [`door`]: where they ask, and what they are told. [`rush`]: all of them at once.
//! [`book`]: what was told, held against [`rows`], what is stored. [`hardener`]: `sluice worker` as a process. [`victim`]: what
//! is killed. [`trial`]: a rush in which something is killed. The tests: [`under_load`], [`kills`], [`draining`], [`backlog`].
//!
//! `make soak` says by `SOAK_SECONDS` how long they are.

mod backlog;
mod book;
mod crowd;
mod door;
mod draining;
mod hardener;
mod kills;
mod rows;
mod rush;
mod trial;
mod under_load;
mod victim;

use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::process::{DEADLINE, LOOK_EVERY};

/// What a hash costs where its cost is not what a test is about.
const SMALL_HASH: &[(&str, &str)] = &[
    ("identity.password_hash.memory", "8"),
    ("identity.password_hash.passes", "1"),
    ("identity.password_hash.lanes", "1"),
];

/// How many seconds `make soak` is to take; nothing in an ordinary run.
fn soak_seconds() -> Option<usize> {
    let said = std::env::var("SOAK_SECONDS").ok()?;
    Some(said.parse().expect("SOAK_SECONDS is a number"))
}

/// Waits until `ready` says so: as long as anything may take, and for the time of a soak besides.
async fn until(what: &str, mut ready: impl AsyncFnMut() -> bool) {
    let patience = patience();
    let deadline = Instant::now() + patience;
    while !ready().await {
        assert!(Instant::now() < deadline, "not within {patience:?}: {what}");
        sleep(LOOK_EVERY).await;
    }
}

fn patience() -> Duration {
    DEADLINE + Duration::from_secs(soak_seconds().unwrap_or_default().try_into().unwrap_or_default())
}
