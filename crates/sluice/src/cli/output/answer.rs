//! What a verb answers: rows for people, JSON for programs.

use serde_json::Value;

/// What a verb answers.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(super) header: &'static [&'static str],
    /// One cell per column of the header; the first is what identifies the row.
    pub(super) rows: Vec<Vec<String>>,
    pub(super) layout: Layout,
    /// Lines below the rows, for people only.
    pub(super) footer: Vec<(&'static str, String)>,
    pub(super) json: Value,
    /// What did not work; the rest did.
    failures: Vec<String>,
}

/// How rows are laid out in a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cli) enum Layout {
    /// One line per cell, its column's name before it.
    Record,
    /// One line per row.
    List,
}

impl Answer {
    /// One row.
    pub(crate) fn one(header: &'static [&'static str], cells: Vec<String>, json: Value) -> Self {
        let rows = vec![cells];
        Self { header, rows, layout: Layout::Record, footer: Vec::new(), json, failures: Vec::new() }
    }

    /// Any number of rows.
    pub(crate) fn list(header: &'static [&'static str], rows: Vec<Vec<String>>, json: Value) -> Self {
        Self { header, rows, layout: Layout::List, footer: Vec::new(), json, failures: Vec::new() }
    }

    /// One id, or several: what is left to say of what was deleted.
    pub(in crate::cli) fn of_ids(ids: Vec<String>) -> Self {
        let json = match ids.as_slice() {
            [id] => Value::from(id.as_str()),
            ids => Value::from(ids),
        };
        let rows: Vec<Vec<String>> = ids.into_iter().map(|id| vec![id]).collect();
        let layout = if rows.len() == 1 { Layout::Record } else { Layout::List };
        Self { header: &["ID"], rows, layout, footer: Vec::new(), json, failures: Vec::new() }
    }

    /// With a line below the rows.
    pub(crate) fn with_footer(mut self, name: &'static str, value: String) -> Self {
        self.footer.push((name, value));
        self
    }

    /// With what did not work.
    pub(in crate::cli) fn with_failures(mut self, failures: Vec<String>) -> Self {
        self.failures = failures;
        self
    }

    /// What did not work.
    pub(in crate::cli) fn failures(&self) -> &[String] {
        &self.failures
    }

    /// What identifies each row.
    pub(super) fn ids(&self) -> impl Iterator<Item = &str> {
        self.rows.iter().filter_map(|row| row.first()).map(String::as_str)
    }
}

/// The text of a field: texts as they are, lists separated by commas, nothing for what is absent.
pub(in crate::cli) fn text(json: &Value, field: &str) -> String {
    match json.get(field) {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(items)) => items.iter().map(item_text).collect::<Vec<_>>().join(", "),
        Some(other) => other.to_string(),
    }
}

fn item_text(item: &Value) -> String {
    item.as_str().map_or_else(|| item.to_string(), str::to_owned)
}
