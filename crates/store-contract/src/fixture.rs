//! What a store hands to the contract: fresh data, nodes on it, and the two ways to hurt it.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use sluice_identity::factor::FactorRepository;
use sluice_identity::hardening::HardeningRepository;
use sluice_identity::identity::IdentityDirectory;
use sluice_identity::mail::{CodeRepository, MailRepository};
use sluice_identity::session::IdentitySessionRepository;
use sluice_oauth::client::ClientRepository;
use sluice_oauth::consent::ConsentRepository;
use sluice_oauth::device::DeviceCodeRepository;
use sluice_oauth::flow::ParkedFlowRepository;
use sluice_oauth::grant::GrantRepository;
use sluice_oauth::keys::KeyRepository;
use sluice_oauth::login_session::LoginSessionRepository;
use sluice_oauth::logout::OutboxRepository;
use sluice_oauth::replay::ReplayRepository;
use sluice_oauth::serving_node::ServingNodeRepository;
use sluice_oauth::takeover::{HydraMarkRepository, HydraTokenRepository};
use sluice_oauth::trust::TrustedIssuerRepository;
use sluice_primitives::GrantId;
use sluice_token::Feed;

/// Everything that a store implements.
pub trait Stores:
    ClientRepository
    + CodeRepository
    + ConsentRepository
    + DeviceCodeRepository
    + FactorRepository
    + Feed
    + GrantRepository
    + HardeningRepository
    + HydraMarkRepository
    + HydraTokenRepository
    + IdentityDirectory
    + IdentitySessionRepository
    + KeyRepository
    + LoginSessionRepository
    + MailRepository
    + OutboxRepository
    + ParkedFlowRepository
    + ReplayRepository
    + ServingNodeRepository
    + TrustedIssuerRepository
    + 'static
{
}

impl<S> Stores for S where
    S: ClientRepository
        + CodeRepository
        + ConsentRepository
        + DeviceCodeRepository
        + FactorRepository
        + Feed
        + GrantRepository
        + HardeningRepository
        + HydraMarkRepository
        + HydraTokenRepository
        + IdentityDirectory
        + IdentitySessionRepository
        + KeyRepository
        + LoginSessionRepository
        + MailRepository
        + OutboxRepository
        + ParkedFlowRepository
        + ReplayRepository
        + ServingNodeRepository
        + TrustedIssuerRepository
        + 'static
{
}

/// How patient a node is.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// How long a write waits for its commit; default 10 s.
    pub deadline: Duration,
    /// How many writes of one kind may wait; default 8192.
    pub depth: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { deadline: Duration::from_secs(10), depth: 8192 }
    }
}

/// One set of data, empty and migrated at the start, and nodes that share it.
pub trait Fixture: Sized + Send + Sync + 'static {
    /// The store under test.
    type Store: Stores;
    /// While it is held, no grant is written. Dropping it lets writes through again.
    type Stall: Send;

    /// Fresh data and a first node on it.
    fn start() -> impl Future<Output = Self> + Send;

    /// The first node.
    fn store(&self) -> Arc<Self::Store>;

    /// Another node (with a node id of its own) on the same data.
    fn node_with(&self, limits: Limits) -> impl Future<Output = Arc<Self::Store>> + Send;

    /// Another node on the same data, patient as usual.
    fn second_node(&self) -> impl Future<Output = Arc<Self::Store>> + Send {
        self.node_with(Limits::default())
    }

    /// Holds up the writes of grants on all nodes (a lock that another process took).
    fn stall(&self) -> impl Future<Output = Self::Stall> + Send;

    /// Makes the engine itself refuse to insert the grant with this id (a trigger or check), on all nodes.
    fn poison(&self, grant: GrantId) -> impl Future<Output = ()> + Send;
}
