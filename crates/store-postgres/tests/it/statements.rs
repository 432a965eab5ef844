//! How many statements writes cost, and how they are planned.

use futures_util::future::join_all;
use sluice_oauth::grant::{Grant, GrantRepository, Redemption};
use sluice_store_contract::{Fixture, given};
use sluice_store_postgres::{StoreStatistics, WriteCount};

use crate::fixture::{PostgresFixture, connection};

const ONE: WriteCount = WriteCount { statements: 1, commits: 1, rows: 1 };
const NONE: WriteCount = WriteCount { statements: 0, commits: 0, rows: 0 };

#[tokio::test]
async fn a_login_and_a_refresh_are_one_statement_a_step() {
    let fixture = PostgresFixture::start().await;
    let store = fixture.store();
    let grant = given::redeemed(&*store, given::grant()).await;
    let login = StoreStatistics { grant_inserts: ONE, redemptions: ONE, ..StoreStatistics::default() };
    assert_eq!(store.statistics(), login);
    given::rotated(&*store, given::rotate(grant.id, 0, 30)).await;
    assert_eq!(store.statistics(), StoreStatistics { rotations: ONE, others: NONE, ..login });
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn logins_that_arrive_together_share_statements() {
    let fixture = PostgresFixture::start().await;
    let store = fixture.store();
    let grants: Vec<Grant> = (0..2000).map(|_| given::grant()).collect();
    let inserts = join_all(grants.iter().map(|grant| given::insert(&*store, grant))).await;
    assert!(inserts.iter().all(Result::is_ok));
    let redeemed = join_all(grants.iter().map(|grant| store.redeem_code(given::redeem(grant.id, 20)))).await;
    assert!(redeemed.iter().all(|outcome| matches!(outcome, Ok(Redemption::Redeemed(_)))));
    let StoreStatistics { grant_inserts, redemptions, .. } = store.statistics();
    assert_eq!((grant_inserts.rows, redemptions.rows), (2000, 2000));
    assert!(grant_inserts.statements < 200 && redemptions.statements < 200, "{:?}", store.statistics());
    let metrics = store.commit_metrics().snapshot();
    assert_eq!((metrics.rows_total, metrics.poisoned_total, metrics.lost_total), (4000, 0, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_redeemed_code_touches_no_index() {
    let fixture = PostgresFixture::start().await;
    let store = crate::fixture::node(fixture.dsn()).await;
    for _ in 0..4 {
        let grants: Vec<Grant> = (0..500).map(|_| given::grant()).collect();
        join_all(grants.iter().map(|grant| given::insert(&*store, grant))).await;
        join_all(grants.iter().map(|grant| store.redeem_code(given::redeem(grant.id, 20)))).await;
    }
    store.shutdown().await; // a connection that ends tells its counts
    let client = connection(fixture.dsn()).await;
    let counts = "SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables WHERE relname = 'oauth_grant'";
    let (updated, hot) = loop {
        let row = client.query_one(counts, &[]).await.unwrap();
        let (updated, hot): (i64, i64) = (row.get(0), row.get(1));
        if updated == 2000 {
            break (updated, hot);
        }
    };
    assert!(hot * 100 >= updated * 95, "{hot} of {updated} updates were HOT");
}

/// With the settings of the store's own connections, on empty tables, which tempt a planner most.
#[tokio::test]
async fn hot_writes_find_rows_by_their_keys_and_join_by_hashing() {
    let fixture = PostgresFixture::start().await;
    let client = connection(fixture.dsn()).await;
    client.batch_execute("SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off").await.unwrap();
    let redeem = include_str!("../../src/grant/redeem_code.sql");
    let plan = explain(&client, "redeem", redeem, "'{}','{}','{}','{}'").await;
    assert!(plan.contains("Index Scan using oauth_grant_pkey"), "{plan}");
    assert_eq!(plan.matches("revocation_target").count(), 4, "{plan}");
    assert!(!plan.contains("Seq Scan"), "{plan}");
    let register = include_str!("../../src/identity/register.sql");
    let plan = explain(&client, "register", register, "'{}','{}','{}','{}','{}','{}','{}'").await;
    assert!(plan.contains("Hash Join") || plan.contains("Merge Join"), "{plan}");
    let insert = include_str!("../../src/grant/insert_with_more.sql");
    let plan = explain(&client, "insert", insert, &vec!["'{}'"; 24].join(",")).await;
    assert!(!plan.contains("Seq Scan"), "{plan}");
    assert_eq!(plan.matches("Hash Join").count() + plan.matches("Merge Join").count(), 2, "{plan}");
}

async fn explain(client: &tokio_postgres::Client, name: &str, sql: &str, values: &str) -> String {
    client.batch_execute(&format!("PREPARE {name} AS {sql}")).await.unwrap();
    let rows = client.query(&format!("EXPLAIN EXECUTE {name}({values})"), &[]).await.unwrap();
    rows.iter().map(|row| row.get::<_, String>(0)).collect::<Vec<_>>().join("\n")
}
