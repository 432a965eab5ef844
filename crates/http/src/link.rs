//! The link: a port of its own where gateways in other processes get keys and revocations. Each request bears a secret.
//!
//! Never part of the admin API: who has the admin port can do anything, who has the link can check tokens.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

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
use tracing::warn;

use crate::extract::bearer;
use crate::router::health_routes;
use crate::state::Health;

/// The longest that a gateway may have the server wait.
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// What the link needs of the rest of the server.
pub trait LinkSource: Send + Sync {
    /// The keys, as JSON: subkeys of access tokens, public keys of signed ones.
    fn keys(&self) -> Vec<u8>;

    /// Whether a token holds, and what it says.
    ///
    /// # Errors
    /// [`StoreError`] if this cannot be told now.
    fn check(&self, token: &str) -> Result<TokenAnswer, StoreError>;
}

/// What the link's handlers work with.
#[derive(Clone)]
pub struct LinkState {
    /// What every request must bear.
    pub token: Arc<Secret<String>>,
    /// Keys and verdicts.
    pub source: Arc<dyn LinkSource>,
    /// The store's feed.
    pub feed: Arc<dyn Feed>,
    /// This node's own place in it.
    pub follower: Arc<FeedFollower>,
    /// Whether the node can serve.
    pub health: Arc<dyn Health>,
}

/// The routes of the link.
pub fn link(state: LinkState) -> Router {
    let health = Arc::clone(&state.health);
    Router::new()
        .route("/link/v1/keys", post(keys))
        .route("/link/v1/feed", post(feed))
        .route("/link/v1/check", post(check))
        .layer(from_fn_with_state(Arc::clone(&state.token), check_token))
        .with_state(state)
        .merge(health_routes(health))
}

async fn check_token(State(expected): State<Arc<Secret<String>>>, request: Request, next: Next) -> Response {
    let presented = bearer(request.headers()).unwrap_or_default();
    if expected.same_as(presented.as_bytes()) {
        return next.run(request).await;
    }
    (StatusCode::UNAUTHORIZED, [(WWW_AUTHENTICATE, "Bearer realm=\"sluice link\"")]).into_response()
}

async fn keys(State(state): State<LinkState>) -> Response {
    ([(CONTENT_TYPE, "application/json"), (CACHE_CONTROL, "no-store")], state.source.keys()).into_response()
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
    /// this node to hear.
    async fn after(&self, from: FeedPosition, wait: Duration, pages: bool) -> Result<FeedBatch, StoreError> {
        let mut advanced = self.follower.subscribe();
        advanced.mark_unchanged();
        let until = Instant::now() + wait;
        if covers(&from, &self.follower.position()) {
            let heard = timeout_at(until, advanced.changed()).await;
            if heard.is_err() && !self.follower.is_stale() {
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
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use sluice_primitives::SystemClock;
    use sluice_token::{Change, RevocationSet};

    use super::*;
    use crate::state::Ready;

    /// A feed of three pages, and all else that the link needs, which is not asked.
    struct Pages;

    #[async_trait::async_trait]
    impl Feed for Pages {
        async fn read(&self, from: &FeedPosition) -> Result<FeedBatch, StoreError> {
            let page = from.revocations.values().copied().max().unwrap_or_default() + 1;
            let changes = vec![Change::Keys(page.to_string())];
            let node = u8::try_from(page).unwrap();
            Ok(FeedBatch {
                changes,
                position: position(&[(node, page)]),
                more: page < 3,
                ..FeedBatch::default()
            })
        }

        async fn wait(&self) {}
    }

    /// A feed that tells of a node once: then its rows are gone.
    #[derive(Default)]
    struct Gone(AtomicBool);

    #[async_trait::async_trait]
    impl Feed for Gone {
        async fn read(&self, from: &FeedPosition) -> Result<FeedBatch, StoreError> {
            let FeedPosition { revocations, .. } = position(&[(1, 5)]);
            let position = if self.0.swap(true, Ordering::SeqCst) {
                from.clone()
            } else {
                FeedPosition { changes: revocations.clone(), revocations }
            };
            Ok(FeedBatch { position, ..FeedBatch::default() })
        }

        async fn wait(&self) {}
    }

    impl LinkSource for Pages {
        fn keys(&self) -> Vec<u8> {
            Vec::new()
        }

        fn check(&self, _token: &str) -> Result<TokenAnswer, StoreError> {
            Err(StoreError::Busy)
        }
    }

    #[async_trait::async_trait]
    impl Health for Pages {
        async fn ready(&self) -> Ready {
            Ready::Yes { feed_age: None }
        }
    }

    fn state(feed: Arc<dyn Feed>) -> LinkState {
        let set = Arc::new(RevocationSet::default());
        LinkState {
            token: Arc::new(Secret::new("a token".to_owned())),
            source: Arc::new(Pages),
            follower: Arc::new(FeedFollower::new(Arc::clone(&feed), set, Arc::new(SystemClock))),
            feed,
            health: Arc::new(Pages),
        }
    }

    #[tokio::test]
    async fn who_reads_pages_is_told_one_at_a_time_and_who_does_not_is_told_all() {
        let state = state(Arc::new(Pages));
        let told = async |pages| state.after(FeedPosition::default(), Duration::ZERO, pages).await.unwrap();
        let (page, all) = (told(true).await, told(false).await);
        assert_eq!((page.changes.len(), page.more), (1, true));
        assert_eq!((all.changes.len(), all.more), (3, false));
    }

    #[tokio::test]
    async fn who_was_told_everything_waits_although_this_node_has_heard_of_one_whose_rows_are_gone() {
        let state = state(Arc::new(Gone::default()));
        state.follower.catch_up().await.unwrap();
        let told = state.after(FeedPosition::default(), Duration::ZERO, true).await.unwrap();
        assert!(covers(&told.position, &state.follower.position()), "{:?}", told.position);
    }

    #[tokio::test]
    async fn who_was_told_a_page_stays_behind_it_and_who_is_ahead_stays_there() {
        let state = state(Arc::new(Pages));
        state.follower.catch_up().await.unwrap();
        let page = state.after(FeedPosition::default(), Duration::ZERO, true).await.unwrap();
        assert_eq!((page.position, page.more), (position(&[(1, 1)]), true));
        let mut ahead = position(&[(1, 9)]);
        raise(&mut ahead, position(&[(1, 5), (2, 7)]));
        assert_eq!(ahead, position(&[(1, 9), (2, 7)]));
    }

    fn position(markers: &[(u8, i64)]) -> FeedPosition {
        let node = |(node, counter): &(u8, i64)| (NodeId::from_bytes([*node; 16]), *counter);
        FeedPosition { revocations: markers.iter().map(node).collect(), changes: BTreeMap::new() }
    }

    #[test]
    fn who_has_heard_as_much_as_this_node_waits_even_if_it_knows_of_nodes_that_are_gone() {
        let own = position(&[(1, 5), (2, 7)]);
        assert!(covers(&own, &own));
        assert!(covers(&position(&[(1, 5), (2, 8), (3, 1)]), &own));
        assert!(!covers(&position(&[(1, 5), (2, 6)]), &own));
        assert!(!covers(&position(&[(1, 9)]), &own));
        assert!(covers(&position(&[(1, 9)]), &FeedPosition::default()));
    }
}
