//! Identities: people's records.
//!
//! [`model`]: what an identity is. [`email`]: what it is found by. [`username`]: what it is called. [`repository`]: the
//! atomic steps; `changing`: changes of what is there now; [`not_begun`]: what is known where one was not even asked for. [`sought`]: what records are searched for.

pub(crate) mod changing;
pub mod email;
pub mod model;
pub mod not_begun;
pub mod repository;
pub mod sought;
pub mod username;

pub use email::{Email, InvalidEmail, MAX_EMAIL_BYTES};
pub use model::{Identity, IdentityStatus, LoginNameHash};
pub use not_begun::NotBegun;
pub use repository::{
    Changed, EndsSessions, IdentityChange, IdentityDirectory, IdentityFilter, IdentityPage,
    IdentityRepository, NewCredential, NewEmail, NewIdentity, Registration, RegistrationLetters, Removed,
};
pub use sought::SoughtText;
pub use username::{InvalidUsername, Username};
