//! A node within another process: how tests start one, with a clock and randomness of their own.

use std::error::Error;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use sluice_oauth::keys::KeyMaker;
use sluice_primitives::{Clock, Rng};
use url::Url;

use super::janitor::{JanitorKind, Task, janitor_round};
use super::node::{Node, StartOptions, World};
use super::stores::Stores;
use crate::cli::Listeners;
use crate::config::{Mode, Sources, load};

/// How many rows of a kind one [`EmbeddedNode::tidy`] deletes at most.
const TIDIED_AT_ONCE: u32 = 1_000;

/// How a node is started.
#[derive(Clone)]
pub struct EmbeddedOptions {
    /// Keys of the configuration and their values, written as in the environment. Ports are free ones unless named.
    pub settings: Vec<(String, String)>,
    /// Tells the time.
    pub clock: Arc<dyn Clock>,
    /// Draws at random.
    pub rng: Arc<dyn Rng>,
    /// Makes the keys that tokens are signed with.
    pub keys: Arc<dyn KeyMaker>,
}

/// A node that serves on two ports of this machine.
pub struct EmbeddedNode {
    node: Node,
    clock: Arc<dyn Clock>,
    public: String,
    admin: String,
}

impl EmbeddedNode {
    /// Starts a node in development mode.
    ///
    /// # Errors
    /// What is wrong with the configuration, the store or the ports.
    pub async fn start(options: EmbeddedOptions) -> Result<Self, Box<dyn Error + Send + Sync>> {
        let EmbeddedOptions { settings, clock, rng, keys } = options;
        let mut overrides = vec![
            ("serve.public.host".to_owned(), "127.0.0.1".to_owned()),
            ("serve.public.port".to_owned(), "0".to_owned()),
            ("serve.admin.port".to_owned(), "0".to_owned()),
        ];
        overrides.extend(settings);
        let data_dir = PathBuf::from(".");
        let sources = Sources {
            files: Vec::new(),
            environment: Vec::new(),
            overrides,
            mode: Mode::Development,
            data_dir: data_dir.clone(),
        };
        let loaded = load(&sources)?;
        let options = StartOptions {
            listeners: Listeners::All,
            tls_self_signed: false,
            auto_migrate: true,
            data_dir,
            // Whoever stops it has had all answers.
            idle_grace: Duration::ZERO,
        };
        let world = World { clock: Arc::clone(&clock), rng, keys };
        let node = Box::pin(Node::start(&loaded.settings, &options, world)).await?;
        let address = |of: &Option<String>| of.clone().unwrap_or_default();
        let (public, admin) = (address(&node.started.public), address(&node.started.admin));
        Ok(Self { node, clock, public, admin })
    }

    /// The public listener, as a base URL.
    ///
    /// # Errors
    /// If the listener has no address.
    pub fn public_url(&self) -> Result<Url, url::ParseError> {
        format!("http://{}/", self.public).parse()
    }

    /// The admin listener, as a base URL.
    ///
    /// # Errors
    /// If the listener has no address.
    pub fn admin_url(&self) -> Result<Url, url::ParseError> {
        format!("http://{}/", self.admin).parse()
    }

    /// Reads the feed now instead of soon.
    ///
    /// # Errors
    /// The store's.
    pub async fn catch_up(&self) -> Result<(), sluice_commit::StoreError> {
        self.node.catch_up().await
    }

    /// Deletes what has expired now instead of soon; how many rows it was.
    ///
    /// # Errors
    /// The store's.
    pub async fn tidy(&self) -> Result<u64, sluice_commit::StoreError> {
        self.node.clear_ended().await?;
        let store = self.node.stores().repositories();
        let (before, sessions_kept) = (self.clock.now(), self.node.sessions_kept());
        let task =
            Task { kinds: &JanitorKind::ALL, before, sessions_kept, limit: TIDIED_AT_ONCE, total: None };
        let round = janitor_round(&*store, task).await;
        round.failed.map_or(Ok(round.deleted), Err)
    }

    /// What the store has written since the start, by kind.
    pub fn written(&self) -> Written {
        match self.node.stores() {
            Stores::Sqlite(store) => Written::of_sqlite(&store.statistics()),
            Stores::Postgres(store) => Written::of_postgres(&store.statistics()),
        }
    }

    /// Stops the node: what is in flight is answered, what is queued is written.
    pub async fn stop(self) {
        self.node.stop().await;
    }
}

/// What a store has written since the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Written {
    /// Grants inserted.
    pub grant_inserts: u64,
    /// Grants updated: codes redeemed, refresh tokens rotated.
    pub grant_updates: u64,
    /// Rows of any kind, but for what the node says of itself by the minute.
    pub rows: u64,
}

impl Written {
    fn of_sqlite(statistics: &sluice_store_sqlite::StoreStatistics) -> Self {
        let grants = statistics.rows.get("oauth_grant").copied().unwrap_or_default();
        let asked_for = statistics.rows.iter().filter(|(table, _)| **table != "serving_node");
        let rows = asked_for.map(|(_, rows)| rows.inserted + rows.updated + rows.deleted).sum();
        Self { grant_inserts: grants.inserted, grant_updates: grants.updated, rows }
    }

    const fn of_postgres(statistics: &sluice_store_postgres::StoreStatistics) -> Self {
        Self {
            grant_inserts: statistics.grant_inserts.rows,
            grant_updates: statistics.redemptions.rows + statistics.rotations.rows,
            rows: statistics.total().rows,
        }
    }
}
