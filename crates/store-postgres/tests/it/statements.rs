//! How many statements writes cost, and how they are planned.

use std::collections::HashSet;

use futures_util::future::join_all;
use sluice_identity::identity::{IdentityRepository, NewIdentity, Registration, RegistrationLetters};
use sluice_identity::mail::{CodeByMail, CodePurpose, MailRepository};
use sluice_oauth::client::ClientRepository;
use sluice_oauth::consent::{ConsentRepository, Forget};
use sluice_oauth::device::{DeviceCodeRepository, DevicePoll};
use sluice_oauth::grant::{
    Grant, GrantPage, GrantRepository, Insertion, Listed, RedeemCode, Redemption, RotateRefresh,
};
use sluice_primitives::{GrantId, Lifetime, OsRng, Timestamp};
use sluice_store_contract::{Fixture, given};
use sluice_store_postgres::{StoreStatistics, WriteCount};
use sluice_token::{Change, Feed, FeedPosition, Target};

use crate::fixture::{PostgresFixture, connection};
use crate::identity_plans::{plan, planner};

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

#[tokio::test]
async fn what_a_hook_said_costs_no_statement_more() {
    let fixture = PostgresFixture::start().await;
    let store = fixture.store();
    let grant = given::inserted(&*store, given::grant()).await;
    let claims = || Some(Box::new(given::replaced_by("a hook")));
    let redeem = RedeemCode { claims: claims(), ..given::redeem(grant.id, 20) };
    assert!(matches!(store.redeem_code(redeem).await.unwrap(), Redemption::Redeemed(_)));
    given::rotated(&*store, RotateRefresh { claims: claims(), ..given::rotate(grant.id, 0, 30) }).await;
    let steps = StoreStatistics { grant_inserts: ONE, redemptions: ONE, ..StoreStatistics::default() };
    assert_eq!(store.statistics(), StoreStatistics { rotations: ONE, others: NONE, ..steps });
}

#[tokio::test]
async fn a_poll_of_a_device_is_one_statement() {
    let fixture = PostgresFixture::start().await;
    let store = fixture.store();
    let code = given::device_code();
    assert!(DeviceCodeRepository::insert(&*store, code.clone(), given::at(0)).await.unwrap());
    let before = store.statistics();
    let polled = store.poll(code.id, given::at(5), Lifetime::secs(5)).await.unwrap();
    assert_eq!(polled, DevicePoll::Pending);
    let others = WriteCount {
        statements: before.others.statements + 1,
        commits: before.others.commits + 1,
        rows: before.others.rows + 1,
    };
    assert_eq!(store.statistics(), StoreStatistics { others, ..before });
}

