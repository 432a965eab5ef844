//! A passkey as it lies in the store: sealed with its owner, so that it is nobody else's if the row is moved.

use serde::{Deserialize, Serialize};
use sluice_crypto::{Purpose, Sealer};
use sluice_primitives::{IdentityId, Rng, Timestamp};
use tracing::{error, warn};
use webauthn_rs::prelude::Passkey;
use webauthn_rs_proto::AuthenticatorTransport;

use super::super::model::{Factor, FactorKind};

/// How many uses a passkey remembers.
const USES: usize = 16;

/// A passkey.
#[derive(Serialize, Deserialize)]
pub(super) struct StoredPasskey {
    owner: [u8; 16],
    pub(super) passkey: Passkey,
    /// How browsers may reach its authenticator: a hint.
    pub(super) transports: Option<Vec<AuthenticatorTransport>>,
    /// When the ceremonies of its last uses were begun, in milliseconds, each by the clock of some node.
    #[serde(default)]
    uses: Vec<i64>,
}

impl StoredPasskey {
    pub(super) fn new(
        owner: IdentityId,
        passkey: Passkey,
        transports: Option<Vec<AuthenticatorTransport>>,
    ) -> Self {
        Self { owner: *owner.as_bytes(), passkey, transports, uses: Vec::new() }
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

    /// Whether one of the last uses was in the ceremony that was begun then.
    pub(super) fn was_used(&self, begun_at: Timestamp) -> bool {
        self.uses.contains(&begun_at.as_millis())
    }

    pub(super) fn remember_use(&mut self, begun_at: Timestamp) {
        let too_many = (self.uses.len() + 1).saturating_sub(USES);
        self.uses.drain(..too_many);
        self.uses.push(begun_at.as_millis());
    }

    pub(super) fn has_id(&self, credential: &[u8]) -> bool {
        self.passkey.cred_id().as_slice() == credential
    }
}
