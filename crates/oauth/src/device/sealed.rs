//! What leaves this server sealed: the code that a device polls with, and the two halves of a user's visit.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};
use sluice_crypto::{OpenError, Purpose, Sealer};
use sluice_primitives::{GrantId, Rng, Timestamp};
use sluice_protocol::ClientId;

use super::repository::UserCodeHash;
use crate::flow::Binding;

/// What Hydra puts before its device codes.
const PREFIX: &str = "ory_dc_";

/// What a device polls with (`device_code`, RFC 8628 §3.2).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PollingCode {
    /// The flow that the user is to complete, and the grant it leads to.
    pub device: GrantId,
    /// To whom it was issued.
    pub client: ClientId,
    /// When the device asked.
    pub requested_at: Timestamp,
    /// Until when it may poll.
    pub expires_at: Timestamp,
}

#[derive(Serialize, Deserialize)]
struct WirePolling<'a> {
    device: [u8; 16],
    client: &'a str,
    requested_at: i64,
    expires_at: i64,
}

impl PollingCode {
    /// The code as text.
    pub fn seal(&self, sealer: &Sealer, rng: &dyn Rng) -> String {
        let wire = WirePolling {
            device: *self.device.as_bytes(),
            client: self.client.as_str(),
            requested_at: self.requested_at.as_millis(),
            expires_at: self.expires_at.as_millis(),
        };
        let bytes = postcard::to_stdvec(&wire).unwrap_or_default();
        format!("{PREFIX}{}", sealer.seal(Purpose::DeviceCode, &bytes, rng))
    }

    /// Reads a presented code; expiry is the caller's to check.
    ///
    /// # Errors
    /// [`OpenError`] for anything that this installation did not issue as a device code.
    pub fn open(presented: &str, sealer: &Sealer) -> Result<Self, OpenError> {
        let sealed = presented.strip_prefix(PREFIX).unwrap_or(presented);
        let bytes = sealer.open(Purpose::DeviceCode, sealed)?;
        let wire: WirePolling<'_> = postcard::from_bytes(&bytes).map_err(|_| OpenError::Malformed)?;
        Ok(Self {
            device: GrantId::from_bytes(wire.device),
            client: wire.client.parse().map_err(|_| OpenError::Malformed)?,
            requested_at: Timestamp::from_millis(wire.requested_at),
            expires_at: Timestamp::from_millis(wire.expires_at),
        })
    }
}

/// A browser whose user is to type the code of a device (Hydra's `device_challenge`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceChallenge {
    /// What the browser is bound to: nothing else has this id.
    pub id: GrantId,
    /// To which browser it belongs.
    pub binding: Binding,
    /// Where the browser is: wrong codes count for its network, whoever presents them for it.
    pub asked_by: Option<IpAddr>,
    /// When it came.
    pub issued_at: Timestamp,
}

/// The same with the code that the user typed (Hydra's `device_verifier`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceVerifier {
    /// Where it was typed.
    pub challenge: DeviceChallenge,
    /// Which device has that code.
    pub device: GrantId,
    /// The code, hashed.
    pub user_code: UserCodeHash,
}

#[derive(Serialize, Deserialize)]
struct WireChallenge {
    id: [u8; 16],
    binding: Binding,
    asked_by: Option<IpAddr>,
    issued_at: i64,
}

#[derive(Serialize, Deserialize)]
struct WireVerifier {
    challenge: WireChallenge,
    device: [u8; 16],
    user_code: UserCodeHash,
}

impl From<&DeviceChallenge> for WireChallenge {
    fn from(challenge: &DeviceChallenge) -> Self {
        Self {
            id: *challenge.id.as_bytes(),
            binding: challenge.binding,
            asked_by: challenge.asked_by,
            issued_at: challenge.issued_at.as_millis(),
        }
    }
}

