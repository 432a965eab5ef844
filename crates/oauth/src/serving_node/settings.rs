//! What must be alike on all nodes, as each of them says it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// What a node says of the settings that all nodes must have alike, by their names. Versions may say it of different ones: compared is what both
/// say.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SharedSettings(BTreeMap<String, Shared>);

/// What is said of one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
enum Shared {
    /// Fingerprints of secrets. The first seals, all of them open.
    Secrets(Vec<String>),
    /// The value, or what tells it from others.
    Value(String),
}

/// One setting that differs between two nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Difference<'a> {
    /// Its name.
    pub setting: &'a str,
    /// In what.
    pub how: Disagreement,
}

/// In what a setting of two nodes differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Disagreement {
    /// Another value.
    Value,
    /// The other seals with a secret that is missing here.
    MissingHere,
    /// The secret that seals here is missing there.
    MissingThere,
    /// Both.
    MissingOnBoth,
}

impl Disagreement {
    /// What is to be said of it, here.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Value => "it has another value there",
            Self::MissingHere => "what is sealed there does not open here",
            Self::MissingThere => "what is sealed here does not open there",
            Self::MissingOnBoth => "what is sealed on either does not open on the other",
        }
    }

    /// Whether what was made there is of no use here. That what is made here is of none there means nothing to a node that is gone.
    pub const fn spoils_what_was_made(self) -> bool {
        match self {
            Self::Value | Self::MissingHere | Self::MissingOnBoth => true,
            Self::MissingThere => false,
        }
    }
}

impl Shared {
    /// In what this node's differs from another's. Lists of secrets need not be the same: while they are rotated, nodes have the old or the new one
    /// first, and are in agreement as long as each has what the other seals with.
    fn differs_from(&self, other: &Self) -> Option<Disagreement> {
        match (self, other) {
            (Self::Value(here), Self::Value(there)) => (here != there).then_some(Disagreement::Value),
            (Self::Secrets(here), Self::Secrets(there)) => match (opens(here, there), opens(there, here)) {
                (true, true) => None,
                (false, true) => Some(Disagreement::MissingHere),
                (true, false) => Some(Disagreement::MissingThere),
                (false, false) => Some(Disagreement::MissingOnBoth),
            },
            // Another version says it in another way.
            (Self::Value(_), Self::Secrets(_)) | (Self::Secrets(_), Self::Value(_)) => None,
        }
    }
}

/// Whether what is sealed with the first of `others` opens with one of these.
fn opens(these: &[String], others: &[String]) -> bool {
    others.first().is_none_or(|seals| these.contains(seals))
}

impl SharedSettings {
    /// The same, with a list of secrets: their fingerprints, the one that seals first.
    #[must_use]
    pub fn with_secrets(mut self, setting: &str, fingerprints: Vec<String>) -> Self {
        self.0.insert(setting.to_owned(), Shared::Secrets(fingerprints));
        self
    }

    /// The same, with a setting that has one value: that, or what tells it from others.
    #[must_use]
    pub fn with_value(mut self, setting: &str, value: impl Into<String>) -> Self {
        self.0.insert(setting.to_owned(), Shared::Value(value.into()));
        self
    }

    /// The names of the settings, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// Which settings of another node differ from these, in order.
    pub fn differences<'a>(&'a self, other: &'a Self) -> impl Iterator<Item = Difference<'a>> {
        self.0.iter().filter_map(move |(setting, here)| {
            let how = here.differs_from(other.0.get(setting)?)?;
            Some(Difference { setting, how })
        })
    }

    /// As stores keep them: a JSON object.
    pub fn to_text(&self) -> String {
        serde_json::to_string(&self.0).unwrap_or_default()
    }

    /// What a store kept. What only a later version knows how to say is passed over.
    pub fn parse(text: &str) -> Self {
        let said: BTreeMap<String, serde_json::Value> = serde_json::from_str(text).unwrap_or_default();
        let known =
            said.into_iter().filter_map(|(name, value)| Some((name, serde_json::from_value(value).ok()?)));
        Self(known.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SYSTEM: &str = "secrets.system";
    const ISSUER: &str = "urls.self.issuer";

    fn secrets(fingerprints: &[&str]) -> SharedSettings {
        let fingerprints = fingerprints.iter().map(|one| (*one).to_owned()).collect();
        SharedSettings::default().with_secrets(SYSTEM, fingerprints)
    }

    fn how(here: &SharedSettings, there: &SharedSettings) -> Vec<(String, Disagreement)> {
        here.differences(there).map(|one| (one.setting.to_owned(), one.how)).collect()
    }

    #[test]
    fn lists_of_secrets_agree_as_long_as_each_node_opens_what_the_other_seals() {
        let differs = |here, there| how(&secrets(here), &secrets(there)).first().map(|(_, how)| *how);
        for (here, there) in [
            (["old"].as_slice(), ["old"].as_slice()),
            (&["old"], &["old", "new"]),
            (&["old", "new"], &["new", "old"]),
            (&["new", "old"], &["new"]),
        ] {
            assert_eq!((differs(here, there), differs(there, here)), (None, None), "{here:?} {there:?}");
        }
        assert_eq!(differs(&["old"], &["new", "old"]), Some(Disagreement::MissingHere));
        assert_eq!(differs(&["new", "old"], &["old"]), Some(Disagreement::MissingThere));
        assert_eq!(differs(&["new"], &["old"]), Some(Disagreement::MissingOnBoth));
    }

    #[test]
    fn a_value_that_differs_is_named_and_what_only_one_of_both_says_is_not() {
        let here = secrets(&["old"]).with_value(ISSUER, "https://id.example.com");
        let there =
            SharedSettings::default().with_value(ISSUER, "http://id.example.com").with_value("later", "");
        assert_eq!(how(&here, &there), [(ISSUER.to_owned(), Disagreement::Value)]);
        assert_eq!(how(&here, &SharedSettings::default()), []);
        assert_eq!(how(&here, &here), []);
    }

    #[test]
    fn only_what_was_sealed_elsewhere_matters_of_a_node_that_is_gone() {
        assert!(!Disagreement::MissingThere.spoils_what_was_made());
        for how in [Disagreement::Value, Disagreement::MissingHere, Disagreement::MissingOnBoth] {
            assert!(how.spoils_what_was_made(), "{how:?}");
        }
    }

    #[test]
    fn they_are_read_as_they_were_written_and_what_a_later_version_says_otherwise_is_passed_over() {
        let said = secrets(&["a3f1", "77c0"]).with_value(ISSUER, "https://id.example.com");
        let text = r#"{"secrets.system":["a3f1","77c0"],"urls.self.issuer":"https://id.example.com"}"#;
        assert_eq!((said.to_text().as_str(), SharedSettings::parse(text)), (text, said.clone()));
        let later = text.replace('}', r#","later":{"a":1}}"#);
        assert_eq!(SharedSettings::parse(&later), said);
        assert_eq!(SharedSettings::parse("not JSON"), SharedSettings::default());
    }
}
