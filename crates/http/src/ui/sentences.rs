//! What is wrong with what a person typed, in the words of the pages.

use sluice_identity::{InvalidEmail, InvalidUsername, PasswordRules, WeakPassword};

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

pub(super) fn password_sentence(reason: WeakPassword, rules: &PasswordRules) -> String {
    let sentence = match reason {
        WeakPassword::TooShort => {
            return format!("Choose a password of at least {} characters.", rules.min_characters());
        }
        WeakPassword::Missing => "Choose a password.",
        WeakPassword::TooLong => "Choose a password of at most 1024 characters.",
        WeakPassword::SameAsEmail => "Choose a password other than your email address.",
        WeakPassword::SameAsUsername => "Choose a password other than your name.",
        WeakPassword::Breached => "Choose another password: this one is on lists that attackers try first.",
    };
    sentence.to_owned()
}
