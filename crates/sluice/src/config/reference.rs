//! The reference page of the configuration, made from the table of known keys.

use std::fmt::Write as _;

use super::key::{Owner, Status};
use super::table::{KnownKey, Table};

const INTRODUCTION: &str = "\
# Configuration

<!-- Made from the table of known keys in crates/sluice/src/config. Do not edit. -->

Sluice reads Hydra's configuration files. Values come from, each over the one before it:

1. the defaults below,
2. the YAML files given with `--config`, in that order; mappings merge, lists replace,
3. environment variables: the key in upper case, its parts joined by `_`; lists are separated by commas or
   written as JSON; an empty variable counts as not set, but for the keys that refuse it,
4. the command line.

Durations are written as in Go: `90s`, `1h30m`. An unknown key of a file is warned about and ignored; so is an
unknown variable that begins like one of ours, unless others use such names too (`LOG_`, `DATABASE_`, `TRACING_`
and the like are not looked at). An unknown key of the command line (`--set`) is refused. A wrong value is
refused, and every wrong value is named at once, with where it was set. `sluice config show` prints what is in
force, without secrets.
";

/// The text of `docs/reference/configuration.md`.
pub(crate) fn reference_markdown() -> String {
    let table = Table::new();
    let mut page = INTRODUCTION.to_owned();
    let mut sections: Vec<&str> = Vec::new();
    for known in supported(&table) {
        if !sections.contains(&section(known)) {
            sections.push(section(known));
        }
    }
    for name in sections {
        let _ = write!(page, "\n## {name}\n\n| key | holds | default | meaning |\n|---|---|---|---|\n");
        for known in supported(&table).filter(|known| section(known) == name) {
            page.push_str(&row(known));
        }
    }
    page.push_str("\n## Accepted without effect\n\nThese keys load with a warning.\n\n");
    page.push_str("| key | reason |\n|---|---|\n");
    for known in table.keys() {
        if let Status::WithoutEffect(reason) = known.key.status {
            let _ = writeln!(page, "| `{}` | {reason} |", known.path);
        }
    }
    page
}

fn supported(table: &Table) -> impl Iterator<Item = &KnownKey> {
    table.keys().iter().filter(|known| known.key.status == Status::Supported)
}

/// The heading of a key: `serve.public` for `serve.public.port`, else the first part.
fn section(known: &KnownKey) -> &str {
    let mut dots = known.path.match_indices('.').map(|(position, _)| position);
    let first = dots.next().unwrap_or(known.path.len());
    let end = match dots.next() {
        Some(second) if known.path.starts_with("serve.") => second,
        _ => first,
    };
    known.path.get(..end).unwrap_or(&known.path)
}

fn row(known: &KnownKey) -> String {
    let owner = match known.key.owner {
        Owner::Hydra => "",
        Owner::Sluice => " Sluice's own.",
    };
    let environment = match known.variable() {
        Some(_) => "",
        None => " Not read from the environment.",
    };
    let default = known.key.default.map_or_else(String::new, |text| format!("`{text}`"));
    let kind = known.key.kind.describe();
    format!("| `{}` | {kind} | {default} | {}{owner}{environment} |\n", known.path, known.key.doc)
}