#[tokio::test]
async fn to_forget_all_consents_takes_the_same_statements_however_many_there_are() {
    let fixture = PostgresFixture::start().await;
    let store = fixture.store();
    for client in 0..50 {
        let client = given::client_id(&format!("client {client}"));
        given::inserted(&*store, Grant { client, ..given::grant() }).await;
    }
    let before = store.statistics();
    let (subject, now, marker_expires_at) = (given::subject("alice"), given::at(20), given::at(9000));
    store.forget(Forget { subject, client: None, now, marker_expires_at }).await.unwrap();
    let after = store.statistics();
    assert_eq!(
        (after.others.commits - before.others.commits, after.grant_inserts),
        (1, before.grant_inserts)
    );
    assert_eq!(after.others.statements - before.others.statements, 3, "counter, marker, decisions");
    assert_eq!(given::markers(&*store).await.len(), 1);
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
async fn registrations_share_statements_also_with_what_is_written_to_their_addresses() {
    let fixture = PostgresFixture::start().await;
    let store = fixture.store();
    let news = (0..2000).map(|number| {
        let identity = given::identity(&format!("user-{number}"));
        let code = given::mail_code(identity.id, CodePurpose::VerifyEmail);
        let letters =
            RegistrationLetters { welcome: CodeByMail { code, mail: given::mail(0) }, if_taken: None };
        NewIdentity { identity, letters: Some(Box::new(letters)) }
    });
    let registered = join_all(news.map(|new| store.register(new))).await;
    assert!(registered.iter().all(|outcome| matches!(outcome, Ok(Registration::Registered))));
    let StoreStatistics { registrations, others, .. } = store.statistics();
    assert_eq!((registrations.rows, others), (2000, NONE));
    assert!(registrations.statements < 200, "{registrations:?}");
    assert_eq!(registrations.statements, registrations.commits);
    assert_eq!(MailRepository::depth(&*store).await.unwrap(), (2000, 0));
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

/// Those whose id is taken, too, of which the feed tells nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_that_are_made_together_share_statements_and_are_all_told_of() {
    let fixture = PostgresFixture::start().await;
    let store = fixture.store();
    let before = store.statistics().others;
    let clients: Vec<_> =
        (0..1000).map(|number| given::client(&format!("client-{number}"), "acme")).collect();
    let twice = clients.iter().chain(clients.iter().take(100));
    let made = join_all(twice.map(|client| ClientRepository::insert(&*store, client))).await;
    let made: Vec<_> = made.into_iter().map(Result::unwrap).collect();
    assert_eq!(made.iter().filter(|outcome| **outcome == Insertion::Inserted).count(), 1000);
    let others = store.statistics().others;
    assert!(others.statements - before.statements < 200, "{others:?}");
    let told = store.read(&FeedPosition::default()).await.unwrap().changes;
    let told: HashSet<_> = told.into_iter().collect();
    let expected = clients.iter().map(|client| Change::Client(client.id.clone())).collect();
    assert_eq!(told, expected);
}

/// Those that are revoked already or are no rows, too.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn grants_that_are_revoked_together_share_statements_and_are_all_marked() {
    let fixture = PostgresFixture::start().await;
    let store = fixture.store();
    let rows: Vec<Grant> = (0..500).map(|_| given::grant()).collect();
    join_all(rows.iter().map(|grant| given::insert(&*store, grant))).await;
    let before = store.statistics().others;
    let ids: Vec<GrantId> =
        rows.iter().map(|grant| grant.id).chain((0..500).map(|_| given::grant().id)).collect();
    for _ in 0..2 {
        let revoked = join_all(ids.iter().map(|id| store.revoke(*id, given::at(20), given::at(9000)))).await;
        assert!(revoked.iter().all(Result::is_ok));
    }
    let others = store.statistics().others;
    assert!(others.statements - before.statements < 200, "{others:?}");
    let marked: HashSet<_> = given::markers(&*store).await.into_iter().map(|marker| marker.target).collect();
    assert_eq!(marked, ids.into_iter().map(Target::Grant).collect());
    for grant in rows {
        let found = GrantRepository::find(&*store, grant.id).await.unwrap().unwrap();
        assert_eq!(found.revoked_at, Some(given::at(20)));
    }
    let client = connection(fixture.dsn()).await;
    client.batch_execute("SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off").await.unwrap();
    let revoke = include_str!("../../src/grant/revoke.sql");
    let plan = explain(&client, "revoke", revoke, "'{}','{}','{}',NULL,0,1").await;
    assert!(plan.contains("oauth_grant_pkey") && !plan.contains("Seq Scan"), "{plan}");
    let revoke_late = include_str!("../../src/grant/revoke_late.sql");
    let plan = explain(&client, "revoke_late", revoke_late, "'{}','{}'").await;
    assert!(plan.contains("oauth_grant_pkey") && !plan.contains("Seq Scan"), "{plan}");
}

/// The same pair twice in one batch, too.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn decisions_that_are_looked_for_together_share_statements() {
    let fixture = PostgresFixture::start().await;
    let store = fixture.store();
    let remember = given::decision();
    let (alice, shop) = (remember.subject.clone(), remember.client.clone());
    GrantRepository::insert(&*store, given::grant(), Some(remember.clone()), false).await.unwrap();
    let bob = given::subject("bob");
    let lookups = (0..2000).map(|number| {
        let who = if number % 2 == 0 { &alice } else { &bob };
        ConsentRepository::find(&*store, who, &shop, given::at(20))
    });
    let found = join_all(lookups).await;
    for (number, found) in found.into_iter().enumerate() {
        assert_eq!(found.unwrap(), (number % 2 == 0).then(|| remember.clone()));
    }
    let client = connection(fixture.dsn()).await;
    let plan = explain(&client, "find", include_str!("../../src/consent/find.sql"), "'{}','{}','{}'").await;
    assert!(plan.contains("consent_pkey"), "{plan}");
    let metrics = store.lookup_metrics().snapshot();
    assert_eq!(metrics.rows_total, 2000);
    assert!(metrics.batches_total < 200, "{metrics:?}");
}

