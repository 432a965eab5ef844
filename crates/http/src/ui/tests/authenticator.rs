//! An authenticator in software, and the browser around it: one ES256 key (W3C Web Authentication Level 3, §6 and §8.7).

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};
use sluice_crypto::digest::sha256;

pub(in crate::ui) const ORIGIN: &str = "https://id.example";

const USER_PRESENT: u8 = 0x01;
const USER_VERIFIED: u8 = 0x04;
const HAS_KEY: u8 = 0x40;

pub(in crate::ui) struct Authenticator {
    key: EcdsaKeyPair,
    id: Vec<u8>,
    origin: String,
    counter: u32,
    flags: u8,
    /// What it remembers of whom the key is for; told when nobody was asked for.
    user: Option<String>,
}

impl Authenticator {
    /// One whose keys stay in it, and which counts.
    pub(in crate::ui) fn in_hardware(id: u8) -> Self {
        let key = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_ASN1_SIGNING).unwrap();
        let flags = USER_PRESENT | USER_VERIFIED;
        Self { key, id: vec![id; 32], origin: ORIGIN.to_owned(), counter: 1, flags, user: None }
    }

    /// `navigator.credentials.create()`
    pub(in crate::ui) fn create(&mut self, options: &Value) -> String {
        let options = &options["publicKey"];
        self.user = options["user"]["id"].as_str().map(str::to_owned);
        let id_length = u16::try_from(self.id.len()).unwrap().to_be_bytes();
        let key = [&[0; 16], id_length.as_slice(), &self.id, &self.cose_key()].concat();
        let data = self.data(options["rp"]["id"].as_str().unwrap(), HAS_KEY, &key);
        let length = u8::try_from(data.len()).unwrap();
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
    pub(in crate::ui) fn get(&mut self, options: &Value) -> String {
        let options = &options["publicKey"];
        if self.counter > 0 {
            self.counter += 1;
        }
        let data = self.data(options["rpId"].as_str().unwrap(), 0, &[]);
        let client_data = self.client_data("webauthn.get", options);
        let signed = [data.as_slice(), &sha256(&client_data)].concat();
        let signature = self.key.sign(&SystemRandom::new(), &signed).unwrap();
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
