//! Second factors.

mod login_step;
mod passkey;
mod recovery_code;
mod requirement;
mod totp;
pub(crate) mod world;
