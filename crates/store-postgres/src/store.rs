//! The store: its connections, its queues, and how it begins and ends.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use sluice_commit::{CommitMetrics, Queue, StoreError, StoreRefusals};
use sluice_oauth::flow::ParkedCount;
use sluice_primitives::{AttemptId, Clock, NetworkId, NodeId, Rng};
use tokio::sync::{Mutex, OwnedMutexGuard};
use tokio::time::Instant;
use tokio_postgres::Row;
use uuid::Uuid;

use crate::caller::Caller;
use crate::client::insert::InsertClients;
use crate::connection::Params;
use crate::dialer::Dialer;
use crate::dsn::{Address, InvalidDsn};
use crate::error::column;
use crate::feed::listener::Listener;
use crate::grant::Hot;
use crate::grant::insert::InsertGrants;
use crate::grant::redeem_code::RedeemCodes;
use crate::grant::revoke::RevokeGrants;
use crate::grant::rotate_refresh::RotateRefreshes;
use crate::grant::sweep::Pass;
use crate::identity::register::RegisterIdentities;
use crate::identity_session::IdentitySessionQueues;
use crate::link::Link;
use crate::login_session::LoginSessionQueues;
use crate::migrate::{self, MigrationStatus};
use crate::pooling;
use crate::queues::{Lookups, Queues, READERS_PER_LANE};
use crate::replay::spend::SpendThings;
use crate::retry::Tries;
use crate::rounds::Rounds;
use crate::serial::{Serial, Transaction};
use crate::statistics::{Counters, Kind, StoreStatistics};
use crate::tls;
use crate::turn::{Place, Turn};

const NETWORK_ID: &str = include_str!("network_id.sql");
const PING: &str = include_str!("ping.sql");
/// Rows in one statement at most.
const BATCH: NonZeroUsize = NonZeroUsize::MIN.saturating_add(499);
/// The same of rows that may be large.
const SMALL_BATCH: NonZeroUsize = NonZeroUsize::MIN.saturating_add(99);
/// The connection of the feed, and the one for writes that are not hot.
const BESIDE_LANES_AND_READERS: usize = 2;
/// Beside these, two lanes and two readers: with no more connections, upkeep has none of its own, and with one more single writes have none.
const FEW: usize = BESIDE_LANES_AND_READERS + 4;
/// So many transactions may wait for those that are under way, one after the other: at a hundred a second the last of them is answered in time.
const TRANSACTIONS: usize = 512;
/// So many listings of grants may wait for the one that is under way: more would hardly have their turn in time.
const LISTINGS: usize = 128;
/// So many polls of devices may be under way, beside the other single writes: nobody else finds their place taken by them.
const POLLS: usize = 64;

/// How a node uses the store.
#[derive(Clone)]
pub struct StoreOptions {
    /// The origin of what this node appends to the feed.
    pub node: NodeId,
    /// How long a write or a read may take, attempts after a lost connection included; default 5 s.
    pub deadline: Duration,
    /// Writes of one kind that may wait per lane; default 8192. Above it callers are told to try later.
    pub depth: NonZeroUsize,
    /// Connections for hot writes; default one per core. Each kind of write uses half of them.
    pub lanes: NonZeroUsize,
    /// Connections for reads; default 2.
    pub readers: NonZeroUsize,
    /// Whether upkeep has a connection of its own, behind whose statements nobody waits unless the server opens no other; default yes. Else it
    /// goes over the lanes.
    pub has_upkeep_connection: bool,
    /// Whether single statements that write, each a commit of its own, have a connection of their own; default yes. Else they go over the lanes,
    /// and what is written there by the batch waits behind them.
    pub has_write_connection: bool,
    /// How often the feed is polled at least; default 500 ms.
    pub feed_poll: Duration,
    /// Who tells the time.
    pub clock: Arc<dyn Clock>,
    /// Where ids come from.
    pub rng: Arc<dyn Rng>,
}

