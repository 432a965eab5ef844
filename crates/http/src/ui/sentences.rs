//! What is wrong with what a person typed, in the words of the pages.

use sluice_identity::{InvalidEmail, InvalidUsername, PasswordRules, WeakPassword};
use sluice_oauth::config::PageLanguage;
use sluice_primitives::Lifetime;

use super::UiState;

/// What is said of the code of an authenticator app that was shown before.
pub(super) const USED_CODE: &str = "This code was used already. Wait until your app shows the next one.";

pub(super) const fn email_sentence(reason: InvalidEmail) -> &'static str {
    match reason {
        InvalidEmail::Missing => "Enter your email address.",
        InvalidEmail::TooLong => "This email address is too long.",
        InvalidEmail::Malformed => "Enter an email address such as name@example.com.",
    }
}

pub(super) const fn username_sentence(reason: InvalidUsername) -> &'static str {
    match reason {
        InvalidUsername::TooLong => "Choose a name of at most 64 characters.",
        InvalidUsername::Malformed => "Choose a name without control characters.",
    }
}

pub(super) fn password_sentence(ui: &UiState, reason: WeakPassword, rules: &PasswordRules) -> String {
    let sentence = match reason {
        WeakPassword::TooShort => {
            let least = rules.min_characters();
            return ui.language.fill("Choose a password of at least {count} characters.", &[&least]);
        }
        WeakPassword::Missing => "Choose a password.",
        WeakPassword::TooLong => "Choose a password of at most 1024 characters.",
        WeakPassword::SameAsEmail => "Choose a password other than your email address.",
        WeakPassword::SameAsUsername => "Choose a password other than your name.",
        WeakPassword::Breached => "Choose another password: this one is on lists that attackers try first.",
    };
    sentence.to_owned()
}

/// What somebody is told who tried too often: why, and how long to wait.
pub(super) fn wait_sentence(ui: &UiState, why: &str, wait: Lifetime) -> String {
    waiting(&ui.language, why, wait)
}

fn waiting(language: &PageLanguage, why: &str, wait: Lifetime) -> String {
    let seconds = u64::try_from(wait.as_millis()).unwrap_or(0).div_ceil(1000);
    let minutes = seconds.div_ceil(60);
    let how_long = match (seconds, minutes) {
        (0..=5, _) => language.say("a moment").to_owned(),
        (6..=60, _) => language.say("a minute").to_owned(),
        (_, 0..=119) => language.fill("{minutes} minutes", &[&minutes]),
        _ => language.fill("{hours} hours", &[&minutes.div_ceil(60)]),
    };
    let please = language.fill("Please wait {time} and try again.", &[&how_long]);
    format!("{} {please}", language.say(why))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_waits_for_longer_than_a_moment_is_told_how_long() {
        for (seconds, told) in [
            (0, "a moment"),
            (5, "a moment"),
            (6, "a minute"),
            (60, "a minute"),
            (61, "2 minutes"),
            (3600, "60 minutes"),
            (9000, "3 hours"),
        ] {
            let sentence = waiting(&PageLanguage::ENGLISH, "Too many.", Lifetime::secs(seconds));
            assert_eq!(sentence, format!("Too many. Please wait {told} and try again."));
        }
    }
}
