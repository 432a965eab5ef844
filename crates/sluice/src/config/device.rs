//! `oauth2.device_authorization`: devices without a browser (RFC 8628).

use std::time::Duration;

use super::key::{Choice, Key, Kind, names};
use super::reader::Reader;

const PRESET: &str = "oauth2.device_authorization.user_code.entropy_preset";
const LENGTH: &str = "oauth2.device_authorization.user_code.length";
const CHARACTER_SET: &str = "oauth2.device_authorization.user_code.character_set";

/// The fewest characters that a set may have; Hydra's rule.
const FEWEST_CHARACTERS: usize = 8;

pub(super) const KEYS: &[Key] = &[
    Key::hydra("token_polling_interval", Kind::Duration, "How long a device waits between two questions.")
        .with_default("5s"),
    Key::hydra(
        "user_code.entropy_preset",
        Kind::Choice(names::<UserCodePreset>),
        "The codes that people type: `high` is 8 letters and digits that do not look alike, `medium` 8 letters, \
         `low` 9 digits. `high` unless length and character set are given.",
    ),
    Key::hydra(
        "user_code.length",
        Kind::Integer { min: 6, max: 64 },
        "How many characters a code has; goes with `user_code.character_set`, instead of a preset.",
    ),
    Key::hydra(
        "user_code.character_set",
        Kind::Text,
        "The letters and digits of codes, 8 or more; goes with `user_code.length`. People may type letters in \
         either case.",
    ),
];

/// How devices are let in.
#[derive(Debug, Clone)]
pub(crate) struct DeviceSettings {
    /// How long a device waits between two questions. Default: 5 s.
    pub(crate) polling_interval: Duration,
    pub(crate) user_code: UserCodeSettings,
}

/// What the codes are made of that people type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UserCodeSettings {
    /// Default: 8.
    pub(crate) length: usize,
    /// Digits and upper-case letters, each once: what is typed is put in upper case before it is compared
    /// (RFC 8628 §6.1).
    pub(crate) characters: String,
}

/// A length and a character set by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum UserCodePreset {
    #[default]
    High,
    Medium,
    Low,
}

impl Choice for UserCodePreset {
    const CHOICES: &'static [(&'static str, Self)] =
        &[("high", Self::High), ("medium", Self::Medium), ("low", Self::Low)];
}

impl UserCodePreset {
    /// Hydra's, but for the lower-case letters of `high`.
    fn code(self) -> UserCodeSettings {
        let (length, characters) = match self {
            Self::High => (8, "ACDEFGHJKLMNPQRTUVWXY34679"),
            Self::Medium => (8, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"),
            Self::Low => (9, "0123456789"),
        };
        UserCodeSettings { length, characters: characters.to_owned() }
    }
}

pub(super) fn read(reader: &mut Reader<'_>) -> DeviceSettings {
    DeviceSettings {
        polling_interval: reader.lifetime("oauth2.device_authorization.token_polling_interval"),
        user_code: read_user_code(reader),
    }
}

fn read_user_code(reader: &mut Reader<'_>) -> UserCodeSettings {
    let preset: UserCodePreset = reader.choice(PRESET);
    let length = reader.integer(LENGTH);
    let characters = read_characters(reader);
    match (reader.has(LENGTH), reader.has(CHARACTER_SET)) {
        (false, false) => return preset.code(),
        (true, false) => reader.refuse(CHARACTER_SET, format!("is required with {LENGTH}")),
        (false, true) => reader.refuse(LENGTH, format!("is required with {CHARACTER_SET}")),
        (true, true) if reader.has(PRESET) => {
            reader.refuse(PRESET, "has length and character_set beside it; set the one or the others");
        }
        (true, true) => {}
    }
    UserCodeSettings { length: length.unwrap_or_default(), characters }
}

/// In upper case, each once: people type in either case.
fn read_characters(reader: &mut Reader<'_>) -> String {
    let given = reader.text(CHARACTER_SET).unwrap_or_default();
    let mut characters = String::new();
    for character in given.chars().map(|character| character.to_ascii_uppercase()) {
        if !characters.contains(character) {
            characters.push(character);
        }
    }
    if !characters.chars().all(|character| character.is_ascii_alphanumeric()) {
        reader.refuse(CHARACTER_SET, "must have letters from A to Z and digits only");
    } else if !given.is_empty() && characters.len() < FEWEST_CHARACTERS {
        let reason = format!(
            "must have {FEWEST_CHARACTERS} different characters or more, upper and lower case being one"
        );
        reader.refuse(CHARACTER_SET, reason);
    }
    characters
}
