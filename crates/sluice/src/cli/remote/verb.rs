//! What all verbs have in common: a server, a way to print, and what they are about.

use clap::{Args, Subcommand};

use super::connection::ConnectionArgs;
use super::error::RemoteError;
use super::{Import, LocalImport};
use crate::cli::output::{Answer, OutputArgs, printable};
use crate::cli::{Console, Exit};

/// A verb and what it is about.
#[derive(Args)]
pub(crate) struct Verb<N: Subcommand> {
    #[command(flatten)]
    connection: ConnectionArgs,
    #[command(flatten)]
    output: OutputArgs,
    #[command(subcommand)]
    noun: N,
}

/// What a verb is about.
pub(crate) trait Noun {
    /// Asks the server.
    async fn ask(
        &self,
        connection: &ConnectionArgs,
        console: &mut Console<'_>,
    ) -> Result<Answer, RemoteError>;
}

impl Verb<Import> {
    /// What is done without a server, if it is; itself otherwise.
    pub(super) fn into_local(self) -> Result<LocalImport, Self> {
        match self.noun {
            Import::Identities(import) => Ok(LocalImport { import, output: self.output }),
            noun => Err(Self { noun, ..self }),
        }
    }
}

impl<N: Subcommand + Noun> Verb<N> {
    /// Asks the server and prints what it answers.
    pub(super) async fn run(self, console: &mut Console<'_>) -> Exit {
        let answer = match self.noun.ask(&self.connection, console).await {
            Ok(answer) => answer,
            Err(error) => {
                console.say(&format!("error: {error}"));
                return error.exit();
            }
        };
        let printed = self.output.print(&answer, console.out);
        let exit = console.printed(printed);
        for failure in answer.failures() {
            console.say(&format!("error: {}", printable(failure)));
        }
        if answer.failures().is_empty() { exit } else { Exit::Failure }
    }
}
