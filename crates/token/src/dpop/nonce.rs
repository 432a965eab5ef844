//! Nonces of this server (RFC 9449 §8): sealed times. Nothing is kept, every node knows those of the others.

use std::sync::Arc;

use sluice_crypto::{Purpose, Sealer};
use sluice_primitives::{Lifetime, Rng, Timestamp};

/// How far the clock of the node that made a nonce may be ahead.
const LEEWAY: Lifetime = Lifetime::secs(10);

/// Makes and knows nonces.
pub(super) struct Nonces {
    pub(super) sealer: Arc<Sealer>,
    pub(super) rng: Arc<dyn Rng>,
    pub(super) lifetime: Lifetime,
}

impl Nonces {
    /// A new one.
    pub(super) fn fresh(&self, now: Timestamp) -> String {
        self.sealer.seal(Purpose::DpopNonce, &now.as_millis().to_be_bytes(), &*self.rng)
    }

    /// Whether this is one of ours, and still good.
    pub(super) fn hold(&self, nonce: &str, now: Timestamp) -> bool {
        let opened = self.sealer.open(Purpose::DpopNonce, nonce).ok();
        let made_at = opened.and_then(|bytes| Some(i64::from_be_bytes(bytes.try_into().ok()?)));
        made_at
            .map(Timestamp::from_millis)
            .is_some_and(|made_at| made_at <= now + LEEWAY && now < made_at + self.lifetime)
    }
}
