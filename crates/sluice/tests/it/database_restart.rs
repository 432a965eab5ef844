//! PostgreSQL is stopped as by a crash while the server is under load, and comes back: callers are told to try later, the
//! server recovers by itself, and nothing answered is lost. So it is while PostgreSQL does not let the server in, and the log says why.

use std::sync::Arc;
use std::time::Duration;

use reqwest::StatusCode;
use serde_json::json;
use sluice_testkit::{PrivateCluster, Stop};
use tokio::task::spawn_blocking;
use tokio::time::Instant;
use url::Url;

use crate::answer::{Answer, http};
use crate::application::Application;
use crate::load::Load;
use crate::process::{Site, until};

/// Logins before the stop and after the start.
const LOGINS: usize = 60;
/// How long a request waits for the store.
const STORE_PATIENCE: Duration = Duration::from_secs(5);
/// How many callers must have been turned away before the database comes back.
const TURNED_AWAY: usize = 16;

#[tokio::test(flavor = "multi_thread")]
async fn callers_are_told_to_try_later_while_postgres_is_away_and_nothing_answered_is_lost() {
    let cluster = Arc::new(spawn_blocking(|| PrivateCluster::start().unwrap()).await.unwrap());
    let site = Site::on(cluster.database().await);
    let process = site.start().await;
    let application = Application::register(&[&process]).await;
    let mut load = Load::start(&application);
    load.more_logins(LOGINS).await;

    let stopped = Arc::clone(&cluster);
    spawn_blocking(move || stopped.stop(Stop::Immediate).unwrap()).await.unwrap();
    let turned_away = || load.tally().statuses.get(&503).copied().unwrap_or_default();
    until("callers are turned away", async || turned_away() >= TURNED_AWAY).await;
    until("not ready", async || process.readiness().await == Some(StatusCode::SERVICE_UNAVAILABLE)).await;
    let mut soonest = Duration::MAX;
    for _ in 0..3 {
        let asked = Instant::now();
        assert_eq!(process.readiness().await, Some(StatusCode::SERVICE_UNAVAILABLE));
        soonest = soonest.min(asked.elapsed());
    }
    assert!(soonest < STORE_PATIENCE, "health answers sooner than a request: {soonest:?}");

    let started = Arc::clone(&cluster);
    spawn_blocking(move || started.start_again().unwrap()).await.unwrap();
    load.more_logins(LOGINS).await;
    until("ready again", async || process.readiness().await == Some(StatusCode::OK)).await;
    let tally = load.tally();
    let ledger = load.stop().await;
    println!("restart of PostgreSQL: {ledger}, {tally:?}");
    assert!(tally.statuses.keys().all(|status| [200, 201, 302, 303, 503].contains(status)), "{tally:?}");
    assert_eq!((tally.lost, tally.hung, tally.unhelpful), (0, 0, 0), "{tally:?}");
    ledger.check(&application).await;
    process.kill().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn told_to_stop_while_postgres_is_away_it_stops() {
    let cluster = spawn_blocking(|| PrivateCluster::start().unwrap()).await.unwrap();
    let site = Site::on(cluster.database().await);
    let process = site.start().await;
    let application = Application::register(&[&process]).await;
    let mut load = Load::start(&application);
    load.more_logins(5).await;
    spawn_blocking(move || cluster.stop(Stop::Immediate).unwrap()).await.unwrap();
    let asked = Instant::now();
    process.tell_to_stop();
    assert_eq!(process.ended().await.code(), Some(0));
    println!("stopped without a database after {:.1?}", asked.elapsed());
    load.stop().await;
}

/// As while the password of the role is another than that of the DSN.
#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_postgres_does_not_let_in_says_why_and_recovers() {
    let cluster = spawn_blocking(|| PrivateCluster::start().unwrap()).await.unwrap();
    cluster.execute("postgres", "CREATE ROLE node SUPERUSER LOGIN").await;
    let mut dsn: Url = cluster.database().await.parse().unwrap();
    dsn.set_username("node").unwrap();
    let site = Site::on(dsn.into());
    let process = site.start().await;
    cluster.execute("postgres", "ALTER ROLE node NOLOGIN").await;
    let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'node'";
    cluster.execute("postgres", end).await;
    until("not ready", async || process.readiness().await == Some(StatusCode::SERVICE_UNAVAILABLE)).await;
    for line in ["the store does not answer", "the feed cannot be read"] {
        process.logs(&[line, "(28000)"]).await;
    }
    let register = http().post(process.admin.join("/admin/clients").unwrap()).json(&json!({}));
    let answer = Answer::to(register).await;
    assert_eq!((answer.status, answer.header("retry-after")), (503, "1"), "{}", answer.body);
    cluster.execute("postgres", "ALTER ROLE node LOGIN").await;
    until("ready again", async || process.readiness().await == Some(StatusCode::OK)).await;
    process.kill().await;
}
