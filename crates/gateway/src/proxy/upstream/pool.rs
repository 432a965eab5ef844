//! An upstream as one core sees it: its connections, and the choice among its servers.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Waker};
use std::time::Duration;

use http::HeaderValue;
use parking_lot::Mutex;
use tokio::time::{Instant, timeout_at};

use super::attempt::Course;
use super::config::{Timeouts, UpstreamProtocol};
use super::connect::connect;
use super::health::Server;
use super::link::Link;
use super::multiplexed::{Multiplexed, Stream};
use super::shared::SharedUpstream;
use super::spare::Spares;
use super::stream_limit::StreamLimit;
use crate::proxy::body::BodyError;
use crate::proxy::fault::{AnswerFault, Fault};

/// An upstream, with the connections of one core.
pub(in crate::proxy) struct Upstream {
    pub(super) shared: Arc<SharedUpstream>,
    core: usize,
    turn: AtomicU64,
    /// So many connections were made.
    made: AtomicU64,
    pools: Vec<Pool>,
    pub(super) spares: Spares,
    /// Whether nobody looks after its connections any more.
    is_closed: AtomicBool,
}

/// No connection.
pub(super) struct Unreached {
    pub(super) fault: Fault,
    /// Whether another request tried.
    pub(super) is_shared: bool,
}

impl From<Fault> for Unreached {
    fn from(fault: Fault) -> Self {
        Self { fault, is_shared: false }
    }
}

/// Connections to one server, and what is said of it in every request. Only this core's requests use them, so that neither
/// locks nor counts of references are fought for.
struct Pool {
    label: Arc<str>,
    host: HeaderValue,
    /// Last in, first out: those that are not needed grow old.
    idle: Mutex<Vec<Link>>,
    multiplexed: Mutex<Vec<Multiplexed>>,
    /// Held while a connection over HTTP/2 is made, or while somebody waits to hear how many streams it may have: who comes meanwhile
    /// waits for it, and for no other if it fails. When the last one failed, and why.
    opening: tokio::sync::Mutex<Option<(Instant, Fault)>>,
}

impl Upstream {
    pub(super) fn new(shared: Arc<SharedUpstream>, core: usize) -> Self {
        let pools = shared.servers.iter().map(|server| Pool::new(server)).collect();
        // Another one for each core: what they make at once does not retire at once.
        let made = AtomicU64::new(u64::try_from(core).unwrap_or_default());
        let (turn, spares, is_closed) = (AtomicU64::new(0), Spares::default(), AtomicBool::new(false));
        Self { shared, core, turn, made, pools, spares, is_closed }
    }

    /// Whether HTTP/1.1 is spoken with it.
    pub(in crate::proxy) fn is_http1(&self) -> bool {
        self.shared.config.protocol == UpstreamProtocol::Http1
    }

    /// How long what may take.
    pub(in crate::proxy) fn timeouts(&self) -> &Timeouts {
        &self.shared.config.timeouts
    }

    pub(super) fn server(&self, server: usize) -> Option<&Arc<Server>> {
        self.shared.servers.get(server)
    }

    /// The server for a request, by weight among those that are well and not in the set `tried`; if there are none, of
    /// any that are left.
    pub(super) fn choose(&self, tried: u64) -> usize {
        let servers = &self.shared.servers;
        if servers.len() == 1 {
            return 0;
        }
        let untried = |place: usize| place >= 64 || tried >> place & 1 == 0;
        let weight = |place: usize, server: &Server| match (untried(place), server.is_well()) {
            (true, true) => u64::from(server.config.weight.get()),
            _ => 0,
        };
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        let well = servers.iter().enumerate().map(|(place, server)| weight(place, server));
        let any = servers
            .iter()
            .enumerate()
            .map(|(place, server)| u64::from(server.config.weight.get()) * u64::from(untried(place)));
        by_weight(turn, well).or_else(|| by_weight(turn, any)).unwrap_or_default()
    }

    /// `host:port` of `server`.
    pub(super) fn label(&self, server: usize) -> Option<Arc<str>> {
        self.pools.get(server).map(|pool| pool.label.clone())
    }

    /// The `Host` of requests to `server`, where the client's is not kept.
    pub(super) fn host(&self, server: usize) -> Option<HeaderValue> {
        self.pools.get(server).map(|pool| pool.host.clone())
    }

