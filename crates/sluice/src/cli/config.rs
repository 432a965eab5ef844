//! `sluice config`.

use std::ffi::OsString;

use clap::Subcommand;

use super::configuration::ConfigurationArgs;
use super::{Console, Exit};
use crate::config::{in_force, reference_markdown};

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
        let page = match self {
            Self::Reference => reference_markdown(),
            Self::Show(args) => match in_force(&args.sources(environment)) {
                Ok((page, warnings)) => {
                    console.warn(&warnings);
                    page
                }
                Err(error) => {
                    console.warn(error.warnings());
                    console.say(&error.to_string());
                    return Exit::Failure;
                }
            },
        };
        console.print(&page)
    }
}
