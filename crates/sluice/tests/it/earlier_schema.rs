//! A node of this version on a schema that lacks migrations: it serves if no statement needs them, before and after they are applied. And on
//! the schema of a later version: it serves, unless that has taken away what statements need. Nor does it as a role that may not do what it does.

use sluice_testkit::Backend;

use crate::application::Application;
use crate::process::Site;
use crate::program::run;

/// Back to where the migrations are missing that only make indexes.
const WITHOUT_INDEXES: &str = "
    DROP INDEX oauth_grant_time, consent_flow, consent_expiry, revocation_target_time, revocation_left_over;
    CREATE INDEX oauth_grant_subject ON oauth_grant (subject, grant_id);
    CREATE INDEX revocation_target ON revocation (kind, key);
    DELETE FROM schema_migration WHERE version IN (4, 6, 7, 9, 10)";
const WITHOUT_A_COLUMN: &str = "
    ALTER TABLE recovery_code DROP COLUMN key_id;
    DELETE FROM schema_migration WHERE version = 8";
const LATER: &str = "INSERT INTO schema_migration VALUES (99, 'from_the_future', 7)";
const OTHER: &str = "ALTER TABLE client RENAME COLUMN document TO text";

fn migrate(site: &Site) {
    let migrated = run(&["migrate", "sql", "up", "-e", "--yes"], &[("DSN", site.dsn())]);
    assert!(migrated.success && !migrated.stdout.contains("pending"), "{migrated:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_serves_before_and_after_migrations_that_only_make_indexes() {
    let site = Site::fresh(Backend::Postgres).await;
    migrate(&site);
    site.connection().await.batch_execute(WITHOUT_INDEXES).await.unwrap();
    let process = site.start_in_production().await;
    process
        .has_logged("grants_by_time, consents_by_flow, consents_by_expiry, markers_by_time, former_markers");
    let application = Application::register(&[&process]).await;
    let before = application.log_in("alice").await.expect("a code");
    let before = application.redeem(&before).await.expect("tokens");
    migrate(&site);
    let before = application.refresh(&before).await.expect("refreshed");
    let after = application.log_in("alice").await.expect("a code");
    let after = application.redeem(&after).await.expect("tokens");
    application.revoke(&before).await.expect("revoked");
    assert!(!application.is_active(&before).await.unwrap());
    assert!(application.is_active(&after).await.unwrap());
    process.kill().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_does_not_start_without_what_its_statements_need() {
    let site = Site::fresh(Backend::Postgres).await;
    migrate(&site);
    site.connection().await.batch_execute(WITHOUT_A_COLUMN).await.unwrap();
    let ended = site.spawn_in_production().wait_with_output().await.unwrap();
    let said = String::from_utf8(ended.stderr).unwrap();
    assert!(!ended.status.success() && said.contains("lacks migrations"), "{said}");
    assert!(said.contains("(recovery_code_keys)"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_tells_of_a_later_schema_and_refuses_one_that_lacks_a_column() {
    let site = Site::fresh(Backend::Postgres).await;
    migrate(&site);
    let database = site.connection().await;
    database.batch_execute(LATER).await.unwrap();
    let process = site.start_in_production().await;
    process.has_logged("migrated by a later version (99)");
    process.kill().await;
    database.batch_execute(OTHER).await.unwrap();
    for child in [site.spawn_in_production(), site.spawn()] {
        let ended = child.wait_with_output().await.unwrap();
        let said = String::from_utf8(ended.stderr).unwrap();
        assert!(!ended.status.success() && said.contains("it lacks client.document"), "{said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_does_not_start_as_a_role_that_lacks_a_right() {
    let site = Site::fresh(Backend::Postgres).await;
    migrate(&site);
    let (name, database) = (format!("lacking_{}", std::process::id()), site.connection().await);
    let role = format!(
        "CREATE ROLE {name} LOGIN; GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO {name};
         REVOKE INSERT ON identity_session FROM {name}"
    );
    database.batch_execute(&role).await.unwrap();
    let other = Site::on(site.dsn().replace("postgres://sluice@", &format!("postgres://{name}@")));
    let ended = other.spawn_in_production().wait_with_output().await.unwrap();
    let said = String::from_utf8(ended.stderr).unwrap();
    assert!(!ended.status.success() && said.contains("lacks INSERT ON identity_session: "), "{said}");
    let granted = format!("GRANT INSERT ON identity_session TO {name}");
    database.batch_execute(&granted).await.unwrap();
    other.start_in_production().await.kill().await;
}
