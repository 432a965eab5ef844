//! Patience: how many wait for one connection, when it is taken for dead, and how often another is asked for.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::pin::pin;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};
use sluice_commit::{StoreError, chain};
use sluice_identity::mail::MailRepository;
use sluice_oauth::client::{Client as OAuthClient, ClientRepository};
use sluice_oauth::device::{DeviceCodeRepository, DevicePoll};
use sluice_oauth::grant::{GrantPage, GrantRepository, Listed};
use sluice_oauth::logout::OutboxRepository;
use sluice_primitives::Lifetime;
use sluice_store_contract::{Fixture, given};
use sluice_store_postgres::{PostgresStore, StoreOptions};
use sluice_testkit::PrivateCluster;
use sluice_testkit::postgres::TemporaryDatabase;
use sluice_token::{Feed, FeedPosition};
use tokio_postgres::Client;
use uuid::Uuid;

use crate::fixture::{PostgresFixture, connection, database, node, options};
use crate::late_commit::somebody_waits;
use crate::proxy::Proxy;

/// A node with one connection for reads, which has read already.
async fn reader(fixture: &PostgresFixture, deadline: Duration) -> PostgresStore {
    let options = StoreOptions { readers: NonZeroUsize::MIN, deadline, ..options() };
    let store = PostgresStore::connect(fixture.dsn(), options).await.unwrap();
    assert_eq!(find(&store).await.unwrap(), None);
    store
}

/// What is read by a statement of its own.
async fn find(store: &PostgresStore) -> Result<Option<OAuthClient>, StoreError> {
    ClientRepository::find(store, &given::client_id("nobody")).await
}

/// While this goes on, nobody reads this table.
async fn stall(fixture: &PostgresFixture, table: &str) -> Client {
    let client = connection(fixture.dsn()).await;
    client.batch_execute(&format!("BEGIN; LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE")).await.unwrap();
    client
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_finds_a_thousand_before_them_is_turned_away_at_once() {
    let fixture = PostgresFixture::start().await;
    let store = reader(&fixture, Duration::from_secs(20)).await;
    let stall = stall(&fixture, "client").await;
    let mut reads: FuturesUnordered<_> = (0..1500).map(|_| find(&store)).collect();
    for _ in 0..1500 - 1024 {
        let turned_away = reads.next().await.unwrap();
        assert!(matches!(turned_away, Err(StoreError::Busy)), "{turned_away:?}");
    }
    stall.batch_execute("COMMIT").await.unwrap();
    let answered: Vec<_> = reads.collect().await;
    assert_eq!(answered.len(), 1024);
    assert_eq!(store.refusals().reads.turned_away_total(), 1500 - 1024);
    assert!(answered.iter().all(|found| matches!(found, Ok(None))));
}

/// As behind a lock that somebody else holds.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_is_not_answered_in_time_is_counted() {
    let fixture = PostgresFixture::start().await;
    let store = reader(&fixture, Duration::from_millis(200)).await;
    let stall = stall(&fixture, "client").await;
    let found = find(&store).await;
    assert!(matches!(found, Err(StoreError::Unavailable(_))), "{found:?}");
    assert_eq!(store.refusals().reads.unanswered_total(), 1);
    stall.batch_execute("COMMIT").await.unwrap();
}

/// Each statement is a commit of its own, and a crowd of them must not be before those who log in.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_logins_write_waits_for_no_single_writes_and_those_are_few() {
    let fixture = PostgresFixture::start().await;
    let options = StoreOptions { lanes: NonZeroUsize::MIN, ..options() };
    let store = PostgresStore::connect(fixture.dsn(), options).await.unwrap();
    let (stall, watching) = (connection(fixture.dsn()).await, connection(fixture.dsn()).await);
    stall.batch_execute("BEGIN; LOCK TABLE device_code IN ACCESS EXCLUSIVE MODE").await.unwrap();
    let deny = |_| DeviceCodeRepository::deny(&store, given::grant_id(), given::at(10));
    let mut denials: FuturesUnordered<_> = (0..300).map(deny).collect();
    for _ in 0..300 - 256 {
        let turned_away = denials.next().await.unwrap();
        assert!(matches!(turned_away, Err(StoreError::Busy)), "{turned_away:?}");
    }
    let logging_in = async {
        somebody_waits(&watching).await;
        given::redeemed(&store, given::grant()).await;
        stall.batch_execute("COMMIT").await.unwrap();
    };
    let (answered, ()) = tokio::join!(denials.collect::<Vec<_>>(), logging_in);
    assert_eq!(answered.len(), 256);
    assert!(answered.iter().all(|denied| matches!(denied, Ok(false))), "{answered:?}");
}

