//! A part of the file, read key by key. What is wrong is noted, and reading goes on.

use std::cell::RefCell;
use std::fmt::Display;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::mistake::Mistake;
use super::value;

/// A part of the file. Each key is taken once; those that are left at the end are unknown.
pub(super) struct Section<'m> {
    place: String,
    values: Map<String, Value>,
    known: Vec<&'static str>,
    mistakes: &'m RefCell<Vec<Mistake>>,
}

impl<'m> Section<'m> {
    /// The whole file.
    pub(super) fn root(document: Value, mistakes: &'m RefCell<Vec<Mistake>>) -> Option<Self> {
        Self::new(String::new(), document, mistakes)
    }

    fn new(place: String, value: Value, mistakes: &'m RefCell<Vec<Mistake>>) -> Option<Self> {
        let values = match value {
            Value::Object(values) => values,
            Value::Null => Map::new(),
            _ => {
                let place = if place.is_empty() { "the file" } else { &place };
                mistakes.borrow_mut().push(Mistake::new(place, "must be a mapping of keys to values"));
                return None;
            }
        };
        Some(Self { place, values, known: Vec::new(), mistakes })
    }

    /// Where it is.
    pub(super) fn place(&self) -> &str {
        &self.place
    }

    /// Notes what is wrong with a key; with the section itself, if the key is empty.
    pub(super) fn mistake(&self, key: &str, message: impl Display) {
        self.mistakes.borrow_mut().push(Mistake::new(self.place_of(key), message.to_string()));
    }

    /// Notes what is wrong somewhere else.
    pub(super) fn mistake_at(&self, place: &str, message: impl Display) {
        self.mistakes.borrow_mut().push(Mistake::new(place, message.to_string()));
    }

    /// The value of a key as it stands; `None` if it is not there, or null.
    pub(super) fn take(&mut self, key: &'static str) -> Option<Value> {
        self.known.push(key);
        self.values.remove(key).filter(|value| !value.is_null())
    }

    /// Takes the value of a key if it is one of a kind.
    pub(super) fn take_if(&mut self, key: &'static str, is_it: impl FnOnce(&Value) -> bool) -> bool {
        self.values.get(key).is_some_and(is_it) && self.take(key).is_some()
    }

    /// Whether a key is there and was not taken yet.
    pub(super) fn has(&self, key: &str) -> bool {
        self.values.get(key).is_some_and(|value| !value.is_null())
    }

    /// A value of a simple type.
    pub(super) fn read<T: DeserializeOwned>(&mut self, key: &'static str) -> Option<T> {
        let value = self.take(key)?;
        serde_json::from_value(value).map_err(|error| self.mistake(key, error)).ok()
    }

    /// A value that is written as a text, or a number.
    pub(super) fn parse<T, E: Display>(
        &mut self,
        key: &'static str,
        parse: impl FnOnce(&str) -> Result<T, E>,
    ) -> Option<T> {
        let value = self.take(key)?;
        self.parsed(key, &value, parse)
    }

    /// A list of such values; a single one may stand for a list of one.
    pub(super) fn list<T, E: Display>(
        &mut self,
        key: &'static str,
        parse: impl Fn(&str) -> Result<T, E>,
    ) -> Vec<T> {
        match self.take(key) {
            None => Vec::new(),
            Some(Value::Array(items)) => {
                let place = |index| format!("{key}[{index}]");
                let items = items.iter().enumerate();
                items.filter_map(|(index, item)| self.parsed(&place(index), item, &parse)).collect()
            }
            Some(single) => self.parsed(key, &single, parse).into_iter().collect(),
        }
    }

    /// The same of a list that narrows something down: an empty one, which may be all that is left of another, would not. Without it, it is
    /// for `otherwise`.
    pub(super) fn narrowing<T, E: Display>(
        &mut self,
        key: &'static str,
        otherwise: &str,
        parse: impl Fn(&str) -> Result<T, E>,
    ) -> Vec<T> {
        if self.values.get(key).and_then(Value::as_array).is_some_and(Vec::is_empty) {
            self.mistake(key, format_args!("must name at least one; leave the key out for {otherwise}"));
        }
        self.list(key, parse)
    }

    /// Pairs of a name and a text.
    pub(super) fn pairs(&mut self, key: &'static str) -> Vec<(String, String)> {
        let Some(section) = self.section(key) else { return Vec::new() };
        let pair = |(name, value): (&String, &Value)| {
            Some((name.clone(), section.parsed(name, value, |text| Ok::<_, String>(text.to_owned()))?))
        };
        section.values.iter().filter_map(pair).collect()
    }

    /// A part of this part.
    pub(super) fn section(&mut self, key: &'static str) -> Option<Section<'m>> {
        let value = self.take(key)?;
        Section::new(self.place_of(key), value, self.mistakes)
    }

    /// A list of parts.
    pub(super) fn sections(&mut self, key: &'static str) -> Vec<Section<'m>> {
        self.sections_or_texts(key, "")
    }

    /// A list of parts, each of which may be a text instead: then it is what would stand under `short`.
    pub(super) fn sections_or_texts(&mut self, key: &'static str, short: &str) -> Vec<Section<'m>> {
        match self.take(key) {
            None => Vec::new(),
            Some(Value::Array(items)) => {
                let section = |(index, item): (usize, Value)| {
                    let place = format!("{}[{index}]", self.place_of(key));
                    let is_short = item.is_string() && !short.is_empty();
                    let item =
                        if is_short { Map::from_iter([(short.to_owned(), item)]).into() } else { item };
                    Section::new(place, item, self.mistakes)
                };
                items.into_iter().enumerate().filter_map(section).collect()
            }
            Some(_) => {
                self.mistake(key, "must be a list");
                Vec::new()
            }
        }
    }

    /// Parts with names.
    pub(super) fn named_sections(&mut self, key: &'static str) -> Vec<(Arc<str>, Section<'m>)> {
        let Some(all) = self.section(key) else { return Vec::new() };
        let named = |(name, item): (String, Value)| {
            let place = format!("{}.{name}", all.place);
            match value::name(&name) {
                Ok(name) => Some((name, Section::new(place, item, self.mistakes)?)),
                Err(error) => {
                    self.mistake_at(&place, error);
                    None
                }
            }
        };
        all.values.into_iter().filter_map(named).collect()
    }

    /// Notes all keys that were not taken.
    pub(super) fn finish(self) {
        for key in self.values.keys() {
            self.mistake(key, format_args!("is unknown; known here: {}", self.known.join(", ")));
        }
    }

    fn parsed<T, E: Display>(
        &self,
        key: &str,
        value: &Value,
        parse: impl FnOnce(&str) -> Result<T, E>,
    ) -> Option<T> {
        let parsed = match value {
            Value::String(text) => parse(text),
            Value::Number(number) => parse(&number.to_string()),
            Value::Bool(truth) => parse(&truth.to_string()),
            Value::Null | Value::Array(_) | Value::Object(_) => {
                self.mistake(key, "must be a text");
                return None;
            }
        };
        parsed.map_err(|error| self.mistake(key, error)).ok()
    }

    fn place_of(&self, key: &str) -> String {
        match (self.place.as_str(), key) {
            ("", key) => key.to_owned(),
            (place, "") => place.to_owned(),
            (place, key) => format!("{place}.{key}"),
        }
    }
}
