//! Mail: what is sent to people, and the outbox it waits in.
//!
//! [`repository`]: the outbox, and the codes that mails carry.

pub mod repository;

pub use repository::{
    CodePurpose, CodeRepository, LeasedMail, MAX_CODE_TRIES, MailCode, MailRepository, QueuedMail, TakenCode,
};
