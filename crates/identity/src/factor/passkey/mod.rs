//! Passkeys (`WebAuthn`): as a first factor, where the authenticator says whose it is and verifies its user, and as a second one.
//!
//! `enrol`: to add one. `authenticate`: to show one. `ceremony`: what is under way, sealed and in the browser's hands.
//! [`relying_party`]: what `webauthn-rs` is told. `stored`: what is kept.
//!
//! `webauthn-rs` draws its challenges itself: the one randomness that is not handed in.

mod authenticate;
mod ceremony;
mod enrol;
pub mod relying_party;
mod stored;

pub use enrol::NewPasskey;
pub use relying_party::{InvalidRelyingParty, RelyingParty};

use serde_json::Value;

/// What a browser is to do with a passkey.
#[derive(Debug, Clone)]
pub struct PasskeyChallenge {
    /// The argument of `navigator.credentials.create()` or `.get()`, binary values as base64url: its `publicKey` is what
    /// `PublicKeyCredential.parseCreationOptionsFromJSON()` and `parseRequestOptionsFromJSON()` take.
    pub options: Value,
    /// To be given back with the answer.
    pub state: String,
}

/// What a passkey has proved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PasskeyProof {
    /// Whether the authenticator verified its user, by PIN or biometrics. It always has to.
    pub user_verified: bool,
    /// Whether the key may be copied to other devices.
    pub backup_eligible: bool,
}

impl PasskeyProof {
    /// RFC 8176: a key that leaves its hardware is a key in software.
    pub const fn method(self) -> &'static str {
        if self.backup_eligible { "swk" } else { "hwk" }
    }

    /// The methods of somebody who logs in with it alone.
    pub fn amr(self) -> Vec<String> {
        let verified = self.user_verified.then_some("mfa");
        [self.method(), "user"].into_iter().chain(verified).map(str::to_owned).collect()
    }
}
