//! `sluice serve`.

use std::ffi::OsString;
use std::io;
use std::pin::pin;
use std::time::Duration;

use sluice_commit::chain;
use sluice_net::Limits;
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::sleep;
use tracing::{error, info, warn};

use super::{memory_limit, open_files, unless_refused};
use crate::app::{Node, StartError, StartOptions, World, run_gateway_process};
use crate::cli::{Exit, Listeners, ServeCommand};
use crate::config::{ConfigError, Finding, GatewayProcessSettings, Gathered, Loaded, Mode, Settings};
use crate::observability::{LogGuard, Traces, logs};

/// The variable that may say in more detail what is logged, in the syntax of tracing. Empty, it says nothing.
const LOG_FILTER: &str = "SLUICE_LOG";
/// How long further signals are taken for the first one: a terminal tells all that it has started, and who has started another tells it, too.
const SAME_SIGNAL: Duration = Duration::from_secs(1);

/// What a gateway does without if it has a link.
const OF_SERVERS: [&str; 3] = ["dsn", "urls.self.issuer", "secrets.system"];
/// What is said of that where there is none.
const WITH_A_LINK: &str = "a gateway by itself needs no database and no secrets if it has a link to its server: \
                           set gateway.link.url and gateway.link.token (docs/gateway/operations.md)";

/// Serves until it is told to stop.
pub(crate) async fn run(serve: ServeCommand, environment: Vec<(OsString, OsString)>) -> Exit {
    let files = open_files::permit();
    let sources = serve.configuration.sources(environment);
    let gathered = Gathered::of(&sources);
    // Where the public listener is another process, its certificate is that one's matter.
    let has_public = matches!(serve.listeners, Listeners::All | Listeners::Public);
    let gathered = if serve.tls_self_signed && has_public { gathered.self_signed() } else { gathered };
    if serve.listeners == Listeners::Gateway && gathered.has_link() {
        let Some(loaded) = unless_refused(gathered.into_gateway()) else { return Exit::Failure };
        if refuses_self_signed(&serve, loaded.settings.mode, "serve.gateway.tls") {
            return Exit::Usage;
        }
        return run_gateway(&loaded, serve.tls_self_signed, files).await;
    }
    let loaded = gathered.into_node();
    let is_told_of_link =
        serve.listeners == Listeners::Gateway && loaded.as_ref().is_err_and(asks_for_what_servers_need);
    let Some(loaded) = unless_refused(loaded) else {
        if is_told_of_link {
            eprintln!("{WITH_A_LINK}");
        }
        return Exit::Failure;
    };
    if refuses_self_signed(&serve, loaded.settings.mode, "serve.tls") {
        return Exit::Usage;
    }
    let (guard, traces) = match observe(&loaded) {
        Ok(observed) => observed,
        Err(error) => {
            eprintln!("{}", chain(&error));
            return Exit::Failure;
        }
    };
    open_files::tell(files, open_files::connections(&loaded.settings, serve.listeners));
    memory_limit::tell_of_node(&loaded.settings.identity);
    tell_of_derived(&loaded.settings);
    let options = StartOptions {
        listeners: serve.listeners,
        tls_self_signed: serve.tls_self_signed,
        auto_migrate: serve.auto_migrate,
        data_dir: sources.data_dir.clone(),
        idle_grace: Limits::default().idle_grace,
    };
    let exit = run_node(&loaded.settings, &options).await;
    if let Some(traces) = traces {
        traces.shutdown().await;
    }
    drop(guard);
    exit
}

/// Whether something is missing that a gateway with a link does without.
fn asks_for_what_servers_need(refused: &ConfigError) -> bool {
    refused.problems().iter().any(|problem| OF_SERVERS.contains(&problem.key.as_str()))
}

/// Serves until it is told to stop, which may be while it starts.
async fn run_node(settings: &Settings, options: &StartOptions) -> Exit {
    let mut told = pin!(until_told_to_stop());
    let started = tokio::select! {
        biased;
        () = &mut told => {
            info!("stopped before it served");
            return Exit::Success;
        }
        started = Node::start(settings, options, World::real()) => started,
    };
    match started {
        Ok(node) => {
            told.await;
            node.stop().await;
            Exit::Success
        }
        Err(error) => {
            error!(error = %chain(&error), "the server does not start");
            Exit::Failure
        }
    }
}

