//! User codes (RFC 8628 §6.1): short enough to be typed, and kept as a keyed hash.

use std::fmt;

use sluice_crypto::digest::MacKey;
use sluice_primitives::Rng;
use sluice_primitives::rng::random_bytes;

use super::repository::UserCodeHash;
use crate::config::DevicePolicy;

/// Nobody types more than this, in bytes.
const MAX_TYPED: usize = 256;

/// A user code, without what is there for the eye only.
#[derive(Clone, PartialEq, Eq)]
pub struct UserCode(String);

impl UserCode {
    /// Draws a code.
    pub fn draw(policy: &DevicePolicy, rng: &dyn Rng) -> Self {
        let characters: Vec<char> = policy.user_code_characters.chars().collect();
        Self((0..policy.user_code_length).filter_map(|_| pick(&characters, rng)).collect())
    }

    /// The code that somebody typed: in either case, with whatever spaces and dashes. None if nothing is left of it, or it
    /// is longer than any code.
    pub fn typed(text: &str) -> Option<Self> {
        if text.len() > MAX_TYPED {
            return None;
        }
        let kept = text.chars().filter(char::is_ascii_alphanumeric);
        let code: String = kept.map(|character| character.to_ascii_uppercase()).collect();
        (!code.is_empty()).then_some(Self(code))
    }

    /// The code as people read it: in groups.
    pub fn grouped(&self) -> String {
        let length = self.0.len();
        let size = if !length.is_multiple_of(4) && length.is_multiple_of(3) { 3 } else { 4 };
        let mut text = String::with_capacity(length + length / size);
        for (place, character) in self.0.chars().enumerate() {
            if place > 0 && place.is_multiple_of(size) {
                text.push('-');
            }
            text.push(character);
        }
        text
    }
}

impl fmt::Debug for UserCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("UserCode([redacted])")
    }
}

/// One of the characters, each as likely as any other.
fn pick(characters: &[char], rng: &dyn Rng) -> Option<char> {
    let count = u32::try_from(characters.len()).ok().filter(|count| *count > 0)?;
    // Beyond the last whole multiple the first characters would be drawn once more than the others.
    let fair = u32::MAX - u32::MAX % count;
    loop {
        let drawn = u32::from_le_bytes(random_bytes(rng));
        if drawn < fair {
            return characters.get(usize::try_from(drawn % count).ok()?).copied();
        }
    }
}

/// The keys of the hash of user codes: the first hashes, all find.
#[derive(Clone)]
pub struct UserCodeKeys {
    current: MacKey,
    older: Vec<MacKey>,
}

impl UserCodeKeys {
    /// These keys.
    pub const fn new(current: MacKey, older: Vec<MacKey>) -> Self {
        Self { current, older }
    }

    /// The hash under which a new code is kept.
    pub fn hash(&self, code: &UserCode) -> UserCodeHash {
        self.current.mac(&[code.0.as_bytes()])
    }

    /// The hashes under which a code may be kept.
    pub fn hashes<'a>(&'a self, code: &'a UserCode) -> impl Iterator<Item = UserCodeHash> + 'a {
        std::iter::once(&self.current).chain(&self.older).map(|key| key.mac(&[code.0.as_bytes()]))
    }
}

impl fmt::Debug for UserCodeKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UserCodeKeys").field("older", &self.older.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sluice_primitives::SeededRng;

    fn policy(length: usize, characters: &str) -> DevicePolicy {
        DevicePolicy {
            user_code_length: length,
            user_code_characters: characters.to_owned(),
            ..DevicePolicy::default()
        }
    }

    #[test]
    fn a_code_has_the_configured_length_and_characters() {
        let code = UserCode::draw(&policy(9, "01234567"), &SeededRng::new(1));
        assert_eq!(code.0.len(), 9);
        assert!(code.0.chars().all(|character| "01234567".contains(character)));
    }

    #[test]
    fn each_character_is_as_likely_as_any_other() {
        let characters = "ABCDEFGHIJK";
        let code = UserCode::draw(&policy(110_000, characters), &SeededRng::new(7));
        for character in characters.chars() {
            let times = code.0.chars().filter(|drawn| *drawn == character).count();
            assert!((9_500..10_500).contains(&times), "{character}: {times}");
        }
    }

    #[test]
    fn a_code_may_be_typed_in_either_case_with_spaces_and_dashes() {
        let code = UserCode::typed("WDJB-MJHT").unwrap();
        for typed in ["wdjbmjht", " wdjb mjht ", "WDJB–MJHT", "w.d.j.b_m.j.h.t"] {
            assert_eq!(UserCode::typed(typed), Some(code.clone()), "{typed}");
        }
        assert_eq!(UserCode::typed(" - "), None);
        assert_eq!(UserCode::typed(&"A".repeat(MAX_TYPED + 1)), None);
    }

    #[test]
    fn a_code_is_shown_in_groups() {
        let grouped = |code: &str| UserCode(code.to_owned()).grouped();
        assert_eq!(grouped("WDJBMJHT"), "WDJB-MJHT");
        assert_eq!(grouped("123456789"), "123-456-789");
        assert_eq!(grouped("1234567"), "1234-567");
        assert_eq!(grouped("123456"), "123-456");
    }

    #[test]
    fn a_code_is_found_under_an_older_key_and_not_under_another() {
        let key = |text: &str| MacKey::derive(text.as_bytes(), b"user codes");
        let code = UserCode::typed("WDJBMJHT").unwrap();
        let kept = UserCodeKeys::new(key("old"), Vec::new()).hash(&code);
        let rotated = UserCodeKeys::new(key("new"), vec![key("old")]);
        assert_ne!(rotated.hash(&code), kept);
        assert!(rotated.hashes(&code).any(|hash| hash == kept));
        assert!(UserCodeKeys::new(key("new"), Vec::new()).hashes(&code).all(|hash| hash != kept));
    }

    #[test]
    fn a_code_is_not_printed() {
        assert_eq!(format!("{:?}", UserCode::typed("WDJBMJHT").unwrap()), "UserCode([redacted])");
    }
}
