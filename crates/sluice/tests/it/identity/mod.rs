//! The identity service over HTTP, on both stores: `/auth/*`, `/admin/identities`, mail, and what clients of the
//! authorization server notice of it.
//!
//! [`people`]: people of tests, and what they ask for. [`records`]: what the store says of them. [`postbox`]: their mail.
//! [`holder`]: one of them, with pages and mail.

mod admin;
mod admin_credentials;
mod audit;
mod bodies;
mod browsers;
mod concealed;
mod consents;
mod dump;
mod endings;
mod guesses;
mod holder;
mod imported;
mod life;
mod limits;
mod login;
mod lost_secret;
mod outbox;
mod people;
mod postbox;
mod records;
mod recovery;
mod recovery_code_keys;
mod refresh;
mod registration;
mod required_factor;
mod sessions;
mod sign_out;
mod step_up;
mod subject;
mod until_closed;
mod verification;
