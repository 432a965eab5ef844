//! One connection as its three sides see it: who supervises it, what carries its bytes, what answers its requests.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};

use futures_util::task::AtomicWaker;
use hyper::body::Incoming;

use super::quiet::QuietWaker;
use super::rest::{After, MOST_STREAMS, Rest, Stage};
use crate::header_lines::MAX_HEADER_LINES_AT_ONCE;

/// What a connection is to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
#[repr(u8)]
pub(crate) enum Order {
    #[default]
    Continue,
    /// The next answer over HTTP/1.1 is the last one, and says so. It is waited for.
    Leave,
    /// Finish what is in flight and end.
    Drain,
    /// The first request has not come in time: say so, if any of it has, and end.
    Late,
    /// End now.
    Cut,
}

/// One connection.
#[derive(Debug, Default)]
pub(crate) struct Record {
    requests: AtomicU32,
    order: AtomicU8,
    /// Whether it was asked once more since it is to end.
    asked: AtomicBool,
    waker: AtomicWaker,
    /// Whether the client may still be sending: bytes came since the last request, or that has a body.
    sending: AtomicBool,
    /// Whether the last request has a body.
    has_body: AtomicBool,
    /// What is left of its body, over HTTP/1.1.
    rest: Rest,
    /// Whether some of a first head over HTTP/1.1 came.
    begun: AtomicBool,
    /// After how many requests some of another head over HTTP/1.1 came; 0: none of it.
    begun_after: AtomicU32,
    /// Whether such a head did not go on in time.
    head_is_late: AtomicBool,
    /// Whether the client was told that a head is late.
    refused_late: AtomicBool,
    /// Whether it is HTTP no more.
    switched: AtomicBool,
    /// Whether it is just being told to drain: what ends meanwhile was idle.
    draining: AtomicBool,
    /// Whether it speaks HTTP/2.
    is_http2: AtomicBool,
    /// Over HTTP/2, how many bytes were written beyond those that were read: what is answered to PINGs and their like is no longer
    /// than these.
    taken: AtomicI64,
    /// Over HTTP/2, how many answers are worked on: they are being made, or their next part is waited for.
    under_way: AtomicU32,
    /// Over HTTP/2, how many lines the heads of those requests have that are not answered.
    head_lines: AtomicUsize,
    /// Over HTTP/2, of how many requests that were answered the rest of the body is read away.
    read_away: AtomicU32,
    /// Over HTTP/1.1, how many bytes had come and gone, and one more, when what is to be written was last found to wait for its client;
    /// 0: nothing waits.
    waiting: AtomicU64,
}

impl Record {
    /// Notes that a request arrived.
    pub(crate) fn count_request(&self, has_body: bool) {
        self.requests.fetch_add(1, Ordering::Relaxed);
        self.sending.store(has_body, Ordering::Relaxed);
        self.has_body.store(has_body, Ordering::Relaxed);
    }

    /// Whether the last request has a body.
    pub(crate) fn has_body(&self) -> bool {
        self.has_body.load(Ordering::Relaxed)
    }

    /// Notes how far the body of the last request is, which came over HTTP/1.1.
    pub(crate) fn begin_body(&self, stage: Stage) {
        self.rest.begin(self.requests(), stage);
    }

    /// Notes that the body of a request is asked for, and how much of it is left.
    pub(crate) fn hold_body(&self, request: u32, stage: Stage) {
        self.rest.hold(request, stage);
    }

    /// Notes that nothing more of the body of a request comes.
    pub(crate) fn end_body(&self, request: u32, stage: Stage) {
        self.rest.end(request, stage);
    }

    /// Takes the body of a request back that was not read to its end. One of a request before the last has come, or none would have
    /// followed.
    pub(crate) fn take_back(&self, body: Incoming, request: u32) {
        if self.order() != Order::Continue {
            self.rest.give_up(request);
        } else if self.rest.keep(body, request) {
            self.waker.wake();
        }
    }

    /// Ready when the head of the answer to the last request may go out: what becomes of the connection then. One that ends waits for
    /// nothing that is left, and over HTTP/1.1 says that it does: nothing else may, if it was told so only now.
    pub(crate) fn poll_before_head(&self, context: &mut Context<'_>) -> Poll<After> {
        let (request, ends) = (self.requests(), self.order() != Order::Continue);
        if ends {
            self.rest.give_up(request);
        }
        let after = ready!(self.rest.poll_before_head(request, context));
        Poll::Ready(if ends && !self.is_http2() { After::Ends } else { after })
    }

