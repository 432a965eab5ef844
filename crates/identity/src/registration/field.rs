//! What may be wrong with what a person typed.

use thiserror::Error;

use super::policy::WeakPassword;
use crate::identity::InvalidEmail;
use crate::identity::username::InvalidUsername;

/// Which field is not as it must be, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum InvalidField {
    /// The e-mail address.
    #[error(transparent)]
    Email(#[from] InvalidEmail),
    /// The username.
    #[error(transparent)]
    Username(#[from] InvalidUsername),
    /// The password.
    #[error(transparent)]
    Password(#[from] WeakPassword),
}

impl InvalidField {
    /// The field, as requests call it.
    pub const fn field(&self) -> &'static str {
        match self {
            Self::Email(_) => "email",
            Self::Username(_) => "username",
            Self::Password(_) => "password",
        }
    }

    /// What is wrong with it, for programs. Never changes.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Email(InvalidEmail::Missing) => "email_missing",
            Self::Email(InvalidEmail::TooLong) => "email_too_long",
            Self::Email(InvalidEmail::Malformed) => "email_malformed",
            Self::Username(InvalidUsername::TooLong) => "username_too_long",
            Self::Username(InvalidUsername::Malformed) => "username_malformed",
            Self::Password(reason) => reason.code(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_begins_with_its_field() {
        let fields: [InvalidField; 3] =
            [InvalidEmail::Malformed.into(), InvalidUsername::TooLong.into(), WeakPassword::Breached.into()];
        for field in fields {
            assert!(field.code().starts_with(field.field()), "{field}");
        }
    }
}
