//! A connection that became something else (RFC 9110 §7.8): bytes both ways, until either side ends or nothing moves.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf, copy_bidirectional};
use tokio::time::{sleep, timeout};
use tracing::debug;

use super::upstream::{Link, Ticket};

/// The two ends of a tunnel to be.
pub(super) struct Tunnel {
    pub(super) client: OnUpgrade,
    pub(super) upstream: OnUpgrade,
    pub(super) link: Link,
    pub(super) ticket: Ticket,
    /// How long nothing may move.
    pub(super) idle: Duration,
}

impl Tunnel {
    /// Carries bytes until the end.
    pub(super) async fn run(self) {
        let Self { client, upstream, link, ticket: _counted, idle } = self;
        // As long as for bytes later on: a client that does not take the head of the answer would hold all of it.
        let handed_over = timeout(idle, async {
            let ((), upstream) = tokio::join!(link.hand_over(), upstream);
            (upstream, client.await)
        });
        let Ok((Ok(upstream), Ok(client))) = handed_over.await else { return };
        let moved = Arc::new(AtomicU64::new(0));
        let mut client = Watched::new(client, &moved);
        let mut upstream = Watched::new(upstream, &moved);
        tokio::select! {
            ended = copy_bidirectional(&mut client, &mut upstream) => if let Err(error) = ended {
                debug!(%error, "an upgraded connection failed");
            },
            () = standstill(&moved, idle) => debug!("an upgraded connection was idle too long"),
        }
    }
}

/// Ends when nothing has moved for `idle`: late by as much again at most.
async fn standstill(moved: &AtomicU64, idle: Duration) {
    let mut before = None;
    loop {
        let now = moved.load(Ordering::Relaxed);
        if before.replace(now) == Some(now) {
            return;
        }
        sleep(idle).await;
    }
}

/// One end, whose bytes are counted as they come.
struct Watched {
    io: TokioIo<Upgraded>,
    moved: Arc<AtomicU64>,
}

impl Watched {
    fn new(io: Upgraded, moved: &Arc<AtomicU64>) -> Self {
        Self { io: TokioIo::new(io), moved: moved.clone() }
    }
}

impl AsyncRead for Watched {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let read = Pin::new(&mut this.io).poll_read(context, buffer);
        if read.is_ready() {
            this.moved.fetch_add(1, Ordering::Relaxed);
        }
        read
    }
}

impl AsyncWrite for Watched {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().io).poll_write(context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().io).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().io).poll_shutdown(context)
    }
}
