//! What an operator sees of flows and tokens: counters, handed in at start-up and read when asked for.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::refusals::Refusals;

/// A counter that only grows.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// One more.
    pub fn add(&self) {
        self.0.fetch_add(1, Relaxed);
    }

    /// How many so far.
    pub fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

/// How far flows came, and what was issued.
#[derive(Debug, Default)]
pub struct OAuthMetrics {
    /// Flows that began.
    pub begun: Counter,
    /// Flows that came back from the login page.
    pub logged_in: Counter,
    /// Flows that came back from the consent page and became a grant.
    pub granted: Counter,
    /// Codes that became tokens.
    pub redeemed: Counter,
    /// Refresh tokens that became a pair.
    pub refreshed: Counter,
    /// Tokens that clients got for themselves.
    pub client_credentials: Counter,
    /// Assertions of other issuers that became tokens.
    pub assertions: Counter,
    /// Tokens that became others.
    pub exchanged: Counter,
    /// Requests that a hook refused.
    pub hook_refusals: Counter,
    /// Requests that failed because a hook could not be asked, or not be understood.
    pub hook_failures: Counter,
    /// Errors that were shown, because there was nobody else to tell.
    pub shown_errors: Counter,
    /// Errors that clients were told.
    pub redirected_errors: Counter,
    /// What clients were refused, wherever and however they were told.
    pub refusals: Refusals,
}
