//! What became of something that a person wanted to do with an account.

use sluice_commit::StoreError;
use sluice_primitives::Lifetime;

use crate::audit::MayBeDone;
use crate::error::IdentityError;
use crate::registration::InvalidField;

/// What became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome<T> {
    /// It is done.
    Done(T),
    /// It is not, and nothing was changed.
    Denied(Denied),
}

/// Why it is not done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Denied {
    /// The present password is another one.
    WrongPassword,
    /// No password was shown, and the login was too long ago, or not by a passkey.
    ConfirmationRequired,
    /// The person has a second factor, that neither the login nor the request showed.
    SecondFactorRequired,
    /// The code, link, ticket or second factor is wrong, too old, spent, or of an account that may not use it: the same for each.
    WrongCode,
    /// The code of an authenticator app was shown before. The next one may be right.
    UsedCode,
    /// A field is not as it must be.
    Invalid(InvalidField),
    /// The e-mail address belongs to somebody else. Said only to who reads mail at it.
    Taken,
    /// It is so already: the address verified, or the same.
    Unchanged,
    /// Too many tries or mails; the next may come after this time.
    TooMany(Lifetime),
    /// There is no such person any more.
    Gone,
    /// This server sends no mail.
    NoMail,
}

/// Why something stopped half-way: denied, or failed.
#[derive(Debug)]
pub(super) enum Stop {
    Denied(Denied),
    Failed(IdentityError),
}

impl<T> Outcome<T> {
    /// What to tell of something that went through, or stopped.
    pub(super) fn of(result: Result<T, Stop>) -> Result<Self, IdentityError> {
        match result {
            Ok(done) => Ok(Self::Done(done)),
            Err(Stop::Denied(denied)) => Ok(Self::Denied(denied)),
            Err(Stop::Failed(error)) => Err(error),
        }
    }
}

impl MayBeDone for Stop {
    fn may_be_done(&self) -> bool {
        match self {
            Self::Denied(_) => false,
            Self::Failed(error) => error.may_be_done(),
        }
    }

    fn is_not_begun(&self) -> bool {
        matches!(self, Self::Failed(error) if error.is_not_begun())
    }
}

impl From<Denied> for Stop {
    fn from(denied: Denied) -> Self {
        Self::Denied(denied)
    }
}

impl From<InvalidField> for Stop {
    fn from(field: InvalidField) -> Self {
        Self::Denied(Denied::Invalid(field))
    }
}

impl From<IdentityError> for Stop {
    fn from(error: IdentityError) -> Self {
        Self::Failed(error)
    }
}

impl From<StoreError> for Stop {
    fn from(error: StoreError) -> Self {
        Self::Failed(error.into())
    }
}
