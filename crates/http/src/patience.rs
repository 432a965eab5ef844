//! Time-outs of what seldom waits: a timer is set when there is something to wait for.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use tokio::time::sleep;

/// What comes of `work`; `None`: it was not done within `time` of its first wait.
pub(crate) async fn within<F: Future>(time: Duration, work: F) -> Option<F::Output> {
    let (mut work, mut timer) = (pin!(work), None);
    poll_fn(|cx| {
        if let Poll::Ready(output) = work.as_mut().poll(cx) {
            return Poll::Ready(Some(output));
        }
        let timer = timer.get_or_insert_with(|| Box::pin(sleep(time)));
        timer.as_mut().poll(cx).map(|()| None)
    })
    .await
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn what_is_done_at_once_or_in_time_counts_and_what_is_late_does_not() {
        let second = Duration::from_secs(1);
        assert_eq!(within(Duration::ZERO, ready(1)).await, Some(1));
        assert_eq!(within(second * 2, async { sleep(second).await }).await, Some(()));
        assert_eq!(within(second, async { sleep(second * 2).await }).await, None);
        assert_eq!(within(second, pending::<()>()).await, None);
    }
}
