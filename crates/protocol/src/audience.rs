//! Whom a token is meant for.

/// The audience of a token: the names of the services that it is meant for, in order, without repetition.
#[derive(Debug, Clone, PartialEq, Eq, Default, Hash)]
pub struct Audience(Vec<String>);

impl Audience {
    /// The audience of these names; empty names are dropped, repeated ones count once.
    pub fn from_values(values: impl IntoIterator<Item = String>) -> Self {
        let mut kept = Vec::new();
        for value in values {
            if !value.is_empty() && !kept.contains(&value) {
                kept.push(value);
            }
        }
        Self(kept)
    }

    /// The names.
    pub fn as_slice(&self) -> &[String] {
        &self.0
    }

    /// Whether every name of `other` is one of them.
    pub fn covers(&self, other: &Self) -> bool {
        other.0.iter().all(|name| self.0.contains(name))
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
