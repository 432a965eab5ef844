//! The keys of the access tokens of the identity API: PASETO v4.public, derived from the secrets of what is in flight. Whoever
//! holds those can make every token anyway; derived, they are the same on every node and change with them. Tokens are bound
//! to the network, so that two that share a secret do not take each other's.

use sluice_crypto::SystemSecret;
use sluice_crypto::digest::derive_key;
use sluice_crypto::jwk::Jwk;
use sluice_crypto::paseto::{PasetoKey, PasetoPublicKey};
use sluice_identity::session::{AccessTokenKeys, NoSigningKey};
use sluice_primitives::NetworkId;

/// The keys: the first signs, all verify.
pub(crate) struct IdentityTokenKeys {
    first: PasetoKey,
    verify: Vec<PasetoPublicKey>,
    /// Signed with every token and in none.
    network: NetworkId,
}

impl IdentityTokenKeys {
    /// The keys that follow from these secrets, for tokens of this network; none without a secret.
    pub(super) fn derive(secrets: &[SystemSecret], network: NetworkId) -> Option<Self> {
        let key = |secret: &SystemSecret| {
            PasetoKey::from_seed(&derive_key(secret.expose(), b"identity tokens")).ok()
        };
        let first = key(secrets.first()?)?;
        let verify = secrets.iter().filter_map(key).map(|key| key.public().clone()).collect();
        Some(Self { first, verify, network })
    }

    /// The public keys, for whoever verifies elsewhere: as a JWK each, with the network beside them.
    pub(crate) fn public(&self) -> Vec<Jwk> {
        self.verify.iter().map(PasetoPublicKey::to_jwk).collect()
    }
}

impl AccessTokenKeys for IdentityTokenKeys {
    fn sign(&self, payload: &[u8]) -> Result<String, NoSigningKey> {
        self.first.sign(payload, self.network.as_bytes()).map_err(|_| NoSigningKey)
    }

    fn verify(&self, token: &str) -> Option<Vec<u8>> {
        self.verify.iter().find_map(|key| key.verify(token, self.network.as_bytes()).ok())
    }
}

#[cfg(test)]
mod tests {
    use sluice_primitives::Secret;

    use super::*;

    fn keys(secrets: &[&str]) -> IdentityTokenKeys {
        let secrets: Vec<_> = secrets.iter().map(|secret| Secret::new(secret.as_bytes().to_vec())).collect();
        IdentityTokenKeys::derive(&secrets, NetworkId::from_bytes([1; 16])).unwrap()
    }

    #[test]
    fn a_token_of_another_network_with_the_same_secret_is_none() {
        let here = keys(&["shared"]);
        let there = IdentityTokenKeys { network: NetworkId::from_bytes([2; 16]), ..keys(&["shared"]) };
        assert_eq!(there.verify(&here.sign(b"{}").unwrap()), None);
    }

    #[test]
    fn a_token_outlives_the_rotation_of_the_secret_that_made_it() {
        let token = keys(&["old"]).sign(b"{}").unwrap();
        let rotated = keys(&["new", "old"]);
        assert_eq!(rotated.verify(&token).as_deref(), Some(b"{}".as_slice()));
        assert_eq!(keys(&["new"]).verify(&token), None);
        assert_eq!(keys(&["old"]).verify(&rotated.sign(b"{}").unwrap()), None);
    }

    #[test]
    fn there_is_no_key_without_a_secret() {
        assert!(IdentityTokenKeys::derive(&[], NetworkId::from_bytes([1; 16])).is_none());
    }
}
