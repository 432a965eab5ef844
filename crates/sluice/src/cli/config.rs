//! `sluice config`.

use std::ffi::OsString;

use clap::Subcommand;

use super::configuration::ConfigurationArgs;
use super::{Console, Exit};
use crate::config::{Sources, in_force, reference_markdown};

/// What can be asked of the configuration.
#[derive(Debug, Clone, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Print what is in force and where it was set; secrets are redacted
    Show(ConfigurationArgs),
    /// Print the reference of all keys, in Markdown
    Reference,
}

impl ConfigCommand {
    /// Prints what is asked for.
    pub(crate) fn run(&self, environment: Vec<(OsString, OsString)>, console: &mut Console<'_>) -> Exit {
        match self {
            Self::Reference => console.print(&reference_markdown()),
            Self::Show(args) => show(&args.sources(environment), console),
        }
    }
}

/// Where the configuration is refused, what is set is printed all the same, above the problems: they are few, and it is long.
fn show(sources: &Sources, console: &mut Console<'_>) -> Exit {
    match in_force(sources) {
        Ok((page, warnings)) => {
            console.warn(&warnings);
            console.print(&page)
        }
        Err((error, set)) => {
            console.print(&set);
            console.warn(error.warnings());
            console.say(&error.to_string());
            Exit::Failure
        }
    }
}
