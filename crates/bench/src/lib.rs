//! The benchmark: drives a server over HTTP, and says what an operation costs it, its database and the driver itself.
//!
//! [`command`]: what can be asked for. `run`: one scenario, measured. [`driver`]: connections, users, load in closed and open
//! loop. [`scenario`]: what users do. [`target`]: the server that is measured, found or started. [`floor`]: what a bare request
//! costs. [`growth`], [`endurance`], [`crash`]: what is more than a run. [`compare`]: several systems side by side. [`account`]: CPU and database work, before and after.
//! [`report`]: JSON, terminal, HTML.
//!
//! Knows the server by its HTTP interface and its processes alone: another that speaks the same is measured the same way. `inside`: the
//! one thing that [`growth`] has to be told, by the program that starts it.

pub mod account;
pub mod command;
pub mod compare;
mod conclusion;
pub mod crash;
pub mod driver;
pub mod endurance;
mod error;
pub mod floor;
pub mod growth;
mod inside;
mod interrupt;
mod number;
mod open_files;
mod outcome;
mod progress;
pub mod report;
mod run;
pub mod scenario;
pub mod target;

use std::path::Path;
use std::process::ExitCode;

pub use command::BenchCommand;
use command::{RunArgs, Task};
pub use error::BenchError;
pub use inside::{Inside, RefreshTokens, StartedServer};
use interrupt::Interrupt;
use scenario::Kind;
pub use target::shown_setting;

/// What a shell says of a program that Ctrl-C ended.
const INTERRUPTED: u8 = 130;
/// As other commands end that are not understood.
const NOT_UNDERSTOOD: u8 = 2;

/// Does what the command says; results go to standard output, everything else to standard error. `program` is the server that is
/// started where none is named, and `inside` knows it from inside: nothing grows without. Blocks, on a runtime of its own.
pub fn run(command: BenchCommand, program: &Path, inside: Option<&dyn Inside>) -> ExitCode {
    let task = Task::from(command.measurement);
    match begin(&task, program, inside) {
        Ok(()) => ExitCode::SUCCESS,
        Err(BenchError::Interrupted) => ExitCode::from(INTERRUPTED),
        Err(error) => {
            eprintln!("{error}");
            if error.is_usage() { ExitCode::from(NOT_UNDERSTOOD) } else { ExitCode::FAILURE }
        }
    }
}

fn begin(task: &Task, program: &Path, inside: Option<&dyn Inside>) -> Result<(), BenchError> {
    // The floor is a server like any other; what drives it works on threads of its own, and needs no more than one beside.
    let mut builder = match task {
        Task::Floor(_) => tokio::runtime::Builder::new_multi_thread(),
        Task::Run(..) | Task::Compare(_) | Task::Growth(_) | Task::Endurance(_) | Task::Crash(_) => {
            tokio::runtime::Builder::new_current_thread()
        }
    };
    builder.enable_all().build()?.block_on(async {
        let interrupt = Interrupt::default();
        tokio::select! {
            // Signals are heard before anything is started.
            biased;
            ended = interrupt.everything() => ended.map_err(BenchError::from).and(Err(BenchError::Interrupted)),
            done = perform(task, (program, inside), &interrupt) => done,
        }
    })
}

async fn perform(
    task: &Task,
    (program, inside): (&Path, Option<&dyn Inside>),
    interrupt: &Interrupt,
) -> Result<(), BenchError> {
    match task {
        Task::Floor(args) => match floor::serve(args).await {
            Ok(never) => match never {},
            Err(error) => Err(error.into()),
        },
        Task::Compare(args) => compare::perform(args),
        Task::Growth(args) => growth::perform(args, (program, inside), interrupt).await,
        Task::Endurance(args) => endurance::perform(args, program, interrupt).await,
        Task::Crash(args) => crash::perform(args, program, interrupt).await,
        Task::Run(kind, args) => run_scenario(kind, args, program, interrupt).await,
    }
}

async fn run_scenario(
    kind: &Kind,
    args: &RunArgs,
    program: &Path,
    interrupt: &Interrupt,
) -> Result<(), BenchError> {
    let reports = Box::pin(run::run(kind, args, program, interrupt)).await?;
    outcome::tell(args, &reports)?;
    outcome::check(args, &reports)?;
    // What was found so far is not what was asked for.
    if args.knee().is_some() && interrupt.is_requested() { Err(BenchError::Interrupted) } else { Ok(()) }
}
