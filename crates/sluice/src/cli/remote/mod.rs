//! The verbs that talk to a running server over HTTP.
//!
//! [`connection`]: which server, and how; `tls`: whom to trust. [`server`]: requests and answers; [`refusal`]: what a
//! server says when it refuses. One file or folder per thing: [`client`], [`jwks`], [`import`],
//! [`keys`], [`token`],
//! [`authorization_code`], [`device_code`], [`challenge`]. [`verb`]: what all verbs have in common.

mod authorization_code;
mod challenge;
mod client;
mod client_credentials;
mod connection;
mod credentials;
mod device_code;
mod error;
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

use super::output::Answer;
use super::{Console, Exit};
use connection::ConnectionArgs;
use error::RemoteError;
use verb::{Noun, Verb};

/// The verbs, as Hydra names them; `keys`, `rotate` and `debug` are Sluice's own.
#[derive(Subcommand)]
pub(crate) enum RemoteCommand {
    /// Create a client or a key
    Create(Verb<Create>),
    /// Get clients or keys by their ids
    Get(Verb<Get>),
    /// List clients
    List(Verb<List>),
    /// Change a client
    Update(Verb<Update>),
    /// Delete clients, keys or the access tokens of a client
    Delete(Verb<Delete>),
    /// Bring keys along from files
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
}

/// What can be got.
#[derive(Subcommand)]
pub(crate) enum Get {
    /// Get clients by their ids
    #[command(name = "oauth2-client", visible_alias = "client")]
    Client(client::IdsArgs),
    /// Get sets of keys by their ids
    #[command(name = "jwks", visible_alias = "jwk")]
    Jwks(jwks::GetArgs),
}

/// What can be listed.
#[derive(Subcommand)]
pub(crate) enum List {
    /// List clients
    #[command(name = "oauth2-clients", visible_alias = "clients", aliases = ["oauth2-client", "client"])]
    Clients(client::ListArgs),
}

/// What can be changed.
#[derive(Subcommand)]
pub(crate) enum Update {
    /// Change what is given, and leave the rest as it is
    #[command(name = "oauth2-client", visible_alias = "client")]
    Client(Box<client::UpdateArgs>),
}

/// What can be deleted.
#[derive(Subcommand)]
pub(crate) enum Delete {
    /// Delete clients by their ids
    #[command(name = "oauth2-client", visible_alias = "client")]
    Client(client::IdsArgs),
    /// Delete sets of keys by their ids
    #[command(name = "jwks", visible_alias = "jwk")]
    Jwks(jwks::SetsArgs),
    /// Delete all access tokens of a client
    AccessTokens(token::DeleteAccessTokensArgs),
}

/// What can be imported.
#[derive(Subcommand)]
pub(crate) enum Import {
    /// Add keys from JSON, PEM or DER files to a set
    #[command(name = "jwk", visible_alias = "jwks")]
    Jwk(import::ImportArgs),
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

/// What can be found out.
#[derive(Subcommand)]
pub(crate) enum Debug {
    /// Say what a login, consent or logout challenge is, and whether it still works
    Challenge(challenge::ChallengeArgs),
}

impl RemoteCommand {
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
        }
    }
}

/// A noun that is asked of the admin endpoint.
macro_rules! ask_admin {
    ($noun:ident: $($kind:ident => $ask:path),+ $(,)?) => {
        impl Noun for $noun {
            async fn ask(
                &self,
                connection: &ConnectionArgs,
                console: &mut Console<'_>,
            ) -> Result<Answer, RemoteError> {
                let server = connection.admin(console)?;
                match self {
                    $(Self::$kind(args) => $ask(args, &server).await,)+
                }
            }
        }
    };
}

ask_admin!(Create: Client => client::create, Jwks => jwks::create);
ask_admin!(Get: Client => client::get, Jwks => jwks::get);
ask_admin!(List: Clients => client::list);
ask_admin!(Update: Client => client::update);
ask_admin!(Delete: Client => client::delete, Jwks => jwks::delete, AccessTokens => token::delete_access_tokens);
ask_admin!(Import: Jwk => import::import);
ask_admin!(Introspect: Token => token::introspect);
ask_admin!(Rotate: ClientSecret => client::rotate_secret);
ask_admin!(Debug: Challenge => challenge::debug);

impl Noun for Keys {
    async fn ask(
        &self,
        connection: &ConnectionArgs,
        console: &mut Console<'_>,
    ) -> Result<Answer, RemoteError> {
        let server = connection.admin(console)?;
        match self {
            Self::List => keys::list(&server).await,
            Self::Rotate(args) => keys::rotate(args, &server).await,
            Self::Import(args) => import::import(args, &server).await,
        }
    }
}

impl Noun for Perform {
    async fn ask(
        &self,
        connection: &ConnectionArgs,
        console: &mut Console<'_>,
    ) -> Result<Answer, RemoteError> {
        let server = connection.public(console)?;
        match self {
            Self::AuthorizationCode(args) => authorization_code::perform(args, &server, console).await,
            Self::ClientCredentials(args) => client_credentials::perform(args, &server, console).await,
            Self::DeviceCode(args) => device_code::perform(args, &server, console).await,
        }
    }
}

impl Noun for Revoke {
    async fn ask(
        &self,
        connection: &ConnectionArgs,
        console: &mut Console<'_>,
    ) -> Result<Answer, RemoteError> {
        let Self::Token(args) = self;
        token::revoke(args, &connection.public(console)?).await
    }
}
