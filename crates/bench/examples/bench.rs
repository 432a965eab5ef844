//! `sluice bench` without the server: `bench <scenario> …`. `SLUICE_BIN` names the program of the server that is started. All but
//! `growth`, which needs that program itself.

use std::path::Path;
use std::process::ExitCode;

use clap::Parser;
use sluice_bench::BenchCommand;

/// The benchmark alone.
#[derive(Parser)]
#[command(name = "bench")]
struct Cli {
    #[command(flatten)]
    command: BenchCommand,
}

fn main() -> ExitCode {
    // The process of the floor is started as `sluice bench floor`.
    let said = std::env::args_os().enumerate();
    let said = said.filter(|(number, argument)| !(*number == 1 && argument == "bench"));
    let cli = Cli::parse_from(said.map(|(_, argument)| argument));
    let program = std::env::var_os("SLUICE_BIN").unwrap_or_else(|| "sluice".into());
    sluice_bench::run(cli.command, Path::new(&program), None)
}
