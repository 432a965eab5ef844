//! Timeouts that cost nothing while all is well.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::time::{Instant, Sleep, sleep_until};

/// A timer that is used again and again. A deadline that moves on does not move the timer: it rings early then, and is set
/// anew, once for each time-out instead of once for each request.
#[derive(Debug, Default)]
pub(super) struct Alarm(Option<Pin<Box<Sleep>>>);

impl Alarm {
    /// Ready once `deadline` has passed; wakes the task then.
    pub(super) fn poll_until(&mut self, context: &mut Context<'_>, deadline: Instant) -> Poll<()> {
        let sleep = self.0.get_or_insert_with(|| Box::pin(sleep_until(deadline)));
        if sleep.deadline() > deadline {
            sleep.as_mut().reset(deadline);
        }
        loop {
            ready!(sleep.as_mut().poll(context));
            if Instant::now() >= deadline {
                return Poll::Ready(());
            }
            sleep.as_mut().reset(deadline);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_deadline_that_moves_either_way_is_kept() {
        let (mut alarm, start) = (Alarm::default(), Instant::now());
        let seconds = |seconds| start + Duration::from_secs(seconds);
        for (first, second) in [(30, 60), (90, 70), (71, 71)] {
            let polled = poll_fn(|context| Poll::Ready(alarm.poll_until(context, seconds(first)))).await;
            assert_eq!(polled.is_ready(), Instant::now() >= seconds(first));
            poll_fn(|context| alarm.poll_until(context, seconds(second))).await;
            assert_eq!(Instant::now().duration_since(start).as_secs(), second);
        }
    }
}
