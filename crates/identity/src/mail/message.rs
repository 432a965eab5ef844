//! What is sent to people, before it is written out; and sealed, as it waits in the outbox.

use std::fmt;

use serde::{Deserialize, Serialize};
use sluice_crypto::{OpenError, Purpose, Sealer};
use sluice_primitives::{Lifetime, Rng, Timestamp};
use thiserror::Error;

use super::repository::NEVER;

/// How long before others that were written at the same time a mail goes that is not about a registration: as long as codes
/// are good at most, so that no backlog of registrations is older.
pub(super) const HEAD_START: Lifetime = Lifetime::hours(7 * 24);

/// A mail to one person.
///
/// Prints what kind it is, and nothing else.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// The address, normalised.
    pub to: String,
    /// What it says.
    pub kind: MessageKind,
}

/// What a mail says. Never a name that somebody chose at registration: it could be anybody's text to anybody's address.
///
/// Stands sealed in the outbox, so that new kinds are added at the end.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum MessageKind {
    /// Show that you read mail at this address.
    VerifyEmail(CodeMail),
    /// Somebody tried to register with your address, or to change theirs to it.
    AlreadyRegistered {
        /// Where to log in; empty if there is no page for that alone.
        login: String,
        /// Where to go without a password.
        recover: String,
    },
    /// Set another password.
    Recover(CodeMail),
    /// Show that you read mail at the new address.
    ChangeEmail(CodeMail),
    /// To the former address: it is another one now.
    EmailChanged {
        /// The new one, all but unreadable.
        new_masked: String,
    },
    /// The password was changed.
    PasswordChanged {
        /// Where to go if it was somebody else.
        recover: String,
    },
    /// A second factor was added.
    FactorAdded {
        /// What its person calls it.
        name: String,
    },
    /// A second factor was removed.
    FactorRemoved {
        /// What its person called it.
        name: String,
    },
    /// The account was deleted.
    AccountDeleted,
    /// Nothing: is queued like the others, and never due. So an address without an account costs the work of one with.
    Decoy,
    /// Recovery codes were made in the place of the former ones.
    RecoveryCodesMade,
    /// A recovery code was shown in the place of another second factor.
    RecoveryCodeUsed {
        /// How many are left.
        left: u32,
    },
}

/// A code, and the link that is the same.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CodeMail {
    /// As people read it.
    pub code: String,
    /// The link.
    pub link: String,
    /// How long it is good, in minutes.
    pub minutes: i64,
}

/// A message as it lies in the outbox.
#[derive(Serialize, Deserialize)]
struct Wire {
    written_at: i64,
    message: Message,
}

/// Why a mail of the outbox cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub(super) enum Unreadable {
    /// It does not open.
    #[error(transparent)]
    Sealed(#[from] OpenError),
    /// It opens, but to something that this version does not understand.
    #[error("the content of the mail is not understood")]
    Content,
}

impl Unreadable {
    /// Whether another node may read it: one that has the secret that is not configured here, or that is of a later version.
    pub(super) fn may_be_read_elsewhere(self) -> bool {
        match self {
            Self::Sealed(cause) => cause == OpenError::UnknownKey,
            Self::Content => true,
        }
    }
}

impl Message {
    /// The message as the outbox keeps it.
    pub(super) fn seal(&self, written_at: Timestamp, sealer: &Sealer, rng: &dyn Rng) -> String {
        let wire = Wire { written_at: written_at.as_millis(), message: self.clone() };
        sealer.seal(Purpose::Mail, &postcard::to_stdvec(&wire).unwrap_or_default(), rng)
    }

    /// What the outbox kept, and when it was written.
    ///
    /// # Errors
    /// [`Unreadable`], which tells whether another node may read it.
    pub(super) fn open(sealed: &str, sealer: &Sealer) -> Result<(Self, Timestamp), Unreadable> {
        let bytes = sealer.open(Purpose::Mail, sealed)?;
        let wire: Wire = postcard::from_bytes(&bytes).map_err(|_| Unreadable::Content)?;
        Ok((wire.message, Timestamp::from_millis(wire.written_at)))
    }
}

impl MessageKind {
    /// What a log calls it.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::VerifyEmail(_) => "verify e-mail",
            Self::AlreadyRegistered { .. } => "already registered",
            Self::Recover(_) => "recover",
            Self::ChangeEmail(_) => "change e-mail",
            Self::EmailChanged { .. } => "e-mail changed",
            Self::PasswordChanged { .. } => "password changed",
            Self::FactorAdded { .. } => "factor added",
            Self::FactorRemoved { .. } => "factor removed",
            Self::AccountDeleted => "account deleted",
            Self::Decoy => "decoy",
            Self::RecoveryCodesMade => "recovery codes made",
            Self::RecoveryCodeUsed { .. } => "recovery code used",
        }
    }

    /// What a template is called that writes it.
    pub(super) const fn name(&self) -> &'static str {
        match self {
            Self::VerifyEmail(_) => "verify_email",
            Self::AlreadyRegistered { .. } => "already_registered",
            Self::Recover(_) => "recover",
            Self::ChangeEmail(_) => "change_email",
            Self::EmailChanged { .. } => "email_changed",
            Self::PasswordChanged { .. } => "password_changed",
            Self::FactorAdded { .. } => "factor_added",
            Self::FactorRemoved { .. } => "factor_removed",
            Self::AccountDeleted => "account_deleted",
            Self::Decoy => "decoy",
            Self::RecoveryCodesMade => "recovery_codes_made",
            Self::RecoveryCodeUsed { .. } => "recovery_code_used",
        }
    }

    /// One of each kind that is sent.
    pub(super) fn samples() -> [Self; 11] {
        let url = || "https://id.example.com/".to_owned();
        let code = || CodeMail { code: "ABCD-EFGH".to_owned(), link: url(), minutes: 60 };
        let name = || "a key".to_owned();
        [
            Self::VerifyEmail(code()),
            Self::AlreadyRegistered { login: url(), recover: url() },
            Self::Recover(code()),
            Self::ChangeEmail(code()),
            Self::EmailChanged { new_masked: "a…@example.com".to_owned() },
            Self::PasswordChanged { recover: url() },
            Self::FactorAdded { name: name() },
            Self::FactorRemoved { name: name() },
            Self::AccountDeleted,
            Self::RecoveryCodesMade,
            Self::RecoveryCodeUsed { left: 9 },
        ]
    }

    /// When a mail that is written now is due. What is due longest goes first: registrations, of which strangers can cause
    /// any number, do not hold up what people with an account wait for. A decoy is never due, and takes nobody's place.
    pub(super) fn due_at(&self, now: Timestamp) -> Timestamp {
        match self {
            Self::Decoy => NEVER,
            _ if self.goes_first() => now - HEAD_START,
            _ => now,
        }
    }

    /// Whether it goes before those that are about registrations.
    pub(super) const fn goes_first(&self) -> bool {
        !matches!(self, Self::VerifyEmail(_) | Self::AlreadyRegistered { .. } | Self::Decoy)
    }

    /// The code that it carries.
    pub(super) const fn code(&self) -> Option<&CodeMail> {
        match self {
            Self::VerifyEmail(code) | Self::Recover(code) | Self::ChangeEmail(code) => Some(code),
            _ => None,
        }
    }
}

impl fmt::Debug for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Message({})", self.kind.as_str())
    }
}

impl fmt::Debug for MessageKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for CodeMail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CodeMail([redacted])")
    }
}