impl StoreOptions {
    /// The defaults.
    pub fn new(node: NodeId, clock: Arc<dyn Clock>, rng: Arc<dyn Rng>) -> Self {
        Self {
            node,
            deadline: Duration::from_secs(5),
            depth: NonZeroUsize::MIN.saturating_add(8191),
            lanes: std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN),
            readers: NonZeroUsize::MIN.saturating_add(1),
            has_upkeep_connection: true,
            has_write_connection: true,
            feed_poll: Duration::from_millis(500),
            clock,
            rng,
        }
    }

    /// The same options with at most `most` connections, but never fewer than four: two are for the feed and for writes
    /// that are several statements, from seven on one is for upkeep, and from eight on one for single writes; of the others half are lanes, as
    /// far as there are so many now, and the rest readers, two for each lane at most. Each is opened when it is needed: who neither reads
    /// the feed nor makes such writes has fewer.
    #[must_use]
    pub fn with_connections(self, most: u32) -> Self {
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        let (has_upkeep_connection, has_write_connection) = (most > FEW, most > FEW + 1);
        let beside =
            BESIDE_LANES_AND_READERS + usize::from(has_upkeep_connection) + usize::from(has_write_connection);
        let shared = most.saturating_sub(beside);
        let lanes = (shared / 2).clamp(1, self.lanes.get());
        let readers = shared.saturating_sub(lanes).min(self.lanes.get() * READERS_PER_LANE);
        let or_one = |number| NonZeroUsize::new(number).unwrap_or(NonZeroUsize::MIN);
        let (lanes, readers) = (or_one(lanes), or_one(readers));
        Self { lanes, readers, has_upkeep_connection, has_write_connection, ..self }
    }
}

/// All repositories on one PostgreSQL database. Dropped without [`PostgresStore::shutdown`], it drains by itself.
pub struct PostgresStore {
    pub(crate) node: NodeId,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) rng: Arc<dyn Rng>,
    pub(crate) feed_poll: Duration,
    pub(crate) serial: Serial,
    pub(crate) listener: Listener,
    pub(crate) inserts: Queue<InsertGrants>,
    pub(crate) redemptions: Queue<RedeemCodes>,
    pub(crate) rotations: Queue<RotateRefreshes>,
    pub(crate) registrations: Queue<RegisterIdentities>,
    pub(crate) revocations: Queue<RevokeGrants>,
    pub(crate) clients: Queue<InsertClients>,
    pub(crate) login_sessions: LoginSessionQueues,
    pub(crate) identity_sessions: IdentitySessionQueues,
    pub(crate) spendings: Queue<SpendThings>,
    pub(crate) lookups: Lookups,
    pub(crate) grant_purge: Rounds,
    pub(crate) session_purge: Rounds,
    pub(crate) identity_session_purge: Rounds,
    pub(crate) sweep: Mutex<Option<Pass>>,
    pub(crate) parked: ParkedCount,
    listing: Turn,
    polls: Arc<AtomicUsize>,
    address: Address,
    patience: Duration,
    readers: Vec<Arc<Link>>,
    lanes: Vec<Arc<Hot>>,
    upkeep_link: Option<Arc<Link>>,
    write_link: Option<Arc<Link>>,
    turn: AtomicUsize,
    counters: Arc<Counters>,
    metrics: Arc<CommitMetrics>,
    lookup_metrics: Arc<CommitMetrics>,
    refusals: Arc<StoreRefusals>,
}