    /// Notes that a request over HTTP/2 begins whose head has so many lines; whether there is room for them beside those of the others.
    /// If not, the connection ends after these: its client goes on with another one.
    pub(crate) fn begin_head(&self, lines: usize) -> bool {
        let all = self.head_lines.fetch_add(lines, Ordering::Relaxed).saturating_add(lines);
        let has_room = all <= MAX_HEADER_LINES_AT_ONCE;
        if !has_room {
            self.end_head(lines);
            self.give(Order::Drain);
        }
        has_room
    }

    /// Notes that such a request is answered, or given up.
    pub(crate) fn end_head(&self, lines: usize) {
        self.head_lines.fetch_sub(lines, Ordering::Relaxed);
    }

    /// Notes that what is left of the body of a request over HTTP/2 begins to be read away; whether it may, beside those of others.
    pub(crate) fn begin_reading_away(&self) -> bool {
        let one_more = |bodies: u32| (bodies < MOST_STREAMS).then_some(bodies + 1);
        self.read_away.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more).is_ok()
    }

    /// Notes that nothing more of it is read.
    pub(crate) fn end_reading_away(&self) {
        self.read_away.fetch_sub(1, Ordering::Relaxed);
    }

    /// How many requests arrived.
    pub(crate) fn requests(&self) -> u32 {
        self.requests.load(Ordering::Relaxed)
    }

    /// Notes that bytes came.
    pub(crate) fn read(&self) {
        self.sending.store(true, Ordering::Relaxed);
    }

    /// Notes that a first head over HTTP/1.1 has begun.
    pub(crate) fn begin(&self) {
        self.begun.store(true, Ordering::Relaxed);
    }

    /// Notes that another head has begun after so many requests; 0: that it has ended without becoming one.
    pub(crate) fn begin_after(&self, requests: u32) {
        self.begun_after.store(requests, Ordering::Relaxed);
    }

    /// Whether a head after the first has begun and is not complete.
    pub(crate) fn has_begun_another(&self) -> bool {
        let requests = self.requests();
        requests > 0 && self.begun_after.load(Ordering::Relaxed) == requests
    }

    /// Ends the connection for a head after the first that does not go on.
    pub(crate) fn end_late_head(&self) {
        self.head_is_late.store(true, Ordering::Relaxed);
        self.give(Order::Drain);
    }

    /// Whether the connection, which is idle but for a head that is late, is waited for no longer. Where it ends for another
    /// reason nothing is said of the head: its client sends it again elsewhere.
    pub(crate) fn ends_within_late_head(&self) -> bool {
        self.head_is_late.load(Ordering::Relaxed)
            && self.draining.load(Ordering::Relaxed)
            && self.has_begun_another()
    }

    /// Notes that the client was told that a head is late.
    pub(crate) fn refuse_late(&self) {
        self.refused_late.store(true, Ordering::Relaxed);
    }

    /// Whether it was.
    pub(crate) fn has_refused_late(&self) -> bool {
        self.refused_late.load(Ordering::Relaxed)
    }

    /// Notes that what follows is not HTTP.
    pub(crate) fn switch(&self) {
        self.rest.give_up(self.requests());
        self.switched.store(true, Ordering::Relaxed);
    }

    /// Whether what comes is not HTTP.
    pub(crate) fn is_switched(&self) -> bool {
        self.switched.load(Ordering::Relaxed)
    }

    /// Notes that so many bytes came over HTTP/2.
    pub(crate) fn read_http2(&self, bytes: usize) {
        self.is_http2.store(true, Ordering::Relaxed);
        self.taken.fetch_sub(i64::try_from(bytes).unwrap_or(i64::MAX), Ordering::Relaxed);
    }

    /// Notes that so many bytes went over HTTP/2.
    pub(crate) fn wrote_http2(&self, bytes: usize) {
        self.taken.fetch_add(i64::try_from(bytes).unwrap_or(i64::MAX), Ordering::Relaxed);
    }

    /// Notes that an answer over HTTP/2 is worked on.
    pub(crate) fn begin_work(&self) {
        self.under_way.fetch_add(1, Ordering::Relaxed);
    }

    /// Notes that it is no longer: it is for its client to take what there is.
    pub(crate) fn end_work(&self) {
        self.under_way.fetch_sub(1, Ordering::Relaxed);
    }

    /// Notes that what is to be written over HTTP/1.1 waits for its client, after so many bytes that came and went.
    pub(crate) fn wait_for_client(&self, moved: u64) {
        self.waiting.store(moved.saturating_add(1), Ordering::Relaxed);
    }

    /// Notes that all of it was written. Mostly nothing waited, and there is nothing to note.
    pub(crate) fn wait_no_longer(&self) {
        if self.waiting.load(Ordering::Relaxed) != 0 {
            self.waiting.store(0, Ordering::Relaxed);
        }
    }

    /// Whether it speaks HTTP/2.
    pub(crate) fn is_http2(&self) -> bool {
        self.is_http2.load(Ordering::Relaxed)
    }

    /// Of a connection that was told to end and waits for its client alone to take what it was answered: how many bytes that has
    /// taken. Over HTTP/2 a client may take nothing and answer PINGs for ever. Over HTTP/1.1 it may take a little now and then; there what
    /// it sends counts, too: one that sends all of a body before it reads is not at rest.
    pub(crate) fn taken_at_last(&self) -> Option<i64> {
        if self.order() < Order::Drain {
            return None;
        }
        if self.is_http2() {
            let is_worked_on = self.under_way.load(Ordering::Relaxed) > 0;
            return (!is_worked_on).then(|| self.taken.load(Ordering::Relaxed));
        }
        let waiting = self.waiting.load(Ordering::Relaxed);
        let waits = waiting > 0 && !self.is_switched();
        waits.then(|| i64::try_from(waiting).unwrap_or(i64::MAX))
    }

    /// Whether a client may lose an answer if its connection is closed now, since it still sends.
    pub(crate) fn may_lose_its_answer(&self) -> bool {
        self.sending.load(Ordering::Relaxed) && !self.draining.load(Ordering::Relaxed) && !self.is_switched()
    }

    /// Whether the first request is late, and was not there either when the connection was asked once more.
    pub(crate) fn is_late(&self) -> bool {
        self.order() == Order::Late && self.requests() == 0 && self.asked.load(Ordering::Relaxed)
    }

    /// Gives an order, unless a stricter one was given.
    pub(crate) fn give(&self, order: Order) {
        let is_new = self.order.fetch_max(order as u8, Ordering::AcqRel) < order as u8;
        // That it is to leave a connection sees when it answers.
        if is_new && order > Order::Leave {
            self.waker.wake();
        }
    }

    /// The strictest order that was given.
    pub(crate) fn order(&self) -> Order {
        match self.order.load(Ordering::Acquire) {
            0 => Order::Continue,
            1 => Order::Leave,
            2 => Order::Drain,
            3 => Order::Late,
            _ => Order::Cut,
        }
    }

    /// Lets the connection end after the answer that is awaited, or now if none is.
    pub(crate) fn end_after_answer(&self) {
        self.give(Order::Drain);
    }

    /// What is left of the order: a request that came at the last moment is answered, and nothing is said to a client that
    /// said nothing.
    fn due(&self) -> Order {
        match self.order() {
            Order::Late if self.requests() > 0 => Order::Drain,
            Order::Late if !self.begun.load(Ordering::Relaxed) => Order::Cut,
            // Where HTTP/2 was agreed on hyper would wait for the client to begin.
            Order::Drain if self.has_heard_nothing() => Order::Cut,
            order => order,
        }
    }

    /// Whether not a byte has come.
    fn has_heard_nothing(&self) -> bool {
        self.requests() == 0 && !self.sending.load(Ordering::Relaxed)
    }

    /// Whether it is to end, and was not asked since whether a request has come.
    fn is_to_be_asked(&self) -> bool {
        matches!(self.order(), Order::Drain | Order::Late) && !self.asked.load(Ordering::Relaxed)
    }

    /// Runs a connection under orders. `None` if it was cut. One that is to end as it is idle is asked once more before: what its client
    /// has sent by then may be a request that nobody has read.
    pub(crate) async fn supervise<C: Drainable>(&self, mut connection: Pin<&mut C>) -> Option<C::Output> {
        let mut told = false;
        let mut waker = QuietWaker::default();
        poll_fn(|context: &mut Context<'_>| {
            self.waker.register(context.waker());
            let quiet = &mut waker.context(context.waker());
            if self.is_to_be_asked() {
                if let Poll::Ready(output) = connection.as_mut().poll(quiet) {
                    return Poll::Ready(Some(output));
                }
                self.asked.store(true, Ordering::Relaxed);
            }
            let polled = match self.due() {
                Order::Cut => return Poll::Ready(None),
                Order::Drain if !told => {
                    told = true;
                    connection.as_mut().drain();
                    self.draining.store(true, Ordering::Relaxed);
                    let polled = connection.as_mut().poll(quiet).map(Some);
                    self.draining.store(false, Ordering::Relaxed);
                    polled
                }
                Order::Drain | Order::Late | Order::Leave | Order::Continue => {
                    connection.as_mut().poll(quiet).map(Some)
                }
            };
            if polled.is_pending() {
                self.rest.read_away(self.requests(), context);
            }
            polled
        })
        .await
    }
}

