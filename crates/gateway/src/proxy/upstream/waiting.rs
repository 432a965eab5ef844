//! How long an answer is waited for.

use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::time::Instant;

use super::attempt::Course;
use super::config::Timeouts;
use crate::proxy::alarm::Alarm;
use crate::proxy::body::Mark;
use crate::proxy::fault::Fault;

/// How long a body is held back for a server that does not say `100 Continue` (RFC 9110 §10.1.1: not indefinitely).
const CONTINUE_WITHIN: Duration = Duration::from_secs(1);

/// The wait for the head of an answer: from the end of the request, or from the last part of its body that moved.
pub(super) struct Waiting<'a> {
    timeouts: &'a Timeouts,
    course: &'a Course,
    last: Option<(Mark, Instant)>,
}

impl<'a> Waiting<'a> {
    pub(super) const fn new(timeouts: &'a Timeouts, course: &'a Course) -> Self {
        Self { timeouts, course, last: None }
    }

    /// Ready when it has lasted too long.
    pub(super) fn poll(&mut self, context: &mut Context<'_>, alarm: &mut Alarm) -> Poll<Fault> {
        let Course { progress, deadline, .. } = self.course;
        let mark = progress.as_ref().map_or(Mark::NO_BODY, |progress| progress.mark());
        let since = match self.last {
            Some((last, since)) if last == mark => since,
            _ => Instant::now(),
        };
        self.last = Some((mark, since));
        let held = progress.as_ref().filter(|progress| progress.is_held());
        let own = if mark.ended || held.is_some() { self.timeouts.first_byte } else { self.timeouts.idle };
        let span = if held.is_some() { CONTINUE_WITHIN } else { own };
        let until = deadline.map_or(since + span, |deadline| deadline.min(since + span));
        ready!(alarm.poll_until(context, until));
        let is_out_of_time = deadline.is_some_and(|deadline| deadline <= until);
        if let Some(progress) = held
            && !is_out_of_time
        {
            self.last = None;
            progress.release();
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        Poll::Ready(match progress.as_ref().map_or(Fault::Timeout, |progress| progress.standstill()) {
            Fault::Timeout if is_out_of_time => self.course.out_of_time(since, own),
            fault => fault,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_server_that_got_what_others_had_left_is_not_to_blame() {
        let timeouts = Timeouts { first_byte: Duration::from_secs(30), ..Timeouts::default() };
        for (used_up, total, expected) in [
            (0, 10, Fault::Timeout),
            (5, 10, Fault::Timeout),
            (6, 10, Fault::OutOfTime),
            (11, 10, Fault::OutOfTime),
            (80, 100, Fault::Timeout),
            (90, 100, Fault::OutOfTime),
            (60, 100, Fault::Timeout),
        ] {
            let (start, total) = (Instant::now(), Duration::from_secs(total));
            tokio::time::advance(Duration::from_secs(used_up)).await;
            let course = Course { deadline: Some(start + total), total: Some(total), ..Course::default() };
            let (mut waiting, mut alarm) = (Waiting::new(&timeouts, &course), Alarm::default());
            let fault = poll_fn(|context| waiting.poll(context, &mut alarm)).await;
            assert_eq!(fault, expected, "{used_up} s of {total:?}");
            assert!(fault.status() == 504 && fault.label() == "timeout");
        }
    }
}
