//! `sluice bench`: the benchmark, which starts this program once more as the server that it measures. `inside`: what it has to be told of it.

mod inside;

use std::process::ExitCode;

use sluice_bench::BenchCommand;

use super::{fail, open_files};
use crate::cli::{Console, Exit};
use inside::ThisProgram;

/// Measures, and prints what was measured.
pub(crate) async fn run(command: BenchCommand, console: &mut Console<'_>) -> Exit {
    let program = match std::env::current_exe() {
        Ok(program) => program,
        Err(error) => return fail(console, &error),
    };
    // Users are connections, and what is started has the same limit.
    if let Err(error) = open_files::permit() {
        console.say(&format!("the limit of open files stays as it is: {error}"));
    }
    // It has a runtime and threads of its own.
    match tokio::task::spawn_blocking(move || sluice_bench::run(command, &program, Some(&ThisProgram))).await
    {
        Ok(ExitCode::SUCCESS) => Exit::Success,
        Ok(code) if code == ExitCode::from(Exit::Interrupted) => Exit::Interrupted,
        Ok(code) if code == ExitCode::from(Exit::Usage) => Exit::Usage,
        Ok(_) => Exit::Failure,
        Err(error) => fail(console, &error),
    }
}
