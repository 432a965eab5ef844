//! A login that waits for its second factor, or for one to be set up: sealed, in the browser's hands.

use serde::{Deserialize, Serialize};
use sluice_crypto::digest::sha256;
use sluice_crypto::{Purpose, Sealer};
use sluice_primitives::{IdentityId, Lifetime, Rng, Timestamp};

/// How long a person may take to show a factor.
const TO_SHOW: Lifetime = Lifetime::minutes(10);
/// And to set one up, for which an app may have to be installed first.
const TO_ENROL: Lifetime = Lifetime::minutes(15);
/// How much a caller may put into a ticket, in bytes.
pub const TICKET_DATA: usize = 256;

/// What a caller wants back when the login is complete, such as whether to remember it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TicketData(Vec<u8>);

impl TicketData {
    /// These bytes; none if they are more than [`TICKET_DATA`].
    pub fn new(bytes: impl Into<Vec<u8>>) -> Option<Self> {
        let bytes = bytes.into();
        (bytes.len() <= TICKET_DATA).then_some(Self(bytes))
    }

    /// The bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

/// What the holder of a ticket may do with it, and nothing else: each is sealed for its own purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TicketUse {
    /// Show a second factor.
    Show,
    /// Set the first one up.
    Enrol,
}

impl TicketUse {
    const fn purpose(self) -> Purpose {
        match self {
            Self::Show => Purpose::LoginTicket,
            Self::Enrol => Purpose::LoginEnrolment,
        }
    }

    const fn lifetime(self) -> Lifetime {
        match self {
            Self::Show => TO_SHOW,
            Self::Enrol => TO_ENROL,
        }
    }
}

/// What is known of a person so far.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LoginTicket {
    pub(super) identity: IdentityId,
    /// The revision that was looked at: a password that was changed since proves nothing.
    pub(super) revision: i64,
    pub(super) amr: Vec<String>,
    pub(super) data: TicketData,
}

#[derive(Serialize, Deserialize)]
struct Wire {
    identity: [u8; 16],
    revision: i64,
    amr: Vec<String>,
    data: Vec<u8>,
    context: [u8; 32],
    expires_at: i64,
}

impl LoginTicket {
    /// The ticket, of this use and in this context only.
    pub(super) fn seal(
        self,
        of: TicketUse,
        (context, now): (&[u8], Timestamp),
        sealer: &Sealer,
        rng: &dyn Rng,
    ) -> String {
        let wire = Wire {
            identity: *self.identity.as_bytes(),
            revision: self.revision,
            amr: self.amr,
            data: self.data.0,
            context: sha256(context),
            expires_at: (now + of.lifetime()).as_millis(),
        };
        sealer.seal(of.purpose(), &postcard::to_stdvec(&wire).unwrap_or_default(), rng)
    }

    /// Reads a ticket; none if it is of another use or context, or too old.
    pub(super) fn open(
        of: TicketUse,
        ticket: &str,
        (context, now): (&[u8], Timestamp),
        sealer: &Sealer,
    ) -> Option<Self> {
        let bytes = sealer.open(of.purpose(), ticket).ok()?;
        let wire: Wire = postcard::from_bytes(&bytes).ok()?;
        let holds = wire.context == sha256(context) && now < Timestamp::from_millis(wire.expires_at);
        holds.then_some(Self {
            identity: IdentityId::from_bytes(wire.identity),
            revision: wire.revision,
            amr: wire.amr,
            data: TicketData(wire.data),
        })
    }
}
