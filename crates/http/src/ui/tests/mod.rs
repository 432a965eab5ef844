//! The pages as a browser sees them, on the memory store.

mod account;
mod changed_meanwhile;
mod consent;
mod device;
mod expected;
mod factor;
mod known_browser;
mod language;
mod login;
mod login_elsewhere;
mod logout;
mod look;
mod other_browser;
mod parts;
mod passkey;
pub(in crate::ui) mod people;
mod puzzle;
mod recovery;
mod registration;
mod required_factor;
mod sign_out;
mod typed_once;
mod verification;
pub(in crate::ui) mod world;
