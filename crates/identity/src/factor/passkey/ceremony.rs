//! A ceremony under way: sealed, in the browser's hands, and of no use in another place.

use serde::{Deserialize, Serialize};
use sluice_crypto::digest::sha256;
use sluice_crypto::{Purpose, Sealer};
use sluice_primitives::{IdentityId, Lifetime, Rng, Timestamp};
use webauthn_rs::prelude::{DiscoverableAuthentication, PasskeyRegistration};
use zeroize::Zeroizing;

use super::super::enrolment::Beginning;

/// How long a ceremony may take, which is also what browsers are told.
pub(super) const LIFETIME: Lifetime = Lifetime::minutes(5);

/// Whether a ceremony that was begun then is too late.
pub(super) fn is_late(begun_at: Timestamp, now: Timestamp) -> bool {
    now >= begun_at + LIFETIME
}

/// Whether a ceremony that was begun then is one that a clock far ahead began. It is refused: it would hold for longer than it may.
pub(super) fn is_ahead(begun_at: Timestamp, now: Timestamp) -> bool {
    begun_at >= now + LIFETIME
}

/// Where and when a ceremony was begun.
#[derive(Serialize, Deserialize)]
struct Frame {
    context: [u8; 32],
    issued_at: i64,
}

impl Frame {
    fn new(context: &[u8], now: Timestamp) -> Self {
        Self { context: sha256(context), issued_at: now.as_millis() }
    }

    const fn issued_at(&self) -> Timestamp {
        Timestamp::from_millis(self.issued_at)
    }

    fn is_of(&self, context: &[u8]) -> bool {
        self.context == sha256(context)
    }

    fn holds(&self, context: &[u8], now: Timestamp) -> bool {
        let begun_at = self.issued_at();
        self.is_of(context) && !is_late(begun_at, now) && !is_ahead(begun_at, now)
    }
}

/// The making of a passkey.
#[derive(Serialize, Deserialize)]
pub(super) struct Registration {
    pub(super) beginning: Beginning,
    pub(super) state: PasskeyRegistration,
}

/// The showing of a passkey.
#[derive(Serialize, Deserialize)]
pub(super) struct Authentication {
    /// Whose it has to be; none: whoever's.
    pub(super) identity: Option<[u8; 16]>,
    pub(super) state: DiscoverableAuthentication,
}

impl Authentication {
    /// Whether it may be this person's.
    pub(super) fn may_be(&self, identity: IdentityId) -> bool {
        self.identity.is_none_or(|asked| asked == *identity.as_bytes())
    }
}

/// One or the other: what was begun as one does not end as the other.
#[derive(Serialize, Deserialize)]
enum Ceremony {
    Registration(Box<Registration>),
    Authentication(Box<Authentication>),
}

/// JSON, because the states of `webauthn-rs` are not for formats that do not describe themselves.
#[derive(Serialize, Deserialize)]
struct Wire {
    frame: Frame,
    ceremony: Ceremony,
}

impl Registration {
    pub(super) fn seal(self, whence: (&[u8], Timestamp), sealer: &Sealer, rng: &dyn Rng) -> Option<String> {
        seal(Ceremony::Registration(Box::new(self)), whence, sealer, rng)
    }

    /// The ceremony, if it was begun in this context, and not too long ago.
    pub(super) fn open(sealed: &str, whence: (&[u8], Timestamp), sealer: &Sealer) -> Option<Self> {
        match open(sealed, whence, sealer)? {
            (Ceremony::Registration(registration), _) => Some(*registration),
            (Ceremony::Authentication(_), _) => None,
        }
    }
}

impl Authentication {
    pub(super) fn seal(self, whence: (&[u8], Timestamp), sealer: &Sealer, rng: &dyn Rng) -> Option<String> {
        seal(Ceremony::Authentication(Box::new(self)), whence, sealer, rng)
    }

    /// The ceremony and when it was begun, if that was in this context, and not too long ago.
    pub(super) fn open(
        sealed: &str,
        whence: (&[u8], Timestamp),
        sealer: &Sealer,
    ) -> Option<(Self, Timestamp)> {
        match open(sealed, whence, sealer)? {
            (Ceremony::Authentication(authentication), issued_at) => Some((*authentication, issued_at)),
            (Ceremony::Registration(_), _) => None,
        }
    }
}

impl Authentication {
    /// Whether it was begun in this context, and too long ago.
    pub(super) fn is_late(sealed: &str, (context, now): (&[u8], Timestamp), sealer: &Sealer) -> bool {
        let Some(Wire { frame, ceremony }) = unseal(sealed, sealer) else { return false };
        matches!(ceremony, Ceremony::Authentication(_))
            && frame.is_of(context)
            && is_late(frame.issued_at(), now)
    }
}

fn seal(
    ceremony: Ceremony,
    (context, now): (&[u8], Timestamp),
    sealer: &Sealer,
    rng: &dyn Rng,
) -> Option<String> {
    let wire = Wire { frame: Frame::new(context, now), ceremony };
    let bytes = Zeroizing::new(serde_json::to_vec(&wire).ok()?);
    Some(sealer.seal(Purpose::PasskeyState, &bytes, rng))
}

fn open(sealed: &str, (context, now): (&[u8], Timestamp), sealer: &Sealer) -> Option<(Ceremony, Timestamp)> {
    let wire = unseal(sealed, sealer)?;
    let issued_at = wire.frame.issued_at();
    wire.frame.holds(context, now).then_some((wire.ceremony, issued_at))
}

fn unseal(sealed: &str, sealer: &Sealer) -> Option<Wire> {
    let bytes = Zeroizing::new(sealer.open(Purpose::PasskeyState, sealed).ok()?);
    serde_json::from_slice(&bytes).ok()
}
