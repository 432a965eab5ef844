//! What the log says of questions that were refused before they were judged: their answer reaches the asking proxy alone, which shows it to
//! nobody.

use std::net::IpAddr;
use std::time::{Duration, Instant};

use hashbrown::HashMap;
use parking_lot::Mutex;
use tracing::warn;

/// How often the same is said, at most.
const SAY_EVERY: Duration = Duration::from_mins(1);

/// When what was last said. Key: the sentence. Bound: the sentences that there are. Staleness: none. Nobody empties it.
#[derive(Debug, Default)]
pub(super) struct Complaints {
    said: Mutex<HashMap<String, Instant>>,
}

impl Complaints {
    /// Says why a question of the proxy at `peer` was refused, unless that was said in the last minute.
    pub(super) fn say(&self, reason: &str, peer: IpAddr) {
        if self.is_to_be_said(reason, Instant::now()) {
            warn!(%peer, reason, "a question was not understood");
        }
    }

    /// Whether it was not said in the last minute; then it is said now.
    fn is_to_be_said(&self, reason: &str, now: Instant) -> bool {
        let mut said = self.said.lock();
        if said.get(reason).is_some_and(|last| now.saturating_duration_since(*last) < SAY_EVERY) {
            return false;
        }
        said.insert(reason.to_owned(), now);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_is_said_once_a_minute() {
        let complaints = Complaints::default();
        let begun = Instant::now();
        let said = [(0, "one"), (2, "other"), (59, "one"), (60, "one"), (61, "other"), (62, "other")];
        let said = said.map(|(second, reason)| {
            let now = begun + Duration::from_secs(second);
            complaints.is_to_be_said(reason, now)
        });
        assert_eq!(said, [true, true, false, true, false, true]);
    }
}
