//! Hosts of a DSN. Of several, who is not there, or says nothing, is passed over while somebody still waits; and who only follows another
//! is nobody to ask.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use sluice_commit::StoreError;
use sluice_oauth::client::ClientRepository;
use sluice_oauth::grant::GrantRepository;
use sluice_oauth::replay::ReplayRepository;
use sluice_store_contract::{Fixture, given};
use sluice_store_postgres::{PostgresStore, StoreOptions};
use sluice_testkit::{PrivateCluster, Stop};
use sluice_token::{Feed, FeedPosition, Target};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::time::{sleep, timeout};
use tokio_postgres::Client;

use crate::fixture::{PostgresFixture, connection, node, options};
use crate::proxy::Proxy;

/// An address to which connections are not even opened, as of a machine that is off: its queue is full.
struct Silence {
    listener: TcpListener,
    _waiting: Vec<TcpStream>,
}

async fn silence() -> Silence {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener = socket.listen(0).unwrap();
    let address = listener.local_addr().unwrap();
    let mut waiting = Vec::new();
    while let Ok(stream) = timeout(Duration::from_millis(300), TcpStream::connect(address)).await {
        waiting.push(stream.unwrap());
    }
    Silence { listener, _waiting: waiting }
}

/// The DSN of a database, with another host before its own.
fn after(first: &TcpListener, dsn: &str) -> String {
    let port = first.local_addr().unwrap().port();
    dsn.replacen('@', &format!("@127.0.0.1:{port},"), 1)
}

/// With the patience that ships.
async fn begins(dsn: &str) {
    let deadline = Duration::from_secs(5);
    let store = PostgresStore::connect(dsn, StoreOptions { deadline, ..options() }).await.unwrap();
    store.ping().await.unwrap();
    store.shutdown().await;
}

#[tokio::test]
async fn the_next_host_is_asked_while_the_first_is_off() {
    let fixture = PostgresFixture::start().await;
    let off = silence().await;
    begins(&after(&off.listener, fixture.dsn())).await;
}

#[tokio::test]
async fn the_next_host_is_asked_while_the_first_hangs() {
    let fixture = PostgresFixture::start().await;
    let hanging = TcpListener::bind("127.0.0.1:0").await.unwrap();
    begins(&after(&hanging, fixture.dsn())).await;
}

/// As some services say where a disk is nearly full: what is read is served, by one of several hosts as by the only one.
#[tokio::test]
async fn one_of_several_hosts_that_is_no_standby_will_do_though_it_only_reads() {
    let fixture = PostgresFixture::start().await;
    let off = silence().await;
    let client = connection(fixture.dsn()).await;
    let only_reads = format!("ALTER DATABASE {} SET default_transaction_read_only = on", fixture.name());
    client.batch_execute(&only_reads).await.unwrap();
    begins(&after(&off.listener, fixture.dsn())).await;
}

/// A name may lead to the former primary for a while, which answers, and what is read there grows old.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_standby_is_as_good_as_away_unless_the_dsn_says_what_it_wants() {
    let cluster = tokio::task::spawn_blocking(|| PrivateCluster::start().unwrap()).await.unwrap();
    let dsn = cluster.database().await;
    let impatient = || StoreOptions { deadline: Duration::from_secs(1), ..options() };
    let before = PostgresStore::connect(&dsn, impatient()).await.unwrap();
    let demoted = tokio::task::spawn_blocking(move || {
        cluster.demote().unwrap();
        cluster
    });
    let _standby = demoted.await.unwrap();
    assert!(matches!(before.ping().await, Err(StoreError::Unavailable(_))));
    let connected = PostgresStore::connect(&dsn, impatient()).await;
    assert!(matches!(connected, Err(StoreError::Unavailable(_))));
    begins(&format!("{dsn}&target_session_attrs=any")).await;
}

/// A primary and who is about to be one, as far as a node can tell, and a way that leads to the first.
struct Switchover {
    former: PrivateCluster,
    next: PrivateCluster,
    way: Proxy,
    /// Of the same database, in the one and the other.
    dsns: [String; 2],
}

