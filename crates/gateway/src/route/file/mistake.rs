//! What is wrong with a file, and where.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

/// What the places of routes begin with.
const ROUTES: &str = "routes[";

/// Something that is wrong, or odd.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Mistake {
    /// Where: `routes[3].match.prefix`. A line and a column if the file is no YAML.
    pub place: String,
    /// The name of the route that the place is in, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub route: Option<Arc<str>>,
    /// What, in words that go on from the place: `must begin with a slash`.
    pub message: String,
}

/// All that is wrong with a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistakes(Vec<Mistake>);

impl Mistake {
    pub(super) fn new(place: impl Into<String>, message: impl Into<String>) -> Self {
        Self { place: place.into(), route: None, message: message.into() }
    }

    /// The same in a file whose routes have these names, in its order.
    pub(super) fn among(mut self, routes: &[Option<Arc<str>>]) -> Self {
        let number = self.number_of_route().and_then(|(number, _)| number.parse().ok());
        self.route = number.and_then(|number: usize| routes.get(number)?.clone());
        self
    }

    /// The place as it is shown, with the name of its route: `routes[3] (payments).match.prefix`.
    pub fn shown_place(&self) -> Cow<'_, str> {
        match (&self.route, self.number_of_route()) {
            (Some(name), Some((number, rest))) => Cow::Owned(format!("{ROUTES}{number}] ({name}){rest}")),
            _ => Cow::Borrowed(&self.place),
        }
    }

    /// The number of the route that the place is in, and what follows it.
    fn number_of_route(&self) -> Option<(&str, &str)> {
        self.place.strip_prefix(ROUTES)?.split_once(']')
    }

    /// The text is no YAML.
    pub(super) fn unreadable(error: &serde_norway::Error) -> Self {
        let place = error.location().map(|at| format!("line {} column {}", at.line(), at.column()));
        Self::new(place.unwrap_or_else(|| "the file".into()), error.to_string())
    }
}

impl Mistakes {
    /// One by one.
    pub fn iter(&self) -> std::slice::Iter<'_, Mistake> {
        self.0.iter()
    }
}

impl<'a> IntoIterator for &'a Mistakes {
    type Item = &'a Mistake;
    type IntoIter = std::slice::Iter<'a, Mistake>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl From<Vec<Mistake>> for Mistakes {
    fn from(mistakes: Vec<Mistake>) -> Self {
        Self(mistakes)
    }
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.shown_place(), self.message)
    }
}

impl fmt::Display for Mistakes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, mistake) in self.0.iter().enumerate() {
            let separator = if index == 0 { "" } else { "; " };
            write!(f, "{separator}{mistake}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Mistakes {}
