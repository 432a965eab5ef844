//! What a new password may be: long enough, and not the e-mail address. No rules of composition, which make passwords
//! worse (NIST SP 800-63B §5.1.1.2).

use thiserror::Error;

use crate::credential::Password;
use crate::credential::password::InvalidPassword;
use crate::identity::Email;

/// The shortest password, in characters.
pub const MIN_CHARACTERS: usize = 8;

/// Why a text may not become a password.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum WeakPassword {
    /// Nothing was given.
    #[error("the password is missing")]
    Missing,
    /// Fewer than 8 characters.
    #[error("the password is shorter than 8 characters")]
    TooShort,
    /// More than 1,024 characters.
    #[error("the password is longer than 1024 characters")]
    TooLong,
    /// The e-mail address, in whatever case.
    #[error("the password is the e-mail address")]
    SameAsEmail,
}

impl From<InvalidPassword> for WeakPassword {
    fn from(invalid: InvalidPassword) -> Self {
        match invalid {
            InvalidPassword::Missing => Self::Missing,
            InvalidPassword::TooLong => Self::TooLong,
        }
    }
}

/// The new password of the person with this address.
///
/// # Errors
/// [`WeakPassword`] says what is wrong with it.
pub fn new_password(raw: &str, email: &Email) -> Result<Password, WeakPassword> {
    let password: Password = raw.parse()?;
    if password.characters() < MIN_CHARACTERS {
        return Err(WeakPassword::TooShort);
    }
    if password.expose().parse::<Email>().is_ok_and(|typed| typed == *email) {
        return Err(WeakPassword::SameAsEmail);
    }
    Ok(password)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_long_enough_and_not_the_address() {
        let email: Email = "alice@example.com".parse().unwrap();
        let reason = |raw: &str| new_password(raw, &email).err();
        assert_eq!(reason(""), Some(WeakPassword::Missing));
        assert_eq!(reason("1234567"), Some(WeakPassword::TooShort));
        assert_eq!(reason("🔑🔑🔑🔑🔑🔑🔑"), Some(WeakPassword::TooShort));
        assert_eq!(reason(&"a".repeat(1025)), Some(WeakPassword::TooLong));
        assert_eq!(reason(" Alice@Example.com"), Some(WeakPassword::SameAsEmail));
        for fine in ["12345678", "        ", "🔑🔑🔑🔑🔑🔑🔑🔑", "bob@example.com"] {
            assert_eq!(reason(fine), None, "{fine}");
        }
    }
}
