//! The bytes of a connection, on their way between the client and hyper: what HTTP/1.1 asks of its ends and hyper leaves open.
//!
//! - A connection that hyper closes while its client may still be sending lingers ([`Linger`]).
//! - A client that closed its sending side after its request gets its answer. It cannot be told from one that has left, so it is for
//!   [`Limits::half_closed_timeout`] only, anew after each part of the answer.
//! - A head that has begun and is late is answered 408. One after a request with a body is not: bytes after the answer could as well be
//!   the rest of a body that nobody read, and to such a client nothing more is to be said.
//! - What waits for a client that does not take it is noted.
//!
//! HTTP/2, and what a connection was upgraded to, pass as they are.

use std::io::{self, IoSlice};
use std::mem::take;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

use super::limits::{Limits, Linger};
use super::lingering::Lingering;
use super::places::Place;
use super::record::Record;

/// What is said to a client whose head is late (RFC 9110 §15.5.9).
const LATE: &[u8] = b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
/// How many line ends a head ends with (RFC 9112 §2.1).
const LINE_ENDS: u8 = 2;
/// How a client of HTTP/2 begins (RFC 9113 §3.4); the line alone tells.
const PREFACE: &[u8] = b"PRI * HTTP/2.0";

/// How connections end.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ends {
    linger: Linger,
    half_closed_timeout: Duration,
}

impl Ends {
    pub(super) const fn new(limits: &Limits) -> Self {
        Self { linger: limits.linger, half_closed_timeout: limits.half_closed_timeout }
    }
}

/// A connection to a client.
pub(super) struct ClientIo<I> {
    inner: I,
    record: Arc<Record>,
    ends: Ends,
    protocol: Protocol,
    /// Whether bytes came over HTTP/1.1 that hyper has not asked to go on.
    came: bool,
    /// With how many line ends in a row they end.
    line_ends: u8,
    /// Whether anything was written.
    wrote: bool,
    /// How many bytes came and went over HTTP/1.1.
    moved: u64,
    /// Whether the client closed its sending side.
    ended: bool,
    stage: Stage,
    /// It counts until its bytes end, also those of what it was upgraded to.
    _place: Place,
}

enum Stage {
    Open,
    /// The client closed its sending side, and hyper is told when the time is over.
    HalfClosed(Pin<Box<Sleep>>),
    /// Closed without lingering.
    Closing,
    Lingering(Box<Lingering>),
    /// Nothing more is read or written.
    Over,
}

/// What the first bytes say.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Protocol {
    /// So many bytes of [`PREFACE`] came.
    Unknown(usize),
    Http1,
    Http2,
}

impl Protocol {
    fn after(self, bytes: &[u8]) -> Self {
        let Self::Unknown(known) = self else { return self };
        let rest = PREFACE.get(known..).unwrap_or_default();
        let compared = rest.len().min(bytes.len());
        if rest.get(..compared) != bytes.get(..compared) {
            Self::Http1
        } else if compared == rest.len() {
            Self::Http2
        } else {
            Self::Unknown(known + compared)
        }
    }
}

impl<I> ClientIo<I> {
    pub(super) const fn new(inner: I, record: Arc<Record>, ends: Ends, place: Place) -> Self {
        let (protocol, stage) = (Protocol::Unknown(0), Stage::Open);
        let (came, line_ends, wrote, ended) = (false, 0, false, false);
        Self { inner, record, ends, protocol, came, line_ends, wrote, moved: 0, ended, stage, _place: place }
    }

    /// Notes bytes that came.
    fn note_read(&mut self, bytes: &[u8]) {
        self.record.read();
        if self.protocol != Protocol::Http1 {
            self.protocol = self.protocol.after(bytes);
            match self.protocol {
                Protocol::Http1 => self.record.begin(),
                Protocol::Http2 => self.record.read_http2(bytes.len()),
                Protocol::Unknown(_) => {}
            }
        }
        if self.protocol == Protocol::Http1 {
            self.came = true;
            self.line_ends = line_ends(self.line_ends, bytes);
            self.note_moved(bytes.len());
        }
    }

    /// Notes how many bytes came or went over HTTP/1.1.
    fn note_moved(&mut self, bytes: usize) {
        self.moved = self.moved.saturating_add(u64::try_from(bytes).unwrap_or(u64::MAX));
    }

    /// Notes whether what is to be written over HTTP/1.1 waits for the client, as it does from when it cannot be written until all of it is
    /// flushed.
    fn note_waiting(&self, waits: bool) {
        if self.protocol != Protocol::Http1 {
            return;
        }
        if waits {
            self.record.wait_for_client(self.moved);
        } else {
            self.record.wait_no_longer();
        }
    }

