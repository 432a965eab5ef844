//! Why something is not done.

use sluice_commit::StoreError;
use sluice_crypto::foreign_hash::ForeignHashError;
use thiserror::Error;

use crate::error::IdentityError;
use crate::registration::InvalidField;

/// Why something is not done.
#[derive(Debug, Error)]
pub enum AdministrationError {
    /// There is no such identity, session or factor.
    #[error("not found")]
    NotFound,
    /// The e-mail address is another identity's.
    #[error("the e-mail address belongs to another identity")]
    Taken,
    /// A field is not as it must be.
    #[error(transparent)]
    Invalid(#[from] InvalidField),
    /// The password hash is none that can be verified.
    #[error("the password hash cannot be taken: {0}")]
    Hash(#[from] ForeignHashError),
    /// The page token was not made here.
    #[error("the page token is not one that this server made")]
    PageToken,
    /// No mail is sent from here.
    #[error("no mail can be sent: none is configured")]
    NoMail,
    /// The person may not log in, so a mail to choose a password by would lead nowhere.
    #[error("no mail is sent to somebody who is disabled, who could not use it: enable the identity first")]
    Disabled,
    /// It could not be carried out.
    #[error(transparent)]
    Failed(#[from] IdentityError),
}

impl From<StoreError> for AdministrationError {
    fn from(error: StoreError) -> Self {
        Self::Failed(error.into())
    }
}
