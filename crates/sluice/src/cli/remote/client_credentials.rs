//! `perform client-credentials`: a token for the client itself (RFC 6749 §4.4).

use clap::Args;

use super::credentials::ClientCredentials;
use super::error::RemoteError;
use super::server::Server;
use super::token_row::tokens;
use crate::cli::Console;
use crate::cli::output::Answer;

/// Gets an access token for the client itself.
#[derive(Clone, Args)]
pub(crate) struct ClientCredentialsArgs {
    #[command(flatten)]
    client: ClientCredentials,
    /// The scopes to ask for
    #[arg(long, value_delimiter = ',')]
    scope: Vec<String>,
    /// The audiences to ask for
    #[arg(long, value_delimiter = ',')]
    audience: Vec<String>,
}

pub(super) async fn perform(
    args: &ClientCredentialsArgs,
    server: &Server,
    console: &Console<'_>,
) -> Result<Answer, RemoteError> {
    if !args.client.has_secret() {
        let missing = "name the secret of the client: --client-secret, or the variable OAUTH2_CLIENT_SECRET";
        return Err(RemoteError::Usage(missing.to_owned()));
    }
    let (scope, audience) = (args.scope.join(" "), args.audience.join(" "));
    let mut form = vec![("grant_type", "client_credentials")];
    form.extend([("scope", scope.as_str()), ("audience", audience.as_str())]);
    form.retain(|(_, value)| !value.is_empty());
    let reply = args.client.post(server, server.url(&["oauth2", "token"]), &form).await?;
    Ok(tokens(reply.into_json()?, console.clock.now()))
}
