//! A server may answer before it has read all of a request, and close. What is written then fails, and its answer is there all the same:
//! the HTTP library would look at the failure alone. So a failure to write is kept from it, and what can be read decides. Not so where the
//! server took nothing of the request: what can be read then answers another one, or none.

use std::io::{self, ErrorKind};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::connect::Wire;

/// No request is under way, or the connection became something else: who writes hears of failures.
const UNUSED: u8 = 0;
/// Nothing of the request was written yet: who writes hears of failures, too.
const FRESH: u8 = 1;
/// Something of it was.
const BEGUN: u8 = 2;
/// The server takes no more, and took the beginning of the request.
const CUT_OFF: u8 = 3;

/// How the writing on a connection goes, as both its wire and its link see it.
#[derive(Debug, Clone, Default)]
pub(super) struct Writing(Arc<AtomicU8>);

impl Writing {
    /// Notes that a request begins. What failed once stays so.
    pub(super) fn begin(&self) {
        if !self.is_cut_off() {
            self.0.store(FRESH, Ordering::Relaxed);
        }
    }

    /// Notes that the connection became something else than HTTP, where no answer can be the last word.
    pub(super) fn end(&self) {
        self.0.store(UNUSED, Ordering::Relaxed);
    }

    /// Whether the server took the beginning of a request, and takes no more.
    pub(super) fn is_cut_off(&self) -> bool {
        self.0.load(Ordering::Relaxed) == CUT_OFF
    }

    fn note_written(&self) {
        if self.0.load(Ordering::Relaxed) == FRESH {
            self.0.store(BEGUN, Ordering::Relaxed);
        }
    }

    /// Whether a failure is to be kept from who writes: the other side has closed, so that there soon is an end of what can be read, and
    /// that may be the answer to what it took.
    fn endures(&self, failure: ErrorKind) -> bool {
        let has_closed = matches!(failure, ErrorKind::BrokenPipe | ErrorKind::ConnectionReset);
        if !has_closed || self.0.load(Ordering::Relaxed) != BEGUN {
            return false;
        }
        self.0.store(CUT_OFF, Ordering::Relaxed);
        true
    }

    /// Has it be as where the server took the beginning of a request alone.
    #[cfg(test)]
    pub(super) fn cut_off(&self) {
        self.0.store(CUT_OFF, Ordering::Relaxed);
    }
}

/// A wire that takes everything once its server takes no more.
#[derive(Debug)]
pub(super) struct Enduring {
    wire: Wire,
    writing: Writing,
    /// Whether the failure was a reset that the system tells once: who reads would take it for an end.
    hides_reset: bool,
}

impl Enduring {
    /// Around `wire`, and how the writing on it goes.
    pub(super) fn around(wire: Wire) -> (Self, Writing) {
        let writing = Writing::default();
        (Self { wire, writing: writing.clone(), hides_reset: false }, writing)
    }

    /// What is said of an attempt to write something that is worth `all` to who writes it.
    fn outcome<T>(
        &mut self,
        context: &Context<'_>,
        attempt: Poll<io::Result<T>>,
        all: T,
    ) -> Poll<io::Result<T>> {
        match attempt {
            Poll::Ready(Err(error)) if self.writing.endures(error.kind()) => {
                // TLS itself tells an end from a reset.
                let is_plain = matches!(self.wire, Wire::Plain(_));
                self.hides_reset = is_plain && error.kind() == ErrorKind::ConnectionReset;
                // Who drives the connection may have found nothing to read before it wrote.
                context.waker().wake_by_ref();
                Poll::Ready(Ok(all))
            }
            attempt => attempt,
        }
    }
}

impl AsyncRead for Enduring {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let room = buffer.remaining();
        let read = Pin::new(&mut this.wire).poll_read(context, buffer);
        let is_end = matches!(read, Poll::Ready(Ok(()))) && room > 0 && buffer.remaining() == room;
        if is_end && this.hides_reset { Poll::Ready(Err(ErrorKind::ConnectionReset.into())) } else { read }
    }
}

