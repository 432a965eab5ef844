//! The end of a listener.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::routing::get;
use sluice_net::{Drained, Limits};
use tokio::net::TcpStream;
use tokio::sync::Notify;

use crate::given::*;

/// A handler that says when it began, and waits to be let go.
#[derive(Clone, Default)]
struct Gate {
    began: Arc<Notify>,
    let_go: Arc<Notify>,
}

impl Gate {
    fn router(&self) -> Router {
        let gate = self.clone();
        Router::new().route(
            "/",
            get(|| async move {
                gate.began.notify_one();
                gate.let_go.notified().await;
                "finished"
            }),
        )
    }
}

#[tokio::test]
async fn a_request_in_flight_is_finished_after_the_shutdown_began() {
    let gate = Gate::default();
    let server = running(gate.router(), Limits::default()).await;
    let mut stream = server.connect().await;
    let mut idle = server.connect().await;
    say(&mut stream, GET).await;
    in_time(gate.began.notified()).await;

    server.shutdown.cancel();
    assert!(is_closed(&mut idle).await, "who has no request in flight is sent away");
    in_time(async { while TcpStream::connect(server.address).await.is_ok() {} }).await;
    gate.let_go.notify_one();

    let answer = answer_until(&mut stream, "finished").await;
    assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with("finished"), "{answer}");
    assert!(is_closed(&mut stream).await);
    assert_eq!(server.stop().await, Drained { cut: 0 });
}

#[tokio::test]
async fn a_request_that_outlasts_the_grace_period_is_cut() {
    let gate = Gate::default();
    let limits = Limits { drain_grace: Duration::from_millis(30), ..Limits::default() };
    let server = running(gate.router(), limits).await;
    let mut stream = server.connect().await;
    say(&mut stream, GET).await;
    in_time(gate.began.notified()).await;
    assert_eq!(server.stop().await, Drained { cut: 1 });
    assert!(is_closed(&mut stream).await);
}

/// A client that begins a head and does not go on holds up no restart: it has as long as without one.
#[tokio::test]
async fn a_head_that_is_late_ends_before_the_grace_period() {
    let limits = Limits {
        first_request_timeout: Duration::from_millis(200),
        drain_grace: AT_MOST,
        ..Limits::default()
    };
    let server = running(Gate::default().router(), limits).await;
    let mut stream = server.connect().await;
    let mut later = server.connect().await;
    say(&mut stream, "GET /x HTTP/1.1\r\nHo").await;
    say(&mut later, "GET /none HTTP/1.1\r\nhost: sluice\r\n\r\n").await;
    // When this is answered, what came before was read.
    assert!(answer_until(&mut later, "\r\n\r\n").await.starts_with("HTTP/1.1 404 "));
    server.shutdown.cancel();
    assert!(answer_until(&mut stream, "\r\n\r\n").await.starts_with("HTTP/1.1 408 "));
    drop(stream);
    assert_eq!(server.stop().await, Drained { cut: 0 });
}