/// However many poll: a poll that is turned away comes again by itself, a code that somebody typed does not.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn polls_of_devices_take_no_place_of_those_who_write_something_else() {
    let fixture = PostgresFixture::start().await;
    let store = PostgresStore::connect(fixture.dsn(), options()).await.unwrap();
    let stall = connection(fixture.dsn()).await;
    stall.batch_execute("BEGIN; LOCK TABLE device_code IN ACCESS EXCLUSIVE MODE").await.unwrap();
    let poll = |_| DeviceCodeRepository::poll(&store, given::grant_id(), given::at(10), Lifetime::secs(5));
    let mut polls: FuturesUnordered<_> = (0..100).map(poll).collect();
    for _ in 0..100 - 64 {
        let turned_away = polls.next().await.unwrap();
        assert!(matches!(turned_away, Err(StoreError::Busy)), "{turned_away:?}");
    }
    assert_eq!(store.refusals().writes.turned_away_total(), 100 - 64);
    let deny = |_| DeviceCodeRepository::deny(&store, given::grant_id(), given::at(10));
    let mut denials: FuturesUnordered<_> = (0..256).map(deny).collect();
    assert!(denials.next().now_or_never().is_none(), "each has a place");
    // What the node has done is noted all the same: it would else be done again.
    MailRepository::sent(&store, Uuid::nil()).await.unwrap();
    MailRepository::failed(&store, Uuid::nil(), None).await.unwrap();
    OutboxRepository::delivered(&store, Uuid::nil()).await.unwrap();
    OutboxRepository::failed(&store, Uuid::nil(), None).await.unwrap();
    OutboxRepository::postponed(&store, Uuid::nil(), given::at(20)).await.unwrap();
    stall.batch_execute("COMMIT").await.unwrap();
    let (polled, denied) = tokio::join!(polls.collect::<Vec<_>>(), denials.collect::<Vec<_>>());
    assert_eq!((polled.len(), denied.len()), (64, 256));
    assert!(polled.iter().all(|polled| matches!(polled, Ok(DevicePoll::Unknown))), "{polled:?}");
    assert!(denied.iter().all(|denied| matches!(denied, Ok(false))), "{denied:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn transactions_that_find_no_place_are_turned_away_and_counted() {
    let fixture = PostgresFixture::start().await;
    let options = StoreOptions { depth: NonZeroUsize::MIN, ..options() };
    let store = PostgresStore::connect(fixture.dsn(), options).await.unwrap();
    let (stall, unknown) = (connection(fixture.dsn()).await, given::client_id("unknown"));
    stall.batch_execute("BEGIN; LOCK TABLE client IN ACCESS EXCLUSIVE MODE").await.unwrap();
    let delete = |_| ClientRepository::delete(&store, &unknown, given::at(20), given::at(9000));
    let mut deletions: FuturesUnordered<_> = (0..5).map(delete).collect();
    for _ in 0..3 {
        let turned_away = deletions.next().await.unwrap();
        assert!(
            matches!(turned_away, Err(StoreError::Busy)),
            "one has the turn, another waits: {turned_away:?}"
        );
    }
    stall.batch_execute("COMMIT").await.unwrap();
    let answered: Vec<_> = deletions.collect().await;
    assert!(answered.iter().all(|deleted| matches!(deleted, Ok(false))), "{answered:?}");
    assert_eq!((answered.len(), store.refusals().writes.turned_away_total()), (2, 3));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_server_refuses_is_counted_by_reads_and_writes() {
    let fixture = PostgresFixture::start().await;
    let store = PostgresStore::connect(fixture.dsn(), options()).await.unwrap();
    let gone = "ALTER TABLE client RENAME TO elsewhere; ALTER TABLE outbox RENAME TO nowhere";
    connection(fixture.dsn()).await.batch_execute(gone).await.unwrap();
    let id = given::client_id("shop");
    let read = ClientRepository::find(&store, &id).await;
    assert!(matches!(read, Err(StoreError::Refused(_))), "{read:?}");
    let transaction = ClientRepository::delete(&store, &id, given::at(20), given::at(9000)).await;
    assert!(matches!(transaction, Err(StoreError::Refused(_))), "{transaction:?}");
    let statement = store.delivered(Uuid::nil()).await;
    assert!(matches!(statement, Err(StoreError::Refused(_))), "{statement:?}");
    let refusals = store.refusals();
    assert_eq!((refusals.reads.refused_total(), refusals.writes.refused_total()), (1, 2));
}

/// A migrated database, and a node as a role of its name, which may have two connections.
pub(crate) async fn with_two_connections() -> (TemporaryDatabase, Client, PostgresStore) {
    let database = database().await;
    node(database.dsn()).await.migrate_up().await.unwrap();
    let (name, all) = (database.name(), connection(database.dsn()).await);
    let role = format!("CREATE ROLE {name} LOGIN CONNECTION LIMIT 2 IN ROLE sluice");
    all.batch_execute(&role).await.unwrap();
    let dsn = database.dsn().replace("postgres://sluice@", &format!("postgres://{name}@"));
    let options = StoreOptions { lanes: NonZeroUsize::new(2).unwrap(), ..options() };
    let store = PostgresStore::connect(&dsn, options).await.unwrap();
    (database, all, store)
}

/// How many connections a role has.
async fn connections_of(name: &str, all: &Client) -> i64 {
    let sql = "SELECT count(*) FROM pg_stat_activity WHERE usename = $1";
    all.query_one(sql, &[&name]).await.unwrap().get(0)
}

/// Returns when it has none.
async fn cut_those_of(name: &str, all: &Client) {
    let cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = $1";
    all.execute(cut, &[&name]).await.unwrap();
    while connections_of(name, all).await > 0 {}
}

/// The first kind of write has the last connection. No other waits for one of its own.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_finds_no_connection_left_goes_over_that_of_another() {
    let (database, all, store) = with_two_connections().await;
    let name = database.name();
    let used = async || connections_of(name, &all).await;
    let grant = given::grant();
    GrantRepository::insert(&store, grant.clone(), None, true).await.unwrap();
    assert_eq!(used().await, 2);
    let [first, second] = ["alice@example.com", "bob@example.com"].map(given::identity);
    given::registered(&store, first).await;
    assert!(GrantRepository::find(&store, grant.id).await.unwrap().is_some());
    assert_eq!(used().await, 2, "all of it over the two");
    all.batch_execute(&format!("ALTER ROLE {name} CONNECTION LIMIT 9")).await.unwrap();
    tokio::time::sleep(Duration::from_millis(1_200)).await;
    given::registered(&store, second).await;
    assert_eq!(used().await, 3, "it has its own as soon as there is one");
}

