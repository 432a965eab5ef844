//! The verbs that talk to a running server over HTTP.
//!
//! [`connection`]: which server, and how; `tls`: whom to trust. [`server`]: requests and answers; [`refusal`]: what a
//! server says when it refuses. One file or folder per thing: [`client`], [`identity`], [`jwks`], [`import`],
//! [`keys`], [`token`],
//! [`authorization_code`], [`device_code`], [`challenge`]. [`verb`]: what all verbs have in common; `asked`: who does
//! what they are about.

mod asked;
mod authorization_code;
mod challenge;
mod client;
mod client_credentials;
mod connection;
mod credentials;
mod device_code;
mod error;
mod identity;
mod import;
mod jwks;
mod keys;
mod refusal;
mod server;
#[cfg(test)]
mod tests;
mod tls;
mod token;
mod token_row;
mod verb;

use clap::Subcommand;

use super::output::OutputArgs;
use super::takeover::ImportHydraArgs;
use super::transfer::ImportIdentitiesArgs;
use super::{Console, Exit};
use verb::Verb;

/// The verbs, as Hydra names them; `keys`, `rotate`, `debug`, `disable`, `enable` and `reset` are Sluice's own.
#[derive(Subcommand)]
pub(crate) enum RemoteCommand {
    /// Create a client, a key or a person
    Create(Verb<Create>),
    /// Get clients, keys or people by their ids
    Get(Verb<Get>),
    /// List clients or people
    #[command(visible_alias = "ls")]
    List(Verb<List>),
    /// Change a client or a person
    Update(Verb<Update>),
    /// Delete clients, keys, people, or the access tokens of a client
    Delete(Verb<Delete>),
    /// Bring clients, keys or people along from files, or what a Hydra keeps
    Import(Verb<Import>),
    /// List, rotate and import the keys that the server signs with
    Keys(Verb<Keys>),
    /// Play an OAuth 2.0 flow as a client
    Perform(Verb<Perform>),
    /// Ask what a token says
    Introspect(Verb<Introspect>),
    /// Revoke a token
    Revoke(Verb<Revoke>),
    /// Give a client a new secret
    Rotate(Verb<Rotate>),
    /// Find out what something is
    Debug(Verb<Debug>),
    /// Let people log in no more
    Disable(Verb<Disable>),
    /// Let people log in again
    Enable(Verb<Enable>),
    /// Take from people what they log in with
    Reset(Verb<Reset>),
}

/// What can be created.
#[derive(Subcommand)]
pub(crate) enum Create {
    /// Register a client
    #[command(name = "oauth2-client", visible_alias = "client")]
    Client(Box<client::CreateArgs>),
    /// Create a set of keys, or a further key in it
    #[command(name = "jwks", visible_alias = "jwk")]
    Jwks(jwks::CreateArgs),
    /// Make a record of a person
    Identity(identity::CreateArgs),
}

/// What can be got.
#[derive(Subcommand)]
pub(crate) enum Get {
    /// Get clients by their ids
    #[command(name = "oauth2-client", visible_alias = "client", aliases = ["oauth2-clients", "clients"])]
    Client(client::IdsArgs),
    /// Get sets of keys by their ids
    #[command(name = "jwks", visible_alias = "jwk")]
    Jwks(jwks::GetArgs),
    /// Get people by their ids
    Identity(identity::IdsArgs),
}

/// What can be listed.
#[derive(Subcommand)]
pub(crate) enum List {
    /// List clients
    #[command(name = "oauth2-clients", visible_alias = "clients", aliases = ["oauth2-client", "client"])]
    Clients(client::ListArgs),
    /// List people, in the order in which they registered
    #[command(alias = "identity")]
    Identities(identity::ListArgs),
    /// List where a person is signed in
    Sessions(identity::belongings::PersonArgs),
    /// List what a person logs in with beside a password
    Factors(identity::belongings::PersonArgs),
}

/// What can be changed.
#[derive(Subcommand)]
pub(crate) enum Update {
    /// Change what is given, and leave the rest as it is
    #[command(name = "oauth2-client", visible_alias = "client")]
    Client(Box<client::UpdateArgs>),
    /// Change what is given of a person, and leave the rest as it is
    Identity(identity::UpdateArgs),
}

/// What can be deleted.
#[derive(Subcommand)]
pub(crate) enum Delete {
    /// Delete clients by their ids
    #[command(name = "oauth2-client", visible_alias = "client", aliases = ["oauth2-clients", "clients"])]
    Client(client::IdsArgs),
    /// Delete sets of keys by their ids
    #[command(name = "jwks", visible_alias = "jwk")]
    Jwks(jwks::SetsArgs),
    /// Revoke everything that a client was granted: its access tokens and its refresh tokens
    AccessTokens(token::DeleteAccessTokensArgs),
    /// Delete people, with all that belongs to them
    Identity(identity::IdsArgs),
    /// Sign a person out of some sessions
    Session(identity::belongings::SomeArgs),
    /// Sign a person out everywhere
    Sessions(identity::belongings::PersonArgs),
    /// Take second factors from a person
    Factor(identity::belongings::SomeArgs),
}

