//! Reader: hands a section its values, typed, and writes down what is wrong with them.
//!
//! A wrong value never stops the reading: a placeholder is returned, and the problem refuses the whole at
//! the end.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use http::HeaderName;
use ipnet::IpNet;
use serde_json::Value;
use sluice_net::canonical_network;
use url::Url;

use super::duration;
use super::error::Findings;
use super::key::{Choice, Kind};
use super::secret_string::SecretString;
use super::table::Table;
use super::values::{Origin, Values};

/// Why a token is refused that no request can bear.
const UNBEARABLE: &str = "has characters that no request can bear: a line end or a space at an end?";

/// Reads typed values for the sections.
pub(super) struct Reader<'a> {
    table: &'a Table,
    values: &'a Values,
    findings: Findings,
    read: BTreeSet<String>,
    shortened: Vec<(String, String)>,
}

/// What a reading leaves beside what was read.
pub(super) struct Outcome {
    pub(super) findings: Findings,
    /// Keys that hold a longer span than may be, and what is in force in its place.
    pub(super) shortened: Vec<(String, String)>,
    /// Every key that a section has asked for.
    pub(super) read: BTreeSet<String>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(table: &'a Table, values: &'a Values, findings: Findings) -> Self {
        Self { table, values, findings, read: BTreeSet::new(), shortened: Vec::new() }
    }

    /// Refuses the configuration for this key, and says where its value was set. What a key inherited is refused where it was written.
    pub(super) fn refuse(&mut self, key: &str, reason: impl Into<String>) {
        if !self.is_inherited(key) {
            self.findings.refuse_from(self.values.origin(key), key, reason);
        }
    }

    /// Refuses the configuration for want of this key, unless that is because a file could not be read, which is said already.
    pub(super) fn refuse_missing(&mut self, key: &str, reason: impl Into<String>) {
        if !self.values.is_incomplete() {
            self.refuse(key, reason);
        }
    }

    /// Refuses a key that has no value where it was written down, or is a list with nothing in it: it was left to be filled in, and
    /// `without` is what it means not to. Of a key that is no list it is refused elsewhere to be one.
    pub(super) fn refuse_blank(&mut self, key: &str, without: &str) {
        let values = self.values;
        let is_list = self.table.find(key).is_some_and(|known| known.kind.is_list());
        let origin = match values.get(key) {
            None => values.blank(key),
            Some(Value::Array(items)) if is_list && items.is_empty() => values.origin(key),
            Some(_) => None,
        };
        let Some(origin) = origin else { return };
        let reason = format!("is empty, and without it {without}: give it a value, or leave the key out");
        match origin {
            Origin::Environment(variable) => self.findings.refuse(variable, reason),
            elsewhere => self.findings.refuse_from(Some(elsewhere), key, reason),
        }
    }

    pub(super) fn warn(&mut self, key: &str, message: impl Into<String>) {
        self.findings.warn(key, message);
    }

    /// Says that a span is longer than it may be, and why; the longest is in force in its place.
    pub(super) fn shorten(&mut self, key: &str, longest: Duration, why: &str) {
        let longest = duration::format(longest);
        self.warn(key, format!("is shortened to {longest}: {why}"));
        self.shortened.push((key.to_owned(), longest));
    }

    pub(super) fn problem_count(&self) -> usize {
        self.findings.problem_count()
    }

    pub(super) fn into_findings(self) -> Findings {
        self.findings
    }

    pub(super) fn into_outcome(self) -> Outcome {
        Outcome { findings: self.findings, shortened: self.shortened, read: self.read }
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.values.get(key).is_some()
    }

    /// Whether somebody set the key.
    pub(super) fn is_given(&self, key: &str) -> bool {
        self.values.is_given(key)
    }

    /// Whether the key has the value of another, for it was given none.
    pub(super) fn is_inherited(&self, key: &str) -> bool {
        self.values.is_inherited(key)
    }

    /// The key whose value this one has: another where it was given none of its own.
    pub(super) fn written_as(&self, key: &str) -> String {
        self.values.inherited_from(key).unwrap_or(key).to_owned()
    }

    /// Whether the key of another section is true; what is wrong with it is said there.
    pub(super) fn is_true(&self, key: &str) -> bool {
        self.values.get(key).and_then(Value::as_bool).unwrap_or_default()
    }

    pub(super) fn boolean(&mut self, key: &str) -> bool {
        let (kind, value) = self.value(key);
        let truth = value.map(Value::as_bool);
        if truth == Some(None) {
            self.refuse_kind(key, kind, value);
        }
        truth.flatten().unwrap_or_default()
    }

    /// A whole number in the range that the table gives for the key.
    pub(super) fn integer<T: TryFrom<i64>>(&mut self, key: &str) -> Option<T> {
        let (kind, value) = self.value(key);
        let in_range = |number: &i64| match kind {
            Kind::Integer { min, max } => (min..=max).contains(number),
            Kind::FileMode => (0..=0o777).contains(number),
            _ => true,
        };
        let number = value?.as_i64().filter(in_range).and_then(|number| T::try_from(number).ok());
        if number.is_none() {
            self.refuse_kind(key, kind, value);
        }
        number
    }

