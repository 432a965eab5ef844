//! A connection over HTTP/2, shared by the requests of a core. A task drives it.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::Poll;
use std::time::Duration;

use http::{Request, Response};
use hyper::body::Incoming;
use hyper::client::conn::http2::{Builder, SendRequest};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::time::Instant;
use tracing::debug;

use super::connect::Wire;
use super::link::Failure;
use super::stream_limit::{StreamLimit, Tasks};
use super::waiting::Waiting;
use crate::proxy::alarm::Alarm;
use crate::proxy::body::{RequestBody, StreamSlot, Uploads};
use crate::proxy::fault::Fault;

/// A connection with streams and without news for so long is asked whether it lives. Servers of gRPC end one that asks more often than
/// every five minutes (`too_many_pings`). That a machine is gone, TCP finds out sooner (`connect`).
const PING_AFTER: Duration = Duration::from_mins(6);
/// How long it may take to say so.
const PONG_WITHIN: Duration = Duration::from_secs(10);
/// Received and not yet handed on, for one stream.
const STREAM_WINDOW: u32 = 256 << 10;
/// The same for a connection: more than all of its streams together, or some whose clients do not read would hold up the others.
///
/// Half of it is also what h2 grants a connection for what waits in frames of less than 256 bytes: each costs what it has less than these
/// until it is read, and h2 ends a connection that costs more, with all of its streams. A hundred streams that are full of frames of thirteen
/// bytes cost just that.
const CONNECTION_WINDOW: u32 = 1 << 30;

/// A connection to a server.
pub(super) struct Multiplexed {
    sender: SendRequest<RequestBody>,
    uploads: Uploads,
    streams: Arc<AtomicUsize>,
    limit: StreamLimit,
    end: End,
    prospects: Arc<Prospects>,
    /// Since when the sweep has found no stream on it.
    idle_since: Option<Instant>,
    /// When it is too old for further streams, and whether the sweep has found it so.
    retires: Instant,
    is_retired: bool,
}

/// Whether a stream of a connection has failed in a way that speaks against its server.
#[derive(Clone, Default)]
pub(in crate::proxy) struct End(Arc<AtomicBool>);

impl End {
    /// Notes that a stream has failed; whether it is the first.
    pub(in crate::proxy) fn is_first(&self) -> bool {
        !self.0.swap(true, Ordering::Relaxed)
    }
}

/// What requests have learnt of their connection.
#[derive(Default)]
struct Prospects {
    /// Whether it has answered nothing since it did not answer in time. Its streams may be used up then: one that a server has ended keeps
    /// its place for as long as there is no room for the last part of its request, and nothing can be done about that here.
    is_silent: AtomicBool,
    /// Whether its server has ended it, which the HTTP library may tell of later than of the requests that it cost.
    is_over: AtomicBool,
}

impl Prospects {
    /// Whether a further request may be answered.
    fn are_good(&self) -> bool {
        !self.is_silent.load(Ordering::Relaxed) && !self.is_over.load(Ordering::Relaxed)
    }

    fn note<T>(&self, answered: &Result<T, Failure>) {
        match answered {
            Ok(_) if self.is_silent.load(Ordering::Relaxed) => self.is_silent.store(false, Ordering::Relaxed),
            Err(Failure { fault: Fault::Timeout, .. }) => self.is_silent.store(true, Ordering::Relaxed),
            // What was not sent met its end as well.
            Err(failure) if failure.was_over || failure.unsent.is_some() => {
                self.is_over.store(true, Ordering::Relaxed);
            }
            Ok(_) | Err(_) => {}
        }
    }
}

/// A stream to come.
pub(super) struct Stream {
    sender: SendRequest<RequestBody>,
    uploads: Uploads,
    end: End,
    prospects: Arc<Prospects>,
    slot: StreamSlot,
}