/// Each attempt is a line in the log of the server, and what it says is the same for all.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_is_not_let_in_asks_once_a_second() {
    let (database, all, store) = with_two_connections().await;
    let (name, unknown) = (database.name(), given::client_id("unknown"));
    all.batch_execute(&format!("ALTER ROLE {name} NOLOGIN")).await.unwrap();
    cut_those_of(name, &all).await;
    let before = store.connections().failed_total;
    let asked = async {
        tokio::join!(
            store.ping(),
            GrantRepository::insert(&store, given::grant(), None, true),
            ClientRepository::delete(&store, &unknown, given::at(20), given::at(9000)),
        )
    };
    assert!(tokio::time::timeout(Duration::from_secs(3), asked).await.is_err(), "nobody is let in");
    let failed = store.connections().failed_total - before;
    assert!((1..15).contains(&failed), "{failed}");
    all.batch_execute(&format!("ALTER ROLE {name} LOGIN")).await.unwrap();
    store.ping().await.unwrap();
}

/// As after another password: nobody waits for a connection that is not let in while another is there.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_is_not_let_in_any_more_goes_over_the_connection_of_another() {
    let (database, all, store) = with_two_connections().await;
    let name = database.name();
    let grant = given::inserted(&store, given::grant()).await;
    assert_eq!(connections_of(name, &all).await, 2);
    all.batch_execute(&format!("ALTER ROLE {name} NOLOGIN")).await.unwrap();
    let cut_the_first = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = $1
        ORDER BY backend_start LIMIT 1";
    all.execute(cut_the_first, &[&name]).await.unwrap();
    while connections_of(name, &all).await > 1 {}
    // Over each of the links for reads.
    for _ in 0..4 {
        let found = GrantRepository::find(&store, grant.id);
        let found = tokio::time::timeout(Duration::from_secs(5), found).await.unwrap();
        assert!(found.unwrap().is_some());
    }
    assert_eq!(connections_of(name, &all).await, 1);
}

