//! What all verbs have in common: a server, a way to print, and what they are about.

use clap::{Args, Subcommand};

use super::connection::ConnectionArgs;
use super::error::RemoteError;
use crate::cli::output::{Answer, OutputArgs, printable};
use crate::cli::{Console, Exit};

/// A verb and what it is about.
#[derive(Args)]
pub(crate) struct Verb<N: Subcommand> {
    #[command(flatten)]
    connection: ConnectionArgs,
    #[command(flatten)]
    pub(super) output: OutputArgs,
    #[command(subcommand)]
    pub(super) noun: N,
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
        let printed = if answer.is_nothing() { Ok(()) } else { self.output.print(&answer, console.out) };
        let exit = console.printed(printed);
        for failure in answer.failures() {
            console.say(&format!("error: {}", printable(failure)));
        }
        if answer.failures().is_empty() { exit } else { Exit::Failure }
    }
}
