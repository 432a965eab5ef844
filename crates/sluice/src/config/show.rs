//! `sluice config show`: what is in force, as YAML that could be a configuration file but for the secrets.

use std::fmt::Write as _;

use super::key::Status;
use super::redact::redact;
use super::table::Table;
use super::values::{Origin, Values};

/// Writes every value in force, with where it was set; secrets and passwords are redacted.
pub(super) fn show(table: &Table, values: &Values) -> String {
    let mut yaml = String::new();
    let mut open: Vec<&str> = Vec::new();
    for (path, entry) in values.entries() {
        let Some(key) = table.find(path) else { continue };
        let names: Vec<&str> = path.split('.').collect();
        let Some((last, sections)) = names.split_last() else { continue };
        let shared = open.iter().zip(sections).take_while(|(open, section)| open == section).count();
        for (section, depth) in sections.iter().zip(0..).skip(shared) {
            line(&mut yaml, depth, format_args!("{section}:"));
        }
        open = sections.to_vec();
        let value = redact(key.kind, &entry.value);
        match &entry.origin {
            Origin::Default => line(&mut yaml, sections.len(), format_args!("{last}: {value}")),
            origin => {
                let effect = if key.status == Status::Supported { "" } else { ", without effect" };
                line(&mut yaml, sections.len(), format_args!("{last}: {value}  # {origin}{effect}"));
            }
        }
    }
    yaml
}

fn line(yaml: &mut String, depth: usize, content: std::fmt::Arguments<'_>) {
    // Writing to a String does not fail.
    let _ = writeln!(yaml, "{:indent$}{content}", "", indent = depth * 2);
}
