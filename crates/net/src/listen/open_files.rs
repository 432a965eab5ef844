//! Whether there is a file for one more connection. Files are of the whole process: where one of its listeners lacks them, connections
//! of all make room.

use std::io;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;
use tracing::warn;

use crate::seldom::Seldom;

/// `EMFILE` and `ENFILE`, as Linux, macOS and the BSDs number them: the process, or the machine, may open no more.
const NO_MORE: [i32; 2] = [24, 23];
/// So long after one was lacking, more are held to be: longer than an accept loop waits before it tries again, and than it is from one
/// sweep to the next.
const LACKING_FOR: Duration = Duration::from_secs(2);

/// Those of this process.
pub(super) static OPEN_FILES: OpenFiles = OpenFiles::new();

/// What is known of the files that connections need.
#[derive(Debug)]
pub(super) struct OpenFiles {
    /// When one was last lacking.
    lacked: Mutex<Option<Instant>>,
    said: Seldom,
}

impl OpenFiles {
    const fn new() -> Self {
        Self { lacked: Mutex::new(None), said: Seldom::new() }
    }

    /// Notes that a connection could not be accepted, and says so now and then, if that is for want of a file; whether it is.
    pub(super) fn note(&self, error: &io::Error, now: Instant) -> bool {
        let is_lack = error.raw_os_error().is_some_and(|number| NO_MORE.contains(&number));
        if is_lack {
            *self.lacked.lock() = Some(now);
        }
        if is_lack && self.said.is_due(now) {
            warn!(%error, "no more files may be open: connections wait until others end");
        }
        is_lack
    }

    /// Whether connections wait for files.
    pub(super) fn are_lacking(&self, now: Instant) -> bool {
        self.lacked.lock().is_some_and(|last| now.saturating_duration_since(last) < LACKING_FOR)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_lack_for_a_while_after_one_could_not_be_opened() {
        let (files, begun) = (OpenFiles::new(), Instant::now());
        let after = |millis| begun + Duration::from_millis(millis);
        assert!(!files.note(&io::ErrorKind::OutOfMemory.into(), begun));
        assert!(!files.note(&io::Error::from_raw_os_error(12), begun));
        assert!(!files.are_lacking(begun));
        for number in NO_MORE {
            assert!(files.note(&io::Error::from_raw_os_error(number), begun), "{number}");
        }
        assert_eq!([0, 1_999, 2_000].map(|millis| files.are_lacking(after(millis))), [true, true, false]);
    }
}
