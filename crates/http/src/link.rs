//! The link: a port of its own where gateways in other processes get keys and revocations. Each request bears a secret.
//!
//! Never part of the admin API: who has the admin port can do anything, who has the link can check tokens.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use axum::extract::{Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Json, Router};
use http::StatusCode;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, WWW_AUTHENTICATE};
use sluice_commit::{StoreError, chain};
use sluice_primitives::{NodeId, Secret};
use sluice_token::link::{FeedAnswer, FeedQuestion, TokenAnswer, TokenQuestion};
use sluice_token::{Feed, FeedBatch, FeedFollower, FeedPosition};
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::extract::{bearer, bears_one_of};
use crate::router::health_routes;
use crate::state::Health;

/// The longest that a gateway may have the server wait.
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// What the link needs of the rest of the server.
#[async_trait]
pub trait LinkSource: Send + Sync {
    /// The keys, as JSON: subkeys of access tokens, public keys of signed ones. Those that are in force once this node has done what it
    /// has heard: a gateway may be told of other keys before they were read here.
    async fn keys(&self) -> Vec<u8>;

    /// Whether a token holds, and what it says.
    ///
    /// # Errors
    /// [`StoreError`] if this cannot be told now.
    fn check(&self, token: &str) -> Result<TokenAnswer, StoreError>;
}

/// What the link's handlers work with.
#[derive(Clone)]
pub struct LinkState {
    /// What every request must bear: any of these.
    pub tokens: Arc<[Secret<String>]>,
    /// Keys and verdicts.
    pub source: Arc<dyn LinkSource>,
    /// The store's feed.
    pub feed: Arc<dyn Feed>,
    /// This node's own place in it.
    pub follower: Arc<FeedFollower>,
    /// Whether the node can serve.
    pub health: Arc<dyn Health>,
    /// When the node ends: it keeps no gateway waiting then.
    pub shutdown: CancellationToken,
}

/// The routes of the link.
pub fn link(state: LinkState) -> Router {
    let health = Arc::clone(&state.health);
    Router::new()
        .route("/link/v1/keys", post(keys))
        .route("/link/v1/feed", post(feed))
        .route("/link/v1/check", post(check))
        .layer(from_fn_with_state(Arc::clone(&state.tokens), check_token))
        .with_state(state)
        .merge(health_routes(health))
}

async fn check_token(
    State(expected): State<Arc<[Secret<String>]>>,
    request: Request,
    next: Next,
) -> Response {
    if bears_one_of(request.headers(), &expected) {
        return next.run(request).await;
    }
    let reason = if bearer(request.headers()).is_some() {
        "the bearer token is another than serve.link.token"
    } else {
        "the link asks for a bearer token, and none was sent"
    };
    info!(reason, "link request refused");
    (StatusCode::UNAUTHORIZED, [(WWW_AUTHENTICATE, "Bearer realm=\"sluice link\"")]).into_response()
}

async fn keys(State(state): State<LinkState>) -> Response {
    let keys = state.source.keys().await;
    ([(CONTENT_TYPE, "application/json"), (CACHE_CONTROL, "no-store")], keys).into_response()
}

async fn feed(State(state): State<LinkState>, Json(question): Json<FeedQuestion>) -> Response {
    let from = FeedPosition::from(&question.position);
    let wait = Duration::from_millis(question.wait_ms).min(LONGEST_WAIT);
    match state.after(from, wait, question.pages).await {
        Ok(batch) => Json(FeedAnswer::from(&batch)).into_response(),
        Err(error) => {
            warn!(error = %chain(&error), "a gateway was not told what was revoked");
            StatusCode::SERVICE_UNAVAILABLE.into_response()
        }
    }
}

impl LinkState {
    /// What came after a position, now or as soon as something does. Who is where this node is costs no query: it waits for
    /// this node to hear, or to end.
    async fn after(&self, from: FeedPosition, wait: Duration, pages: bool) -> Result<FeedBatch, StoreError> {
        let mut advanced = self.follower.subscribe();
        advanced.mark_unchanged();
        let until = Instant::now() + wait;
        if covers(&from, &self.follower.position()) {
            let hearing = self.shutdown.run_until_cancelled(timeout_at(until, advanced.changed()));
            let has_heard = hearing.await.is_some_and(|heard| heard.is_ok());
            if !has_heard && !self.follower.is_stale() {
                let age = self.follower.age();
                return Ok(FeedBatch { position: from, age, ..FeedBatch::default() });
            }
        }
        let own = self.follower.position();
        let mut told = self.feed.read(&from).await?;
        // A gateway of an earlier release takes the first answer for all there is.
        while told.more && !pages {
            let next = self.feed.read(&told.position).await?;
            told.append(next);
        }
        // What this node heard before all of it was read, and is not in it, is gone.
        if !told.more {
            raise(&mut told.position, own);
        }
        Ok(told)
    }
}

/// Whether who is at `from` has heard everything that this node has. It may have heard of nodes whose rows are gone by now.
fn covers(from: &FeedPosition, own: &FeedPosition) -> bool {
    let each = |from: &BTreeMap<NodeId, i64>, own: &BTreeMap<NodeId, i64>| {
        own.iter().all(|(node, counter)| from.get(node).is_some_and(|heard| heard >= counter))
    };
    each(&from.revocations, &own.revocations) && each(&from.changes, &own.changes)
}

/// Puts a position as far as this node is, where that is further.
fn raise(position: &mut FeedPosition, own: FeedPosition) {
    let each = |position: &mut BTreeMap<NodeId, i64>, own: BTreeMap<NodeId, i64>| {
        for (node, counter) in own {
            let heard = position.entry(node).or_insert(counter);
            *heard = counter.max(*heard);
        }
    };
    each(&mut position.revocations, own.revocations);
    each(&mut position.changes, own.changes);
}

async fn check(State(state): State<LinkState>, Json(question): Json<TokenQuestion>) -> Response {
    match state.source.check(&question.token) {
        Ok(answer) => ([(CACHE_CONTROL, "no-store")], Json(answer)).into_response(),
        Err(_) => StatusCode::SERVICE_UNAVAILABLE.into_response(),
    }
}

#[cfg(test)]
mod tests;
