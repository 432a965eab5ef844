//! Stored keys. Private parts are sealed before they reach a store.

use async_trait::async_trait;
use sluice_commit::StoreError;
use sluice_primitives::Timestamp;

/// Where a key is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum KeyState {
    /// Published, not signing yet, so that caches learn of it.
    Announced,
    /// Signing.
    Active,
    /// Published, not signing any more.
    Retiring,
}

impl KeyState {
    /// The state as stores keep it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Announced => "announced",
            Self::Active => "active",
            Self::Retiring => "retiring",
        }
    }

    /// The state that a store kept; an unknown one counts as retiring: published, but not signing.
    pub fn parse(raw: &str) -> Self {
        match raw {
            "announced" => Self::Announced,
            "active" => Self::Active,
            _ => Self::Retiring,
        }
    }
}

/// A key as the store keeps it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredKey {
    /// The set it belongs to, such as `hydra.openid.id-token`.
    pub set: String,
    /// Its id within the set.
    pub kid: String,
    /// `alg` of the JWK, such as `RS256`.
    pub algorithm: String,
    /// The whole JWK, sealed.
    pub sealed: String,
    /// Where it is in its life.
    pub state: KeyState,
    /// When it was made.
    pub created_at: Timestamp,
}

/// Stored keys. Every method is one transaction; those that write append a change of the set to the feed.
#[async_trait]
pub trait KeyRepository: Send + Sync {
    /// The keys of a set, newest first (then by kid); empty if there is no such set.
    async fn set(&self, set: &str) -> Result<Vec<StoredKey>, StoreError>;

    /// Adds the keys unless the set already has a key of the same algorithm: ten nodes that start at once end with one
    /// key per algorithm. Writes nothing and appends nothing if none was missing.
    async fn create_missing(&self, keys: Vec<StoredKey>) -> Result<(), StoreError>;

    /// Adds a key to its set, unless there is a newer key of its algorithm than the one called `predecessor`, or that one
    /// is not there; whether it was added. Of ten nodes that do so at once, one succeeds. A key that would not be newer
    /// than its predecessor, because clocks differ, is stored as made a millisecond after it.
    async fn add_successor(&self, key: StoredKey, predecessor: &str) -> Result<bool, StoreError>;

    /// Replaces what is sealed, and the state, of the key that was read as `read`, unless either has changed or the key
    /// is gone; whether it was replaced.
    async fn replace(&self, read: &StoredKey, by: StoredKey) -> Result<bool, StoreError>;

    /// The names of all sets, in order.
    async fn sets(&self) -> Result<Vec<String>, StoreError>;

    /// Adds a key to its set, unless there is one with the same kid; whether it was added. Of ten nodes that do so at once,
    /// one succeeds. Writes nothing and appends nothing if the kid is taken.
    async fn add_new(&self, key: StoredKey) -> Result<bool, StoreError>;

    /// Adds keys to a set; one with the same kid is replaced.
    async fn add(&self, keys: Vec<StoredKey>) -> Result<(), StoreError>;

    /// Puts a key in the place of the one that was read as `read`, whose `kid` it has, unless the seal or state of that one has changed or it is gone.
    /// Where `beside` names other keys of its set, one of them has to be there still, and not retiring, as for [`KeyRepository::remove`]. Whether it was
    /// put; nothing is appended if it was not.
    async fn supersede(&self, read: &StoredKey, by: StoredKey, beside: &[String])
    -> Result<bool, StoreError>;

    /// Replaces a whole set that was read as `read` by these keys, unless the seal or state of one has changed, one is gone or another has come; whether
    /// it was replaced. Of two that do so at once, one does: the set never holds the keys of both. Nothing is appended if it was not.
    async fn replace_set(
        &self,
        set: &str,
        read: &[StoredKey],
        keys: Vec<StoredKey>,
    ) -> Result<bool, StoreError>;

    /// Deletes the key that was read as `read`, unless its seal or state has changed or it is gone. Where `beside` names other keys of
    /// its set, one of them has to be there still, and not retiring: of keys that are deleted at once, each beside the others, one is
    /// left. Whether it was deleted; nothing is appended if it was not.
    async fn remove(&self, read: &StoredKey, beside: &[String]) -> Result<bool, StoreError>;

    /// Deletes a key, whatever it is by now; whether it was there.
    async fn delete(&self, set: &str, kid: &str) -> Result<bool, StoreError>;

    /// Deletes a set; whether it was there.
    async fn delete_set(&self, set: &str) -> Result<bool, StoreError>;
}
