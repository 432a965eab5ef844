//! Clients: registered applications (RFC 6749 §2).
//!
//! [`model`], [`profile`]: what a client is; [`given_url`]: its URLs; `home`: which of them are links. [`registration`]: what is asked for, held against the rules. [`secret`]: how secrets are
//! made. [`dynamic`]: clients that register themselves. [`service`]: what an administrator may do. [`directory`]: the clients in memory. [`metadata_document`]: clients that a URL describes. [`document`]: the one text
//! that stores keep of a client. [`repository`]: the atomic steps. [`in_use`]: which secrets the stored clients need; [`reseal`]: moving
//! them.

pub mod directory;
pub mod document;
pub mod dynamic;
#[cfg(test)]
pub(crate) mod fake;
pub mod given_url;
mod home;
pub mod in_use;
pub mod metadata_document;
pub mod model;
pub mod profile;
pub mod registration;
pub mod repository;
pub mod reseal;
pub mod secret;
pub mod service;

pub use directory::{ClientDirectory, NoClient};
pub use document::{UnreadableClient, decode, encode};
pub use dynamic::{
    DynamicRegistration, DynamicRegistrationError, DynamicRegistrationParts, OwnRequest, SelfRegistered,
    Statements, Trust,
};
pub use given_url::GivenUrl;
pub use home::home_of;
pub use in_use::{ClientSecretsInUse, HashKey, OfClients, client_with_missing_secret};
pub use metadata_document::{DocumentSource, MetadataDocumentParts, MetadataDocuments};
pub use model::{
    AccessTokenStrategy, AuthMethod, Client, GrantLifespans, Lifespans, LogoutSessions, SecretsEnd,
};
pub use profile::{
    CertificateName, ClientSecurity, Encryption, RequestDefaults, ResponseFormats, SecurityProfile, Software,
    TokenExchangePolicy,
};
pub use registration::{ClientMetadata, ReadMetadata, RegistrationError, RegistrationRules};
pub use repository::{ClientFilter, ClientRepository, Replacement};
pub use reseal::{ResealError, ResealedClients, SealedClientSecrets};
pub use secret::ClientSecrets;
pub use service::{
    ClientPage, ClientService, ClientServiceError, ClientServiceParts, ListClients, Management, RefusedPatch,
    Registered,
};
