//! How long an answer may take. A timer for each request would cost as much as reading the answer: this one runs down once in a
//! while, and is set anew only then.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep};

/// Of one user.
pub(super) struct Patience {
    limit: Duration,
    /// Made with the first request: it belongs to the runtime of its thread.
    timer: Option<Pin<Box<Sleep>>>,
}

impl Patience {
    pub(super) const fn new(limit: Duration) -> Self {
        Self { limit, timer: None }
    }

    /// What the work comes to, unless it takes longer from `now` on than the limit.
    pub(super) async fn with<T>(&mut self, now: Instant, work: impl Future<Output = T>) -> Option<T> {
        let deadline = now + self.limit;
        let timer = self.timer.get_or_insert_with(|| Box::pin(sleep(self.limit)));
        let mut work = pin!(work);
        poll_fn(|context| {
            if let Poll::Ready(done) = work.as_mut().poll(context) {
                return Poll::Ready(Some(done));
            }
            while timer.as_mut().poll(context).is_ready() {
                if Instant::now() >= deadline {
                    return Poll::Ready(None);
                }
                timer.as_mut().reset(deadline);
            }
            Poll::Pending
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use super::*;

    const LIMIT: Duration = Duration::from_secs(30);

    #[tokio::test(start_paused = true)]
    async fn what_never_ends_is_given_up_at_the_limit() {
        let (start, mut patience) = (Instant::now(), Patience::new(LIMIT));
        assert_eq!(patience.with(start, pending::<()>()).await, None);
        assert_eq!(start.elapsed(), LIMIT);
    }

    #[tokio::test(start_paused = true)]
    async fn each_request_has_the_whole_limit() {
        let (start, mut patience) = (Instant::now(), Patience::new(LIMIT));
        for _ in 0..10 {
            assert_eq!(patience.with(Instant::now(), sleep(Duration::from_secs(20))).await, Some(()));
        }
        assert_eq!(start.elapsed(), Duration::from_secs(200));
        let last = Instant::now();
        assert_eq!(patience.with(last, pending::<()>()).await, None);
        assert_eq!(last.elapsed(), LIMIT);
    }
}
