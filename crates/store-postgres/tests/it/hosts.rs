//! Hosts of a DSN. Of several, who is not there, or says nothing, is passed over while somebody still waits; and who only follows another
//! is nobody to ask.

use std::time::Duration;

use sluice_commit::StoreError;
use sluice_store_contract::Fixture;
use sluice_store_postgres::{PostgresStore, StoreOptions};
use sluice_testkit::PrivateCluster;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::time::timeout;

use crate::fixture::{PostgresFixture, connection, options};

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
