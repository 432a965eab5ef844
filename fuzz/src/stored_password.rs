//! What a row may hold as a password, and what an import file may claim to be a hash.

use std::sync::Arc;

use sluice_crypto::Sealer;
use sluice_crypto::credential::{CredentialKeys, CredentialState, Peppers, StoredCredential};
use sluice_crypto::foreign_hash::ForeignHash;
use sluice_primitives::{IdentityId, NetworkId, Secret, SeededRng};

/// Takes the input apart as both. What is sealed comes back as it was; what was not sealed here does not open.
pub fn run(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let secret = [Secret::new(b"a secret to fuzz with".to_vec())];
    let sealer = Arc::new(Sealer::new(NetworkId::from_bytes([7; 16]), &secret));
    let Some(peppers) = Peppers::new(&secret) else { return };
    let keys = CredentialKeys::new(peppers, sealer);
    let (owner, rng) = (IdentityId::from_bytes([1; 16]), SeededRng::new(1));
    if let Ok(stored) = StoredCredential::parse(text) {
        let sealed = text.starts_with("p1$") || text.starts_with("f1$");
        assert!(!sealed || keys.secret_in_use(&stored).is_err(), "forged");
        assert_eq!(stored.pepper().is_some(), stored.state() == CredentialState::Hardened);
        assert_eq!(keys.reseal(owner, text, &rng), None);
        if let Ok(exported) = keys.export(owner, text) {
            assert_eq!(exported.expose(), text);
        }
    }
    if let Ok(hash) = ForeignHash::parse(text) {
        assert_eq!(hash.as_str(), text);
        let stored = keys.foreign(owner, &hash, &rng);
        assert!(
            StoredCredential::parse(&stored).is_ok_and(|parsed| parsed.state() == CredentialState::Foreign)
        );
        assert!(keys.export(owner, &stored).is_ok_and(|exported| exported.expose() == text));
    }
}