impl PostgresStore {
    /// Connects to the database of a DSN (`postgres://…`; the parameters of Hydra's pool are accepted and ignored). The
    /// schema need not be there yet, see [`PostgresStore::migrate_up`].
    ///
    /// # Errors
    /// [`StoreError::Invalid`] for a DSN that cannot be read; [`StoreError::Unavailable`] if the server cannot be
    /// reached before the deadline of the options.
    pub async fn connect(dsn: &str, options: StoreOptions) -> Result<Self, StoreError> {
        let unusable = |cause: InvalidDsn| StoreError::Invalid(format!("the DSN {cause}"));
        let address: Address = dsn.parse().map_err(unusable)?;
        let dialer = dialer(&address, options.deadline)?;
        let counters = Arc::new(Counters::default());
        let (metrics, lookup_metrics) =
            (Arc::new(CommitMetrics::default()), Arc::new(CommitMetrics::default()));
        let lenders = Arc::default();
        let shared = || Link::lending(dialer.clone(), &lenders);
        let written = || Link::lending_to_writers(dialer.clone(), &lenders);
        let lane = |_| Arc::new(Hot { link: written(), counters: counters.clone() });
        let lanes: Vec<Arc<Hot>> = (0..options.lanes.get()).map(lane).collect();
        let queues = Queues { lanes: &lanes, depth: options.depth, batch: BATCH, metrics: &metrics };
        let insert_client = |hot| InsertClients::new(hot, options.node, options.clock.clone());
        let revoke_grant = |hot| RevokeGrants { hot, node: options.node, clock: options.clock.clone() };
        let readers: Vec<Arc<Link>> = (0..options.readers.get()).map(|_| shared()).collect();
        let (patience, refusals) = (options.deadline, Arc::new(StoreRefusals::default()));
        let store = Self {
            node: options.node,
            clock: options.clock.clone(),
            rng: options.rng,
            feed_poll: options.feed_poll,
            serial: Serial::new(
                (dialer.clone(), &lenders),
                options.depth.get().min(TRANSACTIONS),
                (patience, options.clock.clone()),
                (counters.clone(), refusals.clone()),
            ),
            listener: Listener::new(dialer.clone(), &lenders),
            inserts: queues.start(0, InsertGrants::new),
            redemptions: queues.start(1, RedeemCodes),
            rotations: queues.start(0, RotateRefreshes),
            registrations: queues.start_eager(1, RegisterIdentities::new),
            revocations: queues.start(1, revoke_grant),
            clients: Queues { batch: SMALL_BATCH, ..queues }.start(0, insert_client),
            login_sessions: LoginSessionQueues::start(&queues),
            identity_sessions: IdentitySessionQueues::start(&queues),
            spendings: queues.start(1, SpendThings),
            lookups: Lookups::start(&queues, &readers, &lookup_metrics),
            grant_purge: Rounds::default(),
            session_purge: Rounds::default(),
            identity_session_purge: Rounds::default(),
            sweep: Mutex::default(),
            parked: ParkedCount::default(),
            listing: Turn::new(LISTINGS),
            polls: Arc::default(),
            address,
            patience,
            readers,
            lanes,
            upkeep_link: options.has_upkeep_connection.then(shared),
            write_link: options.has_write_connection.then(written),
            turn: AtomicUsize::new(0),
            counters,
            metrics,
            lookup_metrics,
            refusals,
        };
        store.meet(&dialer).await.map(|()| store)
    }

    /// Whether the server answers. A pooler that gives each transaction another session is refused, before a statement is prepared: that of
    /// another could be run.
    async fn meet(&self, dialer: &Dialer) -> Result<(), StoreError> {
        let Some(link) = self.readers.first() else { return Ok(()) };
        let mut tries = Tries::at_the_start(self.patience);
        let session = loop {
            match link.session().await {
                Ok(session) => break session,
                Err(failure) => tries.again(failure).await?,
            }
        };
        pooling::refuse(&session, dialer).await.map_err(StoreError::refused)?;
        self.answers(Tries::at_the_start(self.patience)).await
    }

    /// Brings the schema up to date. Ten nodes may do so at once.
    ///
    /// # Errors
    /// What the server says.
    pub async fn migrate_up(&self) -> Result<(), StoreError> {
        self.migrate_up_telling(migrate::PATIENCE, |_| {}).await
    }

    /// The same; it may take ten minutes, and each time that it is tried again `tell` hears why. A server that is away meanwhile, or gives no
    /// connection, is waited for so long and no longer.
    ///
    /// # Errors
    /// What the server says; [`StoreError::Unavailable`] if it is away for longer.
    pub async fn migrate_up_telling(
        &self,
        wait: Duration,
        tell: impl FnMut(&StoreError),
    ) -> Result<(), StoreError> {
        let network = NetworkId::generate(self.clock.now(), &*self.rng);
        let dialer = dialer(&self.address, migrate::PATIENCE)?;
        migrate::up(&dialer, (self.clock.now(), network), wait, tell).await
    }

