//! `sluice completion`: scripts that complete the command line.

use std::io::{self, Write};

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use super::Cli;

/// The name of the program that is completed.
const NAME: &str = "sluice";

/// Prints a script that completes the command line.
#[derive(Debug, Clone, Args)]
pub(crate) struct CompletionCommand {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

impl CompletionCommand {
    /// Writes the script.
    pub(crate) fn run(&self, out: &mut dyn Write) -> io::Result<()> {
        // Made in memory first: the generator ends the process when it cannot write. Its flags take no values here: behind
        // one that does, shells offer nothing else.
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Cli::command(), NAME, &mut script);
        out.write_all(&script)?;
        out.flush()
    }
}
