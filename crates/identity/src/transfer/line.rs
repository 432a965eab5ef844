//! What one line says. Strict: a field that is not understood is an error and not a loss.

use std::borrow::Cow;

use jiff::Timestamp as Moment;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use sluice_crypto::credential::{CredentialError, CredentialState, StoredCredential};
use sluice_crypto::foreign_hash::{ForeignHash, ForeignHashError};
use sluice_primitives::{IdentityId, Secret, Timestamp};
use thiserror::Error;

use super::fields::{self, Fields};
use crate::identity::{Email, IdentityStatus, InvalidEmail, InvalidUsername, Username};

/// The longest line, in bytes.
pub const MAX_LINE: usize = 64 * 1024;
/// What an exported hash begins with; see [`sluice_crypto::credential`].
const EXPORTED: &str = "h1$";
/// What Django writes in the place of a hash for who has no password: this and so many letters and digits, or this alone.
const UNUSABLE: char = '!';
const UNUSABLE_LETTERS: usize = 40;

/// What a line says.
#[derive(Debug, Clone)]
pub struct ImportedIdentity {
    /// The id; made up if there is none.
    pub id: Option<IdentityId>,
    /// The address, normalised.
    pub email: Email,
    /// What the person wants to be called.
    pub username: Username,
    /// The password; without one, the person needs recovery.
    pub password: Option<ImportedPassword>,
    /// Whether the address was verified. Never one whose mail may go elsewhere ([`Email::may_lead_elsewhere`]), whatever the line says.
    pub email_verified: bool,
    /// Whether the line says that such an address was.
    pub is_disbelieved: bool,
    /// Whether the person may log in.
    pub status: IdentityStatus,
    /// When the person registered.
    pub created_at: Option<Timestamp>,
}

/// A password hash in a line.
#[derive(Debug, Clone)]
pub enum ImportedPassword {
    /// Of another program; replaced when its password is shown at a login.
    Foreign(Box<ForeignHash>),
    /// Of an installation with the same pepper.
    Hardened(Secret<String>),
}

/// What is wrong with a line. Never repeats a value of it.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}{fault}", field.as_ref().map_or_else(String::new, |field| format!("{field}: ")))]
pub struct LineError {
    /// The field; none if it is the line.
    pub field: Option<Cow<'static, str>>,
    /// What is wrong.
    pub fault: LineFault,
}

