//! Rows as Hydra's database has them.

use async_trait::async_trait;
use serde_json::Value;
use sluice_commit::StoreError;
use uuid::Uuid;

use super::report::Part;

/// A network of a Hydra, to which each of its rows belongs. Its id is random: no two of them have the same, but for copies of one database.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HydraNetwork(Uuid);

impl HydraNetwork {
    /// The network with this UUID.
    pub const fn from_uuid(uuid: Uuid) -> Self {
        Self(uuid)
    }

    /// The UUID of the network.
    pub const fn as_uuid(self) -> Uuid {
        self.0
    }

    /// The sixteen bytes of the UUID.
    pub const fn as_bytes(&self) -> &[u8; 16] {
        self.0.as_bytes()
    }
}

/// What is read there whole, page by page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HydraTable {
    /// Clients, by id.
    Clients,
    /// Trusted issuers, by id, each with its key as `keydata`.
    Issuers,
    /// The keys that it signs with, by `pk`.
    SigningKeys,
    /// Flows whose consent was to be remembered, by login challenge: of each subject and client the latest alone, as it counts there.
    Consents,
}

/// A row.
#[derive(Debug, Clone, PartialEq)]
pub struct HydraRow {
    /// By what it is found, and ordered.
    pub key: String,
    /// An object with the names of its columns, as far as that version of Hydra has them.
    pub columns: Value,
}

impl HydraRow {
    /// What it is called there: by this column, or by its key.
    pub(super) fn name(&self, column: &str) -> String {
        self.columns.get(column).and_then(Value::as_str).unwrap_or(&self.key).to_owned()
    }
}

/// The database of a Hydra: of the first of its networks, as it serves that.
#[async_trait]
pub trait HydraDatabase: Send + Sync {
    /// That network; none in a database that no Hydra has served yet.
    async fn network(&self) -> Result<Option<HydraNetwork>, StoreError>;

    /// Whether it is a standby, which may not have heard of everything.
    async fn is_standby(&self) -> Result<bool, StoreError>;

    /// At most `limit` rows behind the one with the key `after`, in the order of their keys; from the first if that is empty.
    async fn page(&self, table: HydraTable, after: &str, limit: u32) -> Result<Vec<HydraRow>, StoreError>;

    /// Which of these are still there, by the ids that [`super::Mark`]s have; refresh tokens, by their signatures, if they are active.
    async fn there(&self, part: Part, ids: Vec<String>) -> Result<Vec<String>, StoreError>;

    /// The names of at most `limit` sets of keys, in order, behind `after`, that neither Hydra itself nor an issuer that it trusts needs:
    /// applications made them.
    async fn other_key_sets(&self, after: &str, limit: u32) -> Result<Vec<String>, StoreError>;

    /// How many refresh tokens are active and have not expired, as far as a column tells.
    async fn living_tokens(&self) -> Result<u64, StoreError>;

    /// The signatures of at most `limit` of these, in order, behind `after`.
    async fn token_page(&self, after: &str, limit: u32) -> Result<Vec<String>, StoreError>;

    /// The refresh tokens with these signatures that are active, with what is needed of the flows that they came of.
    async fn tokens(&self, signatures: Vec<String>) -> Result<Vec<HydraRow>, StoreError>;
}
