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

#[cfg(test)]
mod tests {
    use sluice_primitives::{NetworkId, OsRng, Secret};

    use super::*;

    const LIFETIME: Lifetime = Lifetime::minutes(2);
    const NOW: Timestamp = Timestamp::from_secs(1_000_000);

    fn nonces(secret: &str) -> Nonces {
        let secret = Secret::new(secret.as_bytes().to_vec());
        let sealer = Arc::new(Sealer::new(NetworkId::from_bytes([1; 16]), &[secret]));
        Nonces { sealer, rng: Arc::new(OsRng), lifetime: LIFETIME }
    }

    #[test]
    fn a_nonce_is_good_until_its_time_is_over() {
        let nonces = nonces("secret");
        let nonce = nonces.fresh(NOW);
        for (after, holds) in [(0, true), (119_999, true), (120_000, false)] {
            assert_eq!(nonces.hold(&nonce, NOW + Lifetime::millis(after)), holds, "{after} ms");
        }
    }

    #[test]
    fn a_nonce_of_a_node_whose_clock_is_a_little_ahead_is_good() {
        let nonces = nonces("secret");
        for (ahead, holds) in [(10_000, true), (10_001, false)] {
            let nonce = nonces.fresh(NOW + Lifetime::millis(ahead));
            assert_eq!(nonces.hold(&nonce, NOW), holds, "{ahead} ms");
        }
    }

    #[test]
    fn a_nonce_of_somebody_else_is_none() {
        let nonce = nonces("another").fresh(NOW);
        assert!(!nonces("secret").hold(&nonce, NOW));
        assert!(!nonces("secret").hold("no nonce", NOW));
    }
}
