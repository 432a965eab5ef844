//! What a login costs: statements and rows are counted.

use sluice_identity::identity::{IdentityRepository, NewIdentity, Registration, RegistrationLetters};
use sluice_identity::mail::{CodeByMail, CodePurpose};
use sluice_oauth::grant::{GrantRepository, Redemption};
use sluice_primitives::Timestamp;
use sluice_store_contract::{Fixture, given};
use sluice_store_sqlite::{RowsWritten, StoreStatistics};

use crate::fixture::SqliteFixture;

/// What was committed between two moments.
fn between(
    before: &StoreStatistics,
    after: &StoreStatistics,
) -> (u64, u64, Vec<(&'static str, RowsWritten)>) {
    let rows = after.rows.iter().filter_map(|(table, now)| {
        let then = before.rows.get(table).copied().unwrap_or_default();
        let written = RowsWritten {
            inserted: now.inserted - then.inserted,
            updated: now.updated - then.updated,
            deleted: now.deleted - then.deleted,
        };
        (written != RowsWritten::default()).then_some((*table, written))
    });
    (after.commits - before.commits, after.statements - before.statements, rows.collect())
}

#[tokio::test]
async fn a_login_writes_one_insert_and_one_update() {
    let fixture = SqliteFixture::start().await;
    let store = fixture.store();
    let before = store.statistics();
    let grant = given::inserted(&*store, given::grant()).await;
    let redeemed = store.redeem_code(given::redeem(grant.id, 20)).await.unwrap();
    assert!(matches!(redeemed, Redemption::Redeemed(_)));
    let written = RowsWritten { inserted: 1, updated: 1, deleted: 0 };
    assert_eq!(between(&before, &store.statistics()), (2, 2, vec![("oauth_grant", written)]));
}

#[tokio::test]
async fn a_refresh_writes_one_update() {
    let fixture = SqliteFixture::start().await;
    let store = fixture.store();
    let grant = given::redeemed(&*store, given::grant()).await;
    let before = store.statistics();
    given::rotated(&*store, given::rotate(grant.id, 0, 30)).await;
    let written = RowsWritten { updated: 1, ..RowsWritten::default() };
    assert_eq!(between(&before, &store.statistics()), (1, 1, vec![("oauth_grant", written)]));
}

#[tokio::test]
async fn concurrent_logins_share_commits() {
    let fixture = SqliteFixture::start().await;
    let store = fixture.store();
    let before = store.statistics();
    let logins = (0..200).map(|_| given::redeemed(&*store, given::grant()));
    futures_util::future::join_all(logins).await;
    let (commits, statements, _) = between(&before, &store.statistics());
    assert_eq!(statements, 400);
    assert!(commits < 100, "{commits} commits for 200 logins");
    assert!(store.commit_metrics().snapshot().rows_total >= 400);
}

#[tokio::test]
async fn a_write_that_fails_is_not_counted() {
    let fixture = SqliteFixture::start().await;
    let store = fixture.store();
    let grant = given::grant();
    fixture.poison(grant.id).await;
    let before = store.statistics();
    assert!(given::insert(&*store, &grant).await.is_err());
    assert_eq!(between(&before, &store.statistics()).2, []);
    assert_eq!(GrantRepository::purge_expired(&*store, Timestamp::NEVER, 10).await.unwrap(), 0);
}

#[tokio::test]
async fn registrations_share_commits_also_with_what_is_written_to_their_addresses() {
    let fixture = SqliteFixture::start().await;
    let store = fixture.store();
    let before = store.statistics();
    let news = (0..200).map(|number| {
        let identity = given::identity(&format!("user-{number}"));
        let code = given::mail_code(identity.id, CodePurpose::VerifyEmail);
        let letters =
            RegistrationLetters { welcome: CodeByMail { code, mail: given::mail(0) }, if_taken: None };
        NewIdentity { identity, letters: Some(Box::new(letters)) }
    });
    let registered = futures_util::future::join_all(news.map(|new| store.register(new))).await;
    assert!(registered.iter().all(|outcome| matches!(outcome, Ok(Registration::Registered))));
    let (commits, statements, rows) = between(&before, &store.statistics());
    assert_eq!(statements, 800);
    assert!(commits < 50, "{commits} commits for 200 registrations");
    let each = RowsWritten { inserted: 200, ..RowsWritten::default() };
    assert_eq!(rows, ["identity", "login_name", "mail", "mail_code"].map(|table| (table, each)));
}
