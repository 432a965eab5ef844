//! `oauth2.device_authorization`: devices that cannot show a login page (RFC 8628).

use std::time::Duration;

use super::key::Choice;
use super::reader::Reader;

const LENGTH: &str = "oauth2.device_authorization.user_code.length";
const CHARACTERS: &str = "oauth2.device_authorization.user_code.character_set";

/// The fewest different characters a user code may be made of; Hydra's rule.
const FEWEST_CHARACTERS: usize = 8;

/// The device flow.
#[derive(Debug, Clone)]
pub(crate) struct DeviceSettings {
    /// How long a device is told to wait between its questions. Default: 5 s.
    pub(crate) polling_interval: Duration,
    /// Default: the preset `high`.
    pub(crate) user_code: UserCodeSettings,
}

/// What user codes are made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum UserCodeSettings {
    Preset(UserCodePreset),
    /// So many of these characters; at least 6 of at least 8.
    Custom {
        length: usize,
        characters: String,
    },
}

/// Hydra's presets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum UserCodePreset {
    /// Eight letters and digits that cannot be confused.
    #[default]
    High,
    /// Eight upper-case letters.
    Medium,
    /// Nine digits.
    Low,
}

impl Choice for UserCodePreset {
    const CHOICES: &'static [(&'static str, Self)] =
        &[("high", Self::High), ("medium", Self::Medium), ("low", Self::Low)];
}

pub(super) fn read(reader: &mut Reader<'_>) -> DeviceSettings {
    DeviceSettings {
        polling_interval: reader.lifetime("oauth2.device_authorization.token_polling_interval"),
        user_code: read_user_code(reader),
    }
}

fn read_user_code(reader: &mut Reader<'_>) -> UserCodeSettings {
    let preset = reader.choice("oauth2.device_authorization.user_code.entropy_preset");
    let length = reader.integer(LENGTH);
    let characters = reader.text(CHARACTERS);
    if reader.has(LENGTH) != reader.has(CHARACTERS) {
        let missing = if reader.has(LENGTH) { CHARACTERS } else { LENGTH };
        reader.refuse(missing, "is required too: length and character_set belong together");
    }
    match (length, characters) {
        (Some(length), Some(characters)) => {
            let mut distinct: Vec<char> = characters.chars().collect();
            distinct.sort_unstable();
            distinct.dedup();
            if distinct.len() < FEWEST_CHARACTERS || distinct.len() != characters.chars().count() {
                let reason = format!("must be at least {FEWEST_CHARACTERS} characters, each once");
                reader.refuse(CHARACTERS, reason);
            }
            UserCodeSettings::Custom { length, characters }
        }
        _ => UserCodeSettings::Preset(preset),
    }
}