impl Switchover {
    async fn prepared() -> Self {
        let start = || tokio::task::spawn_blocking(|| PrivateCluster::start().unwrap());
        let (former, next) = tokio::join!(start(), start());
        let (former, next) = (former.unwrap(), next.unwrap());
        let dsns = [former.database().await, next.database().await];
        for dsn in &dsns {
            node(dsn).await.migrate_up().await.unwrap();
        }
        let way = Proxy::start(&dsns[0]).await;
        Self { former, next, way, dsns }
    }

    /// A node that comes by the way.
    async fn node(&self) -> Arc<PostgresStore> {
        node(&self.way.dsn(&self.dsns[0])).await
    }

    /// The way leads to the next, and the former goes on, but only reads.
    async fn take_place(&self) {
        self.way.lead_to(&self.dsns[1]);
        only_reads(&self.former, true).await;
    }
}

/// Returns when all connections know.
async fn only_reads(cluster: &PrivateCluster, whether: bool) {
    let said = if whether { "on" } else { "off" };
    cluster.execute("postgres", &format!("ALTER SYSTEM SET default_transaction_read_only = {said}")).await;
    cluster.execute("postgres", "SELECT pg_reload_conf()").await;
    let asked = async || -> String {
        let client = connection(&cluster.dsn("postgres")).await;
        client.query_one("SHOW default_transaction_read_only", &[]).await.unwrap().get(0)
    };
    while asked().await != said {}
}

/// A grant that was revoked at the server of this DSN itself.
async fn revoked_at(dsn: &str) -> Target {
    let (other, grant) = (node(dsn).await, given::grant_id());
    other.revoke(grant, given::at(20), given::at(9000)).await.unwrap();
    Target::Grant(grant)
}

/// Hears the feed as nodes do until it tells of this. How many times the node has moved by then.
async fn moves_until_heard(store: &PostgresStore, target: &Target) -> u64 {
    let heard = async {
        while !given::is_marked(store, target).await {
            store.wait().await;
        }
    };
    timeout(Duration::from_secs(30), heard).await.unwrap();
    moves(store).await
}

/// How many times the node has moved, as it is told with what it reads.
async fn moves(store: &PostgresStore) -> u64 {
    Feed::read(store, &FeedPosition::default()).await.unwrap().moves
}

/// It only reads, and the former answers whatever it is asked.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_only_hears_the_feed_follows_a_switchover_and_back() {
    let switchover = Switchover::prepared().await;
    let store = switchover.node().await;
    store.wait().await;
    switchover.take_place().await;
    let revoked = revoked_at(&switchover.dsns[1]).await;
    assert_eq!(moves_until_heard(&store, &revoked).await, 1);
    // The former was not started anew, and writes again.
    only_reads(&switchover.former, false).await;
    let revoked = revoked_at(&switchover.dsns[0]).await;
    switchover.way.lead_to(&switchover.dsns[0]);
    only_reads(&switchover.next, true).await;
    assert_eq!(moves_until_heard(&store, &revoked).await, 2);
}

/// A connection that is only read from is not told that the former may not be written to.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_writes_at_another_server_reads_there_from_then_on() {
    let switchover = Switchover::prepared().await;
    let store = switchover.node().await;
    assert_eq!(GrantRepository::find(&*store, given::grant_id()).await.unwrap(), None);
    given::inserted(&*store, given::grant()).await;
    switchover.take_place().await;
    let grant = given::inserted(&*store, given::grant()).await;
    for _ in 0..4 {
        let found = GrantRepository::find(&*store, grant.id).await.unwrap();
        assert!(found.is_some(), "whichever connection it goes over");
    }
}

/// The way led to the former once more, for a moment, which writes until it is told not to.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_came_to_the_former_after_the_others_had_left_follows_them() {
    let switchover = Switchover::prepared().await;
    let store = switchover.node().await;
    switchover.way.lead_to(&switchover.dsns[1]);
    let grant = given::inserted(&*store, given::grant()).await;
    assert_eq!(given::markers(&*store).await, []);
    let is_found = async || GrantRepository::find(&*store, grant.id).await.unwrap().is_some();
    switchover.way.lead_to(&switchover.dsns[0]);
    for _ in 0..2 {
        assert!(!is_found().await, "both connections for reads are to the former");
    }
    switchover.take_place().await;
    let followed = async {
        while !(is_found().await && is_found().await) {
            store.wait().await;
        }
    };
    timeout(Duration::from_secs(30), followed).await.unwrap();
    assert_eq!(moves(&store).await, 2, "what was read there is read again");
}

