//! PostgreSQL crashes and comes back under load: callers hear that it is unavailable, and nothing answered is lost.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use sluice_commit::{StoreError, chain};
use sluice_oauth::grant::{GrantRepository, Insertion, Redemption};
use sluice_primitives::GrantId;
use sluice_store_contract::given;
use sluice_store_postgres::{PostgresStore, StoreOptions};
use sluice_testkit::{PrivateCluster, Stop};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::fixture::{node, options};

/// What callers were told so far.
#[derive(Debug, Default)]
struct Told {
    inserted: Vec<GrantId>,
    redeemed: Vec<GrantId>,
    errors: Vec<StoreError>,
}

/// Logs in again and again, one after the other.
async fn log_in(store: Arc<PostgresStore>, told: watch::Sender<Told>, done: Arc<AtomicBool>) {
    while !done.load(Ordering::Relaxed) {
        let grant = given::grant();
        match given::insert(&*store, &grant).await {
            Ok(insertion) => {
                assert_eq!(insertion, Insertion::Inserted);
                told.send_modify(|told| told.inserted.push(grant.id));
            }
            Err(error) => {
                told.send_modify(|told| told.errors.push(error));
                continue;
            }
        }
        match store.redeem_code(given::redeem(grant.id, 20)).await {
            Ok(redemption) => {
                assert!(matches!(redemption, Redemption::Redeemed(_)), "{redemption:?}");
                told.send_modify(|told| told.redeemed.push(grant.id));
            }
            Err(error) => told.send_modify(|told| told.errors.push(error)),
        }
    }
}

async fn restarted_under_load(how: Stop) {
    let cluster = tokio::task::spawn_blocking(|| PrivateCluster::start().unwrap()).await.unwrap();
    let cluster = Arc::new(cluster);
    let impatient = StoreOptions { deadline: Duration::from_millis(300), ..options() };
    let store = Arc::new(PostgresStore::connect(&cluster.database().await, impatient).await.unwrap());
    store.migrate_up().await.unwrap();
    let (told, mut watched) = watch::channel(Told::default());
    let done = Arc::new(AtomicBool::new(false));
    let mut load = JoinSet::new();
    for _ in 0..16 {
        load.spawn(log_in(store.clone(), told.clone(), done.clone()));
    }
    watched.wait_for(|told| told.redeemed.len() > 200).await.unwrap();
    let (stopped, errors_before) = (cluster.clone(), watched.borrow().errors.len());
    tokio::task::spawn_blocking(move || stopped.stop(how).unwrap()).await.unwrap();
    watched.wait_for(|told| told.errors.len() >= errors_before + 16).await.unwrap();
    let started = cluster.clone();
    tokio::task::spawn_blocking(move || started.start_again().unwrap()).await.unwrap();
    let before = watched.borrow().redeemed.len();
    watched.wait_for(|told| told.redeemed.len() > before + 200).await.unwrap();
    done.store(true, Ordering::Relaxed);
    while let Some(ended) = load.join_next().await {
        ended.unwrap();
    }
    nothing_is_lost(&store, &watched.borrow()).await;
    store.shutdown().await;
    assert!(matches!(given::insert(&*store, &given::grant()).await, Err(StoreError::Unavailable(_))));
    assert!(matches!(store.ping().await, Err(StoreError::Unavailable(_))));
}

async fn nothing_is_lost(store: &PostgresStore, told: &Told) {
    for error in &told.errors {
        assert!(matches!(error, StoreError::Unavailable(_)), "{error:?}");
    }
    for id in &told.inserted {
        assert!(GrantRepository::find(store, *id).await.unwrap().is_some(), "{id} was answered and is gone");
    }
    for id in &told.redeemed {
        let grant = GrantRepository::find(store, *id).await.unwrap().unwrap();
        assert!(grant.redeemed_at.is_some() && grant.revoked_at.is_none(), "{grant:?}");
    }
    assert_eq!(given::markers(store).await, []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_answered_is_lost_when_the_server_crashes_under_load() {
    restarted_under_load(Stop::Immediate).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_answered_is_lost_when_the_server_is_restarted_under_load() {
    restarted_under_load(Stop::Fast).await;
}

/// What passes for a node that runs is a mistake in the DSN of one that starts.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_is_not_let_in_at_the_start_is_told_why_and_not_to_wait() {
    let cluster = PrivateCluster::shared().await;
    let stranger = cluster.dsn("postgres").replace("postgres://sluice@", "postgres://nobody@");
    for (dsn, code) in [(cluster.dsn("there_is_none"), "(3D000)"), (stranger, "(28000)")] {
        let Err(error) = PostgresStore::connect(&dsn, options()).await else { panic!("{dsn} lets us in") };
        assert!(matches!(error, StoreError::Refused(_)), "{error:?}");
        assert!(chain(&error).contains(code), "{error:?}");
    }
}

/// Its supervisor starts it again; ten minutes are for what the server answers with.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_migrates_waits_for_a_server_that_went_away_no_longer_than_it_is_told() {
    let cluster = tokio::task::spawn_blocking(|| PrivateCluster::start().unwrap()).await.unwrap();
    let store = node(&cluster.database().await).await;
    let stopped = tokio::task::spawn_blocking(move || {
        cluster.stop(Stop::Immediate).unwrap();
        cluster
    });
    let _cluster = stopped.await.unwrap();
    let mut told = 0;
    let migrating = store.migrate_up_telling(Duration::from_secs(1), |_| told += 1);
    let migrated = tokio::time::timeout(Duration::from_mins(1), migrating).await.expect("it gives up");
    assert!(matches!(migrated, Err(StoreError::Unavailable(Some(_)))), "{migrated:?}");
    assert!(told > 0, "it was tried again");
}
