//! Who does what the verbs are about, and whom it is asked of.

use super::connection::ConnectionArgs;
use super::error::RemoteError;
use super::verb::Noun;
use super::{
    Create, Debug, Delete, Disable, Enable, Get, Import, Introspect, Keys, List, Perform, Reset, Revoke,
    Rotate, Update, authorization_code, challenge, client, client_credentials, device_code, identity, import,
    jwks, keys, token,
};
use crate::cli::Console;
use crate::cli::output::Answer;
use crate::command::serve::until_told_to_stop;

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

ask_admin!(Create: Client => client::create, Jwks => jwks::create, Identity => identity::create);
ask_admin!(Get: Client => client::get, Jwks => jwks::get, Identity => identity::get);
ask_admin!(
    List: Clients => client::list,
    Identities => identity::list,
    Sessions => identity::belongings::list_sessions,
    Factors => identity::belongings::list_factors,
);
ask_admin!(Update: Client => client::update, Identity => identity::update);
ask_admin!(
    Delete: Client => client::delete,
    Jwks => jwks::delete,
    AccessTokens => token::delete_access_tokens,
    Identity => identity::delete,
    Session => identity::belongings::end_sessions,
    Sessions => identity::belongings::end_all_sessions,
    Factor => identity::belongings::remove_factors,
);
ask_admin!(Introspect: Token => token::introspect);
ask_admin!(Rotate: ClientSecret => client::rotate_secret);
ask_admin!(Debug: Challenge => challenge::debug);
ask_admin!(Disable: Identity => identity::disable);
ask_admin!(Enable: Identity => identity::enable);
ask_admin!(Reset: Credentials => identity::reset_credentials);

impl Noun for Import {
    async fn ask(
        &self,
        connection: &ConnectionArgs,
        console: &mut Console<'_>,
    ) -> Result<Answer, RemoteError> {
        match self {
            Self::Client(args) => client::import(args, &connection.admin(console)?, until_told_to_stop).await,
            Self::Jwk(args) => import::import(args, &connection.admin(console)?).await,
            Self::Identities(_) | Self::Hydra(_) => {
                Err(RemoteError::Usage("this is imported into the database, not through a server".to_owned()))
            }
        }
    }
}

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
