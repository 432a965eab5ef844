//! What the identity service says, as problems. Each error is mapped here and nowhere else.

use sluice_identity::account::Denied;
use sluice_identity::session::Unauthenticated;
use sluice_identity::{IdentityError, InvalidField};

use super::{Problem, ProblemKind};

/// What is said of the code of an authenticator app that was shown before.
pub(crate) const USED_CODE: &str = "The code was used already. Wait until the app shows the next one.";

/// What is said of a passkey alone that lets nobody in.
pub(crate) const WRONG_PASSKEY: &str =
    "The passkey did not work, or its ceremony is over. Begin again, or log in with a password.";

/// What the log says of an access token that outlived what it is of.
pub(crate) const OVER: &str = "the session of the access token is over, or its person is gone";

impl From<IdentityError> for Problem {
    fn from(error: IdentityError) -> Self {
        if error.is_unheard() {
            // Nobody reads it, and nobody has to look for its cause.
            return Self::of(ProblemKind::TemporarilyUnavailable);
        }
        Self::fault(&error, error.is_temporary()).after(error.wait())
    }
}

impl From<InvalidField> for Problem {
    fn from(field: InvalidField) -> Self {
        Self::field(field.field(), field.code(), sentence(&field.to_string()))
    }
}

impl From<Denied> for Problem {
    fn from(denied: Denied) -> Self {
        match denied {
            Denied::WrongPassword => Self::of(ProblemKind::WrongPassword),
            Denied::ConfirmationRequired => Self::of(ProblemKind::ConfirmationRequired).on("password"),
            Denied::SecondFactorRequired => Self::of(ProblemKind::FactorConfirmationRequired).on("totp"),
            Denied::WrongCode => Self::of(ProblemKind::WrongCode),
            Denied::UsedCode => Self::of(ProblemKind::WrongCode).saying(USED_CODE),
            Denied::Invalid(field) => field.into(),
            Denied::Taken => Self::of(ProblemKind::EmailTaken),
            Denied::Unchanged => Self::of(ProblemKind::Unchanged),
            Denied::TooMany(wait) => Self::too_many(wait),
            Denied::Gone => Self::of_token(ProblemKind::InvalidToken, OVER),
            Denied::NoMail => Self::of(ProblemKind::NotOffered).saying("This server sends no mail."),
        }
    }
}

impl From<Unauthenticated> for Problem {
    fn from(why: Unauthenticated) -> Self {
        match why {
            Unauthenticated::NotOurs | Unauthenticated::OtherIssuer | Unauthenticated::Revoked => {
                Self::of_token(ProblemKind::InvalidToken, why.to_string())
            }
            Unauthenticated::Expired => Self::of_token(ProblemKind::TokenExpired, why.to_string()),
            Unauthenticated::Unknown => Self::fault(&why, true),
        }
    }
}

/// The text as a sentence.
fn sentence(text: &str) -> String {
    let mut characters = text.chars();
    let first = characters.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(characters).chain(['.']).collect()
}
