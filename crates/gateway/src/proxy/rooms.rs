//! Where requests under way have their state. A connection has room for its HTTP library's alone, and is small while nobody asks.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use parking_lot::Mutex;
use sluice_primitives::pinned;

/// So many are kept for further requests.
const KEPT: usize = 256;

type Room<F> = Pin<Box<Option<F>>>;

/// The rooms of one core: the one that was left last is taken first, while it is still in the processor's cache.
pub(super) struct Rooms<F>(Mutex<Vec<Room<F>>>);

impl<F> Rooms<F> {
    /// None is there yet.
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self(Mutex::default()))
    }

    /// Gives the work that `make` makes a room, and makes it there: most of its bytes have no meaning before it runs, and are not copied.
    pub(super) fn enter(self: &Arc<Self>, make: impl FnOnce() -> F) -> UnderWay<F> {
        let left = self.0.lock().pop();
        let room = match left {
            Some(mut room) if room.is_none() => {
                room.set(Some(make()));
                room
            }
            _ => pinned(|| Some(make())),
        };
        UnderWay { room: Some(room), rooms: self.clone() }
    }

    fn leave(&self, mut room: Room<F>) {
        room.set(None);
        let mut kept = self.0.lock();
        if kept.len() < KEPT {
            kept.push(room);
        }
    }
}

/// A request under way.
pub(super) struct UnderWay<F> {
    /// `None` once it is answered.
    room: Option<Room<F>>,
    rooms: Arc<Rooms<F>>,
}

impl<F: Future> Future for UnderWay<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let work = self.room.as_mut().and_then(|room| room.as_mut().as_pin_mut());
        let Some(work) = work else { return Poll::Pending };
        let answered = ready!(work.poll(context));
        if let Some(room) = self.room.take() {
            self.rooms.leave(room);
        }
        Poll::Ready(answered)
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use futures_util::FutureExt;

    use super::*;

    #[test]
    fn a_room_is_used_again_once_its_request_is_answered() {
        let rooms = Rooms::new();
        for number in 0..3 {
            let mut first = rooms.enter(|| ready(number));
            let second = rooms.enter(|| ready(9));
            assert_eq!((&mut first).now_or_never(), Some(number));
            assert_eq!(rooms.0.lock().len(), 1);
            assert_eq!((&mut first).now_or_never(), None, "it is over");
            drop((first, second));
            assert_eq!(rooms.0.lock().len(), 1, "what is not answered leaves none");
        }
    }

    #[test]
    fn no_more_rooms_are_kept_than_may_be() {
        let rooms = Rooms::new();
        let under_way: Vec<_> = (0..=KEPT).map(|_| rooms.enter(|| ready(()))).collect();
        assert!(under_way.into_iter().all(|request| request.now_or_never().is_some()));
        assert_eq!(rooms.0.lock().len(), KEPT);
    }

    #[test]
    fn what_a_request_holds_goes_when_it_is_answered_or_dropped() {
        let held = Arc::new(());
        let work = |is_answered: bool| {
            let held = held.clone();
            async move {
                if !is_answered {
                    pending::<()>().await;
                }
                Arc::strong_count(&held)
            }
        };
        let rooms = Rooms::new();
        assert_eq!(rooms.enter(|| work(true)).now_or_never(), Some(2));
        assert_eq!(Arc::strong_count(&held), 1);
        let mut left = rooms.enter(|| work(false));
        assert!((&mut left).now_or_never().is_none());
        assert_eq!(Arc::strong_count(&held), 2);
        drop(left);
        assert_eq!(Arc::strong_count(&held), 1);
    }
}