    /// An idle connection to `server`.
    pub(super) fn take_idle(&self, server: usize) -> Option<Link> {
        self.pools.get(server)?.idle.lock().pop()
    }

    /// A new connection to `server`, if it is made before the exchange must have ended.
    pub(super) async fn open_link(&self, server: usize, course: &Course) -> Result<Link, Fault> {
        let Some(to) = self.shared.servers.get(server) else { return Err(Fault::NoUpstream) };
        let opening = async { Link::open(connect(&self.shared, to).await?, self.retires()).await };
        let Some(deadline) = course.deadline else { return opening.await };
        let began = Instant::now();
        let out_of_time = |_| Err(course.out_of_time(began, self.timeouts().connect));
        timeout_at(deadline, opening).await.unwrap_or_else(out_of_time)
    }

    /// A stream to `server` on a connection with room for one more.
    pub(super) fn free_stream(&self, server: usize) -> Option<Stream> {
        self.pools.get(server)?.free_stream()
    }

    /// A stream to `server`, on a connection that may have to be made before the exchange must have ended.
    pub(super) async fn stream(
        self: &Arc<Self>,
        server: usize,
        course: &Course,
    ) -> Result<Stream, Unreached> {
        let Some(pool) = self.pools.get(server) else { return Err(Fault::NoUpstream.into()) };
        if let Some(stream) = pool.free_stream() {
            return Ok(stream);
        }
        let Some(deadline) = course.deadline else { return self.open_stream(server).await };
        let began = Instant::now();
        // One that is made already is another's, who speaks for all.
        let is_shared = pool.opening.try_lock().is_err();
        // On its own: others wait for the same connection, and whoever comes next will want it.
        let upstream = self.clone();
        let opening = tokio::spawn(async move { upstream.open_stream(server).await });
        let Ok(opened) = timeout_at(deadline, opening).await else {
            let fault = course.out_of_time(began, self.timeouts().connect);
            return Err(Unreached { fault, is_shared });
        };
        opened.unwrap_or_else(|_| Err(Fault::Connect.into()))
    }

    /// A stream on the connection that is being made, or on a new one.
    async fn open_stream(&self, server: usize) -> Result<Stream, Unreached> {
        let (Some(to), Some(pool)) = (self.shared.servers.get(server), self.pools.get(server)) else {
            return Err(Fault::NoUpstream.into());
        };
        let asked_at = Instant::now();
        let mut last_failure = pool.opening.lock().await;
        if let Some(stream) = pool.free_stream() {
            return Ok(stream);
        }
        if let Some((at, fault)) = *last_failure
            && at >= asked_at
        {
            return Err(Unreached { fault, is_shared: true });
        }
        // A connection may do for more requests once its server has said for how many.
        if let Some(limit) = pool.unsaid_limit() {
            limit.said(self.timeouts().connect).await;
            if let Some(stream) = pool.free_stream() {
                return Ok(stream);
            }
        }
        if pool.permits_none() {
            return Err(Fault::Overloaded.into());
        }
        let made = async { Multiplexed::open(connect(&self.shared, to).await?, self.retires()).await }.await;
        let made = made.inspect_err(|fault| *last_failure = Some((Instant::now(), *fault)))?;
        let stream = made.stream().ok_or(Fault::Reset);
        pool.multiplexed.lock().push(made);
        Ok(stream?)
    }

    /// Closes the idle connections to `server`: one of them was dead.
    pub(super) fn forget_idle(&self, server: usize) {
        if let Some(pool) = self.pools.get(server) {
            let dead = std::mem::take(&mut *pool.idle.lock());
            drop(dead);
        }
    }

    /// Closes its connections, each when what is under way on it has ended.
    pub(super) fn close(&self) {
        self.is_closed.store(true, Ordering::Relaxed);
        for pool in &self.pools {
            let idle = std::mem::take(&mut *pool.idle.lock());
            let multiplexed = std::mem::take(&mut *pool.multiplexed.lock());
            drop((idle, multiplexed));
        }
    }

