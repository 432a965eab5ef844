//! Recovery codes: what opens an account whose other factors are lost. Each once, and kept as keyed hashes.

use std::fmt;

use sluice_crypto::SystemSecret;
use sluice_crypto::digest::{MacKey, derive_key, sha256};
use sluice_primitives::rng::random_bytes;
use sluice_primitives::{IdentityId, Rng};
use tracing::info;
use unicode_normalization::UnicodeNormalization;
use zeroize::Zeroizing;

use super::proof::{FactorCheck, Shown};
use super::repository::HashedRecoveryCodes;
use super::service::FactorService;
use crate::audit::Deed;
use crate::error::IdentityError;
use crate::identity::Identity;
use crate::login::Network;
use crate::mail::{MessageKind, QueuedMail};

/// How many there are of them.
pub const RECOVERY_CODES: usize = 10;
/// Crockford's: without letters that people take for a digit.
const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
/// 50 bits.
const LENGTH: usize = 10;
/// Nobody types more than this, in bytes.
const MAX_TYPED: usize = 64;

/// A recovery code, without what is there for the eye only.
#[derive(Clone, PartialEq, Eq)]
pub struct RecoveryCode(Zeroizing<String>);

impl RecoveryCode {
    /// Draws a code, each as likely as any other.
    fn draw(rng: &dyn Rng) -> Self {
        let drawn = Zeroizing::new(random_bytes::<LENGTH>(rng));
        let characters = drawn.iter().filter_map(|byte| ALPHABET.get(usize::from(byte & 31)));
        Self(Zeroizing::new(characters.map(|character| char::from(*character)).collect()))
    }

    /// A fresh set.
    pub(super) fn draw_set(rng: &dyn Rng) -> Vec<Self> {
        (0..RECOVERY_CODES).map(|_| Self::draw(rng)).collect()
    }

    /// The code that somebody typed: in either case, on whatever keyboard, with whatever spaces and dashes, with letters for the
    /// digits that they look like. None if it cannot be one.
    pub fn typed(text: &str) -> Option<Self> {
        if text.len() > MAX_TYPED {
            return None;
        }
        let kept = text.nfkc().filter(char::is_ascii_alphanumeric);
        let meant = kept.map(|character| match character.to_ascii_uppercase() {
            'O' => '0',
            'I' | 'L' => '1',
            other => other,
        });
        let code = Zeroizing::new(meant.collect::<String>());
        let is_code = code.len() == LENGTH && code.bytes().all(|byte| ALPHABET.contains(&byte));
        is_code.then_some(Self(code))
    }

    /// The code as people read it: `XXXXX-XXXXX`.
    pub fn grouped(&self) -> String {
        let (first, second) = self.0.split_at_checked(LENGTH / 2).unwrap_or((&self.0, ""));
        format!("{first}-{second}")
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for RecoveryCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RecoveryCode([redacted])")
    }
}

/// The keys of the hashes of recovery codes: the first makes them, all recognise them. Of the secrets at rest, since codes
/// lie in drawers for years. Each with the id that is stored beside what it made.
#[derive(Clone)]
pub struct RecoveryCodeKeys {
    first: (u8, MacKey),
    others: Vec<(u8, MacKey)>,
}

impl RecoveryCodeKeys {
    /// The keys that follow from these secrets; none without a secret.
    pub fn derive(secrets: &[SystemSecret]) -> Option<Self> {
        let mut keys = secrets.iter().map(|secret| {
            let key = derive_key(secret.expose(), b"recovery codes");
            let [id, ..] = sha256(&key);
            (id, MacKey::new(&key))
        });
        Some(Self { first: keys.next()?, others: keys.collect() })
    }

    /// The place of the key with this id, counted from 0, the one that hashes; none if it is not known here. Of two keys with one
    /// id, the older one is told: it may be the one.
    pub fn place_of(&self, id: u8) -> Option<usize> {
        self.all().enumerate().filter(|(_, (own, _))| *own == id).map(|(place, _)| place).max()
    }

