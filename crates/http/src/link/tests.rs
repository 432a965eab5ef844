use std::sync::atomic::{AtomicBool, Ordering};

use axum::body::Body;
use sluice_primitives::SystemClock;
use sluice_testkit::Captured;
use sluice_token::{Change, RevocationSet};
use tower::ServiceExt;

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
        Ok(FeedBatch { changes, position: position(&[(node, page)]), more: page < 3, ..FeedBatch::default() })
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

#[async_trait::async_trait]
impl LinkSource for Pages {
    async fn keys(&self) -> Vec<u8> {
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
        tokens: Arc::from(["a token", "the next token"].map(|token| Secret::new(token.to_owned()))),
        source: Arc::new(Pages),
        follower: Arc::new(FeedFollower::new(Arc::clone(&feed), set, Arc::new(SystemClock))),
        feed,
        health: Arc::new(Pages),
        shutdown: CancellationToken::new(),
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

#[tokio::test(start_paused = true)]
async fn who_waits_while_the_node_ends_is_answered_at_once_that_nothing_came() {
    let state = state(Arc::new(Gone(AtomicBool::new(true))));
    state.follower.catch_up().await.unwrap();
    let began = Instant::now();
    let waits = async || state.after(FeedPosition::default(), LONGEST_WAIT, true).await.unwrap();
    let (told, ()) = tokio::join!(waits(), async { state.shutdown.cancel() });
    assert!(told.changes.is_empty() && !told.more);
    assert_eq!((waits().await.position, began.elapsed()), (FeedPosition::default(), Duration::ZERO));
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

#[tokio::test]
async fn who_has_not_the_token_is_refused_with_a_reason_in_the_log() {
    let (log, _capturing) = Captured::everything();
    let app = link(state(Arc::new(Pages)));
    for (header, reason) in
        [("Basic eDp5", "none was sent"), ("Bearer a-guess", "another than serve.link.token")]
    {
        let request = http::Request::post("/link/v1/keys").header("authorization", header);
        let response = app.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
        assert_eq!(response.status(), StatusCode::UNAUTHORIZED);
        let lines = log.lines("link request refused");
        assert!(lines.last().unwrap().contains(reason) && !log.text().contains("a-guess"), "{lines:?}");
    }
    for header in ["Bearer a token", "Bearer the next token"] {
        let request = http::Request::post("/link/v1/keys").header("authorization", header);
        let response = app.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
        assert_eq!((response.status(), log.lines("refused").len()), (StatusCode::OK, 2), "{header}");
    }
}
