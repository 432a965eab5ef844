//! A pooler between a node and PostgreSQL: one that gives each transaction another session is refused, one of sessions is not.

use std::num::NonZeroUsize;
use std::time::{Duration, Instant};

use sluice_commit::{StoreError, chain};
use sluice_oauth::grant::GrantRepository;
use sluice_store_contract::{Fixture, given};
use sluice_store_postgres::{PostgresStore, StoreOptions};
use sluice_testkit::postgres::PrivatePooler;
use sluice_testkit::{Captured, PrivateCluster};
use sluice_token::Feed;
use tokio::time::{sleep, timeout};

use crate::fixture::{PostgresFixture, connection, options};
use crate::proxy::Proxy;

/// A pooler before the cluster that tests share.
async fn pooler(mode: &'static str, connections: usize) -> PrivatePooler {
    let cluster = PrivateCluster::shared().await;
    let started = tokio::task::spawn_blocking(move || PrivatePooler::start(cluster, mode, connections));
    started.await.unwrap().unwrap()
}

/// With one connection the second look waits for the first, with several it comes to another.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pooler_that_gives_each_transaction_another_session_is_refused_at_the_start() {
    let fixture = PostgresFixture::start().await;
    for (mode, connections) in [("transaction", 1), ("transaction", 2), ("transaction", 20), ("statement", 2)]
    {
        let pooler = pooler(mode, connections).await;
        let connected = PostgresStore::connect(&pooler.dsn(fixture.dsn()), options()).await;
        let Err(refused) = connected.map(drop) else { panic!("{mode}, {connections}") };
        assert!(matches!(refused, StoreError::Refused(_)), "{refused:?}");
        let told = chain(&refused);
        assert!(told.contains("pool_mode=transaction or statement"), "{told}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pooler_of_sessions_will_do_also_with_fewer_than_a_node_may_have() {
    let fixture = PostgresFixture::start().await;
    for connections in [1, 3, 20] {
        let pooler = pooler("session", connections).await;
        let one = NonZeroUsize::MIN;
        let options = StoreOptions { lanes: one, readers: one, ..options() };
        let store = PostgresStore::connect(&pooler.dsn(fixture.dsn()), options).await.unwrap();
        let grant = given::inserted(&store, given::grant()).await;
        assert!(GrantRepository::find(&store, grant.id).await.unwrap().is_some());
        store.shutdown().await;
    }
}

/// As of a server that is busy, or that goes away.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_whose_answer_is_late_or_does_not_come_is_no_pooler() {
    /// Asked of each connection as it is opened, and then of the first while the second has a transaction open.
    const PROCESS: &str = "pg_backend_pid";
    let fixture = PostgresFixture::start().await;
    for harm in [Proxy::delay_after, Proxy::cut_late_after] {
        let proxy = Proxy::start(fixture.dsn()).await;
        harm(&proxy, PROCESS, 2);
        let store = PostgresStore::connect(&proxy.dsn(fixture.dsn()), options()).await.unwrap();
        assert_eq!(proxy.cuts(), 1);
        store.shutdown().await;
    }
}

/// As behind something that swallows what is sent, and says nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_hears_nothing_while_it_looks_for_a_pooler_says_so_in_the_end() {
    let fixture = PostgresFixture::start().await;
    let proxy = Proxy::start(fixture.dsn()).await;
    proxy.silence_after("FROM pg_stat_activity WHERE pid");
    let (readers, deadline) = (NonZeroUsize::MIN, Duration::from_secs(2));
    let options = StoreOptions { readers, deadline, ..options() };
    let dsn = proxy.dsn(fixture.dsn());
    let connected = timeout(Duration::from_secs(20), PostgresStore::connect(&dsn, options)).await.unwrap();
    assert_eq!(proxy.cuts(), 1);
    let Err(silent) = connected.map(drop) else { panic!("nothing is answered") };
    assert!(matches!(silent, StoreError::Unavailable(_)), "{silent:?}");
}

/// As when somebody sets another mode. Here others take what the connection of the feed has given back, so that it comes to another process.
#[tokio::test]
async fn a_node_whose_connections_are_no_sessions_any_more_asks_nothing_until_it_is_restarted() {
    let fixture = PostgresFixture::start().await;
    let pooler = pooler("session", 40).await;
    let dsn = pooler.dsn(fixture.dsn());
    let options = StoreOptions { deadline: Duration::from_secs(2), ..options() };
    let store = PostgresStore::connect(&dsn, options).await.unwrap();
    store.wait().await;
    let (log, guard) = Captured::begin();
    let console = connection(&pooler.console()).await;
    console.batch_execute("SET pool_mode = transaction").await.unwrap();
    let (mut others, began) = (Vec::new(), Instant::now());
    while !log.text().contains("PostgreSQL is not asked any more") {
        assert!(began.elapsed() < Duration::from_secs(20), "{}", log.text());
        let other = connection(&dsn).await;
        other.batch_execute("BEGIN").await.unwrap();
        others.push(other);
        sleep(Duration::from_millis(500)).await;
    }
    drop(guard);
    let asked = [store.ping().await, GrantRepository::find(&store, given::grant_id()).await.map(drop)];
    for refused in asked {
        let Err(StoreError::Unavailable(Some(cause))) = &refused else { panic!("{refused:?}") };
        assert!(cause.to_string().contains("stands a pooler"), "{cause}");
    }
}

/// A node would find no tables, or those of another, and migrations would make them there.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_schema_that_the_dsn_names_and_a_pooler_passes_over_is_refused() {
    let fixture = PostgresFixture::start().await;
    let passing_over = pooler("session", 20).await;
    let client = connection(fixture.dsn()).await;
    let dsn = format!("{}&options=-c%20search_path%3Delsewhere,public", fixture.dsn());
    PostgresStore::connect(&dsn, options()).await.unwrap().shutdown().await;
    let refused = PostgresStore::connect(&passing_over.dsn(&dsn), options()).await.map(drop).unwrap_err();
    assert!(matches!(refused, StoreError::Refused(_)), "{refused:?}");
    let told = chain(&refused);
    assert!(told.contains("ALTER ROLE") && told.contains("(\"$user\", public)"), "{told}");
    let by_database = format!("ALTER DATABASE {} SET search_path = elsewhere, public", fixture.name());
    client.batch_execute(&by_database).await.unwrap();
    let another = pooler("session", 20).await;
    PostgresStore::connect(&another.dsn(&dsn), options()).await.unwrap().shutdown().await;
}
