//! Tokens: `introspect token`, `revoke token`, `delete access-tokens`.

use clap::Args;
use serde_json::{Value, json};
use sluice_primitives::Secret;

use super::credentials::ClientCredentials;
use super::error::RemoteError;
use super::server::Server;
use super::token_row::moment;
use crate::cli::output::{Answer, text};
use crate::cli::value;

const INTROSPECTION: &[&str] = &["ACTIVE", "SUBJECT", "CLIENT ID", "SCOPE", "EXPIRY", "TOKEN USE"];

/// Asks what a token says.
#[derive(Clone, Args)]
pub(crate) struct IntrospectArgs {
    /// The token
    #[arg(value_name = "TOKEN", allow_hyphen_values = true, value_parser = value::secret)]
    token: Secret<String>,
    /// It is active only if it has these scopes
    #[arg(long, value_delimiter = ',')]
    scope: Vec<String>,
}

/// Revokes a token.
#[derive(Clone, Args)]
pub(crate) struct RevokeArgs {
    /// The token
    #[arg(value_name = "TOKEN", allow_hyphen_values = true, value_parser = value::secret)]
    token: Secret<String>,
    #[command(flatten)]
    client: ClientCredentials,
}

/// The client whose access tokens are deleted.
#[derive(Clone, Args)]
pub(crate) struct DeleteAccessTokensArgs {
    /// The id of the client
    #[arg(value_name = "CLIENT", value_parser = value::path_segment)]
    client: String,
}

pub(super) async fn introspect(args: &IntrospectArgs, server: &Server) -> Result<Answer, RemoteError> {
    let scope = args.scope.join(" ");
    let mut form = vec![("token", args.token.expose().as_str())];
    if !scope.is_empty() {
        form.push(("scope", &scope));
    }
    let url = server.url(&["admin", "oauth2", "introspect"]);
    let json = server.post_form(url, &form, None).await?.into_json()?;
    let expiry = json.get("exp").and_then(Value::as_i64).map(moment).unwrap_or_default();
    let field = |name: &str| text(&json, name);
    let cells =
        vec![field("active"), field("sub"), field("client_id"), field("scope"), expiry, field("token_use")];
    Ok(Answer::one(INTROSPECTION, cells, json))
}

/// A revocation is answered in the same way whether there was such a token or not (RFC 7009 §2.2).
pub(super) async fn revoke(args: &RevokeArgs, server: &Server) -> Result<Answer, RemoteError> {
    let url = server.url(&["oauth2", "revoke"]);
    args.client.post(server, url, &[("token", args.token.expose())]).await?;
    Ok(Answer::one(&["REVOKED"], vec!["true".to_owned()], json!({ "revoked": true })))
}

pub(super) async fn delete_access_tokens(
    args: &DeleteAccessTokensArgs,
    server: &Server,
) -> Result<Answer, RemoteError> {
    server.delete(&["admin", "oauth2", "tokens"], &[("client_id", &args.client)]).await?;
    Ok(Answer::of_ids(vec![args.client.clone()]))
}