    /// The migrations that this version knows, and when each was applied; behind them those that a later one has applied.
    ///
    /// # Errors
    /// What the server says.
    pub async fn migrate_status(&self) -> Result<Vec<MigrationStatus>, StoreError> {
        let dialer = dialer(&self.address, self.patience)?;
        migrate::status(&dialer, Tries::at_the_start(self.patience)).await
    }

    /// The columns that statements of this version name and the tables do not have, each behind its table and a dot: none once all
    /// required migrations are applied, unless a later version, or somebody, has changed the schema.
    ///
    /// # Errors
    /// What the server says.
    pub async fn missing_columns(&self) -> Result<Vec<String>, StoreError> {
        let rows = self.read(migrate::MISSING_COLUMNS, &[]).await?;
        rows.iter().map(|row| Ok(column(row, 0)?)).collect()
    }

    /// The rights on tables that a node needs and the role of the DSN does not have, by table, as `INSERT, DELETE ON mail`. Where the server only
    /// reads, those to read.
    ///
    /// # Errors
    /// What the server says.
    pub async fn missing_rights(&self) -> Result<Vec<String>, StoreError> {
        let rows = self.read(migrate::MISSING_RIGHTS, &[]).await?;
        rows.iter().map(|row| Ok(column(row, 0)?)).collect()
    }

    /// The random id that the first migration gave to this installation.
    ///
    /// # Errors
    /// What the server says; [`StoreError::Refused`] before the first migration.
    pub async fn network_id(&self) -> Result<NetworkId, StoreError> {
        let rows = self.read(NETWORK_ID, &[]).await?;
        let row =
            rows.first().ok_or_else(|| StoreError::Invalid("the database has no network id".to_owned()))?;
        Ok(NetworkId::from_uuid(column(row, 0)?))
    }

    /// Whether the server answers.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] if it does not.
    pub async fn ping(&self) -> Result<(), StoreError> {
        self.ping_within(self.patience).await
    }

    /// The same, in this time: the error says what ailed the last try.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] if it does not.
    pub async fn ping_within(&self, patience: Duration) -> Result<(), StoreError> {
        self.answers(Tries::within(patience)).await
    }

    async fn answers(&self, tries: Tries) -> Result<(), StoreError> {
        // As the feed, if there is a connection for it: nobody makes one to ask this.
        let feed = Some(self.listener.link()).filter(|link| link.is_open());
        let link = feed.or_else(|| self.next_reader().map(Arc::as_ref));
        let answered = self.persist_by(tries, link.map(Caller::new), PING, &[]).await;
        self.refusals.reads.noted(answered).map(drop)
    }

    /// Finishes what was submitted, turns away what comes, and closes the connections.
    pub async fn shutdown(&self) {
        tokio::join!(
            self.inserts.shutdown(),
            self.redemptions.shutdown(),
            self.rotations.shutdown(),
            self.registrations.shutdown(),
            self.revocations.shutdown(),
            self.clients.shutdown(),
            self.login_sessions.shutdown(),
            self.identity_sessions.shutdown(),
            self.spendings.shutdown(),
            self.lookups.shutdown(),
        );
        self.serial.shutdown().await;
        self.listener.stop();
        self.lanes.iter().for_each(|lane| lane.link.close());
        self.readers.iter().chain(&self.upkeep_link).chain(&self.write_link).for_each(|link| link.close());
    }

    /// What was written since the start.
    pub fn statistics(&self) -> StoreStatistics {
        self.counters.snapshot()
    }

    /// What the group-commit queues counted since the start, all kinds together.
    pub const fn commit_metrics(&self) -> &Arc<CommitMetrics> {
        &self.metrics
    }

    /// The same of reads that share statements.
    pub const fn lookup_metrics(&self) -> &Arc<CommitMetrics> {
        &self.lookup_metrics
    }