    /// These hashes, as those of the first key.
    pub(super) const fn named<'a>(&self, hashes: &'a [[u8; 32]]) -> HashedRecoveryCodes<'a> {
        HashedRecoveryCodes { key: self.first.0, hashes }
    }

    fn all(&self) -> impl Iterator<Item = &(u8, MacKey)> {
        std::iter::once(&self.first).chain(&self.others)
    }

    /// The hash under which a code is kept from now on.
    fn hash(&self, identity: IdentityId, code: &RecoveryCode) -> [u8; 32] {
        hash_with(&self.first.1, identity, code)
    }

    /// The hashes under which a code may have been kept.
    fn hashes(&self, identity: IdentityId, code: &RecoveryCode) -> impl Iterator<Item = [u8; 32]> {
        self.all().map(move |(_, key)| hash_with(key, identity, code))
    }

    /// The hashes under which a set is kept from now on.
    pub(super) fn hash_all(&self, identity: IdentityId, codes: &[RecoveryCode]) -> Vec<[u8; 32]> {
        codes.iter().map(|code| self.hash(identity, code)).collect()
    }
}

impl fmt::Debug for RecoveryCodeKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RecoveryCodeKeys({})", 1 + self.others.len())
    }
}

fn hash_with(key: &MacKey, identity: IdentityId, code: &RecoveryCode) -> [u8; 32] {
    key.mac(&[identity.as_bytes(), code.as_str().as_bytes()])
}

impl FactorService {
    /// Makes a new set of recovery codes for the record that was looked at when somebody proved, once more, to be this person,
    /// which is asked for by the caller; the former ones are none any more. None if the person has no factor that they could
    /// stand in for.
    ///
    /// # Errors
    /// [`IdentityError::Changed`] if that record was changed meanwhile: the proof may not hold any more.
    /// [`IdentityError::Store`] if the store cannot do it now.
    pub async fn regenerate_recovery_codes(
        &self,
        identity: &Identity,
    ) -> Result<Option<Vec<RecoveryCode>>, IdentityError> {
        let factors = &self.parts.factors;
        if factors.of_identity(identity.id).await?.is_empty() {
            return Ok(None);
        }
        let codes = RecoveryCode::draw_set(&*self.parts.rng);
        let hashes = self.parts.recovery_keys.hash_all(identity.id, &codes);
        let named = self.parts.recovery_keys.named(&hashes);
        let may_be_told = self.parts.limits.may_be_told_of_new_codes(identity);
        let notice = may_be_told.then(|| self.notice(identity, MessageKind::RecoveryCodesMade)).flatten();
        let looked_at = identity.revision;
        let replaced = factors.replace_recovery_codes(identity.id, looked_at, named, notice.as_ref()).await;
        if !Deed::new("recovery codes made", identity.id).noted(replaced)? {
            return Err(IdentityError::Changed);
        }
        if notice.is_some() {
            self.parts.limits.was_told_of_new_codes(identity);
        }
        info!(target: "sluice_audit", { identity.id = %identity.id }, "recovery codes made");
        Ok(Some(codes))
    }

    /// How many recovery codes are left.
    ///
    /// # Errors
    /// [`IdentityError::Store`] if the store cannot do it now.
    pub async fn recovery_codes_left(&self, identity: IdentityId) -> Result<u32, IdentityError> {
        Ok(self.parts.factors.recovery_codes_left(identity).await?)
    }

