//! What administrators do with people's records.
//!
//! [`service`]: one record after the other. [`listing`]: many of them. [`input`]: what is asked for. [`error`]: why it is
//! not done.
//!
//! Whatever takes access away (disabling, deleting, a reset of credentials) revokes what was issued for the person, in the
//! same transaction. So are the notices stored of what the person is told.

pub mod error;
pub mod input;
pub mod listing;
pub mod service;

pub use error::AdministrationError;
pub use input::{IdentityEdit, NewIdentity, NewPassword, Notify};
pub use listing::{IdentityListing, ListIdentities};
pub use service::{AdministrationMails, IdentityAdministration};
