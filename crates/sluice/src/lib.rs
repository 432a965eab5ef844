//! Sluice: an authorization server for the minute when everybody arrives at once.
//!
//! `cli`: what can be asked for. `config`: files and environment. `app`: the composition root. `command`: what
//! `serve`, `worker`, `migrate`, `backup`, `restore`, `janitor`, `secrets`, `calibrate`, `bench`, `gateway`, `import identities`, `import hydra` and `export` do. `demo`: the example application. `observability`: logs, metrics,
//! traces, profiles.

pub mod app;
mod cli;
mod command;
mod config;
mod demo;
mod observability;

use std::process::ExitCode;
use std::time::Duration;

use sluice_primitives::{OsRng, SystemClock};
use tokio::runtime::Runtime;

use cli::{Cli, Commands, Console, Exit, LocalImport};

/// The version that the server tells.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");
/// How long the end waits for what nobody waits for any more, such as a name that the operating system looks up.
const LINGER: Duration = Duration::from_secs(1);

/// Does what the command line of this process asks for.
pub fn main() -> ExitCode {
    let cli = Cli::read(std::env::args_os()).unwrap_or_else(|error| error.exit());
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("the runtime could not be started: {error}");
            return ExitCode::FAILURE;
        }
    };
    done(runtime, run(cli.command)).into()
}

/// Does it to its end. What has to be done before that is awaited in it.
fn done(runtime: Runtime, work: impl Future<Output = Exit>) -> Exit {
    let exit = runtime.block_on(work);
    runtime.shutdown_timeout(LINGER);
    exit
}

async fn run(command: Commands) -> Exit {
    let (mut out, mut err) = (std::io::stdout(), std::io::stderr());
    let variable = |name: &str| std::env::var(name).ok();
    let mut console =
        Console { out: &mut out, err: &mut err, variable: &variable, clock: &SystemClock, rng: &OsRng };
    let environment = || std::env::vars_os().collect::<Vec<_>>();
    match command {
        Commands::Serve(serve) => Box::pin(command::serve::run(serve, environment())).await,
        Commands::Demo(demo) => command::demo::run(demo, environment()).await,
        Commands::Migrate(migrate) => {
            Box::pin(command::migrate::run(migrate, environment(), &mut console)).await
        }
        Commands::Backup(backup) => command::copy::backup(backup, environment(), &mut console).await,
        Commands::Restore(restore) => command::copy::restore(restore, environment(), &mut console).await,
        Commands::Config(config) => config.run(environment(), &mut console),
        Commands::Janitor(janitor) => command::janitor::run(janitor, environment(), &mut console).await,
        Commands::Secrets(secrets) => {
            Box::pin(command::secrets::run(secrets, environment(), &mut console)).await
        }
        Commands::Version(version) if version.output.is_for_people() => {
            command::print(&mut console, &cli::version())
        }
        Commands::Version(version) => {
            let printed = version.output.print(&cli::version_answer(), console.out);
            console.printed(printed)
        }
        Commands::Completion(completion) => {
            let printed = completion.run(console.out);
            console.printed(printed)
        }
        Commands::Worker(worker) => Box::pin(command::worker::run(worker, environment())).await,
        Commands::Calibrate(calibrate) => {
            command::calibrate::run(calibrate, environment(), &mut console).await
        }
        Commands::Bench(bench) => command::bench::run(*bench, &mut console).await,
        Commands::Gateway(gateway) => command::gateway::run(&gateway, &mut console),
        Commands::Export(export) => {
            Box::pin(command::transfer::export(export, environment(), &mut console)).await
        }
        Commands::Remote(remote) => match remote.into_local() {
            Ok(LocalImport::Identities(import, output)) => {
                Box::pin(command::transfer::import((import, output), environment(), &mut console)).await
            }
            Ok(LocalImport::Hydra(import, output)) => {
                Box::pin(command::takeover::import((*import, output), environment(), &mut console)).await
            }
            Err(remote) => remote.run(&mut console).await,
        },
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use tokio::sync::oneshot;
    use tokio::task::spawn_blocking;

    use super::*;

    #[test]
    fn what_nobody_waits_for_does_not_hold_up_the_end() {
        let (looks_up, found) = mpsc::channel::<()>();
        let exit = done(Runtime::new().unwrap(), async move {
            let (begins, has_begun) = oneshot::channel();
            let _unawaited = spawn_blocking(move || {
                begins.send(()).unwrap();
                let _ = found.recv_timeout(30 * LINGER);
            });
            has_begun.await.unwrap();
            Exit::Success
        });
        assert_eq!(exit, Exit::Success);
        assert!(looks_up.send(()).is_ok(), "it was waited for");
    }
}
