//! How long an answer is waited for.

use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::time::Instant;

use super::config::Timeouts;
use crate::proxy::alarm::Alarm;
use crate::proxy::body::{Mark, Progress};
use crate::proxy::fault::Fault;

/// How long a body is held back for a server that does not say `100 Continue` (RFC 9110 §10.1.1: not indefinitely).
const CONTINUE_WITHIN: Duration = Duration::from_secs(1);

/// The wait for the head of an answer: from the end of the request, or from the last part of its body that moved.
pub(super) struct Waiting<'a> {
    timeouts: &'a Timeouts,
    progress: Option<&'a Arc<Progress>>,
    deadline: Option<Instant>,
    last: Option<(Mark, Instant)>,
}

impl<'a> Waiting<'a> {
    pub(super) const fn new(
        timeouts: &'a Timeouts,
        progress: Option<&'a Arc<Progress>>,
        deadline: Option<Instant>,
    ) -> Self {
        Self { timeouts, progress, deadline, last: None }
    }

    /// Ready when it has lasted too long.
    pub(super) fn poll(&mut self, context: &mut Context<'_>, alarm: &mut Alarm) -> Poll<Fault> {
        let mark = self.progress.map_or(Mark::NO_BODY, |progress| progress.mark());
        let since = match self.last {
            Some((last, since)) if last == mark => since,
            _ => Instant::now(),
        };
        self.last = Some((mark, since));
        let held = self.progress.filter(|progress| progress.is_held());
        let span = match held {
            Some(_) => CONTINUE_WITHIN,
            None if mark.ended => self.timeouts.first_byte,
            None => self.timeouts.idle,
        };
        let until = self.deadline.map_or(since + span, |deadline| deadline.min(since + span));
        ready!(alarm.poll_until(context, until));
        if let Some(progress) = held
            && self.deadline.is_none_or(|deadline| until < deadline)
        {
            self.last = None;
            progress.release();
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        Poll::Ready(self.progress.map_or(Fault::Timeout, |progress| progress.standstill()))
    }
}
