//! Values: what is set for each key, and where it was set. The layers write it, the sections read it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde_json::Value;
use zeroize::Zeroize;

/// Where a value comes from, lowest precedence first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Origin {
    Default,
    /// The value of this other key, which is the default of this one.
    Inherited(String),
    File(String),
    Environment(String),
    CommandLine,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::Inherited(key) => write!(f, "from {key}"),
            Self::File(name) => f.write_str(name),
            Self::Environment(variable) => write!(f, "environment variable {variable}"),
            Self::CommandLine => f.write_str("command line"),
        }
    }
}

/// The value of a key; overwritten when dropped, for it may be a secret.
pub(super) struct Entry {
    pub(super) value: Value,
    pub(super) origin: Origin,
}

impl Drop for Entry {
    fn drop(&mut self) {
        overwrite(&mut self.value);
    }
}

/// What is set, by full path. Later writes win.
#[derive(Default)]
pub(super) struct Values {
    entries: BTreeMap<String, Entry>,
    /// The keys that were written down without a value, and where.
    blank: BTreeMap<String, Origin>,
    /// Whether a file could not be read.
    is_incomplete: bool,
}

impl Values {
    pub(super) fn set(&mut self, path: &str, value: Value, origin: Origin) {
        self.entries.insert(path.to_owned(), Entry { value, origin });
    }

    /// Notes that the key was written down without a value.
    pub(super) fn note_blank(&mut self, path: &str, origin: Origin) {
        self.blank.insert(path.to_owned(), origin);
    }

    /// Where the key was written down without a value.
    pub(super) fn blank(&self, path: &str) -> Option<&Origin> {
        self.blank.get(path)
    }

    /// Notes that a file could not be read.
    pub(super) fn note_unread(&mut self) {
        self.is_incomplete = true;
    }

    /// Whether something may be missing here that was written down.
    pub(super) const fn is_incomplete(&self) -> bool {
        self.is_incomplete
    }

    /// Forgets everything below `path`, which a value for `path` itself replaces; but for what came from `kept`.
    pub(super) fn clear_below(&mut self, path: &str, kept: Option<&Origin>) {
        let prefix = format!("{path}.");
        self.entries.retain(|key, entry| !key.starts_with(&prefix) || Some(&entry.origin) == kept);
    }

    /// Forgets everything else.
    pub(super) fn keep_only(&mut self, paths: &BTreeSet<String>) {
        self.entries.retain(|key, _| paths.contains(key));
    }

    pub(super) fn get(&self, path: &str) -> Option<&Value> {
        self.entries.get(path).map(|entry| &entry.value)
    }

    /// Whether somebody set the key.
    pub(super) fn is_given(&self, path: &str) -> bool {
        self.origin(path).is_some()
    }

    /// Where somebody set the key, if anybody did.
    pub(super) fn origin(&self, path: &str) -> Option<&Origin> {
        let origin = &self.entries.get(path)?.origin;
        (!matches!(origin, Origin::Default | Origin::Inherited(_))).then_some(origin)
    }

    /// Whether the value is that of another key.
    pub(super) fn is_inherited(&self, path: &str) -> bool {
        self.inherited_from(path).is_some()
    }

    /// The key whose value this one has, if it has another's.
    pub(super) fn inherited_from(&self, path: &str) -> Option<&str> {
        match &self.entries.get(path)?.origin {
            Origin::Inherited(from) => Some(from.as_str()),
            _ => None,
        }
    }

    /// Sets a default, unless the key has a value.
    pub(super) fn set_default(&mut self, path: &str, text: String) {
        if self.get(path).is_none() {
            self.set(path, Value::String(text), Origin::Default);
        }
    }

    /// Puts what is in force in the place of what was set, which stays to be told.
    pub(super) fn correct(&mut self, path: &str, text: String) {
        if let Some(entry) = self.entries.get_mut(path) {
            overwrite(&mut entry.value);
            entry.value = Value::String(text);
        }
    }

    /// Gives `to` the value of `from`, if it has none of its own.
    pub(super) fn inherit(&mut self, from: &str, to: &str) {
        if let (Some(value), None) = (self.get(from), self.get(to)) {
            self.set(to, value.clone(), Origin::Inherited(from.to_owned()));
        }
    }

    /// Everything that has a value, sorted by path.
    pub(super) fn entries(&self) -> impl Iterator<Item = (&str, &Entry)> {
        self.entries.iter().map(|(path, entry)| (path.as_str(), entry))
    }
}

fn overwrite(value: &mut Value) {
    match value {
        Value::String(text) => text.zeroize(),
        Value::Array(items) => items.iter_mut().for_each(overwrite),
        Value::Object(fields) => fields.values_mut().for_each(overwrite),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
