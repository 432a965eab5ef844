//! The writer: one thread owns the one connection that writes, and everything that waits for it shares a commit.
//!
//! [`thread`]: takes what waits, one transaction for all of it. [`job`]: one piece of that work, rolled back alone if it
//! fails. [`write`]: what a job may do. [`lane`]: a kind of hot write behind a group-commit queue.

mod job;
mod lane;
mod thread;
mod write;

pub(crate) use lane::{Kind, Lane, start_lane};
pub(crate) use thread::{WriterHandle, WriterThread};
pub(crate) use write::{Counters, Write};
