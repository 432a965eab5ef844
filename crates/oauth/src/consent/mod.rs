//! Consent: a remembered decision of a user about a client.
//!
//! [`repository`]: how decisions are found and forgotten. They are stored together with the grant they led to.
//! [`service`]: what an administrator may do. [`listing`]: what a user consented to, page by page, remembered or not;
//! [`grantee`]: to whom; [`late_documents`]: what a page does not wait for. [`name`]: what an entry of that is called.
//! `withdrawal`: how consents end.

pub mod grantee;
pub mod late_documents;
pub mod listing;
pub mod name;
pub mod repository;
pub mod service;
pub(crate) mod withdrawal;

pub use grantee::Grantee;
pub use late_documents::LateDocuments;
pub use listing::{ConsentEntry, ConsentPage, InvalidPageToken, ListConsents};
pub use name::DecisionName;
pub use repository::{ConsentRepository, DecisionPage, Forget, RememberedConsent};
pub use service::{ConsentService, Revoke};