/// With the settings of the store's own connections, on empty tables, which tempt a planner most.
#[tokio::test]
async fn hot_writes_find_rows_by_their_keys_and_join_by_hashing() {
    let fixture = PostgresFixture::start().await;
    let client = connection(fixture.dsn()).await;
    client.batch_execute("SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off").await.unwrap();
    let redeem = include_str!("../../src/grant/redeem_code.sql");
    let with_claims = include_str!("../../src/grant/redeem_code_with_claims.sql");
    for (name, redeem, arrays) in [("redeem", redeem, 5), ("redeem_with_claims", with_claims, 6)] {
        let plan = explain(&client, name, redeem, &vec!["'{}'"; arrays].join(",")).await;
        assert!(plan.contains("Index Scan using oauth_grant_pkey"), "{plan}");
        assert_eq!(plan.matches("revocation_target").count(), 6, "{plan}");
        assert!(!plan.contains("Seq Scan"), "{plan}");
    }
    let rotate = include_str!("../../src/grant/rotate_refresh_with_claims.sql");
    let plan = explain(&client, "rotate", rotate, "'{}','{}','{}','{}','{}','{}',0,'{}'").await;
    assert!(plan.contains("Index Scan using oauth_grant_pkey") && !plan.contains("Seq Scan"), "{plan}");
    let register = include_str!("../../src/identity/register.sql");
    let plan = explain(&client, "register", register, &["'{}'"; 10].join(",")).await;
    assert!(
        plan.contains("Index Cond: (name_hash = ") && plan.contains("Index Cond: (identity_id = "),
        "{plan}"
    );
    assert!(!plan.contains("Seq Scan") && !plan.contains("Join"), "{plan}");
    let register = include_str!("../../src/identity/register_with_letters.sql");
    let values = [&["'{}'"; 21][..], &["10"]].concat().join(",");
    let plan = explain(&client, "register_with_letters", register, &values).await;
    assert!(!plan.contains("Seq Scan") && !plan.contains("Nested Loop"), "{plan}");
    let insert = include_str!("../../src/grant/insert_with_more.sql");
    let plan = explain(&client, "insert", insert, &vec!["'{}'"; 25].join(",")).await;
    assert!(!plan.contains("Seq Scan"), "{plan}");
    assert_eq!(plan.matches("Hash Join").count() + plan.matches("Merge Join").count(), 3, "{plan}");
    assert!(plan.contains("login_session_pkey"), "{plan}");
}

