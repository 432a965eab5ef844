use sluice_crypto::jwe::*;
use sluice_crypto::jwk::Jwk;
use crate::keys;
#[test]
fn dump() {
    use std::io::Write;
    let x: Jwk = serde_json::from_str(r#"{"kty":"OKP","crv":"X25519","x":"vrH3UK7T-QyUiQ6kXZ06bO4ENl18pTA81LQoIq7wcTE"}"#).unwrap();
    let mut f = std::fs::File::create("/tmp/crypto-jwe/ours.txt").unwrap();
    for (name, key) in [("rsa", Jwk::from_pem(keys::RSA).unwrap()), ("p256", Jwk::from_pem(keys::P256).unwrap()), ("p384", Jwk::from_pem(keys::P384).unwrap()), ("p521", Jwk::from_pem(keys::P521).unwrap()), ("x", x)] {
        let key = Jwk { alg: None, ..key.public() };
        for alg in KeyManagement::ALL { let Ok(k) = EncryptionKey::for_algorithm(&key, alg) else { continue };
            for enc in ContentEncryption::ALL { writeln!(f, "{name} {}", encrypt(b"{\"sub\":\"alice\"}", &k, enc, Some("JWT")).unwrap()).unwrap(); } }
    }
}
