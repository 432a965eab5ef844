//! What a row may hold as a password, and what an import file may claim to be a hash.

use std::sync::Arc;

use sluice_crypto::Sealer;
use sluice_crypto::credential::{CredentialKeys, CredentialState, Peppers, StoredCredential};
use sluice_crypto::foreign_hash::ForeignHash;
use sluice_crypto::password_hash::HashMemory;
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
        if is_cheap(text, &hash) {
            let mut memory = HashMemory::new();
            let judged = hash.verify(b"password", &mut memory);
            assert_eq!(
                judged,
                hash.verify(b"password", &mut memory),
                "what was hashed before is of no matter"
            );
        }
    }
}

/// Whether it takes next to nothing to verify: what it asks for, times its largest number, is small.
fn is_cheap(text: &str, hash: &ForeignHash) -> bool {
    let fields = text.split(['$', ',', '=', '{', '}']).filter_map(|field| field.parse::<u64>().ok());
    let largest = fields.max().unwrap_or(0);
    let most = if hash.scheme() == "bcrypt" { 5 } else { 20_000 };
    u64::from(hash.memory_kib().max(1)).saturating_mul(largest) <= most
}