    /// Spends a recovery code. A guess at 50 bits needs no other limit than that on typed codes.
    pub(super) async fn check_recovery_code(
        &self,
        identity: &Identity,
        typed: &str,
        network: Network,
    ) -> Result<FactorCheck, IdentityError> {
        if let Err(wait) = self.parts.limits.check_factor_code(identity.id, network) {
            return Ok(FactorCheck::TooMany(wait));
        }
        let Some(code) = RecoveryCode::typed(typed) else { return Ok(FactorCheck::Wrong) };
        let notice = self.notice_of_used_code(identity).await?;
        for hash in self.parts.recovery_keys.hashes(identity.id, &code) {
            let spent = self.parts.factors.spend_recovery_code(identity.id, &hash, notice.as_ref()).await;
            if Deed::new("second factor taken", identity.id).at(network).noted(spent)? {
                if notice.is_some() {
                    self.parts.limits.was_told_of_used_code(identity);
                }
                return Ok(FactorCheck::Right(Shown::RecoveryCode));
            }
        }
        Ok(FactorCheck::Wrong)
    }

    /// What is written to the person if a recovery code is spent now. Of two that are spent at the same moment both mails may say that as many
    /// are left.
    async fn notice_of_used_code(&self, identity: &Identity) -> Result<Option<QueuedMail>, IdentityError> {
        if self.parts.mails.is_none() || !self.parts.limits.may_be_told_of_used_code(identity) {
            return Ok(None);
        }
        let left = self.recovery_codes_left(identity.id).await?.saturating_sub(1);
        Ok(self.notice(identity, MessageKind::RecoveryCodeUsed { left }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sluice_primitives::{Secret, SeededRng};

    const ALICE: IdentityId = IdentityId::from_bytes([1; 16]);
    const BOB: IdentityId = IdentityId::from_bytes([2; 16]);

    fn keys(secrets: &[&str]) -> RecoveryCodeKeys {
        let secrets: Vec<_> = secrets.iter().map(|text| Secret::new(text.as_bytes().to_vec())).collect();
        RecoveryCodeKeys::derive(&secrets).unwrap()
    }

    #[test]
    fn a_code_is_taken_however_it_is_typed() {
        let code = RecoveryCode::typed("01ABC-DEFGH").unwrap();
        assert_eq!(code.grouped(), "01ABC-DEFGH");
        for typed in
            ["01abcdefgh", " oIabc – defgh ", "Olabc-defgh", "0 1 A B C D E F G H", "０１ＡＢＣ－ｄｅｆｇｈ"]
        {
            assert_eq!(RecoveryCode::typed(typed), Some(code.clone()), "{typed}");
        }
        for typed in ["", "01ABC-DEFG", "01ABC-DEFGHJ", "U1ABC-DEFGH", &"0".repeat(100)] {
            assert_eq!(RecoveryCode::typed(typed), None, "{typed}");
        }
    }

    #[test]
    fn a_set_has_ten_codes_that_differ_and_are_not_printed() {
        let codes = RecoveryCode::draw_set(&SeededRng::new(1));
        let different: std::collections::HashSet<_> = codes.iter().map(RecoveryCode::grouped).collect();
        assert_eq!(different.len(), RECOVERY_CODES);
        for code in &codes {
            assert_eq!(RecoveryCode::typed(&code.grouped()).as_ref(), Some(code));
            assert!(!format!("{codes:?}").contains(code.as_str()));
        }
    }

    #[test]
    fn a_code_is_recognised_after_another_secret_came_in_front() {
        let code = RecoveryCode::draw(&SeededRng::new(1));
        let kept = keys(&["old"]).hash(ALICE, &code);
        assert!(keys(&["new", "old"]).hashes(ALICE, &code).any(|hash| hash == kept));
        assert!(keys(&["new"]).hashes(ALICE, &code).all(|hash| hash != kept));
        assert!(keys(&["old"]).hashes(BOB, &code).all(|hash| hash != kept));
        assert!(RecoveryCodeKeys::derive(&[]).is_none());
    }

    #[test]
    fn the_key_of_a_hash_is_known_by_its_id_after_another_came_in_front() {
        let made = keys(&["old"]).named(&[]).key;
        assert_eq!(keys(&["old"]).place_of(made), Some(0));
        assert_eq!(keys(&["new", "old"]).place_of(made), Some(1));
        assert_eq!(keys(&["new"]).place_of(made), None);
    }
}
