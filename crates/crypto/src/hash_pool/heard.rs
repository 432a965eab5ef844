//! Whether anybody hears what comes of the work that a thread is at. Nothing is kept for a request whose client is still there: only who
//! works on what a client has left says so, each time that it does.

use std::cell::Cell;

thread_local! {
    static IS_HEARD: Cell<bool> = const { Cell::new(true) };
}

/// What it was before, which it is again afterwards, also if the work panics.
struct Before(bool);

impl Drop for Before {
    fn drop(&mut self) {
        IS_HEARD.set(self.0);
    }
}

/// Does `work` of a request whose client has left: what waits for a hash meanwhile, and may give it up, does so
/// ([`ReservedPlace`](super::ReservedPlace)).
pub fn unheard<T>(work: impl FnOnce() -> T) -> T {
    let _before = Before(IS_HEARD.replace(false));
    work()
}

/// Whether the client is still there of the request that this thread works on, as far as is known.
pub fn is_heard() -> bool {
    IS_HEARD.get()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_follows_the_work_of_a_client_that_left_is_heard_even_if_that_panicked() {
        assert!(is_heard());
        let outer = unheard(|| {
            let inner = unheard(is_heard);
            (inner, is_heard())
        });
        assert_eq!((outer, is_heard()), ((false, false), true));
        let panicked = std::panic::catch_unwind(|| unheard::<()>(|| panic!("on purpose")));
        assert!(panicked.is_err() && is_heard());
    }
}