impl Multiplexed {
    /// Speaks HTTP/2 on `wire`, with new streams up to a certain time.
    pub(super) async fn open(wire: Wire, retires: Instant) -> Result<Self, Fault> {
        let (uploads, limit) = (Uploads::default(), StreamLimit::default());
        let tasks = Tasks::new(&uploads);
        let mut builder = Builder::new(tasks.clone());
        builder
            .initial_max_send_streams(StreamLimit::UNSAID)
            .timer(TokioTimer::new())
            .keep_alive_interval(PING_AFTER)
            .keep_alive_timeout(PONG_WITHIN)
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW);
        let opened = builder.handshake::<_, RequestBody>(TokioIo::new(wire)).await;
        let (sender, connection) = opened.map_err(|_| Fault::Connect)?;
        let (driver, driven) = (uploads.clone(), limit.clone().follow(connection, tasks));
        tokio::spawn(async move {
            if let Err(error) = driver.drive(driven).await {
                debug!(%error, "a connection to an upstream failed");
            }
        });
        Ok(Self {
            sender,
            uploads,
            streams: Arc::default(),
            limit,
            end: End::default(),
            prospects: Arc::default(),
            idle_since: None,
            retires,
            is_retired: false,
        })
    }

    /// A stream, if there is room and one can expect an answer.
    pub(super) fn stream(&self) -> Option<Stream> {
        let has_room = self.streams.load(Ordering::Relaxed) < self.limit.now();
        (has_room && self.is_good()).then(|| Stream {
            sender: self.sender.clone(),
            uploads: self.uploads.clone(),
            end: self.end.clone(),
            prospects: self.prospects.clone(),
            slot: StreamSlot::take(&self.streams),
        })
    }

    /// How many streams there may be, if one can expect an answer and its server has yet to say it.
    pub(super) fn unsaid_limit(&self) -> Option<StreamLimit> {
        (!self.limit.is_said() && self.is_good()).then(|| self.limit.clone())
    }

    /// Whether its server permits no streams for now (RFC 9113 §5.1.2): it would be asked in vain on another connection, too.
    pub(super) fn permits_none(&self) -> bool {
        self.limit.now() == 0 && self.is_good()
    }

    /// Whether one can expect an answer.
    fn is_good(&self) -> bool {
        self.sender.is_ready() && !self.is_retired && self.prospects.are_good()
    }

    /// Whether to keep it: it lives, and had a stream in the last `keep_alive`. One that is too old, silent or over, or that its server
    /// permits none on, gets no streams, so without any it is of no use.
    pub(super) fn is_kept(&mut self, now: Instant, keep_alive: Duration) -> bool {
        self.is_retired = now >= self.retires;
        if self.streams.load(Ordering::Relaxed) > 0 {
            self.idle_since = None;
        } else if self.is_retired || !self.prospects.are_good() || self.limit.now() == 0 {
            return false;
        }
        let since = *self.idle_since.get_or_insert(now);
        !self.sender.is_closed() && now.saturating_duration_since(since) < keep_alive
    }
}

impl Stream {
    /// What its connection comes to.
    pub(super) fn end(&self) -> End {
        self.end.clone()
    }

    /// Sends a request and waits for the head of its answer; says where its body comes from.
    pub(super) async fn exchange(
        mut self,
        mut request: Box<Request<RequestBody>>,
        mut waiting: Waiting<'_>,
    ) -> Result<(Response<Incoming>, StreamSlot, Alarm), Failure> {
        request.body_mut().go_by(&self.uploads);
        let mut alarm = Alarm::default();
        let mut answer = pin!(self.sender.try_send_request(*request));
        let answered = poll_fn(|context| {
            if let Poll::Ready(answered) = answer.as_mut().poll(context) {
                return Poll::Ready(answered.map_err(Failure::from));
            }
            waiting.poll(context, &mut alarm).map(|fault| Err(fault.into()))
        })
        .await;
        self.prospects.note(&answered);
        Ok((answered?, self.slot, alarm))
    }
}

#[cfg(test)]
mod tests {
    use tokio::net::{TcpListener, TcpStream};

    use super::*;

    #[tokio::test]
    async fn one_that_is_too_old_gets_no_streams_and_goes_with_its_last_one() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let wire = Wire::Plain(TcpStream::connect(listener.local_addr().unwrap()).await.unwrap());
        let (keep_alive, retires) = (Duration::from_hours(1), Instant::now() + Duration::from_mins(5));
        let mut connection = Multiplexed::open(wire, retires).await.ok().unwrap();
        let before = retires.checked_sub(Duration::from_secs(1)).unwrap();
        assert!(connection.is_kept(before, keep_alive) && connection.stream().is_some());
        let stream = connection.stream();
        assert!(connection.is_kept(retires, keep_alive), "it has a stream");
        assert!(connection.stream().is_none(), "it gets no other");
        drop(stream);
        assert!(!connection.is_kept(retires, keep_alive));
    }
}