impl From<WireChallenge> for DeviceChallenge {
    fn from(wire: WireChallenge) -> Self {
        Self {
            id: GrantId::from_bytes(wire.id),
            binding: wire.binding,
            asked_by: wire.asked_by,
            issued_at: Timestamp::from_millis(wire.issued_at),
        }
    }
}

impl DeviceChallenge {
    /// The challenge for the verification page.
    pub fn seal(&self, sealer: &Sealer, rng: &dyn Rng) -> String {
        let bytes = postcard::to_stdvec(&WireChallenge::from(self)).unwrap_or_default();
        sealer.seal(Purpose::DeviceChallenge, &bytes, rng)
    }

    /// What the verification page presents; expiry is the caller's to check.
    ///
    /// # Errors
    /// [`OpenError`] for anything that this installation did not make as a device challenge.
    pub fn open(sealed: &str, sealer: &Sealer) -> Result<Self, OpenError> {
        let bytes = sealer.open(Purpose::DeviceChallenge, sealed)?;
        let wire: WireChallenge = postcard::from_bytes(&bytes).map_err(|_| OpenError::Malformed)?;
        Ok(wire.into())
    }
}

impl DeviceVerifier {
    /// The verifier that the browser carries back.
    pub fn seal(&self, sealer: &Sealer, rng: &dyn Rng) -> String {
        let wire = WireVerifier {
            challenge: WireChallenge::from(&self.challenge),
            device: *self.device.as_bytes(),
            user_code: self.user_code,
        };
        sealer.seal(Purpose::DeviceVerifier, &postcard::to_stdvec(&wire).unwrap_or_default(), rng)
    }

    /// What the browser carries back; expiry is the caller's to check.
    ///
    /// # Errors
    /// [`OpenError`] for anything that this installation did not make as a device verifier.
    pub fn open(sealed: &str, sealer: &Sealer) -> Result<Self, OpenError> {
        let bytes = sealer.open(Purpose::DeviceVerifier, sealed)?;
        let wire: WireVerifier = postcard::from_bytes(&bytes).map_err(|_| OpenError::Malformed)?;
        Ok(Self {
            challenge: wire.challenge.into(),
            device: GrantId::from_bytes(wire.device),
            user_code: wire.user_code,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sluice_primitives::{NetworkId, OsRng, Secret};

    fn sealer() -> Sealer {
        Sealer::new(NetworkId::from_bytes([1; 16]), &[Secret::new(vec![7; 32])])
    }

    fn challenge() -> DeviceChallenge {
        DeviceChallenge {
            id: GrantId::from_bytes([2; 16]),
            binding: [3; 16],
            asked_by: Some("2001:db8::1".parse().unwrap()),
            issued_at: Timestamp::from_millis(1_750_000_000_123),
        }
    }

    #[test]
    fn what_is_sealed_opens_to_the_same() {
        let sealer = sealer();
        let code = PollingCode {
            device: GrantId::from_bytes([1; 16]),
            client: "tv".parse().unwrap(),
            requested_at: Timestamp::from_millis(1_750_000_000_123),
            expires_at: Timestamp::from_millis(1_750_000_600_123),
        };
        let sealed = code.seal(&sealer, &OsRng);
        assert!(sealed.starts_with("ory_dc_"));
        assert_eq!(PollingCode::open(&sealed, &sealer), Ok(code));
        let sealed = challenge().seal(&sealer, &OsRng);
        assert_eq!(DeviceChallenge::open(&sealed, &sealer), Ok(challenge()));
        let verifier = DeviceVerifier {
            challenge: challenge(),
            device: GrantId::from_bytes([4; 16]),
            user_code: [5; 32],
        };
        assert_eq!(DeviceVerifier::open(&verifier.seal(&sealer, &OsRng), &sealer), Ok(verifier));
    }

    #[test]
    fn a_challenge_is_no_verifier() {
        let sealer = sealer();
        let sealed = challenge().seal(&sealer, &OsRng);
        assert_eq!(DeviceVerifier::open(&sealed, &sealer), Err(OpenError::NotAuthentic));
    }
}
