//! `sluice demo`: the server with its own pages, and a small application that signs in with it.
//!
//! [`run`]: starts both, or plays everything once without a browser. `app`: the example application. `relying_party`:
//! what it does as an OAuth client. `admin`: what it asks of the admin API. `headless`: the play. `progress`: what is
//! printed meanwhile. `printer`: where. [`views`]: the pages of the application.
//!
//! Application and play talk HTTP to the server like anyone else: nothing here knows its inside.

mod admin;
mod app;
mod headless;
mod printer;
mod progress;
mod relying_party;
#[cfg(test)]
mod stub;
pub(crate) mod views;

use std::error::Error;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::process::ExitCode;
use std::sync::Arc;

use reqwest::redirect::Policy;
use rustls::{ClientConfig, RootCertStore};
use sluice_commit::chain;
use sluice_primitives::{Clock, Rng};
use tokio::net::TcpListener;
use url::Url;

pub(crate) use printer::Printer;
pub(crate) use progress::Progress;

use admin::Admin;
use app::App;
use relying_party::{Callbacks, RelyingParty, RelyingPartyError};

/// Where the example application listens unless told otherwise.
pub(crate) const DEFAULT_APP_PORT: u16 = 5555;

/// How the demo is run. The ports of the server are the server's business.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DemoOptions {
    /// Whether to play everything once and end, instead of waiting for a browser.
    pub(crate) headless: bool,
    /// Default: [`DEFAULT_APP_PORT`]; 0 takes any that is free.
    pub(crate) app_port: u16,
}

/// What the demo needs of the world.
#[derive(Clone)]
pub(crate) struct DemoParts {
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) rng: Arc<dyn Rng>,
    pub(crate) printer: Printer,
}

/// A server that was started for the demo.
pub(crate) trait DemoServer {
    /// The issuer.
    fn public_url(&self) -> Url;
    /// The base of the admin API.
    fn admin_url(&self) -> Url;
    /// Ends the server.
    fn shutdown(self) -> impl Future<Output = ()>;
}

#[derive(Debug, thiserror::Error)]
enum DemoError {
    #[error("the server did not start")]
    Server(#[source] Box<dyn Error + Send + Sync>),
    #[error("the example application cannot listen on port {0}; choose another with --app-port")]
    AppPort(u16, #[source] io::Error),
    #[error("the example application failed")]
    App(#[source] io::Error),
    #[error("no HTTP client could be made")]
    Client(#[source] Box<dyn Error + Send + Sync>),
    #[error("the example application is not on good terms with the server")]
    RelyingParty(#[from] RelyingPartyError),
    #[error("signals cannot be received")]
    Signals(#[source] io::Error),
}

/// Runs the demo with the server that `start` starts; `start` tells of each part that is ready. Success is a play whose
/// every answer was as it must be, or a demo that was ended with Ctrl-C.
pub(crate) async fn run<S, Starting>(
    options: DemoOptions,
    world: DemoParts,
    start: impl FnOnce(Progress) -> Starting,
) -> ExitCode
where
    S: DemoServer,
    Starting: Future<Output = Result<S, Box<dyn Error + Send + Sync>>>,
{
    match try_run(options, world, start).await {
        Ok(code) => code,
        Err(error) => {
            eprintln!("\nThe demo failed: {}", chain(&error));
            ExitCode::FAILURE
        }
    }
}

async fn try_run<S, Starting>(
    options: DemoOptions,
    world: DemoParts,
    start: impl FnOnce(Progress) -> Starting,
) -> Result<ExitCode, DemoError>
where
    S: DemoServer,
    Starting: Future<Output = Result<S, Box<dyn Error + Send + Sync>>>,
{
    let progress = Progress::begin("Sluice demo", world.printer.clone());
    let (listener, callbacks) = listen(options).await?;
    let server = start(progress.clone()).await.map_err(DemoError::Server)?;
    let outcome = async {
        let party = introduce(&server, &callbacks, &*world.rng).await?;
        progress.ready("example app", &format!("registered as {}", party.client_id()));
        let Some(listener) = listener else {
            let admin = Admin::new(http_client()?, server.admin_url());
            return Ok(headless::play(party, admin, world).await);
        };
        let printer = world.printer.clone();
        show(listener, App::new(party, world), &server, &printer).await
    };
    let outcome = outcome.await;
    server.shutdown().await;
    outcome
}

/// The port of the application, and where browsers come back to. Without a browser nobody comes, so nothing listens.
async fn listen(options: DemoOptions) -> Result<(Option<TcpListener>, Callbacks), DemoError> {
    if options.headless {
        let port = if options.app_port == 0 { DEFAULT_APP_PORT } else { options.app_port };
        return Ok((None, Callbacks::at(SocketAddr::from((Ipv4Addr::LOCALHOST, port)))));
    }
    let taken = |error| DemoError::AppPort(options.app_port, error);
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, options.app_port));
    let listener = TcpListener::bind(address).await.map_err(taken)?;
    let callbacks = Callbacks::at(listener.local_addr().map_err(taken)?);
    Ok((Some(listener), callbacks))
}

/// Registers the example application with the server, and reads what the server offers.
async fn introduce(
    server: &impl DemoServer,
    callbacks: &Callbacks,
    rng: &dyn Rng,
) -> Result<RelyingParty, DemoError> {
    let http = http_client()?;
    let credentials = Admin::new(http.clone(), server.admin_url()).register(callbacks, rng).await?;
    Ok(RelyingParty::discover(http, &server.public_url(), credentials, callbacks.clone()).await?)
}

async fn show(
    listener: TcpListener,
    app: App,
    server: &impl DemoServer,
    printer: &Printer,
) -> Result<ExitCode, DemoError> {
    printer.line(&format!("\n  Open   {}", app.url()));
    printer.line(&format!("\n  server {}   admin {}", server.public_url(), server.admin_url()));
    printer.line("  Ctrl-C stops everything.\n");
    let mut terminate = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())
        .map_err(DemoError::Signals)?;
    let stopped = async move {
        tokio::select! {
            _ = tokio::signal::ctrl_c() => {}
            _ = terminate.recv() => {}
        }
    };
    app.serve(listener, stopped).await.map_err(DemoError::App)?;
    printer.line("\nStopping.");
    Ok(ExitCode::SUCCESS)
}

/// A client for a server on this machine: no proxies, no redirects followed, no certificate trusted.
fn http_client() -> Result<reqwest::Client, DemoError> {
    let provider = rustls::crypto::aws_lc_rs::default_provider();
    let tls = ClientConfig::builder_with_provider(provider.into())
        .with_safe_default_protocol_versions()
        .map_err(|error| DemoError::Client(error.into()))?
        .with_root_certificates(RootCertStore::empty())
        .with_no_client_auth();
    let client =
        reqwest::Client::builder().tls_backend_preconfigured(tls).redirect(Policy::none()).no_proxy();
    client.build().map_err(|error| DemoError::Client(error.into()))
}
