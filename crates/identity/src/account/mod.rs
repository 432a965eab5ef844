//! What people do with their own record: another password, another address, a way back in, out of here.
//!
//! [`service`]: what needs the present password. [`email`]: addresses and their proof. [`recovery`]: the way back in
//! without the password. [`codes`]: what mails carry and how it comes back. [`outcome`]: what became of it.
//! [`confirmation`]: who it is, once more. `signing_in`: sessions and the first factor. [`config`]: where pages are. `registration_mails`: what
//! is written to those who register, `administration_mails`: to those to whose records an administrator does something.

mod administration_mails;
pub mod codes;
pub mod config;
pub mod confirmation;
pub mod email;
pub mod outcome;
pub mod recovery;
mod registration_mails;
pub mod service;
mod signing_in;

pub use codes::{Claimant, MailProof};
pub use config::{AccountConfig, AccountLinks};
pub use confirmation::Confirmation;
pub use outcome::{Denied, Outcome};
pub use service::{AccountService, PasswordChange};
