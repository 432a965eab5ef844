//! A password as a person typed it, normalised.

use std::str::FromStr;

use sluice_primitives::Secret;
use thiserror::Error;
use unicode_normalization::UnicodeNormalization;
use zeroize::Zeroizing;

/// The longest password, in characters.
pub const MAX_CHARACTERS: usize = 1024;
/// No character has more bytes.
const MAX_BYTES: usize = 4 * MAX_CHARACTERS;

/// A password in Unicode form NFKC (NIST SP 800-63B §5.1.1.2), so that another keyboard types the same one; nothing is
/// trimmed. 1 to 1,024 characters: what a new one must be is [`crate::registration`]'s.
#[derive(Debug, Clone)]
pub struct Password {
    normalised: Secret<String>,
    /// As it was typed, if that is something else.
    raw: Option<Secret<String>>,
}

/// Why a text cannot be anybody's password.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum InvalidPassword {
    /// Nothing was given.
    #[error("the password is missing")]
    Missing,
    /// More than 1,024 characters.
    #[error("the password is longer than 1024 characters")]
    TooLong,
}

impl Password {
    /// The normalised text.
    pub fn expose(&self) -> &str {
        self.normalised.expose()
    }

    /// The text as it was typed, if normalising changed it: for hashes that other systems made of it.
    pub fn raw(&self) -> Option<&str> {
        self.raw.as_ref().map(|raw| raw.expose().as_str())
    }

    /// How many characters it has.
    pub fn characters(&self) -> usize {
        self.expose().chars().count()
    }
}

impl FromStr for Password {
    type Err = InvalidPassword;
    fn from_str(raw: &str) -> Result<Self, InvalidPassword> {
        if raw.is_empty() {
            return Err(InvalidPassword::Missing);
        }
        if raw.len() > MAX_BYTES {
            return Err(InvalidPassword::TooLong);
        }
        if raw.is_ascii() {
            // Each character is a byte, and normal as it is.
            let fits = raw.len() <= MAX_CHARACTERS;
            let normalised = fits.then(|| Secret::new(raw.to_owned())).ok_or(InvalidPassword::TooLong)?;
            return Ok(Self { normalised, raw: None });
        }
        // Normalisation may lengthen a text 18-fold. Room for the most there can be: growing would leave copies behind.
        let mut normalised = Zeroizing::new(String::with_capacity(MAX_BYTES));
        for (place, character) in raw.nfkc().enumerate() {
            if place == MAX_CHARACTERS {
                return Err(InvalidPassword::TooLong);
            }
            normalised.push(character);
        }
        let raw = (*normalised != raw).then(|| Secret::new(raw.to_owned()));
        Ok(Self { normalised: Secret::new(std::mem::take(&mut *normalised)), raw })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_keyboards_type_the_same_password() {
        let composed: Password = "pässwörd ①".parse().unwrap();
        let decomposed: Password = "pa\u{308}sswo\u{308}rd 1".parse().unwrap();
        assert_eq!(composed.expose(), decomposed.expose());
    }

    #[test]
    fn what_was_typed_is_kept_if_it_is_something_else() {
        assert_eq!("pässwörd".parse::<Password>().unwrap().raw(), None);
        let decomposed: Password = "pa\u{308}sswo\u{308}rd".parse().unwrap();
        assert_eq!((decomposed.expose(), decomposed.raw()), ("pässwörd", Some("pa\u{308}sswo\u{308}rd")));
    }

    #[test]
    fn white_space_and_case_count() {
        let password: Password = " A b ".parse().unwrap();
        assert_eq!(password.expose(), " A b ");
    }

    #[test]
    fn what_is_too_long_is_refused_before_and_after_normalising() {
        let too_long = InvalidPassword::TooLong;
        assert_eq!("".parse::<Password>().unwrap_err(), InvalidPassword::Missing);
        assert_eq!("a".repeat(1025).parse::<Password>().unwrap_err(), too_long);
        assert_eq!("a".repeat(5000).parse::<Password>().unwrap_err(), too_long);
        assert_eq!("\u{FDFA}".repeat(100).parse::<Password>().unwrap_err(), too_long);
        assert_eq!("🔑".repeat(1024).parse::<Password>().unwrap().characters(), 1024);
    }

    #[test]
    fn a_password_is_not_printed() {
        let password: Password = "correct horse".parse().unwrap();
        assert!(!format!("{password:?}").contains("horse"));
    }
}