impl AsyncWrite for Enduring {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        if this.writing.is_cut_off() {
            return Poll::Ready(Ok(bytes.len()));
        }
        let attempt = Pin::new(&mut this.wire).poll_write(context, bytes);
        if matches!(attempt, Poll::Ready(Ok(1..))) {
            this.writing.note_written();
        }
        this.outcome(context, attempt, bytes.len())
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let all = || parts.iter().map(|part| part.len()).sum::<usize>();
        if this.writing.is_cut_off() {
            return Poll::Ready(Ok(all()));
        }
        let attempt = Pin::new(&mut this.wire).poll_write_vectored(context, parts);
        if matches!(attempt, Poll::Ready(Ok(1..))) {
            this.writing.note_written();
        }
        this.outcome(context, attempt, all())
    }

    fn is_write_vectored(&self) -> bool {
        self.wire.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.writing.is_cut_off() {
            return Poll::Ready(Ok(()));
        }
        let attempt = Pin::new(&mut this.wire).poll_flush(context);
        this.outcome(context, attempt, ())
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        // There is nobody who could be told.
        if this.writing.is_cut_off() {
            return Poll::Ready(Ok(()));
        }
        Pin::new(&mut this.wire).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::{TcpListener, TcpStream};
    use tokio::time::{sleep, timeout};

    use super::*;

    /// A wire to a server that has said `answer` and closed without having read what was sent to it.
    async fn closed_after(answer: &str) -> (Enduring, Writing) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let tcp = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (mut wire, writing) = Enduring::around(Wire::Plain(tcp));
        let (mut server, _) = listener.accept().await.unwrap();
        writing.begin();
        wire.write_all(b"head").await.unwrap();
        server.readable().await.unwrap();
        server.write_all(answer.as_bytes()).await.unwrap();
        (wire, writing)
    }

    /// Writes until that fails, or is known to have failed; the failure.
    async fn write_on(wire: &mut Enduring, writing: &Writing) -> Option<ErrorKind> {
        let writing_on = async {
            while !writing.is_cut_off() {
                if let Err(error) = wire.write_all(b"body").await {
                    return Some(error.kind());
                }
                sleep(Duration::from_millis(1)).await;
            }
            None
        };
        timeout(Duration::from_secs(30), writing_on).await.expect("no failure")
    }

    #[tokio::test]
    async fn what_a_server_said_before_it_closed_is_read_though_it_takes_no_more() {
        let (mut wire, writing) = closed_after("answer").await;
        assert_eq!(write_on(&mut wire, &writing).await, None);
        assert_eq!(wire.write(&vec![0; 100_000]).await.unwrap(), 100_000);
        let parts = [io::IoSlice::new(b"one"), io::IoSlice::new(b"three")];
        assert_eq!(wire.write_vectored(&parts).await.unwrap(), 8);
        assert!(wire.flush().await.is_ok());
        let mut answer = [0; 6];
        wire.read_exact(&mut answer).await.unwrap();
        assert_eq!(&answer, b"answer");
        let end = wire.read(&mut answer).await.map_err(|error| error.kind());
        assert_eq!(end, Err(ErrorKind::ConnectionReset), "nobody knows whether that is all");
        writing.begin();
        assert!(writing.is_cut_off(), "no other request is sent there");
        assert!(wire.shutdown().await.is_ok());
    }

    #[tokio::test]
    async fn who_writes_on_a_connection_that_became_something_else_hears_of_failures() {
        let (mut wire, writing) = closed_after("").await;
        writing.end();
        let failure = write_on(&mut wire, &writing).await;
        assert!(matches!(failure, Some(ErrorKind::BrokenPipe | ErrorKind::ConnectionReset)), "{failure:?}");
    }

    /// What is there to be read is not for a request that the server has never seen.
    #[tokio::test]
    async fn who_writes_to_a_server_that_took_nothing_of_the_request_hears_of_failures() {
        let (mut wire, writing) = closed_after("of another request").await;
        let beginning_anew = async {
            loop {
                writing.begin();
                if let Err(error) = wire.write_all(b"head").await {
                    return error.kind();
                }
                sleep(Duration::from_millis(1)).await;
            }
        };
        let failure = timeout(Duration::from_secs(30), beginning_anew).await.expect("no failure");
        assert!(matches!(failure, ErrorKind::BrokenPipe | ErrorKind::ConnectionReset), "{failure:?}");
        assert!(!writing.is_cut_off());
    }

    #[test]
    fn failures_are_kept_from_who_writes_once_the_server_took_the_beginning_of_a_request() {
        let writing = Writing::default();
        assert!(!writing.endures(ErrorKind::BrokenPipe), "no request is under way");
        writing.begin();
        assert!(!writing.endures(ErrorKind::BrokenPipe), "it took nothing");
        writing.note_written();
        assert!(!writing.endures(ErrorKind::TimedOut), "it has not closed");
        assert!(!writing.is_cut_off());
        assert!(writing.endures(ErrorKind::BrokenPipe) && writing.is_cut_off());
    }
}