    /// Whether it keeps no connections any more.
    pub(super) fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Relaxed)
    }

    /// When a connection that is made now is too old.
    fn retires(&self) -> Instant {
        let number = self.made.fetch_add(1, Ordering::Relaxed);
        Instant::now() + spread(self.timeouts().max_age, number)
    }

    /// Closes connections that are too old or were idle too long, and those that the server has closed.
    pub(super) fn sweep(&self, now: Instant) {
        let keep_alive = self.shared.config.timeouts.keep_alive;
        let mut context = Context::from_waker(Waker::noop());
        for pool in &self.pools {
            let mut stays = |link: &mut Link| link.may_stay(now, keep_alive) && link.is_usable(&mut context);
            pool.idle.lock().retain_mut(&mut stays);
            pool.multiplexed.lock().retain_mut(|connection| connection.is_kept(now, keep_alive));
        }
    }
}

impl Pool {
    /// Of `server`, with copies of what requests need.
    fn new(server: &Server) -> Self {
        Self {
            label: Arc::from(&*server.label),
            host: HeaderValue::from_bytes(server.host.as_bytes()).unwrap_or_else(|_| server.host.clone()),
            idle: Mutex::default(),
            multiplexed: Mutex::default(),
            opening: tokio::sync::Mutex::default(),
        }
    }

    /// A stream on a connection with room for one more.
    fn free_stream(&self) -> Option<Stream> {
        self.multiplexed.lock().iter().find_map(Multiplexed::stream)
    }

    /// Whether the server permits no streams, as far as one of its connections knows.
    fn permits_none(&self) -> bool {
        self.multiplexed.lock().iter().any(Multiplexed::permits_none)
    }

    /// How many streams a connection may have, where its server has yet to say it.
    fn unsaid_limit(&self) -> Option<StreamLimit> {
        self.multiplexed.lock().iter().find_map(Multiplexed::unsaid_limit)
    }
}

/// A request that counts as under way until this is dropped.
pub(in crate::proxy) struct Ticket {
    upstream: Arc<Upstream>,
    pub(super) server: usize,
}

impl Ticket {
    /// Lets a request in.
    pub(super) fn enter(upstream: &Arc<Upstream>) -> Result<Self, Fault> {
        upstream.shared.enter(upstream.core)?;
        Ok(Self { upstream: upstream.clone(), server: 0 })
    }

    /// `host:port` of the server that was asked.
    pub(in crate::proxy) fn asked(&self) -> Option<&str> {
        self.upstream.server(self.server).map(|server| &*server.label)
    }

    /// Notes that the answer broke off, and that its server is to blame.
    pub(in crate::proxy) fn note_broken_answer(&self) {
        if let Some(server) = self.upstream.server(self.server) {
            self.upstream.shared.note_broken_answer(server);
        }
    }

    /// Notes that the answer was there to its end.
    pub(in crate::proxy) fn note_whole_answer(&self) {
        if let Some(server) = self.upstream.server(self.server) {
            server.completed();
        }
    }

    /// Says that the answer broke off, if that is to be said.
    pub(in crate::proxy) fn report_broken_answer(&self, fault: AnswerFault, error: &BodyError) {
        if let Some(server) = self.upstream.server(self.server) {
            self.upstream.shared.report_broken_answer(server, fault, error);
        }
    }

    /// Says why an answer can be passed on to nobody, if that is to be said.
    pub(in crate::proxy) fn report_bad_answer(&self, why: &str) {
        if let Some(server) = self.upstream.server(self.server) {
            self.upstream.shared.report_failure(server, Fault::BadAnswer, || why.to_owned());
        }
    }