/// As after connections were cut, when what goes on by itself dials first.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_finds_feed_and_upkeep_before_them_goes_over_the_connection_of_the_upkeep() {
    let (database, all, store) = with_two_connections().await;
    let name = database.name();
    cut_those_of(name, &all).await;
    assert_eq!(given::markers(&store).await, []);
    assert_eq!(GrantRepository::purge_expired(&store, given::at(0), 10).await.unwrap(), 0);
    assert_eq!(connections_of(name, &all).await, 2);
    let grant = given::inserted(&store, given::grant()).await;
    assert!(GrantRepository::find(&store, grant.id).await.unwrap().is_some());
    assert_eq!(connections_of(name, &all).await, 2);
}

/// The same where an administrator dials first. Nobody may go over the connection of their transactions: it becomes another's.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_finds_feed_and_transactions_before_them_is_given_the_connection_of_the_transactions() {
    let (database, all, store) = with_two_connections().await;
    let (name, unknown) = (database.name(), given::client_id("unknown"));
    cut_those_of(name, &all).await;
    assert_eq!(given::markers(&store).await, []);
    assert!(!ClientRepository::delete(&store, &unknown, given::at(20), given::at(9000)).await.unwrap());
    assert_eq!(connections_of(name, &all).await, 2);
    let grant = given::inserted(&store, given::grant()).await;
    assert!(GrantRepository::find(&store, grant.id).await.unwrap().is_some());
    assert_eq!(connections_of(name, &all).await, 2);
}

/// A pooler lets those wait that it has no place for, and says nothing. Nor was anything heard of the server for a while, as where no feed is
/// read.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_waits_for_a_connection_in_vain_goes_over_that_of_another() {
    let fixture = PostgresFixture::start().await;
    let proxy = Proxy::start(fixture.dsn()).await;
    // Each is answered before it has waited for its connection to the end.
    let options = StoreOptions { deadline: Duration::from_secs(5), ..options() };
    let store = PostgresStore::connect(&proxy.dsn(fixture.dsn()), options).await.unwrap();
    proxy.fill();
    tokio::time::sleep(Duration::from_millis(2_100)).await;
    let grant = given::inserted(&store, given::grant()).await;
    assert!(GrantRepository::find(&store, grant.id).await.unwrap().is_some());
    given::registered(&store, given::identity("alice@example.com")).await;
}

/// A server that is far away, or asks another for the password, lets everybody in at last: who went over another's connection meanwhile has
/// one of its own then.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_waits_long_for_a_connection_has_it_in_the_end() {
    let fixture = PostgresFixture::start().await;
    let (proxy, watching) = (Proxy::start(fixture.dsn()).await, connection(fixture.dsn()).await);
    let dsn = format!("{}&application_name=distant", proxy.dsn(fixture.dsn()));
    let options = StoreOptions { lanes: NonZeroUsize::MIN, ..options() };
    let store = PostgresStore::connect(&dsn, options).await.unwrap();
    let own = async || connections("distant", &watching).await;
    assert_eq!(own().await, 1);
    proxy.slow_down(Duration::from_secs(2));
    given::inserted(&store, given::grant()).await;
    let opened = async { while own().await == 1 {} };
    tokio::time::timeout(Duration::from_secs(30), opened).await.unwrap();
    given::inserted(&store, given::grant()).await;
    assert_eq!(own().await, 2, "it was not given up");
}

/// A new database on a server that only reads for now, or a lock that somebody holds for hours: nobody stares at nothing for ten minutes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_migrates_is_told_what_is_waited_for() {
    let database = database().await;
    let client = connection(database.dsn()).await;
    let only_reads = format!("ALTER DATABASE {} SET default_transaction_read_only = on", database.name());
    client.batch_execute(&only_reads).await.unwrap();
    let store = node(database.dsn()).await;
    let (told, mut reasons) = tokio::sync::mpsc::unbounded_channel();
    let mut migrating = pin!(store.migrate_up_telling(Duration::ZERO, |why| told.send(chain(why)).unwrap()));
    let reason = tokio::select! {
        migrated = &mut migrating => panic!("nothing can be written: {migrated:?}"),
        reason = reasons.recv() => reason.unwrap(),
    };
    assert!(reason.contains("(25006)"), "{reason}");
    let writes_again = format!("ALTER DATABASE {} RESET default_transaction_read_only", database.name());
    client.batch_execute(&writes_again).await.unwrap();
    migrating.await.unwrap();
}

