//! The code that a mail carries: short enough to be typed, kept as a keyed hash.

use std::fmt;

use sluice_crypto::SystemSecret;
use sluice_crypto::digest::MacKey;
use sluice_primitives::rng::random_bytes;
use sluice_primitives::{IdentityId, Rng};
use unicode_normalization::UnicodeNormalization;
use zeroize::Zeroizing;

use super::repository::CodePurpose;

/// Without those that people take for another one.
const ALPHABET: &[u8; 31] = b"ABCDEFGHJKMNPQRSTUVWXYZ23456789";
/// About 40 bits, of which somebody who guesses has ten tries.
const LENGTH: usize = 8;
/// Nobody types more than this, in bytes.
const MAX_TYPED: usize = 64;

/// A code, without what is there for the eye only.
#[derive(Clone, PartialEq, Eq)]
pub struct Code(Zeroizing<String>);

impl Code {
    /// Draws a code, each as likely as any other.
    pub fn draw(rng: &dyn Rng) -> Self {
        let mut code = Zeroizing::new(String::with_capacity(LENGTH));
        while code.len() < LENGTH {
            let [drawn] = random_bytes::<1>(rng);
            // One of 32 places is empty: it is drawn again, so that no character is likelier than another.
            if let Some(character) = ALPHABET.get(usize::from(drawn & 31)) {
                code.push(char::from(*character));
            }
        }
        Self(code)
    }

    /// The code that somebody typed: in either case, on whatever keyboard, with whatever spaces and dashes. None if it cannot be one.
    pub fn typed(text: &str) -> Option<Self> {
        if text.len() > MAX_TYPED {
            return None;
        }
        let kept = text.nfkc().filter(char::is_ascii_alphanumeric);
        let code = Zeroizing::new(kept.map(|c| c.to_ascii_uppercase()).collect::<String>());
        let is_code = code.len() == LENGTH && code.bytes().all(|byte| ALPHABET.contains(&byte));
        is_code.then_some(Self(code))
    }

    /// The code as people read it: `XXXX-XXXX`.
    pub fn grouped(&self) -> String {
        let (first, second) = self.0.split_at_checked(LENGTH / 2).unwrap_or((&self.0, ""));
        format!("{first}-{second}")
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Code([redacted])")
    }
}

/// The keys of the hashes of codes: the first makes them, all recognise them. Codes live for hours, and secrets are changed
/// in between.
#[derive(Clone)]
pub struct CodeKey {
    first: MacKey,
    others: Vec<MacKey>,
}

impl CodeKey {
    /// This key.
    pub const fn new(key: MacKey) -> Self {
        Self { first: key, others: Vec::new() }
    }

    /// The keys that follow from these secrets; none without a secret.
    pub fn derive(secrets: &[SystemSecret]) -> Option<Self> {
        let mut keys = secrets.iter().map(|secret| MacKey::derive(secret.expose(), b"mail codes"));
        Some(Self { first: keys.next()?, others: keys.collect() })
    }

    /// The hash under which a code is kept, of the identity with this id and revision. A code that opens an account is
    /// good for that revision only: whoever changes their password is rid of all that was asked for before.
    pub fn hash(&self, whose: (IdentityId, i64), purpose: CodePurpose, code: &Code) -> [u8; 32] {
        hash_with(&self.first, whose, purpose, code)
    }

    /// The hashes under which a code may be kept.
    pub fn hashes(&self, whose: (IdentityId, i64), purpose: CodePurpose, code: &Code) -> Vec<[u8; 32]> {
        let keys = std::iter::once(&self.first).chain(&self.others);
        keys.map(|key| hash_with(key, whose, purpose, code)).collect()
    }
}

fn hash_with(
    key: &MacKey,
    (identity, revision): (IdentityId, i64),
    purpose: CodePurpose,
    code: &Code,
) -> [u8; 32] {
    let bound = match purpose {
        CodePurpose::VerifyEmail => 0,
        CodePurpose::Recover | CodePurpose::ChangeEmail => revision,
    };
    let (purpose, bound) = (purpose.stored().to_be_bytes(), bound.to_be_bytes());
    key.mac(&[identity.as_bytes(), &purpose, &bound, code.as_str().as_bytes()])
}

impl fmt::Debug for CodeKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CodeKey({})", 1 + self.others.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sluice_primitives::{Secret, SeededRng};

    #[test]
    fn each_character_is_as_likely_as_any_other() {
        let rng = SeededRng::new(3);
        let drawn: String = (0..10_000).map(|_| Code::draw(&rng).as_str().to_owned()).collect();
        for character in ALPHABET {
            let times = drawn.bytes().filter(|byte| byte == character).count();
            assert!((2_350..2_820).contains(&times), "{}: {times}", char::from(*character));
        }
    }

    #[test]
    fn a_code_is_taken_however_it_is_typed() {
        let code = Code::draw(&SeededRng::new(1));
        let shown = code.grouped();
        assert_eq!(shown.len(), 9);
        let wide: String = shown.chars().filter_map(|c| char::from_u32(u32::from(c) + 0xfee0)).collect();
        assert_eq!(Code::typed(&wide), Some(code.clone()), "{wide}");
        for typed in
            [shown.to_lowercase(), shown.replace('-', ""), format!(" {} ", shown.replace('-', " – "))]
        {
            assert_eq!(Code::typed(&typed), Some(code.clone()), "{typed}");
        }
    }

    #[test]
    fn what_cannot_be_a_code_is_none() {
        for typed in ["", "ABCD-EFG", "ABCD-EFGH-J", "ABCD-EFG0", "ABCD-EFGO", &"A".repeat(100)] {
            assert_eq!(Code::typed(typed), None, "{typed}");
        }
    }

    #[test]
    fn the_same_code_is_kept_differently_for_everybody_and_everything() {
        let key = CodeKey::new(MacKey::derive(b"secret", b"codes"));
        let code = Code::draw(&SeededRng::new(1));
        let (alice, bob) = ((IdentityId::from_bytes([1; 16]), 1), (IdentityId::from_bytes([2; 16]), 1));
        let hash = key.hash(alice, CodePurpose::Recover, &code);
        assert_ne!(hash, key.hash(bob, CodePurpose::Recover, &code));
        assert_ne!(hash, key.hash(alice, CodePurpose::VerifyEmail, &code));
        assert_ne!(hash, key.hash((alice.0, 2), CodePurpose::Recover, &code));
        assert_eq!(hash, key.hash(alice, CodePurpose::Recover, &code));
    }

    #[test]
    fn a_code_is_recognised_after_another_secret_came_in_front() {
        let keys = |secrets: &[&str]| {
            let secrets: Vec<_> = secrets.iter().map(|text| Secret::new(text.as_bytes().to_vec())).collect();
            CodeKey::derive(&secrets)
        };
        let (alice, code) = ((IdentityId::from_bytes([1; 16]), 1), Code::draw(&SeededRng::new(1)));
        let hashes = |secrets: &[&str]| keys(secrets).unwrap().hashes(alice, CodePurpose::Recover, &code);
        let kept = keys(&["old"]).unwrap().hash(alice, CodePurpose::Recover, &code);
        assert!(hashes(&["new", "old"]).contains(&kept));
        assert!(!hashes(&["new"]).contains(&kept));
        assert!(keys(&[]).is_none());
    }

    #[test]
    fn a_code_is_not_printed() {
        let code = Code::draw(&SeededRng::new(1));
        assert!(!format!("{code:?}").contains(code.as_str()));
    }
}
