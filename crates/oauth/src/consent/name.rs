//! What a remembered decision is called where the grant that it was stored with is gone: who decided about whom and when, sealed.

use serde::{Deserialize, Serialize};
use sluice_crypto::digest::sha256;
use sluice_crypto::{Purpose, Sealer};
use sluice_primitives::{Rng, Timestamp};
use sluice_protocol::{ClientId, Subject};

use super::repository::RememberedConsent;

/// One decision, until another takes its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecisionName {
    /// Whose decision.
    pub subject: Subject,
    /// About whom.
    pub client: ClientId,
    /// When it was decided.
    pub decided_at: Timestamp,
}

#[derive(Serialize, Deserialize)]
struct Wire {
    subject: String,
    client: String,
    decided_at: i64,
}

impl DecisionName {
    /// The name of a decision.
    pub fn of(decision: &RememberedConsent) -> Self {
        let RememberedConsent { subject, client, decided_at, .. } = decision;
        Self { subject: subject.clone(), client: client.clone(), decided_at: *decided_at }
    }

    /// The same text each time, as long as the first secret is the same.
    pub(super) fn seal(&self, sealer: &Sealer) -> String {
        let wire = Wire {
            subject: self.subject.to_string(),
            client: self.client.to_string(),
            decided_at: self.decided_at.as_millis(),
        };
        let bytes = postcard::to_stdvec(&wire).unwrap_or_default();
        sealer.seal(Purpose::RememberedConsent, &bytes, &OfContent(sha256(&bytes)))
    }

    /// The name that this server sealed.
    pub(super) fn open(sealed: &str, sealer: &Sealer) -> Option<Self> {
        let bytes = sealer.open(Purpose::RememberedConsent, sealed).ok()?;
        let wire: Wire = postcard::from_bytes(&bytes).ok()?;
        let decided_at = Timestamp::from_millis(wire.decided_at);
        Some(Self { subject: wire.subject.parse().ok()?, client: wire.client.parse().ok()?, decided_at })
    }
}

/// A nonce that follows from what is sealed, so that two seals of the same are the same: AES-GCM-SIV tells nothing else by it
/// (RFC 8452 §1).
struct OfContent([u8; 32]);

impl Rng for OfContent {
    fn fill(&self, bytes: &mut [u8]) {
        bytes.iter_mut().zip(self.0.iter().cycle()).for_each(|(to, from)| *to = *from);
    }
}

#[cfg(test)]
mod tests {
    use sluice_primitives::{NetworkId, OsRng, Secret};

    use super::*;

    #[test]
    fn a_decision_has_one_name_and_each_decision_its_own() {
        let secret = Secret::new(b"a secret of tests".to_vec());
        let sealer = Sealer::new(NetworkId::from_bytes([1; 16]), &[secret]);
        let name = DecisionName {
            subject: "alice".parse().unwrap(),
            client: "shop".parse().unwrap(),
            decided_at: Timestamp::from_millis(1_750_000_000_123),
        };
        let sealed = name.seal(&sealer);
        assert_eq!(name.seal(&sealer), sealed);
        assert_eq!(DecisionName::open(&sealed, &sealer), Some(name.clone()));
        let later = DecisionName { decided_at: Timestamp::from_millis(1_750_000_000_124), ..name };
        assert_ne!(later.seal(&sealer), sealed);
        let place = sealer.seal(Purpose::PageToken, b"shop", &OsRng);
        assert_eq!(DecisionName::open(&place, &sealer), None);
    }
}
