//! What a verb answers: rows for people, JSON for programs.

use serde_json::Value;

/// What a verb answers.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(super) header: &'static [&'static str],
    /// One cell per column of the header.
    pub(super) rows: Vec<Vec<String>>,
    /// The column of what identifies a row.
    id_at: usize,
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
        Self {
            header,
            rows,
            id_at: 0,
            layout: Layout::Record,
            footer: Vec::new(),
            json,
            failures: Vec::new(),
        }
    }

    /// Any number of rows.
    pub(crate) fn list(header: &'static [&'static str], rows: Vec<Vec<String>>, json: Value) -> Self {
        Self { header, rows, id_at: 0, layout: Layout::List, footer: Vec::new(), json, failures: Vec::new() }
    }

    /// One id, or several: what is left to say of what was deleted.
    pub(in crate::cli) fn of_ids(ids: Vec<String>) -> Self {
        let json = match ids.as_slice() {
            [id] => Value::from(id.as_str()),
            ids => Value::from(ids),
        };
        let rows: Vec<Vec<String>> = ids.into_iter().map(|id| vec![id]).collect();
        let layout = if rows.len() == 1 { Layout::Record } else { Layout::List };
        Self { header: &["ID"], rows, id_at: 0, layout, footer: Vec::new(), json, failures: Vec::new() }
    }

    /// Whose rows are identified by this column, instead of the first.
    pub(in crate::cli) fn identified_by(mut self, column: &str) -> Self {
        self.id_at = self.header.iter().position(|name| *name == column).unwrap_or_default();
        self
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

    /// Whether all of it failed, and programs are not told why either.
    pub(in crate::cli) fn is_nothing(&self) -> bool {
        self.rows.is_empty() && !self.failures.is_empty() && is_empty_list(&self.json)
    }

    /// What identifies each row.
    pub(super) fn ids(&self) -> impl Iterator<Item = &str> {
        self.rows.iter().filter_map(|row| row.get(self.id_at)).map(String::as_str)
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

/// An empty list, or a set without keys.
fn is_empty_list(json: &Value) -> bool {
    json.get("keys").unwrap_or(json).as_array().is_some_and(Vec::is_empty)
}

fn item_text(item: &Value) -> String {
    item.as_str().map_or_else(|| item.to_string(), str::to_owned)
}