/// One who asks for anything may wait for a lock as long as may be: the node goes on hearing of revocations.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_feed_waits_behind_nobody() {
    let fixture = PostgresFixture::start().await;
    let store = reader(&fixture, Duration::from_secs(20)).await;
    let stall = stall(&fixture, "client").await;
    let mut finds = pin!(join_all((0..8).map(|_| find(&store))));
    let beginning = FeedPosition::default();
    tokio::select! {
        biased;
        found = &mut finds => panic!("the table is locked: {found:?}"),
        read = Feed::read(&store, &beginning) => assert_eq!(read.unwrap().markers, []),
    }
    stall.batch_execute("COMMIT").await.unwrap();
    assert!(finds.await.iter().all(|found| matches!(found, Ok(None))));
}

/// The server's processes that nodes had look for clients last.
async fn finders(client: &Client) -> BTreeSet<i32> {
    let sql = "SELECT pid FROM pg_stat_activity
        WHERE datname = current_database() AND application_name = 'sluice' AND query LIKE '%FROM client%'";
    client.query(sql, &[]).await.unwrap().iter().map(|row| row.get(0)).collect()
}

/// Each is cut off by the server when its own time is over: those behind it had to wait so long in vain.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_statement_that_waited_in_vain_costs_nobody_the_connection() {
    let fixture = PostgresFixture::start().await;
    let store = reader(&fixture, Duration::from_millis(500)).await;
    let watching = connection(fixture.dsn()).await;
    let before = finders(&watching).await;
    assert_eq!(before.len(), 1);
    let stall = stall(&fixture, "client").await;
    let finds = join_all((0..8).map(|_| find(&store))).await;
    assert!(finds.iter().all(|found| matches!(found, Err(StoreError::Unavailable(_)))), "{finds:?}");
    stall.batch_execute("COMMIT").await.unwrap();
    assert_eq!(find(&store).await.unwrap(), None);
    assert_eq!(finders(&watching).await, before);
}

/// However many read: a server that is coming back has other things to do.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_away_is_dialled_ten_times_a_second_at_most() {
    let fixture = PostgresFixture::start().await;
    let proxy = Proxy::start(fixture.dsn()).await;
    let deadline = Duration::from_millis(300);
    let options = StoreOptions { readers: NonZeroUsize::MIN, deadline, ..options() };
    let store = PostgresStore::connect(&proxy.dsn(fixture.dsn()), options).await.unwrap();
    let (began, many) = (Instant::now(), 1_000_000);
    proxy.refuse(many);
    proxy.cut_after("FROM oauth_grant");
    for _ in 0..10 {
        let finds = join_all((0..20).map(|_| GrantRepository::find(&store, given::grant_id()))).await;
        assert!(finds.iter().all(|found| matches!(found, Err(StoreError::Unavailable(_)))), "{finds:?}");
    }
    let (dialled, tenths) = (many - proxy.refusals(), began.elapsed().as_millis() / 100);
    assert_eq!(proxy.cuts(), 1);
    assert!((1..=tenths + 1).contains(&(dialled as u128)), "{dialled} in {tenths} tenths of a second");
}

/// The network is gone between two packets: what the half transaction has locked is free again soon.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_transaction_that_is_left_half_sent_holds_its_locks_no_longer_than_a_statement() {
    let fixture = PostgresFixture::start().await;
    let proxy = Proxy::start(fixture.dsn()).await;
    let own = StoreOptions { deadline: Duration::from_secs(2), ..options() };
    let patient = StoreOptions { deadline: Duration::from_secs(20), ..own.clone() };
    let severed = PostgresStore::connect(&proxy.dsn(fixture.dsn()), own).await.unwrap();
    let store = PostgresStore::connect(fixture.dsn(), patient).await.unwrap();
    proxy.sever_after("Locks the origin's row");
    let client = given::client_id("shop");
    let revoking = tokio::spawn(async move {
        ClientRepository::revoke_grants(&severed, &client, given::at(20), given::at(9000)).await
    });
    let watching = connection(fixture.dsn()).await;
    let idle = "SELECT count(*) FROM pg_stat_activity
        WHERE datname = current_database() AND state = 'idle in transaction'";
    while watching.query_one(idle, &[]).await.unwrap().get::<_, i64>(0) == 0 {}
    store.revoke(given::grant_id(), given::at(20), given::at(9000)).await.unwrap();
    let severed = revoking.await.unwrap();
    assert!(matches!(severed, Err(StoreError::Unavailable(_))), "{severed:?}");
    assert_eq!(proxy.cuts(), 1);
}

