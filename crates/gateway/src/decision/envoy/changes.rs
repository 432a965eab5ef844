//! What becomes of the headers of a request that Envoy holds.

use http::{HeaderMap, HeaderName, HeaderValue};

/// Over HTTP, Envoy removes the headers that this one names.
const TO_REMOVE: HeaderName = HeaderName::from_static("x-envoy-auth-headers-to-remove");

/// The difference between the headers that came and those that the upstream is to get. No name is in both lists: Envoy removes after it
/// sets.
#[derive(Debug, Default, PartialEq, Eq)]
pub(in super::super) struct Changes {
    /// To be set, replacing what is there.
    pub(super) set: Vec<(HeaderName, HeaderValue)>,
    /// To be removed.
    pub(super) removed: Vec<HeaderName>,
}

impl Changes {
    /// What `enrich` makes of `original`.
    pub(in super::super) fn of(original: &HeaderMap, enrich: impl FnOnce(&mut HeaderMap)) -> Self {
        let mut enriched = original.clone();
        enrich(&mut enriched);
        let removed = original.keys().filter(|name| !enriched.contains_key(*name)).cloned().collect();
        let set = enriched
            .keys()
            .filter(|name| !original.get_all(*name).iter().eq(enriched.get_all(*name).iter()))
            .flat_map(|name| enriched.get_all(name).iter().map(|value| (name.clone(), value.clone())))
            .collect();
        Self { set, removed }
    }

    /// Says it in the headers of an answer over HTTP.
    pub(in super::super) fn write_to(self, answer: &mut HeaderMap) {
        for (name, value) in self.set {
            answer.append(name, value);
        }
        if self.removed.is_empty() {
            return;
        }
        let names = self.removed.iter().map(HeaderName::as_str).collect::<Vec<_>>().join(", ");
        if let Ok(names) = HeaderValue::try_from(names) {
            answer.insert(TO_REMOVE, names);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(lines: &[(&'static str, &'static str)]) -> HeaderMap {
        lines
            .iter()
            .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)))
            .collect()
    }

    #[test]
    fn what_is_new_or_other_is_set_and_what_is_gone_is_removed() {
        let original = headers(&[
            ("oauth-user-id", "mallory"),
            ("oauth-admin", "yes"),
            ("accept", "*/*"),
            ("cookie", "a=1"),
        ]);
        let changes = Changes::of(&original, |headers| {
            headers.remove("oauth-admin");
            headers.insert("oauth-user-id", HeaderValue::from_static("alice"));
            headers.insert("oauth-country", HeaderValue::from_static("CZ"));
        });
        let mut answer = HeaderMap::new();
        changes.write_to(&mut answer);
        let expected = headers(&[
            ("oauth-user-id", "alice"),
            ("oauth-country", "CZ"),
            ("x-envoy-auth-headers-to-remove", "oauth-admin"),
        ]);
        assert_eq!(answer, expected);
    }

    #[test]
    fn a_header_that_came_twice_and_is_said_once_is_set() {
        let original = headers(&[("oauth-user-id", "alice"), ("oauth-user-id", "mallory")]);
        let changes = Changes::of(&original, |headers| {
            headers.insert("oauth-user-id", HeaderValue::from_static("alice"));
        });
        assert_eq!(
            changes.set,
            [(HeaderName::from_static("oauth-user-id"), HeaderValue::from_static("alice"))]
        );
        assert_eq!(changes.removed, Vec::<HeaderName>::new());
    }

    #[test]
    fn nothing_is_said_where_nothing_changes() {
        let original = headers(&[("accept", "*/*")]);
        assert_eq!(Changes::of(&original, |_| ()), Changes::default());
    }
}