    /// A number from 0 to 1.
    pub(super) fn ratio(&mut self, key: &str) -> Option<f64> {
        let (kind, value) = self.value(key);
        let ratio = value?.as_f64().filter(|ratio| (0.0..=1.0).contains(ratio));
        if ratio.is_none() {
            self.refuse_kind(key, kind, value);
        }
        ratio
    }

    pub(super) fn text(&mut self, key: &str) -> Option<String> {
        let (kind, value) = self.value(key);
        let text = text_of(kind, value?);
        if text.is_none() {
            self.refuse_kind(key, kind, value);
        }
        text
    }

    pub(super) fn path(&mut self, key: &str) -> Option<PathBuf> {
        self.text(key).map(PathBuf::from)
    }

    pub(super) fn texts(&mut self, key: &str) -> Vec<String> {
        let (kind, value) = self.value(key);
        let Some(value) = value else { return Vec::new() };
        let items = value.as_array().map(|items| items.iter().map(|item| text_of(kind, item)));
        items.and_then(Iterator::collect::<Option<Vec<_>>>).unwrap_or_else(|| {
            self.refuse_kind(key, kind, Some(value));
            Vec::new()
        })
    }

    /// One of the named values of `T`; its default without a value.
    pub(super) fn choice<T: Choice + Default>(&mut self, key: &str) -> T {
        let (kind, value) = self.value(key);
        let Some(value) = value else { return T::default() };
        let chosen = scalar(value).and_then(|text| named(&text));
        chosen.unwrap_or_else(|| {
            self.refuse_kind(key, kind, Some(value));
            T::default()
        })
    }

    pub(super) fn choices<T: Choice>(&mut self, key: &str) -> Vec<T> {
        let texts = self.texts(key);
        let chosen: Option<Vec<T>> = texts.iter().map(|text| named(text)).collect();
        chosen.unwrap_or_else(|| {
            let (kind, value) = self.value(key);
            self.refuse_kind(key, kind, value);
            Vec::new()
        })
    }

    pub(super) fn duration(&mut self, key: &str) -> Duration {
        let Some(text) = self.text(key) else { return Duration::ZERO };
        duration::parse(&text).unwrap_or_else(|| {
            self.refuse_kind(key, Kind::Duration, Some(&Value::String(text)));
            Duration::ZERO
        })
    }

    /// A duration of one second at least.
    pub(super) fn lifetime(&mut self, key: &str) -> Duration {
        let problems = self.problem_count();
        let lifetime = self.duration(key);
        if lifetime < Duration::from_secs(1) && self.problem_count() == problems {
            self.refuse(key, "must be at least 1s");
        }
        lifetime
    }

    /// A duration in a range, both ends included.
    pub(super) fn duration_within(&mut self, key: &str, range: RangeInclusive<Duration>) -> Duration {
        let problems = self.problem_count();
        let span = self.duration(key);
        if !range.contains(&span) && self.problem_count() == problems {
            let (shortest, longest) = (duration::format(*range.start()), duration::format(*range.end()));
            self.refuse(key, format!("must be from {shortest} to {longest}"));
        }
        span
    }

    /// The name of a header, which is one for a cookie too (RFC 9110 §5.6.2).
    pub(super) fn header_name(&mut self, key: &str) -> Option<String> {
        let name = self.text(key)?;
        if name.parse::<HeaderName>().is_err() {
            self.refuse(key, "has characters that the name of a header or cookie must not have");
        }
        Some(name)
    }

    /// An absolute http or https URL.
    pub(super) fn url(&mut self, key: &str) -> Option<Url> {
        let text = self.text(key)?;
        let url =
            Url::parse(&text).ok().filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
        if url.is_none() {
            self.refuse_kind(key, Kind::Url, Some(&Value::String(text)));
        }
        url
    }

    /// A URL, at the host of `base` when it is a path.
    pub(super) fn url_reference(&mut self, key: &str, base: &Url) -> Option<Url> {
        let text = self.text(key)?;
        if !is_reference(&text) {
            self.refuse(
                key,
                format!("must begin with https://, http:// or a single /, not {}", quoted(&text)),
            );
            return None;
        }
        let url = base.join(&text).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
        if url.is_none() {
            self.refuse_kind(key, Kind::UrlReference, Some(&Value::String(text)));
        }
        url
    }

    /// CIDR blocks; a single address is a block of one. Those of IPv4 that are written as ones of IPv6 are of IPv4.
    pub(super) fn networks(&mut self, key: &str) -> Vec<IpNet> {
        let mut networks = Vec::new();
        for text in self.texts(key) {
            let single = || text.parse::<IpAddr>().ok().map(IpNet::from);
            match text.parse().ok().or_else(single) {
                Some(network) => networks.push(canonical_network(network)),
                None => self.refuse(key, format!("{} is not a CIDR block", quoted(&text))),
            }
        }
        networks
    }

