//! Mails and codes in the store.

use std::fmt;

use async_trait::async_trait;
use sluice_commit::StoreError;
use sluice_primitives::{AttemptId, IdentityId, Lifetime, Timestamp};
use uuid::Uuid;

/// When a mail is due that is never sent: it takes as much to queue as any other, and nothing after that.
pub const NEVER: Timestamp = Timestamp::from_millis(i64::MAX);

/// A mail that waits to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueuedMail {
    /// The id of the row, and of the message: made once, so that a repeated transaction queues it once.
    pub id: Uuid,
    /// Who it is to, and what it says, sealed: an outbox tells nothing to who reads the database.
    pub sealed: String,
    /// When it may be sent; what is due longest goes first.
    pub due_at: Timestamp,
}

/// A mail that was taken out to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeasedMail {
    /// The id of the row, and of the message.
    pub id: Uuid,
    /// As it was queued.
    pub sealed: String,
    /// How often it was tried before.
    pub attempts: u32,
}

/// The outbox of mails. Every method is one transaction.
#[async_trait]
pub trait MailRepository: Send + Sync {
    /// Queues a mail; twice with one id is once.
    async fn queue(&self, mail: &QueuedMail) -> Result<(), StoreError>;

    /// Takes at most `limit` mails that are due; no other node gets them before `lease` has passed.
    async fn lease(&self, now: Timestamp, lease: Lifetime, limit: u32)
    -> Result<Vec<LeasedMail>, StoreError>;

    /// The mail was taken by the server it is for.
    async fn sent(&self, id: Uuid) -> Result<(), StoreError>;

    /// The mail was not taken: it is due again at `next`, or, without one, kept as a dead letter.
    async fn failed(&self, id: Uuid, next: Option<Timestamp>) -> Result<(), StoreError>;

    /// Makes a mail that is due at `from`, and waits, due at `to`. Nothing happens if it is due at another time by now: somebody
    /// else has taken it.
    async fn bring_forward(&self, id: Uuid, from: Timestamp, to: Timestamp) -> Result<(), StoreError>;

    /// How many mails wait, without those that are due at [`NEVER`], and how many are dead letters; each is counted to 100,000 at
    /// least, and perhaps no further.
    async fn depth(&self) -> Result<(u64, u64), StoreError>;

    /// When the oldest mail was queued of those that wait, without those that are due at [`NEVER`], as its id tells. Where many wait, perhaps
    /// only of those that are due first.
    async fn oldest_mail(&self) -> Result<Option<Timestamp>, StoreError>;

    /// Deletes at most `limit` mails: dead letters that were last due before `before`, and what is due at [`NEVER`]; how many
    /// it was.
    async fn purge_mails(&self, before: Timestamp, limit: u32) -> Result<u64, StoreError>;

    /// At most `limit` mails by id, those after `after`: whatever becomes of them, with what is sealed of each.
    async fn sealed_mails(&self, after: Option<Uuid>, limit: u32) -> Result<Vec<(Uuid, String)>, StoreError>;

    /// Puts something else in the place of what is sealed of a mail, if it is still what it was; whether it was.
    async fn reseal_mail(&self, id: Uuid, old: &str, new: &str) -> Result<bool, StoreError>;

    /// Deletes a mail, whatever is to become of it, if what is sealed of it is still this.
    async fn drop_mail(&self, id: Uuid, sealed: &str) -> Result<(), StoreError>;
}

/// What a code is good for. An identity has one code of each purpose at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CodePurpose {
    /// To show that mail to the address is read.
    VerifyEmail,
    /// To set another password without the present one.
    Recover,
    /// To change the address to the one that the code was sent to.
    ChangeEmail,
}

impl CodePurpose {
    /// As stores keep it.
    pub const fn stored(self) -> i16 {
        match self {
            Self::VerifyEmail => 1,
            Self::Recover => 2,
            Self::ChangeEmail => 3,
        }
    }
}

/// How often a code may be typed wrong before it is none any more.
pub const MAX_CODE_TRIES: u32 = 10;

/// A code that a mail carries.
///
/// Prints whose it is and what for.
#[derive(Clone, PartialEq, Eq)]
pub struct MailCode {
    /// Whose.
    pub identity: IdentityId,
    /// What it is good for.
    pub purpose: CodePurpose,
    /// The address it was sent to, normalised.
    pub email: String,
    /// Its keyed hash.
    pub hash: [u8; 32],
    /// Until when it is good.
    pub expires_at: Timestamp,
    /// The attempt that wrote it.
    pub attempt: AttemptId,
}

/// A code and the mail that carries it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodeByMail {
    /// The code.
    pub code: MailCode,
    /// Its mail.
    pub mail: QueuedMail,
}

impl fmt::Debug for MailCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MailCode")
            .field("identity", &self.identity)
            .field("purpose", &self.purpose)
            .field("expires_at", &self.expires_at)
            .finish_non_exhaustive()
    }
}

/// What somebody shows of a code.
#[derive(Clone, Copy)]
pub struct ShownCode<'a> {
    /// The keyed hashes that it may have been kept under.
    pub hashes: &'a [[u8; 32]],
    /// Whether it came by the link of the mail, which is sealed: nobody guesses that. It costs no try and needs none, so
    /// whoever types wrong codes for somebody else does not take their link away.
    pub by_link: bool,
    /// Whether the code stays good if it is right: what it is for is yet to be done. A wrong one costs its try all the same.
    pub keeps: bool,
}

impl fmt::Debug for ShownCode<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ShownCode")
            .field("by_link", &self.by_link)
            .field("keeps", &self.keeps)
            .finish_non_exhaustive()
    }
}

/// What became of a code that was typed.
///
/// Prints no address.
#[derive(Clone, PartialEq, Eq)]
pub enum TakenCode {
    /// It is right, and spent now unless it was to be kept. It was sent to this address.
    Right {
        /// The address, normalised.
        email: String,
    },
    /// It is another one. One try less is left.
    Wrong,
    /// There is none, it is too old, or it was typed wrong too often.
    Gone,
}

impl fmt::Debug for TakenCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Right { .. } => "Right",
            Self::Wrong => "Wrong",
            Self::Gone => "Gone",
        })
    }
}

/// Codes. Every method is one transaction.
#[async_trait]
pub trait CodeRepository: Send + Sync {
    /// Stores a code in the place of the identity's former one of this purpose, with all its tries, and queues its mail.
    async fn put(&self, code: &MailCode, mail: &QueuedMail) -> Result<(), StoreError>;

    /// Takes a code: right once, by one caller; a retry of the same attempt is right again until the code has expired. It is
    /// right if one of the hashes is its, of each key that may have made it; however many there are, that is one try. After
    /// [`MAX_CODE_TRIES`] wrong ones it is gone. One that is kept ([`ShownCode::keeps`]) can be taken again by anybody.
    async fn take(
        &self,
        identity: IdentityId,
        purpose: CodePurpose,
        code: ShownCode<'_>,
        (now, attempt): (Timestamp, AttemptId),
    ) -> Result<TakenCode, StoreError>;

    /// To which address the code with one of these hashes was sent, if it would be right, come by the link of its mail. Nothing is spent by
    /// looking.
    async fn sent_to(
        &self,
        identity: IdentityId,
        purpose: CodePurpose,
        hashes: &[[u8; 32]],
        now: Timestamp,
    ) -> Result<Option<String>, StoreError>;

    /// Deletes at most `limit` codes that expired before `before`; how many it was.
    async fn purge_expired(&self, before: Timestamp, limit: u32) -> Result<u64, StoreError>;
}
