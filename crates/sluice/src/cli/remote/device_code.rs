//! `perform device-code`: asks as a device does (RFC 8628), shows the code for the user, and waits for the tokens.

use std::time::Duration;

use clap::Args;
use serde_json::Value;
use sluice_primitives::Lifetime;
use url::Url;

use super::credentials::ClientCredentials;
use super::error::RemoteError;
use super::server::Server;
use super::token_row::tokens;
use crate::cli::Console;
use crate::cli::output::{Answer, printable, text};

const GRANT_TYPE: &str = "urn:ietf:params:oauth:grant-type:device_code";
/// What a device waits that was told nothing (RFC 8628 §3.2), and so much longer if it is told to slow down (§3.5).
const INTERVAL: Duration = Duration::from_secs(5);
/// How long codes live that say nothing.
const EXPIRES_IN: i64 = 600;

/// Logs in as a device without a browser does.
#[derive(Clone, Args)]
pub(crate) struct DeviceCodeArgs {
    #[command(flatten)]
    client: ClientCredentials,
    /// The scopes to ask for
    #[arg(long, value_delimiter = ',', default_value = "offline,openid")]
    scope: Vec<String>,
    /// The audiences to ask for
    #[arg(long, value_delimiter = ',')]
    audience: Vec<String>,
    /// The device authorization endpoint [default: below the endpoint]
    #[arg(long, value_name = "URL")]
    device_auth_url: Option<Url>,
    /// The token endpoint [default: below the endpoint]
    #[arg(long, value_name = "URL")]
    token_url: Option<Url>,
}

pub(super) async fn perform(
    args: &DeviceCodeArgs,
    server: &Server,
    console: &mut Console<'_>,
) -> Result<Answer, RemoteError> {
    let given = authorize(args, server).await?;
    let field = |name: &str| printable(&text(&given, name));
    let address = Some(field("verification_uri_complete")).filter(|address| !address.is_empty());
    console.say(&format!(
        "Open this address in a browser:\n\n  {}\n",
        address.unwrap_or_else(|| field("verification_uri"))
    ));
    console.say(&format!("and see that it shows, or enter there, the code {}", field("user_code")));
    console.say("Waiting for the user; press Ctrl-C to give up.");
    let json = wait(args, server, &given, console).await?;
    Ok(tokens(json, console.clock.now()))
}

/// Asks for the codes (RFC 8628 §3.1).
async fn authorize(args: &DeviceCodeArgs, server: &Server) -> Result<Value, RemoteError> {
    let (scope, audience) = (args.scope.join(" "), args.audience.join(" "));
    let mut form = vec![("scope", scope.as_str()), ("audience", audience.as_str())];
    form.retain(|(_, value)| !value.is_empty());
    let url = args.device_auth_url.clone().unwrap_or_else(|| server.url(&["oauth2", "device", "auth"]));
    args.client.post(server, url, &form).await?.into_json()
}

/// Polls until the user has decided (RFC 8628 §3.4, §3.5).
async fn wait(
    args: &DeviceCodeArgs,
    server: &Server,
    given: &Value,
    console: &Console<'_>,
) -> Result<Value, RemoteError> {
    let url = args.token_url.clone().unwrap_or_else(|| server.url(&["oauth2", "token"]));
    let device_code = text(given, "device_code");
    let form = [("grant_type", GRANT_TYPE), ("device_code", device_code.as_str())];
    let mut interval = given.get("interval").and_then(Value::as_u64).map_or(INTERVAL, Duration::from_secs);
    let expires_in = given.get("expires_in").and_then(Value::as_i64).unwrap_or(EXPIRES_IN);
    let end = console.clock.now() + Lifetime::secs(u32::try_from(expires_in).unwrap_or(u32::MAX));
    loop {
        tokio::time::sleep(interval).await;
        match args.client.post(server, url.clone(), &form).await {
            Ok(reply) => return reply.into_json(),
            Err(RemoteError::Refused(refusal)) if refusal.is("authorization_pending") => {}
            Err(RemoteError::Refused(refusal)) if refusal.is("slow_down") => interval += INTERVAL,
            // A server that does not answer is asked less often (§3.5).
            Err(RemoteError::Unreachable { .. }) if console.clock.now() < end => {
                interval = interval.saturating_mul(2).max(INTERVAL);
            }
            Err(error) => return Err(error),
        }
    }
}
