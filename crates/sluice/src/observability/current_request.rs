//! Which request this thread works on: what a span says, where lines are text and nobody follows traces, at the price of a
//! pointer.

use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicBool, Ordering};

use http::HeaderValue;

static IS_WRITTEN: AtomicBool = AtomicBool::new(false);

thread_local! {
    static ID: RefCell<Option<HeaderValue>> = const { RefCell::new(None) };
}

/// Says that lines have the current request: no span is needed for it.
pub(super) fn written_in_lines() {
    IS_WRITTEN.store(true, Ordering::Relaxed);
}

/// Whether lines have it.
pub(super) fn is_written_in_lines() -> bool {
    IS_WRITTEN.load(Ordering::Relaxed)
}

/// While it lives, this thread works on that request.
pub(super) struct Entered<'a> {
    /// Where the id goes back to.
    home: &'a Cell<Option<HeaderValue>>,
    before: Option<HeaderValue>,
}

/// Lends the id to this thread.
pub(super) fn enter(home: &Cell<Option<HeaderValue>>) -> Entered<'_> {
    Entered { home, before: ID.replace(home.take()) }
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        self.home.set(ID.replace(self.before.take()));
    }
}

/// Gives the id of the current request.
pub(super) fn with_id(use_it: impl FnOnce(&str)) {
    ID.with_borrow(|id| {
        if let Some(id) = id.as_ref().and_then(|id| id.to_str().ok()) {
            use_it(id);
        }
    });
}