/// The connections that nodes of this name have as the server sees it, those included that they gave up.
async fn connections(application: &str, client: &Client) -> i64 {
    let sql = "SELECT count(*) FROM pg_stat_activity
        WHERE datname = current_database() AND application_name = $1";
    client.query_one(sql, &[&application]).await.unwrap().get(0)
}

/// They wait for a standby that is gone, and the server does not notice that nobody waits for them any more.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commits_that_hang_do_not_use_up_the_connections_of_the_server() {
    let cluster = tokio::task::spawn_blocking(|| PrivateCluster::start().unwrap()).await.unwrap();
    let dsn = cluster.database().await;
    let (lanes, readers) = (NonZeroUsize::MIN, NonZeroUsize::MIN);
    let options = StoreOptions { lanes, readers, deadline: Duration::from_millis(300), ..options() };
    let store = PostgresStore::connect(&dsn, options).await.unwrap();
    store.migrate_up().await.unwrap();
    let watching = connection(&dsn).await;
    cluster.execute("postgres", "ALTER SYSTEM SET synchronous_standby_names = 'nobody'").await;
    cluster.execute("postgres", "SELECT pg_reload_conf()").await;
    while given::insert(&store, &given::grant()).await.is_ok() {}
    for _ in 0..24 {
        let hanging = given::insert(&store, &given::grant()).await;
        assert!(matches!(hanging, Err(StoreError::Unavailable(_))), "{hanging:?}");
    }
    let connections = connections("sluice", &watching).await;
    assert!(connections <= 4, "one for reads, and three that hang: {connections}");
    cluster.execute("postgres", "ALTER SYSTEM RESET synchronous_standby_names").await;
    cluster.execute("postgres", "SELECT pg_reload_conf()").await;
    while given::insert(&store, &given::grant()).await.is_err() {}
}

/// They left, and their statements did not.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_leaves_leaves_the_place_to_the_statement() {
    let fixture = PostgresFixture::start().await;
    let store = reader(&fixture, Duration::from_secs(20)).await;
    let stall = stall(&fixture, "client").await;
    let mut finds: FuturesUnordered<_> = (0..1025).map(|_| find(&store)).collect();
    let last = finds.next().await.unwrap();
    assert!(matches!(last, Err(StoreError::Busy)), "the others are under way: {last:?}");
    drop(finds);
    let turned_away = find(&store).await;
    assert!(matches!(turned_away, Err(StoreError::Busy)), "{turned_away:?}");
    stall.batch_execute("COMMIT").await.unwrap();
    let mut found = find(&store).await;
    while matches!(found, Err(StoreError::Busy)) {
        found = find(&store).await;
    }
    assert_eq!(found.unwrap(), None);
}

/// Who lists looks at much: one at a time, whether or not somebody still waits for it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_leaves_a_listing_leaves_it_its_turn() {
    let fixture = PostgresFixture::start().await;
    let store = reader(&fixture, Duration::from_secs(20)).await;
    let stall = stall(&fixture, "oauth_grant").await;
    let list = || {
        let (subject, now) = (given::subject("alice"), given::at(50));
        let page = GrantPage { subject, session: None, listed: Listed::All, before: None, limit: 10, now };
        GrantRepository::list(&store, page)
    };
    assert!(list().now_or_never().is_none(), "the table is locked");
    let mut lists: FuturesUnordered<_> = (0..129).map(|_| list()).collect();
    let turned_away = lists.next().await.unwrap();
    assert!(matches!(turned_away, Err(StoreError::Busy)), "128 wait for the turn: {turned_away:?}");
    stall.batch_execute("COMMIT").await.unwrap();
    let listed: Vec<_> = lists.collect().await;
    assert!(listed.iter().all(|grants| matches!(grants, Ok(none) if none.is_empty())), "{listed:?}");
}