/// Grants of many times, of which one subject has a few: they are found by the index, time by time.
#[tokio::test]
async fn what_a_subject_granted_is_found_by_times() {
    let fixture = PostgresFixture::start().await;
    let store = fixture.store();
    let client = connection(fixture.dsn()).await;
    let day = 24 * 60 * 60;
    let mut granted = Vec::new();
    for (number, at) in [0, 1, 2, day, day + 1, 9 * day].into_iter().enumerate() {
        let subject = given::subject(if number == 4 { "bob" } else { "alice" });
        let id = GrantId::generate(given::at(at), &OsRng);
        let (redeemed_at, expires_at) = (Some(given::at(at)), Timestamp::NEVER);
        given::inserted(&*store, Grant { id, subject, redeemed_at, expires_at, ..given::grant() }).await;
        granted.push(id);
    }
    let page = |limit, before| {
        let (subject, now) = (given::subject("alice"), given::at(10 * day));
        let page = GrantPage { subject, session: None, listed: Listed::All, before, now, limit };
        GrantRepository::list(&*store, page)
    };
    let ids = |grants: Vec<Grant>| grants.iter().map(|grant| grant.id).collect::<Vec<_>>();
    let newest_first = |places: &[usize]| places.iter().map(|place| granted[*place]).collect::<Vec<_>>();
    assert_eq!(ids(page(10, None).await.unwrap()), newest_first(&[5, 3, 2, 1, 0]));
    assert_eq!(ids(page(2, None).await.unwrap()), newest_first(&[5, 3]));
    assert_eq!(ids(page(2, Some(granted[3])).await.unwrap()), newest_first(&[2, 1]));
    client.batch_execute("SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off").await.unwrap();
    let plan =
        explain(&client, "list", include_str!("../../src/grant/list.sql"), "'',NULL,NULL,0,10,FALSE").await;
    assert!(plan.contains("subject = $1"), "{plan}");
    assert!(!plan.contains("Seq Scan") && !plan.contains("oauth_grant_pkey"), "{plan}");
    assert_eq!(plan.matches("oauth_grant_time").count(), 3, "{plan}");
    assert_eq!(plan.matches("consent_pkey").count(), 1, "{plan}");
    let decisions = include_str!("../../src/consent/list.sql");
    let plan = explain(&client, "decisions", decisions, "'',NULL,NULL,0,10").await;
    assert!(plan.contains("consent_pkey") && !plan.contains("Seq Scan"), "{plan}");
    assert!(!plan.contains("consent_expiry"), "nearly all have not ended: {plan}");
    let made_in = include_str!("../../src/consent/made_in.sql");
    let plan = explain(&client, "made_in", made_in, "NULL").await;
    assert!(plan.contains("consent_flow") && !plan.contains("Seq Scan"), "{plan}");
}

#[tokio::test]
async fn device_codes_and_trusted_issuers_are_found_by_their_keys() {
    let fixture = PostgresFixture::start().await;
    let client = connection(fixture.dsn()).await;
    client.batch_execute("SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off").await.unwrap();
    let poll = include_str!("../../src/device/poll.sql");
    let plan = explain(&client, "poll", poll, "NULL,0,0,0,NULL").await;
    assert!(plan.contains("device_code_id") && plan.contains("oauth_grant_pkey"), "{plan}");
    assert!(!plan.contains("Seq Scan"), "{plan}");
    let is_denied = include_str!("../../src/device/is_denied.sql");
    let plan = explain(&client, "is_denied", is_denied, "NULL").await;
    assert!(plan.contains("device_code_id"), "{plan}");
    let find = include_str!("../../src/device/find_by_user_code.sql");
    let plan = explain(&client, "find", find, "'',0").await;
    assert!(plan.contains("device_code_pkey") && plan.contains("oauth_grant_pkey"), "{plan}");
    let find_for = include_str!("../../src/trust/find_for.sql");
    let plan = explain(&client, "find_for", find_for, "'','','',0").await;
    assert!(plan.contains("trusted_issuer_pkey"), "{plan}");
}

/// However much it tells: a reader asks again after each append.
#[tokio::test]
async fn what_is_new_in_the_feed_is_found_by_origin_and_counter() {
    let fixture = PostgresFixture::start().await;
    let client = connection(fixture.dsn()).await;
    client.batch_execute("SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off").await.unwrap();
    let changes = include_str!("../../src/feed/read_changes.sql");
    let revocations = include_str!("../../src/feed/read_revocations.sql");
    for (name, sql, table) in [("changes", changes, "change"), ("revocations", revocations, "revocation")] {
        let plan = explain(&client, name, sql, "'{}','{}',10").await;
        assert!(plan.contains(&format!("{table}_pkey")) && !plan.contains("Seq Scan"), "{plan}");
        let new = "Index Cond: ((origin = n.node_id) AND (counter > COALESCE(p.counter, '0'::bigint)))";
        assert!(plan.contains(new), "{plan}");
    }
}