/// Whether a certificate is asked for that nobody can tell from another's, and this is not for development; then it is said what
/// else there is.
fn refuses_self_signed(serve: &ServeCommand, mode: Mode, certificate: &str) -> bool {
    let refuses = serve.tls_self_signed && !mode.is_development();
    if refuses {
        eprintln!(
            "--tls-self-signed is for development: use it with --dev, or name a certificate ({certificate})"
        );
    }
    refuses
}

/// What hangs on `secrets.system` keeps that from being rotated, and more hangs on it with every password: so it is said at
/// each start.
fn tell_of_derived(settings: &Settings) {
    if settings.mode.is_development() {
        return;
    }
    let lists = [
        ("secrets.storage", &settings.secrets.storage, "what is at rest is sealed"),
        ("secrets.pepper", &settings.secrets.pepper, "passwords are hashed"),
    ];
    for (key, _, what) in lists.iter().filter(|(_, list, _)| list.is_empty()) {
        warn!(
            key,
            "{key}: is not set: {what} by what follows from secrets.system, which has to stay for that"
        );
    }
}

/// Serves the gateway with nothing but a link.
async fn run_gateway(
    Loaded { settings, warnings, .. }: &Loaded<GatewayProcessSettings>,
    tls_self_signed: bool,
    files: io::Result<Option<u64>>,
) -> Exit {
    let guard = match logs::init(settings.log, log_filter().as_deref(), None) {
        Ok(guard) => guard,
        Err(error) => {
            eprintln!("{}", chain(&error));
            return Exit::Failure;
        }
    };
    log_warnings(warnings);
    open_files::tell(files, open_files::connections_of_gateway(&settings.gateway, &settings.admin));
    let stopped = until_told_to_stop();
    let exit = match run_gateway_process(settings, tls_self_signed, World::real(), stopped).await {
        Ok(()) => Exit::Success,
        Err(error) => {
            error!(error = %chain(&error), "the gateway does not start");
            Exit::Failure
        }
    };
    drop(guard);
    exit
}

/// Starts logs and traces, and logs what the configuration is warned about.
pub(crate) fn observe(loaded: &Loaded) -> Result<(LogGuard, Option<Traces>), StartError> {
    observe_by(loaded, log_filter().as_deref())
}

/// The same by a filter, if there is one.
pub(crate) fn observe_by(
    loaded: &Loaded,
    filter: Option<&str>,
) -> Result<(LogGuard, Option<Traces>), StartError> {
    let traces = Traces::start(&loaded.settings.tracing)?;
    let guard = logs::init(loaded.settings.log, filter, traces.as_ref())?;
    log_warnings(&loaded.warnings);
    Ok((guard, traces))
}

fn log_warnings(warnings: &[Finding]) {
    for warning in warnings {
        warn!(key = warning.key, "{}: {}", warning.key, warning.message);
    }
}

/// The filter that the environment asks for.
pub(crate) fn log_filter() -> Option<String> {
    std::env::var(LOG_FILTER).ok().filter(|filter| !filter.is_empty())
}

/// Returns on SIGTERM and SIGINT that come after this call, whenever it is waited for. So call it before what takes long: of process 1 of a
/// container, signals that nobody has asked for are lost. Who then tells it again does not want to wait: the process ends at once.
pub(crate) fn until_told_to_stop() -> impl Future<Output = ()> + Send {
    let signalled = signalled();
    async move {
        signalled.await;
        tokio::spawn(end_when_told_again());
    }
}

/// Ends the process as `kill -9` does, but for its exit code: what is under way is left, and what was answered is kept.
async fn end_when_told_again() {
    sleep(SAME_SIGNAL).await;
    signalled().await;
    std::process::exit(1);
}

/// Returns on signals that come after this call.
fn signalled() -> impl Future<Output = ()> + Send {
    let (terminate, interrupt) = (signal(SignalKind::terminate()), signal(SignalKind::interrupt()));
    async {
        match (terminate, interrupt) {
            (Ok(mut terminate), Ok(mut interrupt)) => {
                tokio::select! {
                    _ = terminate.recv() => {}
                    _ = interrupt.recv() => {}
                }
            }
            _ => std::future::pending().await,
        }
    }
}
