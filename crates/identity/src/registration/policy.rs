//! What a new password may be: long enough, not the person's address or name, and, where a list is configured, not one
//! that everybody knows. No rules of composition, which make passwords worse (NIST SP 800-63B §5.1.1.2).

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use sluice_crypto::digest::sha1;
use thiserror::Error;
use tracing::warn;

use super::breached::BreachedPasswords;
use crate::config::PasswordPolicy;
use crate::credential::Password;
use crate::credential::password::InvalidPassword;
use crate::error::IdentityError;
use crate::identity::Email;

/// The shortest password that can be configured, in characters.
pub const MIN_CHARACTERS: usize = 8;

/// Why a text may not become a password.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum WeakPassword {
    /// Nothing was given.
    #[error("the password is missing")]
    Missing,
    /// Fewer characters than [`PasswordRules::min_characters`].
    #[error("the password is too short")]
    TooShort,
    /// More than 1,024 characters.
    #[error("the password is longer than 1024 characters")]
    TooLong,
    /// The e-mail address, in whatever case.
    #[error("the password is the e-mail address")]
    SameAsEmail,
    /// The username, in whatever case.
    #[error("the password is the username")]
    SameAsUsername,
    /// On the list of passwords that were found in breaches.
    #[error("the password is on a list of known passwords")]
    Breached,
}

impl WeakPassword {
    /// What is wrong with it, for programs. Never changes.
    pub const fn code(self) -> &'static str {
        match self {
            Self::Missing => "password_missing",
            Self::TooShort => "password_too_short",
            Self::TooLong => "password_too_long",
            Self::SameAsEmail => "password_is_email",
            Self::SameAsUsername => "password_is_username",
            Self::Breached => "password_breached",
        }
    }
}

impl From<InvalidPassword> for WeakPassword {
    fn from(invalid: InvalidPassword) -> Self {
        match invalid {
            InvalidPassword::Missing => Self::Missing,
            InvalidPassword::TooLong => Self::TooLong,
        }
    }
}

/// Whose password it is to be.
#[derive(Clone, Copy)]
pub struct Person<'a> {
    /// The address, normalised.
    pub email: &'a str,
    /// The username; may be empty.
    pub username: &'a str,
}

/// What a new password must be. One for all services, so that all say the same.
pub struct PasswordRules {
    min_characters: usize,
    breached: Option<Arc<dyn BreachedPasswords>>,
    required: bool,
    unanswered: AtomicU64,
}

impl PasswordRules {
    /// The rules of `policy`. `breached` is the list that it names, if it names one.
    pub fn new(policy: &PasswordPolicy, breached: Option<Arc<dyn BreachedPasswords>>) -> Self {
        Self {
            min_characters: policy.min_characters.max(MIN_CHARACTERS),
            required: policy.breached.as_ref().is_some_and(|breached| breached.required),
            breached,
            unanswered: AtomicU64::new(0),
        }
    }

    /// The fewest characters.
    pub const fn min_characters(&self) -> usize {
        self.min_characters
    }

    /// How often the list of breached passwords did not answer.
    pub fn unanswered_total(&self) -> u64 {
        self.unanswered.load(Ordering::Relaxed)
    }

    /// The new password of this person, as far as it can be judged without asking anybody.
    ///
    /// # Errors
    /// [`WeakPassword`] says what is wrong with it.
    pub fn judge(&self, raw: &str, person: Person<'_>) -> Result<Password, WeakPassword> {
        let password: Password = raw.parse()?;
        // A single character may stand for many, once normalised.
        if password.characters().min(raw.chars().count()) < self.min_characters {
            return Err(WeakPassword::TooShort);
        }
        if password.expose().parse::<Email>().is_ok_and(|typed| typed.as_str() == person.email) {
            return Err(WeakPassword::SameAsEmail);
        }
        // By characters, so that no copy of the password is left behind.
        let is_name = |name: &str| lowered(password.expose().trim()).eq(lowered(name));
        if !person.username.is_empty() && is_name(person.username) {
            return Err(WeakPassword::SameAsUsername);
        }
        Ok(password)
    }

    /// Whether the password is on the list of breached ones. While the list does not answer, none is, unless the
    /// configuration demands an answer.
    ///
    /// # Errors
    /// [`IdentityError::Breached`] if it does.
    pub async fn is_breached(&self, password: &Password) -> Result<bool, IdentityError> {
        let Some(list) = &self.breached else { return Ok(false) };
        match list.is_breached(&sha1(password.expose().as_bytes())).await {
            Ok(breached) => Ok(breached),
            Err(error) => {
                self.unanswered.fetch_add(1, Ordering::Relaxed);
                if self.required {
                    return Err(error.into());
                }
                warn!(error = %error.with_cause(), "breached passwords not asked: the password passes");
                Ok(false)
            }
        }
    }

    /// The new password of this person: [`PasswordRules::judge`] and [`PasswordRules::is_breached`].
    ///
    /// # Errors
    /// [`IdentityError::Breached`]; what is wrong with the password is the inner result.
    pub async fn new_password(
        &self,
        raw: &str,
        person: Person<'_>,
    ) -> Result<Result<Password, WeakPassword>, IdentityError> {
        let password = match self.judge(raw, person) {
            Ok(password) => password,
            Err(weak) => return Ok(Err(weak)),
        };
        Ok(if self.is_breached(&password).await? { Err(WeakPassword::Breached) } else { Ok(password) })
    }
}

impl fmt::Debug for PasswordRules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PasswordRules").field("min_characters", &self.min_characters).finish_non_exhaustive()
    }
}

fn lowered(text: &str) -> impl Iterator<Item = char> {
    text.chars().flat_map(char::to_lowercase)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALICE: Person<'_> = Person { email: "alice@example.com", username: "Alice Liddell" };

    #[test]
    fn a_password_is_long_enough_and_neither_address_nor_name() {
        let rules = PasswordRules::new(&PasswordPolicy::default(), None);
        let reason = |raw: &str| rules.judge(raw, ALICE).err();
        assert_eq!(reason(""), Some(WeakPassword::Missing));
        assert_eq!(reason("1234567"), Some(WeakPassword::TooShort));
        assert_eq!(reason("🔑🔑🔑🔑🔑🔑🔑"), Some(WeakPassword::TooShort));
        assert_eq!(reason("\u{fdfa}"), Some(WeakPassword::TooShort), "one that stands for eighteen");
        assert_eq!(reason(&"a".repeat(1025)), Some(WeakPassword::TooLong));
        assert_eq!(reason(" Alice@Example.com"), Some(WeakPassword::SameAsEmail));
        assert_eq!(reason("alice LIDDELL "), Some(WeakPassword::SameAsUsername));
        for fine in ["12345678", "        ", "🔑🔑🔑🔑🔑🔑🔑🔑", "bob@example.com", "Alice Liddell!"]
        {
            assert_eq!(reason(fine), None, "{fine}");
        }
        assert!(rules.judge("        ", Person { username: "", ..ALICE }).is_ok());
    }

    #[test]
    fn more_characters_may_be_demanded_and_fewer_than_eight_may_not() {
        let rules =
            |min_characters| PasswordRules::new(&PasswordPolicy { min_characters, breached: None }, None);
        assert_eq!(rules(12).judge("elevenchars", ALICE).err(), Some(WeakPassword::TooShort));
        assert!(rules(12).judge("twelve chars", ALICE).is_ok());
        assert_eq!(rules(1).judge("1234567", ALICE).err(), Some(WeakPassword::TooShort));
    }
}