/// A node that starts reads all clients. Page after page is a range of the key, however many rows come before it, and whatever else is asked
/// of them.
#[tokio::test]
async fn pages_of_clients_trusted_issuers_and_decisions_are_ranges_of_their_keys() {
    let (_fixture, client) = planner().await;
    let clients = plan(&client, include_str!("../../src/client/list.sql"), "NULL,NULL,NULL,10").await;
    assert!(clients.contains("Index Scan using client_pkey"), "{clients}");
    assert!(clients.contains("Index Cond: (client_id > COALESCE($1, ''::text))"), "{clients}");
    let issuers = plan(&client, include_str!("../../src/trust/list.sql"), "NULL,NULL,10").await;
    assert!(issuers.contains("Index Scan using trusted_issuer_id"), "{issuers}");
    assert!(issuers.contains("Index Cond: (id > COALESCE($2, "), "{issuers}");
    let decisions = plan(&client, include_str!("../../src/consent/list.sql"), "'',NULL,NULL,0,10").await;
    let range = "Index Cond: ((subject = $1) AND (client_id > COALESCE($3, ''::text)))";
    assert!(decisions.contains(range), "{decisions}");
    for plan in [clients, issuers, decisions] {
        assert!(!plan.contains("Sort"), "{plan}");
    }
}

/// However many there are of it: those that are too early are passed over.
#[tokio::test]
async fn a_marker_is_found_by_its_target_and_its_time() {
    let (_fixture, client) = planner().await;
    let twelve = ["'{}'"; 12].join(",");
    let statements = [
        (include_str!("../../src/grant/redeem_code.sql"), "'{}','{}','{}','{}','{}'", 5),
        (include_str!("../../src/grant/rotate_refresh.sql"), "'{}','{}','{}','{}','{}','{}',0", 5),
        (include_str!("../../src/grant/list.sql"), "'',NULL,NULL,0,10,FALSE", 5),
        (include_str!("../../src/login_session/insert.sql"), twelve.as_str(), 2),
        (include_str!("../../src/login_session/find.sql"), "'{}','{}'", 2),
        (include_str!("../../src/consent/find.sql"), "'{}','{}','{}'", 3),
    ];
    for (sql, values, times) in statements {
        let plan = plan(&client, sql, values).await;
        assert_eq!(plan.matches(" AND (at >= ").count(), times, "in the conditions of the index: {plan}");
    }
}

/// A decision that was stored while all were forgotten, unseen: it must not come back when the marker goes.
#[tokio::test]
async fn a_forgotten_decision_goes_with_its_marker() {
    let fixture = PostgresFixture::start().await;
    let store = fixture.store();
    let client = connection(fixture.dsn()).await;
    let (alice, bob, shop) = (given::subject("alice"), given::subject("bob"), given::client_id("shop"));
    for (subject, about) in [(&alice, None), (&bob, Some(shop.clone()))] {
        let (subject, now, marker_expires_at) = (subject.clone(), given::at(20), given::at(9000));
        store.forget(Forget { subject, client: about, now, marker_expires_at }).await.unwrap();
    }
    let late = "INSERT INTO consent VALUES ($1, $2, 'openid', '', '{}', $3, $4)";
    let decided = |secs| given::at(secs).as_millis();
    for (subject, about, at) in [("alice", "shop", 10), ("alice", "bank", 21), ("bob", "shop", 10)] {
        client.execute(late, &[&subject, &about, &decided(at), &i64::MAX]).await.unwrap();
    }
    assert_eq!(ConsentRepository::find(&*store, &alice, &shop, given::at(30)).await.unwrap(), None);
    assert_eq!(ConsentRepository::find(&*store, &bob, &shop, given::at(30)).await.unwrap(), None);
    for _ in 0..3 {
        store.sweep_revoked(given::at(9001), 10).await.unwrap();
    }
    assert_eq!(given::markers(&*store).await, []);
    let left = client.query("SELECT subject, client_id FROM consent", &[]).await.unwrap();
    let left: Vec<(&str, &str)> = left.iter().map(|row| (row.get(0), row.get(1))).collect();
    assert_eq!(left, [("alice", "bank")]);
}

async fn explain(client: &tokio_postgres::Client, name: &str, sql: &str, values: &str) -> String {
    client.batch_execute(&format!("PREPARE {name} AS {sql}")).await.unwrap();
    let rows = client.query(&format!("EXPLAIN EXECUTE {name}({values})"), &[]).await.unwrap();
    rows.iter().map(|row| row.get::<_, String>(0)).collect::<Vec<_>>().join("\n")
}
