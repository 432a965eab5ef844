//! Several processes on one database: what one knows, the others know.

use std::time::Duration;

use sluice_testkit::postgres::TemporaryDatabase;
use sluice_testkit::{Backend, PrivateCluster};
use tokio::time::Instant;

use crate::application::Application;
use crate::load::Load;
use crate::process::{Process, Site, until};
use crate::program::run;

/// A revocation is heard by the other nodes within a second; more on a busy machine.
const HEARD: Duration = Duration::from_secs(10);

async fn two_nodes(backend: Backend) -> (Site, Process, Process) {
    let site = Site::fresh(backend).await;
    let (one, other) = (site.start().await, site.start().await);
    (site, one, other)
}

/// Every request goes to the other node than the one before.
async fn a_login_goes_from_node_to_node(backend: Backend) {
    let (_site, one, other) = two_nodes(backend).await;
    let both = Application::register(&[&one, &other]).await;
    let code = both.log_in("alice").await.expect("a code");
    let tokens = both.redeem(&code).await.expect("tokens");
    assert!(both.at(&[&one]).is_active(&tokens).await.unwrap());
    assert!(both.at(&[&other]).is_active(&tokens).await.unwrap());
    let refreshed = both.refresh(&tokens).await.expect("refreshed");

    both.at(&[&one]).revoke(&refreshed).await.expect("revoked");
    let revoked = Instant::now();
    let asked = both.at(&[&other]);
    until("heard by the other node", async || !asked.is_active(&refreshed).await.unwrap()).await;
    println!("{backend:?}: a revocation was heard by the other node after {:.1?}", revoked.elapsed());
    assert!(revoked.elapsed() < HEARD, "heard after {:?}", revoked.elapsed());
    assert!(asked.refresh(&refreshed).await.is_err_and(|error| error.is("invalid_grant")));
    one.kill().await;
    other.kill().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_login_goes_from_node_to_node_on_sqlite() {
    a_login_goes_from_node_to_node(Backend::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_login_goes_from_node_to_node_on_postgres() {
    a_login_goes_from_node_to_node(Backend::Postgres).await;
}

/// Under load both nodes write; nobody is refused for it, and nothing is lost.
async fn two_nodes_write_at_once(backend: Backend) {
    let (_site, one, other) = two_nodes(backend).await;
    let both = Application::register(&[&one, &other]).await;
    let mut load = Load::start(&both);
    load.more_logins(60).await;
    let ledger = load.stop().await;
    let tally = both.tally();
    assert!(tally.statuses.keys().all(|status| [200, 201, 302, 303].contains(status)), "{tally:?}");
    ledger.check(&both).await;
    one.kill().await;
    other.kill().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_nodes_write_at_once_on_sqlite() {
    two_nodes_write_at_once(Backend::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_nodes_write_at_once_on_postgres() {
    two_nodes_write_at_once(Backend::Postgres).await;
}

/// Whoever is first makes the schema, the secret and the keys; all others find them.
async fn started_at_once_on_an_empty_database(backend: Backend, count: usize) {
    let site = Site::fresh(backend).await;
    let begun = Instant::now();
    let nodes = site.start_at_once(count).await;
    println!("{backend:?}: {count} nodes ready after {:.1?}", begun.elapsed());
    let all = Application::register(&nodes.iter().collect::<Vec<_>>()).await;
    let keys = all.at(&[&nodes[0]]).public_keys().await.expect("public keys");
    let algorithms: Vec<_> = keys.iter().map(|(algorithm, _)| algorithm.as_str()).collect();
    let one_each = ["ES256", "ES256", "RS256", "RS256", "RSA-OAEP-256"];
    assert_eq!(algorithms, one_each, "of each kind one key for id tokens, access tokens, request objects");
    for node in &nodes {
        assert_eq!(all.at(&[node]).public_keys().await.expect("public keys"), keys);
    }
    let code = all.log_in("alice").await.expect("every node opens what another sealed");
    let tokens = all.redeem(&code).await.expect("tokens");
    for node in &nodes {
        assert!(all.at(&[node]).is_active(&tokens).await.unwrap());
    }
    for node in nodes {
        node.kill().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_nodes_start_at_once_on_an_empty_postgres_database() {
    started_at_once_on_an_empty_database(Backend::Postgres, 10).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn five_nodes_start_at_once_on_an_empty_sqlite_file() {
    started_at_once_on_an_empty_database(Backend::Sqlite, 5).await;
}

/// It lacks nothing that is at rest, so that it starts as if it were one of them.
async fn a_node_with_another_secret_is_said_to_differ(backend: Backend) {
    let mut site = Site::fresh(backend).await;
    let (storage, pepper) = ("a-storage-secret-for-tests", "a-pepper-for-these-tests");
    site.set(&[("secrets.storage", storage), ("secrets.pepper", pepper)]);
    site.set(&[("secrets.system", "the-secret-of-all-for-tests")]);
    let one = site.start().await;
    site.set(&[("secrets.system", "another-secret-for-tests")]);
    let other = site.start().await;
    let told = "nodes on this database differ in a setting that must be alike on all";
    other.logs(&["ERROR", told, "secrets.system", "does not open on the other"]).await;
    let secrets = [
        ("SECRETS_SYSTEM", "a-third-secret-for-tests"),
        ("SECRETS_STORAGE", storage),
        ("SECRETS_PEPPER", pepper),
    ];
    let status = run(&["secrets", "status", "--dev", "--set", &format!("dsn={}", site.dsn())], &secrets);
    let differ = "nodes            2 of 2 differ in secrets.system: what is sealed on either does not open on the other";
    assert!(status.success && status.stdout.lines().any(|line| line == differ), "{status:?}");
    one.kill().await;
    other.kill().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_with_another_secret_is_said_to_differ_on_sqlite() {
    a_node_with_another_secret_is_said_to_differ(Backend::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_with_another_secret_is_said_to_differ_on_postgres() {
    a_node_with_another_secret_is_said_to_differ(Backend::Postgres).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_secrets_protect_is_told_where_nodes_cannot_be_asked() {
    let cluster = PrivateCluster::shared().await;
    let database = TemporaryDatabase::of(cluster).await;
    let migrated = run(&["migrate", "sql", "up", database.dsn(), "--yes"], &[]);
    assert!(migrated.success, "{}", migrated.stderr);
    cluster.execute(database.name(), "ALTER TABLE serving_node RENAME COLUMN host TO machine").await;
    let (dsn, secret) =
        (format!("dsn={}", database.dsn()), ("SECRETS_SYSTEM", "the-secret-of-all-for-tests"));
    let status = run(&["secrets", "status", "--dev", "--set", &dsn], &[secret]);
    let told = status.stdout.lines().any(|line| line.starts_with("nodes            cannot be asked: "));
    assert!(status.success && told, "{status:?}");
}
