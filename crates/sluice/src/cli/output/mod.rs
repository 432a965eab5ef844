//! How answers are printed: as tables for people, as JSON or YAML for programs.
//!
//! [`answer`]: what a verb answers. [`table`]: how it looks to a person. [`mod@printable`]: text of others, made harmless
//! for a terminal.

mod answer;
mod printable;
mod table;
#[cfg(test)]
mod tests;

use std::io::{self, Write};

use clap::{Args, ValueEnum};
use serde_json::Value;

pub(crate) use answer::Answer;
pub(super) use answer::text;
pub(crate) use printable::printable;

/// How an answer is to be printed.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct OutputArgs {
    /// How to print the answer
    #[arg(short, long, value_enum, default_value_t = Format::Default, global = true, help_heading = "Output")]
    pub(super) format: Format,
    /// Print ids only, one a line; of what has none, the first column, such as an access token
    #[arg(short = 'q', long = "quiet", global = true, help_heading = "Output")]
    pub(crate) is_quiet: bool,
}

/// The formats of answers, as Hydra names them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// As `table`
    Default,
    /// Columns, for people
    Table,
    /// JSON in one line
    Json,
    /// JSON over several lines
    JsonPretty,
    /// YAML
    Yaml,
}

impl OutputArgs {
    /// Prints an answer.
    pub(crate) fn print(self, answer: &Answer, out: &mut dyn Write) -> io::Result<()> {
        let text = self.render(answer)?;
        out.write_all(text.as_bytes())?;
        out.flush()
    }

    /// Whether it is a person who reads, and not a program.
    pub(crate) fn is_for_people(self) -> bool {
        !self.is_quiet && matches!(self.format, Format::Default | Format::Table)
    }

    fn render(self, answer: &Answer) -> io::Result<String> {
        if self.is_quiet {
            return Ok(answer.ids().map(|id| printable(id) + "\n").collect());
        }
        match self.format {
            Format::Default | Format::Table => Ok(table::render(answer)),
            Format::Json => Ok(answer.json.to_string() + "\n"),
            Format::JsonPretty => Ok(serde_json::to_string_pretty(&answer.json)? + "\n"),
            Format::Yaml => yaml(&answer.json),
        }
    }
}

fn yaml(json: &Value) -> io::Result<String> {
    serde_norway::to_string(json).map_err(io::Error::other)
}
