//! A rush: everybody at once, as fast as they are answered.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

use super::book::Book;
use super::crowd::{Crowd, Request};
use super::door::{Door, Told};
use super::patience;

/// How many are being answered at the same time.
const AT_ONCE: usize = 64;
/// How long somebody waits who was not answered.
const PAUSE: Duration = Duration::from_millis(20);

/// A rush that goes on until so many people have come.
pub(super) struct Rush {
    book: Arc<Mutex<Book>>,
    answered: watch::Receiver<usize>,
    people: JoinSet<()>,
    begun: Instant,
}

struct Queue {
    crowd: Mutex<Crowd>,
    left: Mutex<usize>,
}

impl Queue {
    /// The next request, until there were enough.
    fn next(&self) -> Option<Request> {
        let mut left = self.left.lock();
        *left = left.checked_sub(1)?;
        Some(self.crowd.lock().next())
    }
}

impl Rush {
    /// Sends so many requests of this seed.
    pub(super) fn start(door: &Door, seed: u64, requests: usize) -> Self {
        let queue = Arc::new(Queue { crowd: Mutex::new(Crowd::new(seed)), left: Mutex::new(requests) });
        let book = Arc::new(Mutex::new(Book::of(seed)));
        let (answer, answered) = watch::channel(0);
        let mut people = JoinSet::new();
        for _ in 0..AT_ONCE {
            let (door, queue, book, answer) =
                (door.clone(), Arc::clone(&queue), Arc::clone(&book), answer.clone());
            people.spawn(async move {
                while let Some(request) = queue.next() {
                    come(&door, (seed, request), &book).await;
                    answer.send_modify(|answered| *answered += 1);
                }
            });
        }
        Self { book, answered, people, begun: Instant::now() }
    }

    /// Waits until so many have come.
    pub(super) async fn have_come(&mut self, count: usize) {
        let come = timeout(patience(), self.answered.wait_for(|answered| *answered >= count)).await;
        assert!(come.is_ok_and(|all| all.is_ok()), "{count} do not come in time");
    }

    /// Waits until all have come; what they were told.
    pub(super) async fn over(mut self) -> Book {
        while let Some(ended) = self.people.join_next().await {
            ended.expect("nobody panics");
        }
        let mut book = std::mem::replace(&mut *self.book.lock(), Book::of(0));
        book.took = self.begun.elapsed();
        book
    }
}

/// Asks until there is somebody to be asked. Every second who is not answered tries again.
async fn come(door: &Door, (seed, request): (u64, Request), book: &Mutex<Book>) {
    let form = Crowd::form(seed, request);
    loop {
        let Some(told) = door.register(&form).await else {
            sleep(PAUSE).await;
            continue;
        };
        let unanswered = told == Told::Unknown;
        let tries_again = book.lock().write(request, told);
        if unanswered {
            sleep(PAUSE).await;
        }
        if !tries_again {
            return;
        }
    }
}
