//! `sluice demo`: a server in development mode, and the example application that signs in with it.

use std::error::Error;
use std::ffi::OsString;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use sluice_commit::chain;
use sluice_primitives::{OsRng, SystemClock};
use url::Url;

use super::serve::{log_filter, observe_by};
use crate::app::{Node, StartError, StartOptions, World};
use crate::cli::{DemoCommand, Exit, Listeners};
use crate::config::{Loaded, Mode, Sources, load};
use crate::demo::{self, DEFAULT_APP_PORT, DemoOptions, DemoParts, DemoServer, Printer, Progress};
use crate::observability::LogGuard;

/// What the server logs between the lines of the demo: nothing of what goes right.
const QUIET: &str = "warn,sluice_audit=off";

/// The ports of the server, as Hydra has them.
const PUBLIC_PORT: u16 = 4444;
const ADMIN_PORT: u16 = 4445;

/// Runs the demo.
pub(crate) async fn run(command: DemoCommand, environment: Vec<(OsString, OsString)>) -> Exit {
    let options =
        DemoOptions { headless: command.is_headless, app_port: command.app_port.unwrap_or(DEFAULT_APP_PORT) };
    let printer = Printer::new(std::io::stdout());
    let parts = DemoParts { clock: Arc::new(SystemClock), rng: Arc::new(OsRng), printer };
    let code = demo::run(options, parts, |progress| start(command, environment, progress)).await;
    if code == std::process::ExitCode::SUCCESS { Exit::Success } else { Exit::Failure }
}

/// The server of the demo.
struct Server {
    node: Node,
    public: Url,
    admin: Url,
    _logs: LogGuard,
}

impl DemoServer for Server {
    fn public_url(&self) -> Url {
        self.public.clone()
    }

    fn admin_url(&self) -> Url {
        self.admin.clone()
    }

    async fn shutdown(self) {
        self.node.stop().await;
    }
}

async fn start(
    command: DemoCommand,
    environment: Vec<(OsString, OsString)>,
    progress: Progress,
) -> Result<Server, Box<dyn Error + Send + Sync>> {
    let (loaded, sources) = configure(&command, environment)?;
    progress.ready("configuration", "development mode");
    let quiet = (!is_set(&sources.environment, "LOG_LEVEL")).then_some(QUIET);
    let (logs, _) = observe_by(&loaded, log_filter().as_deref().or(quiet))?;
    let options = StartOptions {
        listeners: Listeners::All,
        tls_self_signed: false,
        auto_migrate: true,
        data_dir: sources.data_dir.clone(),
        idle_grace: Duration::ZERO,
    };
    let node = Box::pin(Node::start(&loaded.settings, &options, World::real())).await.map_err(with_option)?;
    let public: Url = loaded.settings.urls.issuer.parse()?;
    let admin = node.started.admin.clone().unwrap_or_default();
    progress.ready("server", &format!("database, keys and pages are ready at {public}"));
    Ok(Server { node, public, admin: format!("http://{admin}/").parse()?, _logs: logs })
}

/// Why the server does not start; of a port that is taken, with the option that chooses another.
fn with_option(error: StartError) -> Box<dyn Error + Send + Sync> {
    let option = match &error {
        StartError::Listen { listener: "public", .. } => "--public-port",
        StartError::Listen { listener: "admin", .. } => "--admin-port",
        _ => return error.into(),
    };
    format!("{}; choose another port with {option}", chain(&error)).into()
}

/// Development mode on two ports of this machine; what the environment says goes before.
fn configure(
    command: &DemoCommand,
    environment: Vec<(OsString, OsString)>,
) -> Result<(Loaded, Sources), Box<dyn Error + Send + Sync>> {
    let public = match command.public_port.unwrap_or(PUBLIC_PORT) {
        // The issuer names the port, so it must be known before the server starts.
        0 => TcpListener::bind("127.0.0.1:0")?.local_addr()?.port(),
        port => port,
    };
    let admin = command.admin_port.unwrap_or(ADMIN_PORT);
    let mut overrides = vec![
        ("serve.public.host".to_owned(), "127.0.0.1".to_owned()),
        ("serve.public.port".to_owned(), public.to_string()),
        ("serve.admin.port".to_owned(), admin.to_string()),
        ("urls.self.issuer".to_owned(), format!("http://127.0.0.1:{public}/")),
    ];
    if !is_set(&environment, "DSN") {
        overrides.push(("dsn".to_owned(), "memory".to_owned()));
    }
    let data_dir = std::env::temp_dir().join("sluice-demo");
    let sources = Sources { files: Vec::new(), environment, overrides, mode: Mode::Development, data_dir };
    Ok((load(&sources)?, sources))
}

fn is_set(environment: &[(OsString, OsString)], name: &str) -> bool {
    environment.iter().any(|(own, value)| own == name && !value.is_empty())
}
