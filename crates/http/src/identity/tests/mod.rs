//! The identity API, asked over HTTP.

mod account;
mod browsers;
mod enrolment;
mod factors;
mod login;
mod logs;
mod recovery;
mod registration;
mod sessions;
pub(crate) mod world;
