//! Back-channel logout notices (OpenID Connect Back-Channel Logout 1.0), kept until they have arrived.

use async_trait::async_trait;
use sluice_commit::StoreError;
use sluice_primitives::{AttemptId, Lifetime, SessionId, Timestamp};
use sluice_protocol::{ClientId, Subject};
use url::Url;

/// The scheme of what stands in the place of an address that was not known.
const DESCRIBED: &str = "described";
/// The fragment of an address where nothing but encrypted tokens may go. Logout URIs have none of their own (Back-Channel Logout 1.0 §2.2),
/// and no version sends one, so every version can deliver what has it.
const ENCRYPTED: &str = "encrypted";

/// One client is to be told that a session ended. The token itself is made when it is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogoutNotice {
    /// Where to.
    pub uri: Url,
    /// To whom.
    pub client: ClientId,
    /// Whose session, as this client sees it.
    pub subject: Subject,
    /// Which session.
    pub session: SessionId,
}

impl LogoutNotice {
    /// What stands in the place of the address of a client whose document cannot be had now. No version that does not know of it can send a
    /// notice there: it tries again later. At the document itself its host might answer, and nobody would have heard.
    ///
    /// # Errors
    /// If the id is not the address of a document.
    pub(super) fn described(client: &ClientId) -> Result<Url, url::ParseError> {
        Url::parse(client.as_str())?;
        Url::parse(&format!("{DESCRIBED}:{client}"))
    }

    /// The address of a client that asks for encrypted tokens, so that it is known even when the client is gone.
    pub(super) fn for_encrypted(mut address: Url) -> Url {
        address.set_fragment(Some(ENCRYPTED));
        address
    }

    /// Whether the client asked for encrypted tokens when the notice was made.
    pub(super) fn is_for_encrypted(&self) -> bool {
        self.uri.fragment() == Some(ENCRYPTED)
    }

    /// Whether the document of the client has to say where the notice goes. One that was made by an earlier version names it.
    pub(super) fn is_described(&self) -> bool {
        self.uri.scheme() == DESCRIBED || self.uri.as_str() == self.client.as_str()
    }
}

/// A notice that this node is to deliver now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeasedNotice {
    /// Its place in the outbox: a UUIDv7.
    pub id: uuid::Uuid,
    /// What to say to whom.
    pub notice: LogoutNotice,
    /// How often it was tried before.
    pub attempts: u32,
}

impl LeasedNotice {
    /// When it was put into the outbox, as its id tells.
    pub fn made_at(&self) -> Timestamp {
        AttemptId::from_uuid(self.id).made_at()
    }
}

/// How many notices may be taken at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaseRoom {
    /// Of all clients together.
    pub notices: u32,
    /// Of each client, so that one that does not answer takes no more places than that.
    pub of_a_client: u32,
    /// Whom notices are under way to already, as often as there are any: they count among those of their client.
    pub under_way: Vec<ClientId>,
}

/// The outbox. Every method is one transaction.
#[async_trait]
pub trait OutboxRepository: Send + Sync {
    /// Takes as many notices that are due as there is room for: the first of every client before the second of any, counted with those under
    /// way, and those first that are due longest. No other node gets them before `lease` has passed.
    async fn lease(
        &self,
        now: Timestamp,
        lease: Lifetime,
        room: LeaseRoom,
    ) -> Result<Vec<LeasedNotice>, StoreError>;

    /// The notice has arrived.
    async fn delivered(&self, id: uuid::Uuid) -> Result<(), StoreError>;

    /// The notice did not arrive: it is due again at `next`, or, without one, kept as a dead letter.
    async fn failed(&self, id: uuid::Uuid, next: Option<Timestamp>) -> Result<(), StoreError>;

    /// The notice was not tried, for no fault of its client: it is due again at `until`, and may fail as often as before.
    async fn postponed(&self, id: uuid::Uuid, until: Timestamp) -> Result<(), StoreError>;

    /// How many notices wait, and how many are dead letters; each is counted to 100,000 at least, and perhaps no further.
    async fn depth(&self) -> Result<(u64, u64), StoreError>;

    /// When the oldest notice was made of those that wait, as its id tells. Where many wait, perhaps only of those that are due first.
    async fn oldest_notice(&self) -> Result<Option<Timestamp>, StoreError>;

    /// Deletes at most `limit` dead letters that were due before `before`; how many it was.
    async fn purge_notices(&self, before: Timestamp, limit: u32) -> Result<u64, StoreError>;
}
