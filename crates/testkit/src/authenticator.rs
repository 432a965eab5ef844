//! An authenticator in software, and the browser around it: one ES256 key (W3C Web Authentication Level 3, §6 and §8.7),
//! of which tests can change whatever a thief would.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::missing_panics_doc,
    reason = "for tests, which end where something is not as it must be"
)]

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};
use sluice_crypto::digest::sha256;

const USER_PRESENT: u8 = 0x01;
const USER_VERIFIED: u8 = 0x04;
/// That the key may be copied, and is.
const BACKED_UP: u8 = 0x18;
const HAS_KEY: u8 = 0x40;

/// An authenticator with one key.
#[derive(Debug)]
pub struct Authenticator {
    key: EcdsaKeyPair,
    /// The id of the credential.
    pub id: Vec<u8>,
    /// Where its browser is.
    pub origin: String,
    /// How often it was used; 0 if it does not count.
    pub counter: u32,
    /// What it says of its user and its key.
    pub flags: u8,
    /// What it remembers of whom the key is for; told when nobody was asked for.
    pub user: Option<String>,
}

impl Authenticator {
    /// One whose keys stay in it, and which counts. Its browser is at `origin`.
    pub fn in_hardware(id: u8, origin: &str) -> Self {
        let key = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_ASN1_SIGNING).expect("a key");
        let flags = USER_PRESENT | USER_VERIFIED;
        Self { key, id: vec![id; 32], origin: origin.to_owned(), counter: 1, flags, user: None }
    }

    /// One whose keys are copied to other devices, so that it cannot count.
    pub fn in_software(id: u8, origin: &str) -> Self {
        let hardware = Self::in_hardware(id, origin);
        Self { counter: 0, flags: hardware.flags | BACKED_UP, ..hardware }
    }

    /// One that does not ask for a PIN any more.
    #[must_use]
    pub fn without_verification(self) -> Self {
        Self { flags: self.flags & !USER_VERIFIED, ..self }
    }

    /// `navigator.credentials.create()`
    pub fn create(&mut self, options: &Value) -> String {
        let options = &options["publicKey"];
        self.user = options["user"]["id"].as_str().map(str::to_owned);
        let id_length = u16::try_from(self.id.len()).expect("a short id").to_be_bytes();
        let key = [&[0; 16], id_length.as_slice(), &self.id, &self.cose_key()].concat();
        let data = self.data(options["rp"]["id"].as_str().expect("a relying party"), HAS_KEY, &key);
        let length = u8::try_from(data.len()).expect("short data");
        // {"fmt": "none", "attStmt": {}, "authData": data}
        let object = [b"\xa3cfmtdnonegattStmt\xa0hauthData".as_slice(), &[0x58, length], &data].concat();
        let response = json!({
            "attestationObject": encode(&object),
            "clientDataJSON": encode(&self.client_data("webauthn.create", options)),
            "transports": ["internal"],
        });
        self.credential(&response)
    }

    /// `navigator.credentials.get()`
    pub fn get(&mut self, options: &Value) -> String {
        let options = &options["publicKey"];
        if self.counter > 0 {
            self.counter += 1;
        }
        let data = self.data(options["rpId"].as_str().expect("a relying party"), 0, &[]);
        let client_data = self.client_data("webauthn.get", options);
        let signed = [data.as_slice(), &sha256(&client_data)].concat();
        let signature = self.key.sign(&SystemRandom::new(), &signed).expect("a signature");
        let mut response = json!({
            "authenticatorData": encode(&data),
            "clientDataJSON": encode(&client_data),
            "signature": encode(signature.as_ref()),
        });
        if options["allowCredentials"].as_array().is_none_or(Vec::is_empty) {
            response["userHandle"] = json!(self.user);
        }
        self.credential(&response)
    }

    fn data(&self, rp_id: &str, flags: u8, key: &[u8]) -> Vec<u8> {
        let counter = self.counter.to_be_bytes();
        [sha256(rp_id.as_bytes()).as_slice(), &[self.flags | flags], &counter, key].concat()
    }

    fn client_data(&self, kind: &str, options: &Value) -> Vec<u8> {
        let data = json!({
            "type": kind, "challenge": options["challenge"], "origin": self.origin, "crossOrigin": false,
        });
        data.to_string().into_bytes()
    }

    /// {1: 2, 3: -7, -1: 1, -2: x, -3: y} (RFC 9053 §7.1.1)
    fn cose_key(&self) -> Vec<u8> {
        let point = self.key.public_key().as_ref();
        let (x, y) = (&point[1..33], &point[33..65]);
        [b"\xa5\x01\x02\x03\x26\x20\x01\x21\x58\x20".as_slice(), x, b"\x22\x58\x20", y].concat()
    }

    fn credential(&self, response: &Value) -> String {
        let id = encode(&self.id);
        json!({
            "id": id, "rawId": id, "type": "public-key", "response": response, "clientExtensionResults": {},
        })
        .to_string()
    }
}

fn encode(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}
