//! A passkey as it lies in the store: sealed with its owner, so that it is nobody else's if the row is moved.

use serde::{Deserialize, Serialize};
use sluice_crypto::{Purpose, Sealer};
use sluice_primitives::{Rng, Timestamp};
use tracing::{error, warn};
use webauthn_rs::prelude::Passkey;
use webauthn_rs_proto::AuthenticatorTransport;

use super::super::model::{Factor, FactorKind};
use super::super::strangers::verified_address;
use super::ceremony::{is_ahead, is_late};
use crate::identity::{Identity, LoginNameHash};

/// How many uses a passkey remembers of those whose ceremonies are of now, and as many of those that are too late, and of those
/// that a clock which was ahead began: in each case the ones that were begun last. So one clock makes no other forget.
const USES: usize = 16;

/// A passkey.
#[derive(Serialize, Deserialize)]
pub(super) struct StoredPasskey {
    owner: [u8; 16],
    pub(super) passkey: Passkey,
    /// How browsers may reach its authenticator: a hint.
    pub(super) transports: Option<Vec<AuthenticatorTransport>>,
    /// When the ceremonies of its uses were begun, in milliseconds, each by the clock of some node; the latest last.
    #[serde(default)]
    uses: Vec<i64>,
    /// The verified address with which it was enrolled; none if that was not noted.
    #[serde(default)]
    pub(super) verified_address: Option<LoginNameHash>,
}

impl StoredPasskey {
    pub(super) fn new(
        owner: &Identity,
        passkey: Passkey,
        transports: Option<Vec<AuthenticatorTransport>>,
    ) -> Self {
        let verified_address = verified_address(owner);
        Self { owner: *owner.id.as_bytes(), passkey, transports, uses: Vec::new(), verified_address }
    }

    pub(super) fn seal(&self, sealer: &Sealer, rng: &dyn Rng) -> Option<String> {
        Some(sealer.seal(Purpose::Passkey, &serde_json::to_vec(self).ok()?, rng))
    }

    /// The passkey of a factor. One that does not open is still asked for: a lost key must not open accounts.
    pub(super) fn of(factor: &Factor, sealer: &Sealer) -> Option<Self> {
        if factor.kind != FactorKind::Passkey {
            return None;
        }
        let opened = sealer.open(Purpose::Passkey, &factor.sealed).inspect_err(|cause| {
            error!(identity.id = %factor.identity, factor.id = %factor.id, error = %cause, "factor does not open");
        });
        let stored: Self = serde_json::from_slice(&opened.ok()?).ok()?;
        if stored.owner != *factor.identity.as_bytes() {
            warn!(identity.id = %factor.identity, factor.id = %factor.id, "factor is somebody else's");
            return None;
        }
        Some(stored)
    }

    /// Whether the ceremony that was begun then is over: a use is remembered of it, or of so many that were begun after it that it
    /// would be forgotten if it was used. Those do not count that a clock began which was ahead: they would keep out what others
    /// begin until their time gets there. None if no use is remembered.
    pub(super) fn is_over(&self, begun_at: Timestamp, now: Timestamp) -> Option<bool> {
        if self.uses.is_empty() {
            return None;
        }
        let begun_at = begun_at.as_millis();
        let is_later = |other: i64| other > begun_at && !is_ahead(Timestamp::from_millis(other), now);
        let later = self.uses.iter().filter(|other| is_later(**other)).count();
        Some(later >= USES || self.uses.contains(&begun_at))
    }

    /// Remembers a use in the ceremony that was begun then. Of a use before that was not remembered the ceremony may be any that
    /// was begun up to then: as if all others had been begun just then.
    pub(super) fn remember_use(
        &mut self,
        begun_at: Timestamp,
        last_used_at: Option<Timestamp>,
        now: Timestamp,
    ) {
        let begun_at = begun_at.as_millis();
        if let Some(used_at) = last_used_at.filter(|_| self.uses.is_empty()) {
            self.uses = vec![used_at.as_millis().min(begun_at); USES - 1];
        }
        self.uses.push(begun_at);
        self.uses.sort_unstable();
        let when = |begun_at: i64| {
            let begun_at = Timestamp::from_millis(begun_at);
            (is_late(begun_at, now), is_ahead(begun_at, now))
        };
        let alike = self.uses.chunk_by(|one, next| when(*one) == when(*next));
        self.uses =
            alike.flat_map(|uses| uses.iter().skip(uses.len().saturating_sub(USES))).copied().collect();
    }

    pub(super) fn has_id(&self, credential: &[u8]) -> bool {
        self.passkey.cred_id().as_slice() == credential
    }
}