    pub(super) fn secret(&mut self, key: &str) -> Option<SecretString> {
        self.text(key).map(SecretString::new)
    }

    /// A secret that requests bear in `Authorization` (RFC 6750 §2.1): printable ASCII, without a space at either end, which no header keeps
    /// (RFC 9110 §5.5). Any other would be waited for in vain.
    pub(super) fn bearer_token(&mut self, key: &str) -> Option<SecretString> {
        let token = self.secret(key)?;
        if !can_be_borne(token.expose()) {
            self.refuse(key, UNBEARABLE);
        }
        Some(token)
    }

    /// The same of a key that takes several, any of which a request may bear.
    pub(super) fn bearer_tokens(&mut self, key: &str) -> Vec<SecretString> {
        let tokens: Vec<SecretString> = self.texts(key).into_iter().map(SecretString::new).collect();
        if !tokens.iter().all(|token| can_be_borne(token.expose())) {
            self.refuse(key, UNBEARABLE);
        }
        tokens
    }

    /// Secrets of at least `shortest` characters each.
    pub(super) fn secrets(&mut self, key: &str, shortest: usize) -> Vec<SecretString> {
        let secrets: Vec<SecretString> = self.texts(key).into_iter().map(SecretString::new).collect();
        for (secret, position) in secrets.iter().zip(1..) {
            if secret.expose().chars().count() < shortest {
                let reason = format!("entry {position} is shorter than {shortest} characters");
                self.refuse(key, reason);
            }
        }
        secrets
    }

    /// Remembers that the key was asked for, and returns what it may hold and what it holds.
    fn value(&mut self, key: &str) -> (Kind, Option<&'a Value>) {
        self.read.insert(key.to_owned());
        if let Some(known) = self.table.find(key) {
            return (known.kind, self.values.get(key));
        }
        self.refuse(key, "is read, but missing from the table of known keys: a defect of Sluice");
        (Kind::Text, None)
    }

    fn refuse_kind(&mut self, key: &str, kind: Kind, value: Option<&Value>) {
        let kind = self.table.find(key).map_or(kind, |known| known.kind);
        let wrong = match value {
            Some(Value::Array(_)) if !kind.is_list() => ", not a list".to_owned(),
            Some(value) if kind.is_secret() => unquoted(value),
            _ if matches!(kind, Kind::Dsn) => String::new(),
            Some(Value::Object(_)) => ", not a mapping".to_owned(),
            Some(value) => scalar(value).map_or_else(String::new, |text| format!(", not {}", quoted(&text))),
            None => String::new(),
        };
        self.refuse(key, format!("must be {}{wrong}", kind.describe()));
    }
}

fn can_be_borne(token: &str) -> bool {
    token.bytes().all(|byte| matches!(byte, b'\t' | b' '..=b'~')) && token.trim() == token
}

/// The text of a single value of this kind. A secret must be written as a text: of a number it cannot be told how it was written, for
/// `0x1F`, `31` and `3.1e1` are the same.
fn text_of(kind: Kind, value: &Value) -> Option<String> {
    if kind.is_secret() { value.as_str().map(str::to_owned) } else { scalar(value) }
}

/// What a message says of a secret that was read as something else than a text.
fn unquoted(value: &Value) -> String {
    let read_as = |value: &Value| match value {
        Value::Number(_) => Some("a number"),
        Value::Bool(_) => Some("a truth value"),
        _ => None,
    };
    let read = value.as_array().map_or_else(|| read_as(value), |items| items.iter().find_map(read_as));
    read.map_or_else(String::new, |read| format!(", in quotes: without them it is read as {read}"))
}

/// The text of a single value: numbers and truth values may stand where a text is wanted.
fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(truth) => Some(truth.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// Whether it is an absolute URL or a path. What has neither scheme nor slash is most often a host whose scheme was forgotten, and two
/// slashes lead to another host.
fn is_reference(text: &str) -> bool {
    let text = text.trim();
    let begins_with = |scheme: &str| {
        text.get(..scheme.len()).is_some_and(|beginning| beginning.eq_ignore_ascii_case(scheme))
    };
    let is_path = || text.strip_prefix('/').is_some_and(|rest| !rest.starts_with(['/', '\\']));
    begins_with("https://") || begins_with("http://") || is_path()
}

fn named<T: Choice>(text: &str) -> Option<T> {
    T::CHOICES.iter().find(|(name, _)| *name == text).map(|(_, value)| *value)
}

/// The value for a message; what could hold credentials is left out.
pub(super) fn quoted(text: &str) -> String {
    if text.contains(['@', '?']) { "this value".to_owned() } else { format!("{text:?}") }
}
