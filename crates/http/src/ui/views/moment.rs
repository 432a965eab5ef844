//! [`Moment`]: when something was, for people and for programs.

use sluice_oauth::config::PageLanguage;
use sluice_primitives::Timestamp;

const WORDS: &str = "{day} {month} {year}, {time} UTC";

/// A moment.
pub(crate) struct Moment {
    pub(crate) at: Timestamp,
    pub(crate) iso: String,
}

impl Moment {
    /// A moment in UTC: the pages do not know the person's own time.
    pub(crate) fn new(at: Timestamp) -> Self {
        Self { at, iso: utc(at).strftime("%Y-%m-%dT%H:%M:%SZ").to_string() }
    }

    /// The same as people say it.
    pub(crate) fn told_in(&self, language: &PageLanguage) -> String {
        let utc = utc(self.at);
        let [day, month, year, time] =
            ["%-d", "%B", "%Y", "%H:%M"].map(|part| utc.strftime(part).to_string());
        language.fill(WORDS, &[&day, &language.say(&month), &year, &time])
    }
}

fn utc(at: Timestamp) -> jiff::Timestamp {
    jiff::Timestamp::from_millisecond(at.as_millis()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::translations;

    #[test]
    fn a_moment_is_said_in_utc() {
        let moment = Moment::new(Timestamp::from_secs(1_750_000_000));
        assert_eq!(moment.told_in(&PageLanguage::ENGLISH), "15 June 2025, 15:06 UTC");
        let languages = translations::built_in();
        let told = |tag| moment.told_in(&languages.wanted([tag]).unwrap());
        assert_eq!(told("de"), "15. Juni 2025, 15:06 Uhr (UTC)");
        assert_eq!(told("fr"), "15 juin 2025, 15:06 UTC");
        assert_eq!(moment.iso, "2025-06-15T15:06:40Z");
    }
}
