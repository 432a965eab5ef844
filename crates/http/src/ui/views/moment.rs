//! [`Moment`]: when something was, for people and for programs.

use sluice_primitives::Timestamp;

/// A moment.
pub(crate) struct Moment {
    pub(crate) at: Timestamp,
    pub(crate) iso: String,
    pub(crate) text: String,
}

impl Moment {
    /// A moment in UTC: the pages do not know the person's own time.
    pub(crate) fn new(at: Timestamp) -> Self {
        let utc = jiff::Timestamp::from_millisecond(at.as_millis()).unwrap_or_default();
        Self {
            at,
            iso: utc.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
            text: utc.strftime("%-d %B %Y, %H:%M UTC").to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_said_in_utc() {
        let moment = Moment::new(Timestamp::from_secs(1_750_000_000));
        assert_eq!(moment.text, "15 June 2025, 15:06 UTC");
        assert_eq!(moment.iso, "2025-06-15T15:06:40Z");
    }
}
