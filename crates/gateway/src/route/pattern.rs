//! Which requests a route is for: hosts, paths, methods.

use std::fmt;

use http::Method;

use super::host::HostPattern;
use super::path;

/// Which requests a route is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Match {
    /// For these hosts; never empty.
    pub hosts: Vec<HostPattern>,
    /// For these paths.
    pub path: PathPattern,
    /// With these methods; empty: with all.
    pub methods: Vec<Method>,
}

/// Paths that a route is for. They are compared by segments and without escapes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PathPattern {
    pub(super) segments: Vec<Segment>,
    /// Whether paths below count too.
    pub(super) has_below: bool,
    text: String,
}

/// A part of a path between slashes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Segment {
    /// This text.
    Literal(Box<str>),
    /// Any text but none.
    Any,
}

/// Why a text is no path of a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidPattern {
    /// It does not begin with a slash.
    #[error("must begin with a slash")]
    NoSlash,
    /// It could be read in two ways, or has a query.
    #[error(
        "must not have `..`, `//`, `;`, `?` or `#`, be they escaped or not, nor escaped slashes or escapes: no request could match"
    )]
    Ambiguous,
    /// It has braces or a star, and is no template.
    #[error("must be plain text: placeholders are for `pattern`, and a prefix needs no star")]
    NotPlain,
    /// A brace stands where none can be.
    #[error("a placeholder must be a whole segment such as {{id}}, and {{rest*}} the last one")]
    Placeholder,
}

impl PathPattern {
    /// This path only.
    ///
    /// # Errors
    /// [`InvalidPattern`]
    pub fn exact(text: &str) -> Result<Self, InvalidPattern> {
        let segments = plain(text)?.split('/').map(literal).collect();
        Ok(Self { segments, has_below: false, text: text.to_owned() })
    }

    /// This path and all below it; `/orders` and `/orders/` are the same.
    ///
    /// # Errors
    /// [`InvalidPattern`]
    pub fn prefix(text: &str) -> Result<Self, InvalidPattern> {
        let decoded = plain(text)?;
        let trimmed = decoded.strip_suffix('/').unwrap_or(&decoded);
        let segments =
            if trimmed.is_empty() { Vec::new() } else { trimmed.split('/').map(literal).collect() };
        Ok(Self { segments, has_below: true, text: text.to_owned() })
    }

    /// With placeholders: `{id}` is any segment, `{rest*}` at the end anything that is below, or nothing.
    ///
    /// # Errors
    /// [`InvalidPattern`]
    pub fn template(text: &str) -> Result<Self, InvalidPattern> {
        let decoded = read(text)?;
        let mut parts: Vec<&str> = decoded.split('/').collect();
        let has_below =
            parts.last().is_some_and(|last| placeholder(last).is_some_and(|name| name.ends_with('*')));
        if has_below {
            parts.pop();
        }
        let segments = parts.into_iter().map(segment).collect::<Result<_, _>>()?;
        Ok(Self { segments, has_below, text: text.to_owned() })
    }

    /// The same paths and all that differ from them in the case of letters, for paths [without](path::without_case) it.
    pub(super) fn without_case(mut self) -> Self {
        for segment in &mut self.segments {
            if let Segment::Literal(text) = segment {
                *text = path::without_case(text).into();
            }
        }
        self
    }

    /// Behind how many segments it has a slash at its end, if it has one.
    pub(super) fn final_slash_after(&self) -> Option<usize> {
        // A slash at the end of an exact path is a segment without text.
        self.text.ends_with('/').then(|| self.segments.len().saturating_sub(usize::from(!self.has_below)))
    }

    /// How many segments it has, not counting a slash at its end, if the last of them is text.
    pub(super) fn text_ends_after(&self) -> Option<usize> {
        let is_slash = |segment: &Segment| matches!(segment, Segment::Literal(text) if text.is_empty());
        let last = self.segments.iter().rposition(|segment| !is_slash(segment))?;
        matches!(self.segments.get(last), Some(Segment::Literal(_))).then_some(last + 1)
    }

    /// Whether it is text, and all that is below.
    pub fn is_prefix(&self) -> bool {
        self.has_below && !self.segments.contains(&Segment::Any)
    }

    /// As it is written in the file.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for PathPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let suffix = if self.has_below && !self.text.ends_with('}') { "…" } else { "" };
        write!(f, "{}{suffix}", self.text)
    }
}

/// The path without its first slash and its escapes.
fn read(text: &str) -> Result<String, InvalidPattern> {
    if !text.starts_with('/') {
        return Err(InvalidPattern::NoSlash);
    }
    if text.contains(['?', '#']) || path::check(text).is_err() {
        return Err(InvalidPattern::Ambiguous);
    }
    let readings = path::readings(text, false).map_err(|_| InvalidPattern::Ambiguous)?;
    readings.literal.strip_prefix('/').map(str::to_owned).ok_or(InvalidPattern::NoSlash)
}

/// The same of a path without placeholders.
fn plain(text: &str) -> Result<String, InvalidPattern> {
    let decoded = read(text)?;
    if text.contains(['{', '}', '*']) { Err(InvalidPattern::NotPlain) } else { Ok(decoded) }
}

fn literal(text: &str) -> Segment {
    Segment::Literal(text.into())
}

/// The name between the braces of a placeholder.
fn placeholder(segment: &str) -> Option<&str> {
    segment.strip_prefix('{')?.strip_suffix('}')
}

fn segment(text: &str) -> Result<Segment, InvalidPattern> {
    match placeholder(text) {
        Some(name) if !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') => {
            Ok(Segment::Any)
        }
        None if !text.contains(['{', '}', '*']) => Ok(literal(text)),
        _ => Err(InvalidPattern::Placeholder),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_is_the_same_with_and_without_its_last_slash() {
        let (with, without) =
            (PathPattern::prefix("/orders/").unwrap(), PathPattern::prefix("/orders").unwrap());
        assert_eq!((with.segments, with.has_below), (without.segments, without.has_below));
        assert!(PathPattern::prefix("/").unwrap().segments.is_empty());
    }

    #[test]
    fn a_template_ends_with_a_segment_or_with_all_that_is_below() {
        let template = PathPattern::template("/users/{id}/orders/{rest*}").unwrap();
        assert_eq!(template.segments, [literal("users"), Segment::Any, literal("orders")]);
        assert!(template.has_below);
        assert!(!PathPattern::template("/users/{id}").unwrap().has_below);
    }

    #[test]
    fn a_path_that_no_request_could_match_is_refused() {
        for text in [
            "/a/../b", "/a//b", "/a;b", "/a?b", "/a#b", "/a%2fb", "/a%2562", "/a\\b", "/a/.", "/a%3Bb",
            "/a%3fb", "/a%23b",
        ] {
            assert_eq!(PathPattern::exact(text), Err(InvalidPattern::Ambiguous), "{text}");
            assert_eq!(PathPattern::prefix(text), Err(InvalidPattern::Ambiguous), "{text}");
            assert_eq!(PathPattern::template(text), Err(InvalidPattern::Ambiguous), "{text}");
        }
        assert_eq!(PathPattern::prefix("orders"), Err(InvalidPattern::NoSlash));
        assert_eq!(PathPattern::prefix("/orders/*"), Err(InvalidPattern::NotPlain));
        assert_eq!(PathPattern::exact("/users/{id}"), Err(InvalidPattern::NotPlain));
        for text in ["/users/{id", "/users/x{id}", "/{}", "/{rest*}/more", "/a/*", "/{a b}"] {
            assert_eq!(PathPattern::template(text), Err(InvalidPattern::Placeholder), "{text}");
        }
    }
}