    /// What was refused since the start, past the queues.
    pub const fn refusals(&self) -> &Arc<StoreRefusals> {
        &self.refusals
    }

    /// When a write that begins now must be answered.
    pub(crate) fn deadline(&self) -> Instant {
        Instant::now() + self.patience
    }

    /// A fresh attempt id.
    pub(crate) fn attempt(&self) -> Uuid {
        AttemptId::generate(self.clock.now(), &*self.rng).as_uuid()
    }

    /// Runs a statement that reads, for somebody who asks.
    pub(crate) async fn read(&self, sql: &'static str, params: Params<'_>) -> Result<Vec<Row>, StoreError> {
        self.refusals.reads.noted(self.persist_with_place(self.next_reader(), None, (sql, params)).await)
    }

    /// The same of what takes long, one at a time: see `grant/list.sql`.
    pub(crate) async fn read_in_turn(
        &self,
        sql: &'static str,
        params: Params<'_>,
    ) -> Result<Vec<Row>, StoreError> {
        let turn = self.refusals.reads.noted(self.listing.take(self.deadline()).await)?;
        let read = self.persist_with_place(self.next_reader(), Some(turn), (sql, params)).await;
        self.refusals.reads.noted(read)
    }

    /// The same for the node itself, of the feed. It waits behind no caller's statement, which may stand before a lock.
    pub(crate) async fn look(&self, sql: &'static str, params: Params<'_>) -> Result<Vec<Row>, StoreError> {
        self.refusals.reads.noted(self.persist(Some(self.listener.link()), sql, params).await)
    }

    /// The same of what waits to be done. Nobody who asks waits behind it, unless there are too few connections for that.
    pub(crate) async fn look_at_work(
        &self,
        sql: &'static str,
        params: Params<'_>,
    ) -> Result<Vec<Row>, StoreError> {
        let Some(link) = &self.upkeep_link else { return self.read(sql, params).await };
        self.refusals.reads.noted(self.persist(Some(link), sql, params).await)
    }

    /// Runs a single statement that writes and is harmless to repeat, as a transaction of its own. No login waits behind it, unless there are
    /// too few connections for that.
    pub(crate) async fn write(&self, sql: &'static str, params: Params<'_>) -> Result<Vec<Row>, StoreError> {
        let written = self.persist_with_place(self.link_for_writes(), None, (sql, params)).await;
        self.written(written)
    }

    /// The same of what many do at once when everybody comes, as entering a code: those that come while a commit is under way share the next one.
    pub(crate) async fn write_with_others(
        &self,
        sql: &'static str,
        params: Params<'_>,
    ) -> Result<Vec<Row>, StoreError> {
        // One statement may go over the connection of another while there is no other: a transaction may not, and waits.
        if self.serial.link().living().is_none() {
            return self.write(sql, params).await;
        }
        let committed = self.serial.commit(&Transaction::new().then(sql, params.to_vec())).await?;
        Ok(committed.into_last())
    }

    /// The same as [`Self::write`] of a poll of a device: polls have places of their own, and take none of those who write something else.
    pub(crate) async fn write_poll(
        &self,
        sql: &'static str,
        params: Params<'_>,
    ) -> Result<Vec<Row>, StoreError> {
        let place = self.refusals.writes.noted(Place::take(&self.polls, POLLS))?;
        let caller = self.link_for_writes().map(|link| Caller::holding(link, place));
        let written = self.persist_by(Tries::within(self.patience), caller, sql, params).await;
        self.written(written)
    }

    /// The same for the node itself, of what became of something that it had taken on, as a mail that is sent: were that refused for want of a
    /// place, it would be done again. It goes where upkeep does, and is tried as long as anything.
    pub(crate) async fn note(&self, sql: &'static str, params: Params<'_>) -> Result<(), StoreError> {
        let link = self.upkeep_link.as_ref().or_else(|| self.next_lane());
        let written = self.persist(link.map(Arc::as_ref), sql, params).await;
        self.written(written).map(drop)
    }

