//! Keys that are brought along and do not sign: for want of a word, somebody would look for their tokens in vain.

use sluice_crypto::jwk::Jwk;
use sluice_crypto::jws::SigningKey;
use tracing::warn;

use super::service::KeyService;

impl KeyService {
    /// Why this key, the newest that is brought to its set, does not sign what the set is for, or only what clients are registered for, if so.
    /// A public key is not meant to.
    pub(crate) fn silence_of(&self, set: &str, jwk: &Jwk) -> Option<String> {
        let defaults = self.ring.default_algorithms(set).filter(|_| jwk.is_private())?;
        match SigningKey::from_jwk(jwk) {
            Ok(key) if defaults.contains(&key.algorithm()) => None,
            Ok(key) => {
                let [default, _] = defaults;
                let own = key.algorithm();
                Some(format!(
                    "it signs for those clients only that are registered for {own}: the default is {default}"
                ))
            }
            Err(reason) => Some(format!("it cannot sign: {reason}")),
        }
    }

    /// Warns of a key that is silent so.
    pub(super) fn tell_if_silent(&self, set: &str, jwk: &Jwk) {
        if let Some(reason) = self.silence_of(set, jwk) {
            let kid = jwk.kid.as_deref();
            warn!({ key.set = set, key.kid = kid, %reason }, "a key does not sign what its set is for");
        }
    }
}
