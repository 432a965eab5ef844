//! What a command may touch: where it prints, the environment, time and randomness.

use std::io::{self, Write};

use sluice_primitives::{Clock, Rng};

use super::Exit;
use crate::config::Finding;

/// What a command may touch.
pub(crate) struct Console<'a> {
    /// Results, and nothing else.
    pub(crate) out: &'a mut (dyn Write + Send),
    /// Everything said to a person.
    pub(crate) err: &'a mut (dyn Write + Send),
    /// Reads a variable of the environment.
    pub(crate) variable: &'a (dyn Fn(&str) -> Option<String> + Sync),
    pub(crate) clock: &'a dyn Clock,
    pub(crate) rng: &'a dyn Rng,
}

impl Console<'_> {
    /// Says something to the person in front of it. That nobody listens is no error.
    pub(crate) fn say(&mut self, line: &str) {
        let _ = writeln!(self.err, "{line}").and_then(|()| self.err.flush());
    }

    /// Says what a configuration is warned about.
    pub(crate) fn warn(&mut self, warnings: &[Finding]) {
        for warning in warnings {
            self.say(&format!("warning: {warning}"));
        }
    }

    /// Prints a text as it is.
    pub(crate) fn print(&mut self, text: &str) -> Exit {
        let printed = self.out.write_all(text.as_bytes()).and_then(|()| self.out.flush());
        self.printed(printed)
    }

    /// What it means that a result was printed, or could not be: that a pipe was closed is no failure.
    pub(crate) fn printed(&mut self, result: io::Result<()>) -> Exit {
        match result {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                self.say(&format!("error: cannot write the result: {error}"));
                Exit::Failure
            }
            _ => Exit::Success,
        }
    }

    /// The first of these variables that is set and not empty.
    pub(super) fn first_variable(&self, names: &[&str]) -> Option<String> {
        names.iter().filter_map(|name| (self.variable)(name)).find(|value| !value.is_empty())
    }
}
