//! Who is woken for a connection that has no task of its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use futures_util::task::AtomicWaker;

/// Rings for the task that polled last.
const LOUD: u8 = 0;
/// That task is polling: what its two ends tell each other meanwhile, it is about to see.
const QUIET: u8 = 1;
/// It was to ring while it was quiet.
const MISSED: u8 = 2;

/// Wakes whoever polled a connection last, but not while it polls: the ends of a connection wake each other with each thing
/// that they hand over, and the task would run once more, to find nothing.
pub(super) struct Bell {
    rope: Arc<Rope>,
    waker: Waker,
}

#[derive(Default)]
struct Rope {
    mood: AtomicU8,
    task: AtomicWaker,
}

impl Bell {
    /// Polls the near end of a connection and, if nothing is there yet, the far one and the near one again. If that comes to
    /// nothing although the far end called, the task is woken.
    pub(super) fn poll<T>(
        &self,
        context: &Context<'_>,
        mut near: impl FnMut(&mut Context<'_>) -> Poll<T>,
        far: impl FnOnce(&mut Context<'_>),
    ) -> Poll<T> {
        self.rope.task.register(context.waker());
        self.rope.mood.store(QUIET, Ordering::Release);
        let mut own = Context::from_waker(&self.waker);
        let mut polled = near(&mut own);
        if polled.is_pending() {
            // What was called until now, the far end is about to see.
            self.rope.mood.store(QUIET, Ordering::Release);
            far(&mut own);
            polled = near(&mut own);
        }
        if self.rope.mood.swap(LOUD, Ordering::AcqRel) == MISSED && polled.is_pending() {
            context.waker().wake_by_ref();
        }
        polled
    }
}

impl Default for Bell {
    fn default() -> Self {
        let rope = Arc::new(Rope::default());
        Self { waker: Waker::from(rope.clone()), rope }
    }
}

impl Wake for Rope {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let quiet = self.mood.compare_exchange(QUIET, MISSED, Ordering::AcqRel, Ordering::Acquire);
        if quiet == Err(LOUD) {
            self.task.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;

    #[derive(Default)]
    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    struct World {
        count: Arc<Count>,
        bell: Bell,
    }

    impl World {
        fn new() -> Self {
            Self { count: Arc::default(), bell: Bell::default() }
        }

        /// Polls, where the ends call as often as they are told to; the waker that they saw, and how often the task was woken in all.
        fn poll(&self, near_calls: bool, far_calls: bool, outcome: Poll<()>) -> (Waker, usize) {
            let waker = Waker::from(self.count.clone());
            let mut seen = Waker::noop().clone();
            let (mut is_first, call) = (true, |calls: bool, context: &mut Context<'_>| {
                if calls {
                    context.waker().wake_by_ref();
                }
            });
            let near = |context: &mut Context<'_>| {
                seen.clone_from(context.waker());
                let first = std::mem::take(&mut is_first);
                call(near_calls && first, context);
                if first { Poll::Pending } else { outcome }
            };
            let polled =
                self.bell.poll(&Context::from_waker(&waker), near, |context| call(far_calls, context));
            assert_eq!(polled, outcome);
            (seen, self.woken())
        }

        fn woken(&self) -> usize {
            self.count.0.load(Ordering::Relaxed)
        }
    }

    #[test]
    fn between_polls_it_rings_for_the_task_that_polled_last() {
        let (world, other) = (World::new(), Arc::new(Count::default()));
        let (waker, _) = world.poll(false, false, Poll::Pending);
        waker.wake_by_ref();
        waker.wake_by_ref();
        assert_eq!(world.woken(), 1, "once for each poll");
        let other_waker = Waker::from(other.clone());
        let _ = world.bell.poll(&Context::from_waker(&other_waker), |_| Poll::<()>::Pending, |_| {});
        waker.wake();
        assert_eq!((world.woken(), other.0.load(Ordering::Relaxed)), (1, 1));
    }

    #[test]
    fn calls_during_a_poll_that_came_to_something_wake_nobody() {
        let world = World::new();
        let (waker, woken) = world.poll(true, true, Poll::Ready(()));
        assert_eq!(woken, 0);
        waker.wake();
        assert_eq!(world.woken(), 1, "it is loud again");
    }

    #[test]
    fn of_a_poll_that_came_to_nothing_the_call_of_the_far_end_is_passed_on() {
        for (near, far, woken) in [(false, false, 0), (true, false, 0), (false, true, 1), (true, true, 1)] {
            assert_eq!(World::new().poll(near, far, Poll::Pending).1, woken, "{near} {far}");
        }
    }
}