    /// The same for a statement that nobody asked for: it looks for what there is to do. Whatever it finds, no login waits behind it, unless
    /// there are too few connections for that; and it tries no more than twice while the server only reads.
    pub(crate) async fn upkeep(&self, sql: &'static str, params: Params<'_>) -> Result<Vec<Row>, StoreError> {
        let link = self.upkeep_link.as_ref().or_else(|| self.next_lane());
        let tries = Tries::that_nobody_waits_for(self.patience);
        let written = self.persist_by(tries, link.map(Arc::as_ref).map(Caller::new), sql, params).await;
        let rows = self.refusals.writes.noted(written)?;
        self.counters.count(Kind::Upkeep, 1, rows.len());
        Ok(rows)
    }

    /// The places for its connections.
    pub(crate) fn links(&self) -> impl Iterator<Item = &Link> {
        let lanes = self.lanes.iter().map(|lane| &lane.link);
        let shared =
            lanes.chain(&self.readers).chain(&self.upkeep_link).chain(&self.write_link).map(Arc::as_ref);
        shared.chain([self.serial.link(), self.listener.link()])
    }

    /// Where single writes go.
    fn link_for_writes(&self) -> Option<&Arc<Link>> {
        self.write_link.as_ref().or_else(|| self.next_lane())
    }

    /// Counts a single write.
    fn written(&self, written: Result<Vec<Row>, StoreError>) -> Result<Vec<Row>, StoreError> {
        let rows = self.refusals.writes.noted(written)?;
        self.counters.count(Kind::Other, 1, 1);
        Ok(rows)
    }

    fn next_reader(&self) -> Option<&Arc<Link>> {
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        turn.checked_rem(self.readers.len()).and_then(|place| self.readers.get(place))
    }

    fn next_lane(&self) -> Option<&Arc<Link>> {
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        let lane = turn.checked_rem(self.lanes.len()).and_then(|place| self.lanes.get(place));
        lane.map(|lane| &lane.link)
    }

    async fn persist_with_place(
        &self,
        link: Option<&Arc<Link>>,
        turn: Option<OwnedMutexGuard<()>>,
        (sql, params): (&'static str, Params<'_>),
    ) -> Result<Vec<Row>, StoreError> {
        let tries = Tries::within(self.patience);
        let caller = link.map(|link| Caller::with_place(link, turn)).transpose()?;
        self.persist_by(tries, caller, sql, params).await
    }

    async fn persist(
        &self,
        link: Option<&Link>,
        sql: &'static str,
        params: Params<'_>,
    ) -> Result<Vec<Row>, StoreError> {
        self.persist_by(Tries::within(self.patience), link.map(Caller::new), sql, params).await
    }

    async fn persist_by(
        &self,
        mut tries: Tries,
        caller: Option<Caller<'_>>,
        sql: &'static str,
        params: Params<'_>,
    ) -> Result<Vec<Row>, StoreError> {
        let mut caller = caller.ok_or(StoreError::Unavailable(None))?;
        let mut repeated = false;
        loop {
            let failure = match caller.query(sql, params).await {
                Ok(rows) => return Ok(rows),
                Err(failure) => failure,
            };
            let may_be_committed = failure.may_be_committed();
            tries.again(failure).await.map_err(|error| after(repeated, error))?;
            repeated |= may_be_committed;
        }
    }
}

/// Why a statement failed, `repeated` after an attempt that may be committed: of that one nobody is told that it was refused.
pub(crate) fn after(repeated: bool, error: StoreError) -> StoreError {
    if repeated && !error.is_temporary() { StoreError::unavailable(error) } else { error }
}

/// Who opens connections to the servers of an address.
pub(crate) fn dialer(address: &Address, patience: Duration) -> Result<Arc<Dialer>, StoreError> {
    let tls = address
        .tls
        .map(|verification| tls::connector(verification, address.root_certificates.as_deref()))
        .transpose()?;
    Ok(Arc::new(Dialer::new(address.clone(), tls, patience)))
}
