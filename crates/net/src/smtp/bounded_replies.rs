//! A connection on which a reply has an end.
//!
//! The library asks how long a line is once it has all of it: of a line that never ends it would keep whatever comes, for as long as one
//! mail may take. So what is read is counted here, from what was last written.

use std::error::Error;
use std::fmt::Debug;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use lettre::transport::smtp::client::AsyncTokioStream;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// How much is read after what was last written, in bytes: more than the library takes of a reply (100,000), and than a message of the TLS
/// handshake has (64 KiB), which is counted too where the connection becomes encrypted later.
const MAX_REPLY: usize = 128 * 1024;

/// A connection, in plain text or in TLS, from which no more is read than a reply may have.
#[derive(Debug)]
pub(super) struct BoundedReplies<S> {
    stream: S,
    peer: SocketAddr,
    /// Since the last write. Once it is too much it stays so: nothing that comes after it is an answer.
    read: usize,
}

/// What reading fails with when a reply has no end.
#[derive(Debug, thiserror::Error)]
#[error("a reply of the mail server has no end")]
pub(super) struct EndlessReply;

impl<S> BoundedReplies<S> {
    pub(super) const fn new(stream: S, peer: SocketAddr) -> Self {
        Self { stream, peer, read: 0 }
    }

    const fn is_endless(&self) -> bool {
        self.read >= MAX_REPLY
    }
}

impl EndlessReply {
    /// Whether it is what `error` comes of.
    pub(super) fn is_cause_of(error: &(dyn Error + 'static)) -> bool {
        let mut cause = Some(error);
        while let Some(error) = cause {
            let inner = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
            if inner.is_some_and(<dyn Error + Send + Sync>::is::<Self>) {
                return true;
            }
            cause = error.source();
        }
        false
    }
}

impl<S: AsyncRead + AsyncWrite + Send + Sync + Unpin + Debug> AsyncTokioStream for BoundedReplies<S> {
    fn peer_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.peer)
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for BoundedReplies<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.is_endless() {
            return Poll::Ready(Err(io::Error::new(io::ErrorKind::InvalidData, EndlessReply)));
        }
        let before = buffer.filled().len();
        ready!(Pin::new(&mut this.stream).poll_read(context, buffer))?;
        this.read += buffer.filled().len() - before;
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for BoundedReplies<S> {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        if !this.is_endless() {
            this.read = 0;
        }
        Pin::new(&mut this.stream).poll_write(context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(context)
    }
}
