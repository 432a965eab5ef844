//! Clients: registered applications (RFC 6749 §2).
//!
//! [`model`], [`profile`]: what a client is. [`registration`]: what is asked for, held against the rules. [`secret`]: how secrets are
//! made. [`service`]: what an administrator may do. [`directory`]: the clients in memory. [`document`]: the one text
//! that stores keep of a client. [`repository`]: the atomic steps.

pub mod directory;
pub mod document;
#[cfg(test)]
pub(crate) mod fake;
pub mod model;
pub mod profile;
pub mod registration;
pub mod repository;
pub mod secret;
pub mod service;

pub use directory::ClientDirectory;
pub use document::{UnreadableClient, decode, encode};
pub use model::{AccessTokenStrategy, AuthMethod, Client, GrantLifespans, Lifespans, LogoutUri};
pub use profile::{
    CertificateName, ClientSecurity, Encryption, RequestDefaults, ResponseFormats, SecurityProfile, Software,
    TokenExchangePolicy,
};
pub use registration::{ClientMetadata, RegistrationError, RegistrationRules};
pub use repository::{ClientFilter, ClientRepository, Replacement};
pub use secret::ClientSecrets;
pub use service::{
    ClientPage, ClientService, ClientServiceError, ClientServiceParts, ListClients, RefusedPatch, Registered,
};