/// A connection that can be told to end after what is in flight.
pub(crate) trait Drainable: Future {
    /// Begins to end.
    fn drain(self: Pin<&mut Self>);
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use super::*;

    /// A connection that reads a request, if one has come, and answers it when it is polled again. It closes when it is told to end and
    /// has read none, and reads nothing more once that is late.
    struct Fake<'a> {
        record: &'a Record,
        has_come: bool,
        is_busy: bool,
        is_closed: bool,
    }

    impl<'a> Fake<'a> {
        fn new(record: &'a Record, has_come: bool) -> Self {
            Self { record, has_come, is_busy: false, is_closed: false }
        }
    }

    impl Future for Fake<'_> {
        type Output = &'static str;

        fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
            if self.record.is_late() {
                return Poll::Ready("refused");
            }
            if std::mem::take(&mut self.has_come) {
                self.is_busy = true;
                self.record.read();
                self.record.count_request(false);
                context.waker().wake_by_ref();
                return Poll::Pending;
            }
            match (self.is_busy, self.is_closed) {
                (true, _) => Poll::Ready("answered"),
                (false, true) => Poll::Ready("closed"),
                (false, false) => Poll::Pending,
            }
        }
    }

    impl Drainable for Fake<'_> {
        fn drain(mut self: Pin<&mut Self>) {
            self.is_closed = !self.is_busy;
        }
    }

    /// What becomes of a connection on which so many requests were answered when it is told to end.
    async fn told_to_end(answered: u32, has_come: bool) -> Option<&'static str> {
        let record = Record::default();
        (0..answered).for_each(|_| record.count_request(false));
        record.give(Order::Drain);
        record.supervise(pin!(Fake::new(&record, has_come))).await
    }

    #[tokio::test]
    async fn a_request_that_has_come_and_nobody_has_read_is_answered_before_its_connection_ends() {
        assert_eq!(told_to_end(0, true).await, Some("answered"));
        assert_eq!(told_to_end(1, true).await, Some("answered"));
        assert_eq!(told_to_end(0, false).await, None);
        assert_eq!(told_to_end(1, false).await, Some("closed"));
    }

    /// What becomes of a connection whose first request is late, after some of its head or none of it.
    async fn late(has_begun: bool, has_come: bool) -> Option<&'static str> {
        let record = Record::default();
        if has_begun {
            record.begin();
        }
        record.give(Order::Late);
        record.supervise(pin!(Fake::new(&record, has_come))).await
    }

    #[tokio::test]
    async fn a_first_request_that_has_come_and_nobody_has_read_is_answered_before_it_is_late() {
        assert_eq!(late(false, true).await, Some("answered"));
        assert_eq!(late(true, true).await, Some("answered"));
        assert_eq!(late(true, false).await, Some("refused"));
        assert_eq!(late(false, false).await, None);
    }

    #[tokio::test]
    async fn a_connection_that_ends_at_once_reads_nothing_more() {
        let record = Record::default();
        record.give(Order::Cut);
        let mut fake = pin!(Fake::new(&record, true));
        assert_eq!(record.supervise(fake.as_mut()).await, None);
        assert!(fake.has_come);
    }
}
