//! Counting on many threads at once. Each has a line of memory of its own, so that none waits for what another has just counted.

use std::array::from_fn;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// As many lines: of more threads, some share one.
const LINES: usize = 8;

/// So many threads have a line.
static THREADS: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// Which line is this thread's.
    static OWN: usize = THREADS.fetch_add(1, Ordering::Relaxed) % LINES;
}

/// `N` numbers that grow, from 0. They are summed when they are asked for.
#[derive(Debug)]
pub struct Tally<const N: usize>([Line<N>; LINES]);

#[derive(Debug)]
#[repr(align(128))]
struct Line<const N: usize>([AtomicU64; N]);

impl<const N: usize> Tally<N> {
    /// Adds to one of the numbers, counted from 0; to none if there is none at that place.
    pub fn add(&self, place: usize, more: u64) {
        let own = self.0.get(OWN.with(|own| *own));
        if let Some(number) = own.and_then(|Line(numbers)| numbers.get(place)) {
            number.fetch_add(more, Ordering::Relaxed);
        }
    }

    /// The numbers, with all that this thread has added.
    pub fn sums(&self) -> [u64; N] {
        from_fn(|place| {
            let numbers = self.0.iter().filter_map(|Line(numbers)| numbers.get(place));
            numbers.map(|number| number.load(Ordering::Relaxed)).fold(0, u64::wrapping_add)
        })
    }
}

impl<const N: usize> Default for Tally<N> {
    fn default() -> Self {
        Self(from_fn(|_| Line(from_fn(|_| AtomicU64::new(0)))))
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn what_threads_count_at_once_is_summed() {
        let tally = Tally::<3>::default();
        assert_eq!(tally.sums(), [0, 0, 0]);
        thread::scope(|scope| {
            for _ in 0..3 * LINES {
                scope.spawn(|| {
                    for _ in 0..1000 {
                        tally.add(0, 1);
                        tally.add(2, 5);
                        tally.add(3, 7);
                    }
                });
            }
        });
        let threads = 3 * LINES as u64;
        assert_eq!(tally.sums(), [1000 * threads, 0, 5000 * threads]);
    }
}