    /// Notes that hyper wants more. While a request without a body is answered, it reads ahead no more than once, and not at all where
    /// bytes came with that request that are none of it. So when it comes back after bytes came, they are those of such a request, which end
    /// as its head does, or the answer is out, and a head has begun. Empty lines before a head are none of it (RFC 9112 §2.2).
    fn note_wanted(&mut self) {
        if take(&mut self.came) && self.line_ends < LINE_ENDS && !self.record.has_body() {
            self.record.begin_after(self.record.requests());
        }
    }

    /// Notes bytes that went.
    fn note_written(&mut self, written: &Poll<io::Result<usize>>) {
        if written.is_pending() {
            self.note_waiting(true);
        }
        if let Poll::Ready(Ok(length @ 1..)) = written {
            self.wrote = true;
            if self.protocol == Protocol::Http2 {
                self.record.wrote_http2(*length);
            } else {
                self.note_moved(*length);
            }
            // What is answered unasked was no head.
            self.record.begin_after(0);
            if let Stage::HalfClosed(until) = &mut self.stage {
                until.as_mut().reset(Instant::now() + self.ends.half_closed_timeout);
            }
        }
    }

    fn may_linger(&self) -> bool {
        self.protocol == Protocol::Http1 && !self.ended && self.record.may_lose_its_answer()
    }
}

impl<I: AsyncRead + AsyncWrite + Unpin> ClientIo<I> {
    fn poll_inner(&mut self, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.inner).poll_read(context, buffer))?;
        let bytes = buffer.filled().get(before..).unwrap_or_default();
        if !bytes.is_empty() {
            self.note_read(bytes);
            return Poll::Ready(Ok(()));
        }
        self.ended |= buffer.remaining() > 0;
        let may_await_answer = self.protocol == Protocol::Http1 && self.record.requests() > 0;
        if !self.ended || !may_await_answer || self.record.is_switched() {
            return Poll::Ready(Ok(()));
        }
        self.record.end_after_answer();
        let mut until = Box::pin(sleep(self.ends.half_closed_timeout));
        let polled = until.as_mut().poll(context).map(Ok);
        self.stage = Stage::HalfClosed(until);
        polled
    }

    /// Says that the head is late, if it can be said at once.
    fn refuse(&mut self, context: &mut Context<'_>) {
        let said = Pin::new(&mut self.inner).poll_write(context, LATE);
        self.stage = match said {
            Poll::Ready(Ok(written)) if written == LATE.len() => {
                self.record.refuse_late();
                Stage::Lingering(Box::new(Lingering::new(&self.ends.linger)))
            }
            Poll::Ready(_) | Poll::Pending => Stage::Over,
        };
    }

    fn poll_end(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.stage {
            Stage::Lingering(lingering) => {
                ready!(lingering.poll(&mut self.inner, context));
                self.stage = Stage::Over;
                Poll::Ready(Ok(()))
            }
            Stage::Over => Poll::Ready(Ok(())),
            Stage::Open | Stage::HalfClosed(_) | Stage::Closing => {
                Pin::new(&mut self.inner).poll_shutdown(context)
            }
        }
    }
}

impl<I: AsyncRead + AsyncWrite + Unpin> AsyncRead for ClientIo<I> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if !this.wrote && matches!(this.stage, Stage::Open) && this.record.is_late() {
            this.refuse(context);
        }
        this.note_wanted();
        match &mut this.stage {
            Stage::Open | Stage::Closing => this.poll_inner(context, buffer),
            Stage::HalfClosed(until) => until.as_mut().poll(context).map(Ok),
            Stage::Lingering(_) | Stage::Over => this.poll_end(context),
        }
    }
}

impl<I: AsyncRead + AsyncWrite + Unpin> AsyncWrite for ClientIo<I> {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = Pin::new(&mut this.inner).poll_write(context, bytes);
        this.note_written(&written);
        written
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = Pin::new(&mut this.inner).poll_write_vectored(context, parts);
        this.note_written(&written);
        written
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let flushed = Pin::new(&mut this.inner).poll_flush(context);
        this.note_waiting(flushed.is_pending());
        flushed
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if matches!(this.stage, Stage::Open) && this.record.ends_within_late_head() {
            this.refuse(context);
        }
        if matches!(this.stage, Stage::Open | Stage::HalfClosed(_)) {
            this.stage = if this.may_linger() {
                Stage::Lingering(Box::new(Lingering::new(&this.ends.linger)))
            } else {
                Stage::Closing
            };
        }
        let ended = this.poll_end(context);
        this.note_waiting(ended.is_pending() && matches!(this.stage, Stage::Closing));
        ended
    }
}

/// With how many line ends in a row it ends what came, now that these bytes did, after so many.
fn line_ends(before: u8, bytes: &[u8]) -> u8 {
    let mut ends: u8 = 0;
    for byte in bytes.iter().rev() {
        match byte {
            b'\n' => ends = ends.saturating_add(1),
            b'\r' => {}
            _ => return ends,
        }
    }
    before.saturating_add(ends)
}