/// What may be wrong with a line or a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum LineFault {
    /// More than [`MAX_LINE`].
    #[error("the line is longer than 64 KiB")]
    TooLong,
    /// Not one JSON object.
    #[error("the line is no JSON object (column {column})")]
    Malformed {
        /// Where it ceases to be one, counted from 1.
        column: usize,
    },
    /// Nothing is known by this name.
    #[error("the field is not known")]
    UnknownField,
    /// More than once in the line.
    #[error("the field is there twice")]
    Repeated,
    /// Something else than a text.
    #[error("must be a text")]
    NotText,
    /// Something else than `true` or `false`.
    #[error("must be true or false")]
    NotTruth,
    /// No UUID.
    #[error("must be a UUID")]
    Id,
    /// No address.
    #[error(transparent)]
    Email(#[from] InvalidEmail),
    /// No username.
    #[error(transparent)]
    Username(#[from] InvalidUsername),
    /// No hash of another program.
    #[error(transparent)]
    Hash(#[from] ForeignHashError),
    /// No hash of this installation.
    #[error(transparent)]
    Credential(#[from] CredentialError),
    /// Another status.
    #[error("must be active or disabled")]
    Status,
    /// Not a time since 1970.
    #[error("must be a time since 1970 as in RFC 3339, such as 2026-01-31T12:00:00Z")]
    Time,
    /// A time that is yet to come.
    #[error("must not be in the future")]
    Future,
}

impl LineError {
    pub(super) const fn of_line(fault: LineFault) -> Self {
        Self { field: None, fault }
    }

    pub(super) fn of(field: impl Into<Cow<'static, str>>, fault: impl Into<LineFault>) -> Self {
        Self { field: Some(field.into()), fault: fault.into() }
    }
}

/// Reads a line, without its line feed.
///
/// # Errors
/// [`LineError`] with the first thing that is wrong.
pub fn parse_line(line: &[u8]) -> Result<ImportedIdentity, LineError> {
    if line.len() > MAX_LINE {
        return Err(LineError::of_line(LineFault::TooLong));
    }
    let fields = Fields::read(line)?;
    let email = text(fields::EMAIL, fields.email)?.unwrap_or_default();
    let username = text(fields::USERNAME, fields.username)?.unwrap_or_default();
    let mut imported = ImportedIdentity {
        id: text(fields::ID, fields.id)?.map(|id| read_id(&id)).transpose()?,
        email: email.parse().map_err(|invalid: InvalidEmail| LineError::of(fields::EMAIL, invalid))?,
        username: username
            .parse()
            .map_err(|invalid: InvalidUsername| LineError::of(fields::USERNAME, invalid))?,
        password: text(fields::PASSWORD_HASH, fields.password_hash)?
            .filter(|hash| !is_unusable(hash))
            .map(|hash| read_password(hash).map_err(|fault| LineError::of(fields::PASSWORD_HASH, fault)))
            .transpose()?,
        email_verified: value(fields::EMAIL_VERIFIED, fields.email_verified, LineFault::NotTruth)?
            .unwrap_or_default(),
        is_disbelieved: false,
        status: text(fields::STATUS, fields.status)?
            .map_or(Ok(IdentityStatus::Active), |status| read_status(&status))?,
        created_at: text(fields::CREATED_AT, fields.created_at)?.map(|time| read_time(&time)).transpose()?,
    };
    if imported.email.may_lead_elsewhere() {
        imported.is_disbelieved = std::mem::take(&mut imported.email_verified);
    }
    Ok(imported)
}

fn text(field: &'static str, raw: Option<&RawValue>) -> Result<Option<String>, LineError> {
    value(field, raw, LineFault::NotText)
}

/// The value of a field; `null` is none.
fn value<T: DeserializeOwned>(
    field: &'static str,
    raw: Option<&RawValue>,
    otherwise: LineFault,
) -> Result<Option<T>, LineError> {
    let Some(raw) = raw else { return Ok(None) };
    serde_json::from_str(raw.get()).map_err(|_| LineError::of(field, otherwise))
}

fn read_id(id: &str) -> Result<IdentityId, LineError> {
    let id = id.parse::<IdentityId>().ok().filter(|id| !id.as_uuid().is_nil());
    id.ok_or(LineError::of(fields::ID, LineFault::Id))
}

/// Whether a text says that there is no hash. One that is locked by what stands before it does not.
fn is_unusable(hash: &str) -> bool {
    let means_nothing = |rest: &str| {
        rest.is_empty() || rest.len() == UNUSABLE_LETTERS && rest.bytes().all(|b| b.is_ascii_alphanumeric())
    };
    hash.is_empty() || hash.strip_prefix(UNUSABLE).is_some_and(means_nothing)
}

fn read_password(hash: String) -> Result<ImportedPassword, LineFault> {
    if !hash.starts_with(EXPORTED) {
        return Ok(ImportedPassword::Foreign(Box::new(ForeignHash::parse(&hash)?)));
    }
    match StoredCredential::parse(&hash)?.state() {
        CredentialState::Hardened => Ok(ImportedPassword::Hardened(Secret::new(hash))),
        _ => Err(CredentialError::Malformed.into()),
    }
}

fn read_status(status: &str) -> Result<IdentityStatus, LineError> {
    [IdentityStatus::Active, IdentityStatus::Disabled]
        .into_iter()
        .find(|known| known.as_str() == status)
        .ok_or(LineError::of(fields::STATUS, LineFault::Status))
}

fn read_time(time: &str) -> Result<Timestamp, LineError> {
    let moment: Option<Moment> = time.parse().ok();
    let since_1970 = moment.filter(|moment| *moment >= Moment::UNIX_EPOCH);
    since_1970
        .map(|moment| Timestamp::from_millis(moment.as_millisecond()))
        .ok_or(LineError::of(fields::CREATED_AT, LineFault::Time))
}

#[cfg(test)]
mod tests;
