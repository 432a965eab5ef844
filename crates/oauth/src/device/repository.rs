//! The codes of devices that wait for their user.

use async_trait::async_trait;
use sluice_commit::StoreError;
use sluice_primitives::{GrantId, Lifetime, Timestamp};
use sluice_protocol::ClientId;

/// By how much the interval of a code grows whenever its device asks too early (RFC 8628 §3.5, `slow_down`).
pub const SLOW_DOWN: Lifetime = Lifetime::secs(5);

/// A keyed hash of a user code: the code itself is in no store.
pub type UserCodeHash = [u8; 32];

/// A device that waits for its user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceCode {
    /// The id of the flow, and of the grant it may lead to.
    pub id: GrantId,
    /// What the user types, hashed.
    pub user_code: UserCodeHash,
    /// Which client asks.
    pub client: ClientId,
    /// What it asks for, sealed: the store cannot read it.
    pub sealed: String,
    /// When it asked.
    pub created_at: Timestamp,
    /// When the code goes.
    pub expires_at: Timestamp,
}

/// What a device is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DevicePoll {
    /// The user has not decided yet (`authorization_pending`).
    Pending,
    /// The last poll was less than the interval ago (`slow_down`).
    TooFast,
    /// The user refused (`access_denied`).
    Denied,
    /// The user agreed: the grant is there, revoked or not.
    Granted,
    /// The code has expired (`expired_token`).
    Expired,
    /// There is no such code.
    Unknown,
}

/// What a store knows of a code when its device asks.
#[expect(clippy::struct_excessive_bools, reason = "independent facts; what is told of them is decided below")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Polled {
    /// Whether it has expired.
    pub is_expired: bool,
    /// Whether the user refused.
    pub is_denied: bool,
    /// Whether its grant is there.
    pub is_granted: bool,
    /// Whether the last poll was less than the interval ago.
    pub is_too_fast: bool,
}

impl From<Polled> for DevicePoll {
    /// Who polls too fast is told so only as long as there is nothing else to tell.
    fn from(polled: Polled) -> Self {
        match polled {
            Polled { is_expired: true, .. } => Self::Expired,
            Polled { is_denied: true, .. } => Self::Denied,
            Polled { is_granted: true, .. } => Self::Granted,
            Polled { is_too_fast: true, .. } => Self::TooFast,
            _ => Self::Pending,
        }
    }
}

/// Device codes. Every method is one transaction.
#[async_trait]
pub trait DeviceCodeRepository: Send + Sync {
    /// Stores a new code, unless one that has not expired has the same user code: then `false`, and the caller draws
    /// another. An expired one is replaced.
    async fn insert(&self, code: DeviceCode, now: Timestamp) -> Result<bool, StoreError>;

    /// The code that the user typed, if it has not expired and nothing was decided about it.
    async fn find_by_user_code(
        &self,
        user_code: UserCodeHash,
        now: Timestamp,
    ) -> Result<Option<DeviceCode>, StoreError>;

    /// The user refused: from now on the device is told so. Whether the code was there, had not expired and was not
    /// decided about. (To agree is to insert the grant under the id of the code: there is no other write.)
    async fn deny(&self, id: GrantId, now: Timestamp) -> Result<bool, StoreError>;

    /// Whether the user refused, and the device is told so. Nothing is written.
    async fn is_denied(&self, id: GrantId) -> Result<bool, StoreError>;

    /// The device asks. `interval` is what every code begins with; it grows by [`SLOW_DOWN`] with each poll that comes
    /// too early. The time of the poll is noted in the same statement. Of polls that come together one is in time.
    async fn poll(&self, id: GrantId, now: Timestamp, interval: Lifetime) -> Result<DevicePoll, StoreError>;

    /// Deletes at most `limit` codes that expired before `now`; how many it was.
    async fn purge_expired(&self, now: Timestamp, limit: u32) -> Result<u64, StoreError>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_down_is_said_only_when_there_is_nothing_else_to_say() {
        let mut polled = Polled { is_expired: true, is_denied: true, is_granted: true, is_too_fast: true };
        assert_eq!(DevicePoll::from(polled), DevicePoll::Expired);
        polled.is_expired = false;
        assert_eq!(DevicePoll::from(polled), DevicePoll::Denied);
        polled.is_denied = false;
        assert_eq!(DevicePoll::from(polled), DevicePoll::Granted);
        polled.is_granted = false;
        assert_eq!(DevicePoll::from(polled), DevicePoll::TooFast);
        polled.is_too_fast = false;
        assert_eq!(DevicePoll::from(polled), DevicePoll::Pending);
    }
}
