//! The end of a connection whose client still sends: see [`Linger`].

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep_until};

use super::limits::Linger;

/// How much is read at once of what nobody wants.
const CHUNK: usize = 32 * 1024;

/// A connection that is ending.
pub(super) struct Lingering {
    /// Whether the client has been told the end.
    said: bool,
    /// How many bytes it may still send.
    left: u64,
    silence: Duration,
    /// When it is over in any case.
    last: Instant,
    /// When it is over if nothing comes.
    until: Pin<Box<Sleep>>,
    buffer: Box<[u8]>,
}

impl Lingering {
    /// It begins now.
    pub(super) fn new(linger: &Linger) -> Self {
        let now = Instant::now();
        let last = now + linger.total;
        Self {
            said: false,
            left: linger.bytes,
            silence: linger.silence,
            last,
            until: Box::pin(sleep_until(last.min(now + linger.silence))),
            buffer: vec![0; CHUNK].into(),
        }
    }

    /// Ready when the connection may be closed.
    pub(super) fn poll<I>(&mut self, io: &mut I, context: &mut Context<'_>) -> Poll<()>
    where
        I: AsyncRead + AsyncWrite + Unpin,
    {
        if self.poll_ended_by_client(io, context).is_ready() {
            return Poll::Ready(());
        }
        self.until.as_mut().poll(context)
    }

    fn poll_ended_by_client<I>(&mut self, io: &mut I, context: &mut Context<'_>) -> Poll<()>
    where
        I: AsyncRead + AsyncWrite + Unpin,
    {
        if !self.said {
            if ready!(Pin::new(&mut *io).poll_shutdown(context)).is_err() {
                return Poll::Ready(());
            }
            self.said = true;
        }
        loop {
            let mut chunk = ReadBuf::new(&mut self.buffer);
            let read = ready!(Pin::new(&mut *io).poll_read(context, &mut chunk));
            let length = chunk.filled().len();
            if read.is_err() || length == 0 {
                return Poll::Ready(());
            }
            self.left = self.left.saturating_sub(u64::try_from(length).unwrap_or(u64::MAX));
            if self.left == 0 {
                return Poll::Ready(());
            }
            self.until.as_mut().reset(self.last.min(Instant::now() + self.silence));
        }
    }
}
