//! Questions under way: whoever needs an answer that somebody waits for already waits with them.

use std::collections::HashMap;
use std::future::Future;
use std::hash::Hash;
use std::pin::Pin;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::Shared;
use parking_lot::Mutex;
use tokio::runtime::Handle;

/// The answer to a question under way; `None` if the question was lost.
pub(super) type Flight<V> = Shared<Pin<Box<dyn Future<Output = Option<V>> + Send>>>;

/// Questions under way, by what is asked. Bound: as many as are started. Each runs to its end, though nobody may wait any
/// more: what comes of it is of use to the next one who asks.
pub(super) struct Flights<K, V> {
    runtime: Handle,
    under_way: Arc<UnderWay<K, V>>,
}

type UnderWay<K, V> = Mutex<HashMap<K, Flight<V>>>;

impl<K, V> Flights<K, V>
where
    K: Copy + Eq + Hash + Send + 'static,
    V: Clone + Send + Sync + 'static,
{
    /// None yet. They run where `runtime` says, whoever starts them.
    pub(super) fn new(runtime: Handle) -> Self {
        Self { runtime, under_way: Arc::default() }
    }

    /// The question that is under way about this, or else a new one; `None` if `ask` does not start one.
    pub(super) fn join<F>(&self, key: K, ask: impl FnOnce() -> Option<F>) -> Option<Flight<V>>
    where
        F: Future<Output = V> + Send + 'static,
    {
        let mut under_way = self.under_way.lock();
        if let Some(flight) = under_way.get(&key) {
            return Some(flight.clone());
        }
        let question = ask()?;
        let landing = Landing { key, under_way: Arc::clone(&self.under_way) };
        let task = self.runtime.spawn(async move {
            let answer = question.await;
            drop(landing);
            answer
        });
        let flight: Pin<Box<dyn Future<Output = _> + Send>> = Box::pin(task.map(Result::ok));
        let flight = flight.shared();
        under_way.insert(key, flight.clone());
        Some(flight)
    }

    /// How many are under way.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.under_way.lock().len()
    }
}

/// Takes a question from the list when it is answered, or lost.
struct Landing<K: Copy + Eq + Hash, V> {
    key: K,
    under_way: Arc<UnderWay<K, V>>,
}

impl<K: Copy + Eq + Hash, V> Drop for Landing<K, V> {
    fn drop(&mut self) {
        self.under_way.lock().remove(&self.key);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use tokio::sync::Semaphore;

    use super::*;

    #[tokio::test]
    async fn who_asks_the_same_at_once_shares_one_question() {
        let flights = Flights::<u8, u32>::new(Handle::current());
        let (asked, gate) = (Arc::new(AtomicU32::new(0)), Arc::new(Semaphore::new(0)));
        let ask = || {
            let (asked, gate) = (Arc::clone(&asked), Arc::clone(&gate));
            Some(async move {
                let number = asked.fetch_add(1, Ordering::SeqCst);
                gate.acquire().await.unwrap().forget();
                number
            })
        };
        let (one, other) = (flights.join(1, ask).unwrap(), flights.join(1, ask).unwrap());
        assert_eq!(flights.len(), 1);
        gate.add_permits(1);
        assert_eq!((one.await, other.await), (Some(0), Some(0)));
        gate.add_permits(1);
        assert_eq!(flights.join(1, ask).unwrap().await, Some(1), "a new one after the answer");
        assert_eq!(flights.len(), 0);
    }

    #[tokio::test]
    async fn a_question_goes_on_when_nobody_waits_and_a_lost_one_is_forgotten() {
        let flights = Flights::<u8, u32>::new(Handle::current());
        let (told, heard) = tokio::sync::oneshot::channel();
        drop(flights.join(1, || {
            Some(async move {
                told.send(()).unwrap();
                0
            })
        }));
        heard.await.unwrap();
        let lost = flights.join(2, || Some(async { panic!("lost") })).unwrap();
        assert_eq!(lost.await, None);
        assert_eq!(flights.len(), 0);
        let none = flights.join(3, || None::<std::future::Ready<u32>>);
        assert!(none.is_none());
    }
}