/// The connection of the lane rests, since the commits of the former hang, as where its standby is gone.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_rests_before_a_server_that_hangs_does_not_wait_with_going_to_the_next() {
    let switchover = Switchover::prepared().await;
    let options = StoreOptions { lanes: NonZeroUsize::MIN, deadline: Duration::from_secs(2), ..options() };
    let store = PostgresStore::connect(&switchover.way.dsn(&switchover.dsns[0]), options).await.unwrap();
    let hangs = "ALTER SYSTEM SET synchronous_standby_names = 'nobody'";
    for sql in [hangs, "SELECT pg_reload_conf()"] {
        switchover.former.execute("postgres", sql).await;
    }
    while given::insert(&store, &given::grant()).await.is_ok() {}
    // Two fell silent after three seconds each; it rests for six.
    for _ in 0..3 {
        let hanging = given::insert(&store, &given::grant()).await;
        assert!(matches!(hanging, Err(StoreError::Unavailable(_))), "{hanging:?}");
    }
    switchover.way.lead_to(&switchover.dsns[1]);
    let unknown = given::client_id("unknown");
    assert!(!ClientRepository::delete(&store, &unknown, given::at(20), given::at(9000)).await.unwrap());
    given::inserted(&store, given::grant()).await;
}

/// The processes of the server for those who say that this is their name.
async fn processes(application: &str, client: &Client) -> BTreeSet<i32> {
    let sql = "SELECT pid FROM pg_stat_activity WHERE application_name = $1";
    client.query(sql, &[&application]).await.unwrap().iter().map(|row| row.get(0)).collect()
}

/// What holds for a connection is what was set when it was opened: one that is opened later is good, and no other is looked for.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_came_while_a_server_only_read_takes_another_connection_to_it() {
    let (fixture, name) = (PostgresFixture::start().await, "early");
    let client = connection(fixture.dsn()).await;
    let only_reads = format!("ALTER DATABASE {} SET default_transaction_read_only = on", fixture.name());
    client.batch_execute(&only_reads).await.unwrap();
    let store = node(&format!("{}&application_name={name}", fixture.dsn())).await;
    assert_eq!(given::markers(&*store).await, []);
    let early = processes(name, &client).await;
    assert_eq!(early.len(), 2);
    let writes_again = format!("ALTER DATABASE {} RESET default_transaction_read_only", fixture.name());
    client.batch_execute(&writes_again).await.unwrap();
    let replaced = async {
        while early.is_subset(&processes(name, &client).await) {
            store.wait().await;
        }
    };
    timeout(Duration::from_secs(30), replaced).await.unwrap();
    assert_eq!(moves(&store).await, 0, "it is the same server");
}

/// A node on a server that only reads from now on, the way there, how many connections it has led so far, and what lets the server write again.
async fn node_that_may_not_write(fixture: &PostgresFixture) -> (Arc<PostgresStore>, Proxy, usize, String) {
    let proxy = Proxy::start(fixture.dsn()).await;
    let store = node(&proxy.dsn(fixture.dsn())).await;
    let only_reads = format!("ALTER DATABASE {} SET default_transaction_read_only = on", fixture.name());
    connection(fixture.dsn()).await.batch_execute(&only_reads).await.unwrap();
    let (led, name) = (proxy.led(), fixture.name());
    (store, proxy, led, format!("ALTER DATABASE {name} RESET default_transaction_read_only"))
}

