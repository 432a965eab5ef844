//! Wakes users at their turns, to the microsecond: the clock of the runtime counts milliseconds, which is more than an answer takes.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::io;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::task::{Poll, Waker};
use std::time::{Duration, Instant};

use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// The shortest wait: no time at all would disarm the timer.
const SHORTEST: Duration = Duration::from_micros(1);

/// Of one thread. Who comes later waits for a later moment: turns are handed out in their order.
pub(super) struct Alarm {
    timer: AsyncFd<OwnedFd>,
    waiting: RefCell<VecDeque<(Instant, Waker)>>,
    is_off: Cell<bool>,
}

impl Alarm {
    /// Within a runtime.
    pub(super) fn new() -> io::Result<Rc<Self>> {
        let timer =
            timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC)?;
        #[expect(
            deprecated,
            reason = "its successor is unsafe: it wants what an owned descriptor promises anyway"
        )]
        let timer = AsyncFd::with_interest(timer, Interest::READABLE)?;
        Ok(Rc::new(Self { timer, waiting: RefCell::default(), is_off: Cell::new(false) }))
    }

    /// Waits for a moment. Returns whether it came; otherwise the alarm is off.
    pub(super) async fn wait(&self, until: Instant) -> bool {
        std::future::poll_fn(|context| {
            if self.is_off.get() {
                return Poll::Ready(false);
            }
            if Instant::now() >= until {
                return Poll::Ready(true);
            }
            let mut waiting = self.waiting.borrow_mut();
            waiting.push_back((until, context.waker().clone()));
            if waiting.len() == 1 && self.set(until).is_err() {
                return Poll::Ready(false);
            }
            Poll::Pending
        })
        .await
    }

    /// Nobody waits any longer.
    pub(super) fn turn_off(&self) {
        self.is_off.set(true);
        self.waiting.borrow_mut().drain(..).for_each(|(_, waker)| waker.wake());
    }

    /// Rings until it is dropped.
    pub(super) async fn ring(&self) -> io::Result<()> {
        loop {
            let mut ready = self.timer.readable().await?;
            // How often it has run down says nothing; that it has is what made it readable.
            let mut times = [0; 8];
            match rustix::io::read(self.timer.get_ref(), &mut times) {
                Ok(_) | Err(rustix::io::Errno::AGAIN) => ready.clear_ready(),
                Err(error) => return Err(error.into()),
            }
            if let Some(next) = self.wake_those_due() {
                self.set(next)?;
            }
        }
    }

    /// Returns who is next.
    fn wake_those_due(&self) -> Option<Instant> {
        let now = Instant::now();
        let mut waiting = self.waiting.borrow_mut();
        while waiting.front().is_some_and(|(due, _)| *due <= now) {
            if let Some((_, waker)) = waiting.pop_front() {
                waker.wake();
            }
        }
        waiting.front().map(|(due, _)| *due)
    }

    fn set(&self, at: Instant) -> io::Result<()> {
        let wait = at.saturating_duration_since(Instant::now()).max(SHORTEST);
        let wait = Timespec::try_from(wait).map_err(io::Error::other)?;
        let once = Itimerspec { it_interval: Timespec { tv_sec: 0, tv_nsec: 0 }, it_value: wait };
        timerfd_settime(self.timer.get_ref(), TimerfdTimerFlags::empty(), &once)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What comes of the waits, in their order, while the alarm rings.
    async fn waited(alarm: &Alarm, start: Instant, millis: &[u64]) -> Vec<bool> {
        let waits = millis.iter().map(|millis| {
            let until = start + Duration::from_millis(*millis);
            async move { alarm.wait(until).await && Instant::now() >= until }
        });
        tokio::select! {
            all = futures_util::future::join_all(waits) => all,
            rung = alarm.ring() => panic!("it ends only with those who wait: {rung:?}"),
        }
    }

    #[tokio::test]
    async fn nobody_is_woken_early_and_nobody_is_forgotten() {
        let (alarm, start) = (Alarm::new().unwrap(), Instant::now());
        assert_eq!(waited(&alarm, start, &[0, 1, 5, 5, 20]).await, [true; 5]);
        assert!(start.elapsed() >= Duration::from_millis(20));
        assert_eq!(waited(&alarm, start, &[30]).await, [true], "it can be set again");
    }

    #[tokio::test]
    async fn an_alarm_that_is_off_lets_everybody_go() {
        let alarm = Alarm::new().unwrap();
        let hour = Instant::now() + Duration::from_hours(1);
        let (waited, ()) = tokio::join!(alarm.wait(hour), async { alarm.turn_off() });
        assert!(!waited);
        assert!(!alarm.wait(hour).await);
    }
}