/// What can be imported.
#[derive(Subcommand)]
pub(crate) enum Import {
    /// Register clients from JSON files, with the ids and secrets that they have there
    #[command(name = "oauth2-client", visible_alias = "client", aliases = ["oauth2-clients", "clients"])]
    Client(client::ImportArgs),
    /// Add keys from JSON, PEM or DER files to a set
    #[command(name = "jwk", visible_alias = "jwks")]
    Jwk(import::ImportArgs),
    /// Add people from a file of JSON lines to the database of the configuration; no server is asked
    #[command(visible_alias = "identity")]
    Identities(ImportIdentitiesArgs),
    /// Bring along what an Ory Hydra 2.x keeps in its PostgreSQL database, to the database of the configuration: the keys that it signs
    /// with, clients with their secrets, trusted issuers, remembered consents and refresh tokens. Other sets of keys are left there, and named.
    /// For the time before the change; may be done again. No server is asked
    Hydra(Box<ImportHydraArgs>),
}

/// What can be done with keys.
#[derive(Subcommand)]
pub(crate) enum Keys {
    /// List the keys that the server signs with, and where each is in its life
    List,
    /// Make new signing keys, which are announced before they sign
    Rotate(keys::RotateArgs),
    /// Add keys from JSON, PEM or DER files to a set
    Import(import::ImportArgs),
}

/// What can be performed.
#[derive(Subcommand)]
pub(crate) enum Perform {
    /// Log in with a browser, and print the tokens
    AuthorizationCode(Box<authorization_code::AuthorizationCodeArgs>),
    /// Get an access token for the client itself
    ClientCredentials(client_credentials::ClientCredentialsArgs),
    /// Log in as a device without a browser does, and print the tokens
    DeviceCode(device_code::DeviceCodeArgs),
}

/// What can be introspected.
#[derive(Subcommand)]
pub(crate) enum Introspect {
    /// Ask what an access or refresh token says
    Token(token::IntrospectArgs),
}

/// What can be revoked.
#[derive(Subcommand)]
pub(crate) enum Revoke {
    /// Revoke an access or refresh token
    Token(token::RevokeArgs),
}

/// What can be rotated.
#[derive(Subcommand)]
pub(crate) enum Rotate {
    /// Give a client a new secret; the old one works until it is removed
    ClientSecret(client::RotateSecretArgs),
}

/// Who can be kept from logging in.
#[derive(Subcommand)]
pub(crate) enum Disable {
    /// Keep people from logging in, and end their sessions
    Identity(identity::IdsArgs),
}

/// Who can be let in again.
#[derive(Subcommand)]
pub(crate) enum Enable {
    /// Let people log in again
    Identity(identity::IdsArgs),
}

/// What can be reset.
#[derive(Subcommand)]
pub(crate) enum Reset {
    /// Take passwords, second factors and recovery codes from people, end their sessions, revoke the tokens and forget the consents of
    /// applications; who never verified the address loses the username, too
    Credentials(identity::ResetArgs),
}

/// What can be found out.
#[derive(Subcommand)]
pub(crate) enum Debug {
    /// Say what a login, consent or logout challenge is, and whether it still works
    Challenge(challenge::ChallengeArgs),
}

/// What needs no server.
pub(crate) enum LocalImport {
    /// People from a file.
    Identities(ImportIdentitiesArgs, OutputArgs),
    /// What a Hydra keeps.
    Hydra(Box<ImportHydraArgs>, OutputArgs),
}

impl RemoteCommand {
    /// What is done right here, if it is: people, and what a Hydra keeps, are imported into the database.
    ///
    /// # Errors
    /// The command, if it talks to a server.
    pub(crate) fn into_local(self: Box<Self>) -> Result<LocalImport, Box<Self>> {
        match *self {
            Self::Import(Verb { noun: Import::Identities(import), output, .. }) => {
                Ok(LocalImport::Identities(import, output))
            }
            Self::Import(Verb { noun: Import::Hydra(import), output, .. }) => {
                Ok(LocalImport::Hydra(import, output))
            }
            other => Err(Box::new(other)),
        }
    }

    /// Does what is asked for, and prints the answer.
    pub(crate) async fn run(self, console: &mut Console<'_>) -> Exit {
        match self {
            Self::Create(verb) => verb.run(console).await,
            Self::Get(verb) => verb.run(console).await,
            Self::List(verb) => verb.run(console).await,
            Self::Update(verb) => verb.run(console).await,
            Self::Delete(verb) => verb.run(console).await,
            Self::Import(verb) => verb.run(console).await,
            Self::Keys(verb) => verb.run(console).await,
            Self::Perform(verb) => verb.run(console).await,
            Self::Introspect(verb) => verb.run(console).await,
            Self::Revoke(verb) => verb.run(console).await,
            Self::Rotate(verb) => verb.run(console).await,
            Self::Debug(verb) => verb.run(console).await,
            Self::Disable(verb) => verb.run(console).await,
            Self::Enable(verb) => verb.run(console).await,
            Self::Reset(verb) => verb.run(console).await,
        }
    }
}