/// Each would begin a process there. What was set when a connection was opened holds for it, so another one is needed in the end.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_waits_for_a_server_to_write_opens_four_connections_a_second_at_most_and_writes_at_last() {
    let fixture = PostgresFixture::start().await;
    let client = connection(fixture.dsn()).await;
    let (store, proxy, before, writes_again) = node_that_may_not_write(&fixture).await;
    let (began, unknown) = (Instant::now(), given::client_id("unknown"));
    let mut deleting = pin!(ClientRepository::delete(&*store, &unknown, given::at(20), given::at(9000)));
    let deleted = timeout(Duration::from_secs(3), deleting.as_mut()).await;
    assert!(deleted.is_err(), "nothing can be written: {deleted:?}");
    let (opened, seconds) = (proxy.led() - before, began.elapsed().as_secs());
    assert!((2..=4 * (seconds + 1)).contains(&(opened as u64)), "{opened} in {seconds} seconds");
    client.batch_execute(&writes_again).await.unwrap();
    assert!(!deleting.await.unwrap());
}

/// How often a commit of the queues has come to nothing for want of a connection that writes.
fn lost(store: &PostgresStore) -> u64 {
    store.commit_metrics().snapshot().lost_total
}

/// A queue tries once a second in the end: it has no attempt to lose on a connection that was refused before.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_first_attempt_of_a_queue_after_a_server_writes_again_goes_over_another_connection() {
    let fixture = PostgresFixture::start().await;
    let client = connection(fixture.dsn()).await;
    let (store, proxy, _, writes_again) = node_that_may_not_write(&fixture).await;
    let refused = async {
        // From then on it rests for a second.
        while lost(&store) < 9 {
            sleep(Duration::from_millis(5)).await;
        }
        client.batch_execute(&writes_again).await.unwrap();
        (lost(&store), proxy.led())
    };
    let (_, (lost_before, led_before)) = tokio::join!(given::inserted(&*store, given::grant()), refused);
    // One may have been under way when the server was told.
    assert!(lost(&store) <= lost_before + 1, "{lost_before} {}", lost(&store));
    assert!(proxy.led() > led_before);
}

/// However long others would wait: each attempt leaves an error in the log of the server.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_nobody_waits_for_is_tried_no_more_than_twice_while_a_server_only_reads() {
    let fixture = PostgresFixture::start().await;
    let client = connection(fixture.dsn()).await;
    let (store, proxy, before, writes_again) = node_that_may_not_write(&fixture).await;
    let tidy = async || ReplayRepository::purge_expired(&*store, given::at(20), 10).await;
    let (began, purged) = (Instant::now(), tidy().await);
    let Err(StoreError::Unavailable(Some(why))) = &purged else { panic!("{purged:?}") };
    assert!(why.to_string().contains("(25006)"), "{why}");
    assert!(began.elapsed() < options().deadline, "{:?}", began.elapsed());
    assert!(proxy.led() - before <= 2, "{}", proxy.led() - before);
    client.batch_execute(&writes_again).await.unwrap();
    sleep(Duration::from_secs(1)).await;
    assert_eq!(tidy().await.unwrap(), 0);
}

/// It stays where it is, and the server may have lost something all the same.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_is_content_with_any_server_notices_that_it_was_started_anew() {
    let cluster = tokio::task::spawn_blocking(|| PrivateCluster::start().unwrap()).await.unwrap();
    let dsn = cluster.database().await;
    node(&dsn).await.migrate_up().await.unwrap();
    let store = node(&format!("{dsn}&target_session_attrs=any")).await;
    assert_eq!(moves(&store).await, 0);
    let restarted = tokio::task::spawn_blocking(move || {
        cluster.stop(Stop::Fast).unwrap();
        cluster.start_again().unwrap();
        cluster
    });
    let _cluster = restarted.await.unwrap();
    let noticed = async { while moves(&store).await == 0 {} };
    timeout(Duration::from_secs(30), noticed).await.unwrap();
}

/// The former primary is the first of the hosts, and still there.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_several_hosts_one_that_writes_is_taken_before_one_that_only_reads() {
    let switchover = Switchover::prepared().await;
    only_reads(&switchover.former, true).await;
    let next = format!("@127.0.0.1:{}/", switchover.next.port());
    let both = format!("@127.0.0.1:{},127.0.0.1:{}/", switchover.former.port(), switchover.next.port());
    let store = node(&switchover.dsns[1].replacen(&next, &both, 1)).await;
    given::inserted(&*store, given::grant()).await;
}
