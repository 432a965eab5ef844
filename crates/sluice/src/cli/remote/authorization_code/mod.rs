//! `perform authorization-code`: logs in with a browser, as a native application does (RFC 8252), and prints the
//! tokens.
//!
//! [`request`]: what is asked for. [`loopback`]: the address that the browser is sent back to. [`page`]: what the
//! browser shows then.

mod loopback;
mod page;
mod request;

use std::process::Stdio;

use clap::{Args, ValueEnum};
use sluice_protocol::RedirectUri;
use url::Url;

use super::credentials::ClientCredentials;
use super::error::RemoteError;
use super::server::Server;
use super::token_row::tokens;
use crate::cli::Console;
use crate::cli::output::{Answer, printable};
use loopback::{Arrival, Loopback};
use page::Page;
use request::AuthorizationCall;

/// Logs in with a browser.
#[derive(Clone, Args)]
pub(crate) struct AuthorizationCodeArgs {
    #[command(flatten)]
    client: ClientCredentials,
    /// The scopes to ask for
    #[arg(long, value_delimiter = ',', default_value = "offline,openid")]
    scope: Vec<String>,
    /// The audiences to ask for
    #[arg(long, value_delimiter = ',')]
    audience: Vec<String>,
    /// What the user must be asked: login, consent, `create` (to register) or none
    #[arg(long, value_delimiter = ',')]
    prompt: Vec<String>,
    /// How many seconds ago the login may have been; -1 for any time
    #[arg(long, value_name = "SECONDS", default_value_t = -1, allow_negative_numbers = true)]
    max_age: i64,
    /// How the answer is to come back
    #[arg(long, value_enum)]
    response_mode: Option<ResponseMode>,
    /// The state, instead of a random one
    #[arg(long)]
    state: Option<String>,
    /// The port to listen at, at 127.0.0.1
    #[arg(short, long, default_value_t = 4446)]
    port: u16,
    /// The redirect URI, sent as it is written [default: `http://127.0.0.1:4446/callback`]
    #[arg(long, value_name = "URI")]
    redirect: Option<RedirectUri>,
    /// The authorization endpoint [default: below the endpoint]
    #[arg(long, value_name = "URL")]
    auth_url: Option<Url>,
    /// The token endpoint [default: below the endpoint]
    #[arg(long, value_name = "URL")]
    token_url: Option<Url>,
    /// Do not open a browser
    #[arg(long)]
    no_open: bool,
}

/// How the answer is to come back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ResponseMode {
    #[value(name = "query")]
    Query,
    #[value(name = "form_post")]
    FormPost,
}

pub(super) async fn perform(
    args: &AuthorizationCodeArgs,
    server: &Server,
    console: &mut Console<'_>,
) -> Result<Answer, RemoteError> {
    let loopback = Loopback::bind(args.port).await?;
    let redirect_uri = args.redirect.as_ref().map_or_else(|| loopback.callback(), RedirectUri::to_string);
    let call = AuthorizationCall::new(args, server, redirect_uri, console.rng);
    let address = call.url();
    console.say(&format!("Open this address in a browser:\n\n  {address}\n"));
    console.say("Waiting for the browser to come back; press Ctrl-C to give up.");
    if !args.no_open {
        open_browser(address.as_str());
    }
    let mut loopback = loopback.serve(address, call.callback_path());
    loop {
        let arrival = loopback.next().await?;
        if !call.is_answered_by(&arrival) {
            console.say("somebody came back with another state: ignored");
            arrival.show(Page::Foreign);
            continue;
        }
        let result = finish(args, server, &call, &arrival).await;
        arrival.show(if result.is_ok() { Page::Done } else { Page::Failed });
        loopback.stop().await;
        return result.map(|json| tokens(json, console.clock.now()));
    }
}

/// Exchanges the code that came back.
async fn finish(
    args: &AuthorizationCodeArgs,
    server: &Server,
    call: &AuthorizationCall,
    arrival: &Arrival,
) -> Result<serde_json::Value, RemoteError> {
    if let Some(error) = arrival.parameter("error") {
        let parts = ["error_description", "error_hint"].iter().filter_map(|name| arrival.parameter(name));
        let said: Vec<String> = std::iter::once(error).chain(parts).map(printable).collect();
        return Err(RemoteError::Denied(said.join(": ")));
    }
    let code = arrival
        .parameter("code")
        .ok_or_else(|| RemoteError::Denied("the browser came back without a code".to_owned()))?;
    let url = args.token_url.clone().unwrap_or_else(|| server.url(&["oauth2", "token"]));
    args.client.post(server, url, &call.exchange(code)).await?.into_json()
}

/// Opens a browser if that is possible; the address was printed.
fn open_browser(address: &str) {
    let opener = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let mut command = tokio::process::Command::new(opener);
    let _ = command.arg(address).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
}
