//! Routes by path: a tree of segments.
//!
//! `matchit` would be at hand, but knows no prefix beside a placeholder in the same place (`/users/` and `/users/{id}/orders`).

use std::sync::Arc;

use http::Method;

use super::pattern::{PathPattern, Segment};
use super::rule::Route;

/// Routes by path. Text comes before a placeholder, a placeholder before a prefix, from the left to the right.
#[derive(Debug, Default)]
pub(super) struct PathTree {
    literals: Vec<(Box<str>, PathTree)>,
    any: Option<Box<PathTree>>,
    here: Leaf,
    below: Leaf,
}

/// The routes of one path, in the order of the file.
#[derive(Debug, Default)]
pub(super) struct Leaf {
    choices: Vec<Choice>,
    /// Behind how many segments the file has a slash at the end of the path, if it has one.
    slash_after: Option<usize>,
    /// Behind how many segments the path ends in the file, if it ends with text.
    text_after: Option<usize>,
}

/// A route, and the methods with which it is meant; none: with all.
#[derive(Debug)]
struct Choice {
    methods: Vec<Method>,
    route: Arc<Route>,
}

impl PathTree {
    /// The routes of a path.
    pub(super) fn entry(&mut self, path: &PathPattern) -> &mut Leaf {
        let node = path.segments.iter().fold(self, |node, segment| match segment {
            Segment::Literal(text) => node.literal(text),
            Segment::Any => node.any.get_or_insert_default(),
        });
        let leaf = if path.has_below { &mut node.below } else { &mut node.here };
        leaf.slash_after = path.final_slash_after().or(leaf.slash_after);
        leaf.text_after = path.text_ends_after();
        leaf
    }

    /// The routes of a path, if there are any.
    pub(super) fn get(&self, path: &PathPattern) -> Option<&Leaf> {
        let node = path.segments.iter().try_fold(self, |node, segment| match segment {
            Segment::Literal(text) => node.known(text),
            Segment::Any => node.any.as_deref(),
        })?;
        if path.has_below { node.below.filled() } else { node.here.filled() }
    }

    /// The routes of the pattern that fits `path` best. It is without escapes.
    pub(super) fn find(&self, path: &str) -> Option<&Leaf> {
        self.walk(Some(path.strip_prefix('/')?))
    }

    fn walk(&self, rest: Option<&str>) -> Option<&Leaf> {
        let Some(rest) = rest else { return self.here.filled().or_else(|| self.below.filled()) };
        let (segment, rest) = rest.split_once('/').map_or((rest, None), |(first, rest)| (first, Some(rest)));
        let by_text = self.known(segment).and_then(|node| node.walk(rest));
        let by_placeholder = || self.any.as_ref().filter(|_| !segment.is_empty())?.walk(rest);
        by_text.or_else(by_placeholder).or_else(|| self.below.filled())
    }

    fn known(&self, text: &str) -> Option<&Self> {
        let index = self.literals.binary_search_by(|(known, _)| known.as_ref().cmp(text)).ok()?;
        self.literals.get(index).map(|(_, node)| node)
    }

    fn literal(&mut self, text: &str) -> &mut Self {
        let index = match self.literals.binary_search_by(|(known, _)| known.as_ref().cmp(text)) {
            Ok(index) => index,
            Err(index) => {
                self.literals.insert(index, (text.into(), Self::default()));
                index
            }
        };
        #[expect(clippy::indexing_slicing, reason = "the index was just found")]
        &mut self.literals[index].1
    }
}

impl Leaf {
    /// Adds a route that comes after those that are there.
    pub(super) fn add(&mut self, methods: Vec<Method>, route: Arc<Route>) {
        self.choices.push(Choice { methods, route });
    }

    /// The first route that names the method, else the first that is for all.
    pub(super) fn choose(&self, method: &Method) -> Option<&Arc<Route>> {
        let named = self.choices.iter().find(|choice| choice.methods.contains(method));
        named
            .or_else(|| self.choices.iter().find(|choice| choice.methods.is_empty()))
            .map(|choice| &choice.route)
    }

    /// Methods with which there is a route; those that no route names are not among them.
    pub(super) fn methods(&self) -> impl Iterator<Item = &Method> {
        self.choices.iter().flat_map(|choice| &choice.methods)
    }

    /// Whether a route is for all methods.
    pub(super) fn is_for_all(&self) -> bool {
        self.choices.iter().any(|choice| choice.methods.is_empty())
    }

    /// Whether the file has a slash at the end of just this path, which is given without.
    pub(super) fn names_slash_after(&self, bare: &str) -> bool {
        self.slash_after == Some(bare.split('/').count() - 1)
    }

    /// Whether the file has the last name of just this path as it stands there.
    pub(super) fn names_end_of(&self, path: &str) -> bool {
        let bare = path.strip_suffix('/').unwrap_or(path);
        self.text_after == Some(bare.split('/').count() - 1)
    }

    /// Whether requests come to `route` from here.
    pub(super) fn leads_to(&self, route: &Arc<Route>) -> bool {
        let is_it = |found: &Arc<Route>| Arc::ptr_eq(found, route);
        let first_for_all = self.choices.iter().find(|choice| choice.methods.is_empty());
        first_for_all.is_some_and(|choice| is_it(&choice.route))
            || self.methods().any(|method| self.choose(method).is_some_and(is_it))
    }

    fn filled(&self) -> Option<&Self> {
        Some(self).filter(|leaf| !leaf.choices.is_empty())
    }
}
