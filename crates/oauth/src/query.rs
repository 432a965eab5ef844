//! The queries of redirects.

use url::Url;
use url::form_urlencoded::byte_serialize;

/// What most queries fit into, in bytes.
const USUAL: usize = 768;

/// A query under construction. Most values need no escapes, and looking for them one by one is what costs.
#[derive(Debug)]
pub(crate) struct Query(String);

impl Default for Query {
    fn default() -> Self {
        Self(String::with_capacity(USUAL))
    }
}

impl Query {
    pub(crate) fn append_pair(&mut self, name: &str, value: &str) {
        if !self.0.is_empty() {
            self.0.push('&');
        }
        self.append_escaped(name);
        self.0.push('=');
        self.append_escaped(value);
    }

    fn append_escaped(&mut self, text: &str) {
        if needs_no_escapes(text) {
            self.0.push_str(text);
        } else {
            self.0.extend(escaped(text));
        }
    }

    /// The URL of an endpoint with this query.
    pub(crate) fn at(self, endpoint: String) -> String {
        if self.0.is_empty() { endpoint } else { [endpoint.as_str(), "?", &self.0].concat() }
    }

    /// The query alone, as `application/x-www-form-urlencoded`.
    pub(crate) fn into_string(self) -> String {
        self.0
    }
}

impl<'a> FromIterator<(&'a str, &'a str)> for Query {
    fn from_iter<P: IntoIterator<Item = (&'a str, &'a str)>>(pairs: P) -> Self {
        let mut query = Self::default();
        for (name, value) in pairs {
            query.append_pair(name, value);
        }
        query
    }
}

/// A page with one parameter more, behind those that its URL has.
pub(crate) fn with_parameter(page: &Url, name: &str, value: &str) -> String {
    let whole = page.as_str();
    let (before, fragment) = whole.split_at(whole.find('#').unwrap_or(whole.len()));
    let joint = match page.query() {
        None => "?",
        Some("") => "",
        Some(_) => "&",
    };
    let query = Query::from_iter([(name, value)]).0;
    [before, joint, &query, fragment].concat()
}

/// A text as it stands in a query, `application/x-www-form-urlencoded`. A space is `%20` and no `+`: who undoes only escapes understands
/// that, too.
fn escaped(text: &str) -> impl Iterator<Item = &str> {
    byte_serialize(text.as_bytes()).map(|piece| if piece == "+" { "%20" } else { piece })
}

/// How long a text is as it stands in a query, in bytes.
pub(crate) fn escaped_len(text: &str) -> usize {
    escaped(text).map(str::len).sum()
}

/// Looks at all bytes, also behind one that does: without an early end several are looked at in one instruction.
fn needs_no_escapes(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() | matches!(byte, b'-' | b'_' | b'.');
    text.bytes().fold(true, |all, byte| all & plain(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parameter_comes_as_the_library_would_append_it_but_for_spaces() {
        let pages = [
            "https://login.example",
            "https://login.example/a?",
            "https://login.example/a?x=1",
            "https://login.example/a?x=1&y=%20#part",
            "https://login.example/a#part?",
            "app:login",
        ];
        for page in pages.map(|page| Url::parse(page).unwrap()) {
            for value in ["", "AZaz09-_.", "a b", "a~b*c", "a+b&c=d#é/%"] {
                let mut expected = page.clone();
                expected.query_pairs_mut().append_pair("login_challenge", value);
                let expected = expected.as_str().replace('+', "%20");
                assert_eq!(with_parameter(&page, "login_challenge", value), expected);
            }
        }
    }

    #[test]
    fn spaces_are_escaped_as_all_else_is() {
        for (text, expected) in [("a b", "a%20b"), (" a+b ", "%20a%2Bb%20"), ("plain", "plain"), ("", "")] {
            assert_eq!(Query::from_iter([("x", text)]).into_string(), format!("x={expected}"));
            assert_eq!(escaped_len(text), expected.len());
        }
    }
}