    /// Puts a connection whose answer was read to its end back into the pool, if it is still good and not too old.
    pub(in crate::proxy) fn give_back(&self, mut link: Link, context: &mut Context<'_>) {
        let Some(pool) = self.upstream.pools.get(self.server) else { return };
        if !link.is_free() && !link.is_usable(context) {
            return;
        }
        if !link.rest(Instant::now()) {
            return;
        }
        let mut idle = pool.idle.lock();
        if idle.len() < self.upstream.shared.config.idle_connections.get() && !self.upstream.is_closed() {
            idle.push(link);
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.upstream.shared.leave(self.upstream.core);
    }
}

/// Multiples of the golden ratio, which never crowd.
const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// Something between four fifths and all of `longest`, another for each number: what was made at once would else end at once, and be made
/// at once again.
fn spread(longest: Duration, number: u64) -> Duration {
    let of_1024 = u32::try_from(number.wrapping_mul(GOLDEN) >> 54).unwrap_or_default();
    longest.saturating_sub(longest / 5 * of_1024 / 1024)
}

/// The place whose turn it is: over time each has its share, spread evenly. `None`: there is no weight at all.
pub(in crate::proxy) fn by_weight(turn: u64, weights: impl Iterator<Item = u64> + Clone) -> Option<usize> {
    let total: u64 = weights.clone().sum();
    let point = (turn.wrapping_mul(GOLDEN) >> 32).checked_mul(total)? >> 32;
    let mut sum = 0;
    weights.into_iter().position(|weight| {
        sum += weight;
        point < sum
    })
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroUsize;

    use http::Request;
    use tokio::net::TcpListener;

    use super::super::config::UpstreamConfig;
    use super::super::given;
    use super::*;
    use crate::proxy::body::RequestBody;

    const AGE: Duration = Duration::from_mins(5);

    /// An upstream whose connections nothing but age ends, and its server.
    async fn upstream(max_age: Duration) -> (Arc<Upstream>, TcpListener) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let config = UpstreamConfig {
            timeouts: Timeouts { keep_alive: AGE * 2, max_age, ..Timeouts::default() },
            idle_connections: NonZeroUsize::new(8).unwrap(),
            ..given::upstream("a", &[port])
        };
        let shared = SharedUpstream::new(Arc::new(config), 1, None);
        (Arc::new(Upstream::new(Arc::new(shared), 0)), listener)
    }

    /// So many new connections are given back; how many are kept.
    async fn kept(upstream: &Arc<Upstream>, many: usize) -> usize {
        let ticket = Ticket::enter(upstream).ok().unwrap();
        for _ in 0..many {
            let link = upstream.open_link(0, &Course::default()).await.ok().unwrap();
            ticket.give_back(link, &mut Context::from_waker(Waker::noop()));
        }
        upstream.pools[0].idle.lock().len()
    }

    #[tokio::test]
    async fn a_connection_goes_at_its_age_however_often_it_was_used() {
        let (upstream, _server) = upstream(AGE).await;
        assert_eq!(kept(&upstream, 3).await, 3);
        let now = Instant::now();
        for (after, left) in [(AGE * 3 / 4, 3), (AGE, 0)] {
            upstream.sweep(now + after);
            assert_eq!(upstream.pools[0].idle.lock().len(), left, "{after:?}");
        }
    }

    #[tokio::test]
    async fn a_connection_that_is_too_old_is_not_given_back() {
        let (upstream, _server) = upstream(Duration::ZERO).await;
        assert_eq!(kept(&upstream, 1).await, 0);
    }

    #[tokio::test]
    async fn a_request_takes_no_room_for_making_a_connection() {
        let (upstream, _server) = upstream(AGE).await;
        let (request, mut course) = (Box::new(Request::new(RequestBody::Empty)), Course::default());
        let room = size_of_val(&upstream.send(request, &mut course));
        assert!(room <= 1200, "{room} bytes");
    }

    #[tokio::test]
    async fn a_closed_upstream_keeps_no_connections() {
        let (upstream, _server) = upstream(AGE).await;
        assert_eq!(kept(&upstream, 2).await, 2);
        upstream.close();
        assert_eq!(kept(&upstream, 0).await, 0);
        assert_eq!(kept(&upstream, 1).await, 0);
    }

    #[test]
    fn connections_that_are_made_at_once_end_one_after_the_other() {
        let mut ends: Vec<Duration> = (0..64).map(|number| spread(AGE, number)).collect();
        ends.sort_unstable();
        assert!(ends[0] >= AGE * 4 / 5 && ends[63] == AGE);
        assert!(ends.windows(2).all(|pair| pair[1] <= pair[0] + Duration::from_secs(3)), "{ends:?}");
    }

    #[test]
    fn every_weight_gets_its_share_and_none_waits_long() {
        let weights = [5_u64, 3, 2, 0];
        let mut count = [0_u64; 4];
        let mut longest_wait = 0;
        let mut last_of_third = 0;
        for turn in 0..1000 {
            let place = by_weight(turn, weights.iter().copied()).unwrap();
            count[place] += 1;
            if place == 2 {
                longest_wait = longest_wait.max(turn - last_of_third);
                last_of_third = turn;
            }
        }
        for (count, weight) in count.into_iter().zip(weights) {
            assert!(count.abs_diff(weight * 100) <= 5, "{count} for {weight}");
        }
        assert!(longest_wait <= 10, "{longest_wait}");
        assert_eq!(by_weight(3, [0, 0].into_iter()), None);
    }
}
