//! Migrations: ten nodes that start at once, what is known of them before and after, and what is there before them.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::pin::pin;
use std::time::Duration;

use futures_util::future::join_all;
use sluice_commit::{StoreError, chain};
use sluice_identity::factor::FactorRepository;
use sluice_oauth::consent::{ConsentRepository, Forget};
use sluice_oauth::grant::{Grant, GrantRepository, Rotation};
use sluice_oauth::serving_node::{ServingNode, ServingNodeRepository, SharedSettings};
use sluice_primitives::NodeId;
use sluice_store_contract::given;
use sluice_store_postgres::{MigrationStatus, PostgresStore, StoreOptions};
use sluice_testkit::{Captured, PrivateCluster};
use tokio::time::timeout;
use tokio_postgres::Client;

use crate::fixture::{connection, database, node, options};
use crate::late_commit::somebody_waits;

/// So long a node has to do what it must not do.
const LOOKING: Duration = Duration::from_millis(500);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_nodes_that_migrate_at_once_share_one_schema_and_one_network_id() {
    let database = database().await;
    let nodes = join_all((0..10).map(|_| node(database.dsn()))).await;
    let migrated = join_all(nodes.iter().map(|node| node.migrate_up())).await;
    assert!(migrated.iter().all(Result::is_ok), "{migrated:?}");
    let ids = join_all(nodes.iter().map(|node| node.network_id())).await;
    assert!(ids.iter().all(|id| id.as_ref().unwrap() == ids[0].as_ref().unwrap()));
}

#[tokio::test]
async fn the_status_says_what_is_applied() {
    let database = database().await;
    let node = node(database.dsn()).await;
    let before = node.migrate_status().await.unwrap();
    assert!(!before.is_empty() && before.iter().all(|migration| migration.applied_at.is_none()));
    assert!(matches!(node.network_id().await, Err(StoreError::Refused(_))));
    node.migrate_up().await.unwrap();
    let after = node.migrate_status().await.unwrap();
    assert!(after.iter().all(|migration| migration.applied_at.is_some()));
    node.migrate_up().await.unwrap();
    assert_eq!(node.migrate_status().await.unwrap(), after);
}

/// It goes on with the newer schema, and who looks sees why it may not.
#[tokio::test]
async fn what_a_later_version_has_applied_is_told_behind_what_is_known() {
    let database = database().await;
    let store = node(database.dsn()).await;
    store.migrate_up().await.unwrap();
    let known = store.migrate_status().await.unwrap();
    assert!(known.iter().all(|migration| migration.is_known));
    let later = "INSERT INTO schema_migration VALUES (99, 'from_the_future', 7)";
    connection(database.dsn()).await.batch_execute(later).await.unwrap();
    store.migrate_up().await.unwrap();
    let mut status = store.migrate_status().await.unwrap();
    let future = status.pop().unwrap();
    assert_eq!(status, known);
    assert_eq!((future.version, &*future.name), (99, "from_the_future"));
    assert!(!future.is_known && !future.is_required && future.applied_at.is_some(), "{future:?}");
}

/// Each column of each table, but for those of what only an import writes, and of what nodes say of themselves.
#[tokio::test]
async fn every_column_is_missed_that_statements_name() {
    let database = database().await;
    let (store, client) = (node(database.dsn()).await, connection(database.dsn()).await);
    let mut missed = store.missing_columns().await.unwrap();
    store.migrate_up().await.unwrap();
    assert_eq!(store.missing_columns().await.unwrap(), [] as [&str; 0]);
    let all = "SELECT table_name || '.' || column_name FROM information_schema.columns
        WHERE table_schema = 'public' AND table_name NOT IN ('schema_migration', 'hydra_token', 'hydra_mark', 'serving_node')";
    let rows = client.query(all, &[]).await.unwrap();
    let mut all: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
    missed.sort_unstable();
    all.sort_unstable();
    assert_eq!(missed, all);
    client.batch_execute("ALTER TABLE client RENAME COLUMN document TO text").await.unwrap();
    assert_eq!(store.missing_columns().await.unwrap(), ["client.document"]);
}

/// A role that has the rights of docs/operations.md lacks none.
#[tokio::test]
async fn every_right_is_missed_that_a_node_needs() {
    let database = database().await;
    let (owner, client) = (node(database.dsn()).await, connection(database.dsn()).await);
    let name = database.name();
    let role = format!("CREATE ROLE {name} LOGIN");
    let as_told =
        format!("ALTER DEFAULT PRIVILEGES GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO {name}");
    client.batch_execute(&format!("{role}; {as_told}")).await.unwrap();
    owner.migrate_up().await.unwrap();
    let dsn = database.dsn().replace("postgres://sluice@", &format!("postgres://{name}@"));
    let store = node(&dsn).await;
    let missing = async || store.missing_rights().await.unwrap();
    assert_eq!(missing().await, [] as [&str; 0]);
    let revoke =
        format!("REVOKE INSERT, DELETE ON identity_session FROM {name}; REVOKE SELECT ON mail FROM {name}");
    client.batch_execute(&revoke).await.unwrap();
    assert_eq!(missing().await, ["INSERT, DELETE ON identity_session", "SELECT ON mail"]);
    let only_reads = format!("ALTER ROLE {name} SET default_transaction_read_only = on");
    client.batch_execute(&only_reads).await.unwrap();
    assert_eq!(node(&dsn).await.missing_rights().await.unwrap(), ["SELECT ON mail"]);
    client.batch_execute(&format!("REVOKE ALL ON schema_migration FROM {name}")).await.unwrap();
    let told = chain(&store.migrate_status().await.unwrap_err());
    assert!(told.contains("(42501): the role of the DSN needs SELECT, INSERT, UPDATE and DELETE"), "{told}");
}

/// As where somebody else than the owner of the default privileges has migrated.
#[tokio::test]
async fn a_role_that_lacks_a_right_on_what_nodes_say_does_without() {
    let database = database().await;
    let (owner, client) = (node(database.dsn()).await, connection(database.dsn()).await);
    owner.migrate_up().await.unwrap();
    let role = format!("limited_in_{}", database.name());
    let rights = format!(
        "CREATE ROLE {role}; GRANT ALL ON ALL TABLES IN SCHEMA public TO {role}; REVOKE DELETE ON serving_node FROM {role}"
    );
    client.batch_execute(&rights).await.unwrap();
    let limited = node(&format!("{}&options=-c%20role%3D{role}", database.dsn())).await;
    let said = ServingNode {
        id: NodeId::from_bytes([1; 16]),
        host: "node-1".to_owned(),
        seen_at: given::at(10),
        is_serving: true,
        settings: SharedSettings::default(),
    };
    limited.note_node(&said, given::at(0)).await.unwrap();
    assert_eq!(owner.known_nodes(10).await.unwrap(), []);
    owner.note_node(&said, given::at(0)).await.unwrap();
    assert_eq!(limited.known_nodes(10).await.unwrap(), []);
    client.batch_execute(&format!("GRANT DELETE ON serving_node TO {role}")).await.unwrap();
    let later = ServingNode { seen_at: given::at(20), ..said };
    limited.note_node(&later, given::at(0)).await.unwrap();
    assert_eq!(limited.known_nodes(10).await.unwrap(), [later]);
    drop(limited);
    client.batch_execute(&format!("DROP OWNED BY {role}; DROP ROLE {role}")).await.unwrap();
}

#[tokio::test]
async fn two_databases_have_different_network_ids() {
    let databases = [database().await, database().await];
    let (one, other) = (node(databases[0].dsn()).await, node(databases[1].dsn()).await);
    one.migrate_up().await.unwrap();
    other.migrate_up().await.unwrap();
    assert_ne!(one.network_id().await.unwrap(), other.network_id().await.unwrap());
}

/// Hydra has a table of migrations, too.
#[tokio::test]
async fn the_database_of_another_program_is_refused() {
    let database = database().await;
    let client = connection(database.dsn()).await;
    let theirs =
        "CREATE TABLE schema_migration (version varchar(48) NOT NULL, version_self int NOT NULL DEFAULT 0)";
    client.batch_execute(theirs).await.unwrap();
    let store = node(database.dsn()).await;
    for asked in [store.migrate_status().await.map(drop), store.migrate_up().await] {
        let Err(refused) = asked else { panic!("it is not ours") };
        assert!(matches!(refused, StoreError::Refused(_)), "{refused:?}");
        let told = chain(&refused);
        assert!(told.contains("this is the database of another program"), "{told}");
    }
}

/// As an old server makes them where nobody says more: the first name with another letter would be a 500.
#[tokio::test]
async fn a_database_that_cannot_keep_all_text_is_refused() {
    const NAME: &str = "not_in_utf8";
    let cluster = PrivateCluster::shared().await;
    let create = format!("CREATE DATABASE {NAME} ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0");
    cluster.execute("postgres", &create).await;
    let store = node(&cluster.dsn(NAME)).await;
    for asked in [store.migrate_status().await.map(drop), store.migrate_up().await] {
        let Err(refused) = asked else { panic!("it keeps no text but western") };
        assert!(matches!(refused, StoreError::Refused(_)), "{refused:?}");
        let told = chain(&refused);
        assert!(told.contains("as LATIN1") && told.contains("ENCODING 'UTF8' TEMPLATE template0"), "{told}");
    }
    store.shutdown().await;
    cluster.execute("postgres", &format!("DROP DATABASE {NAME} WITH (FORCE)")).await;
}

/// It was made before anybody looked.
#[tokio::test]
async fn a_database_in_use_that_cannot_keep_all_text_is_warned_about_and_goes_on() {
    const NAME: &str = "in_use_not_in_utf8";
    let cluster = PrivateCluster::shared().await;
    let create = format!("CREATE DATABASE {NAME} ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0");
    cluster.execute("postgres", &create).await;
    make_first_version(&connection(&cluster.dsn(NAME)).await).await;
    let store = node(&cluster.dsn(NAME)).await;
    store.migrate_up().await.unwrap();
    let (log, guard) = Captured::begin();
    all_are_applied(&store).await;
    drop(guard);
    let told = log.text();
    assert_eq!(told.matches("the database keeps text as LATIN1").count(), 1, "{told}");
    store.shutdown().await;
    cluster.execute("postgres", &format!("DROP DATABASE {NAME} WITH (FORCE)")).await;
}

/// It converts nothing: what goes in as UTF-8 comes out so.
#[tokio::test]
async fn a_database_that_takes_text_as_it_comes_is_taken_without_a_word() {
    const NAME: &str = "text_as_it_comes";
    let cluster = PrivateCluster::shared().await;
    let create = format!("CREATE DATABASE {NAME} ENCODING 'SQL_ASCII' LOCALE 'C' TEMPLATE template0");
    cluster.execute("postgres", &create).await;
    let store = node(&cluster.dsn(NAME)).await;
    store.migrate_up().await.unwrap();
    let (log, guard) = Captured::begin();
    all_are_applied(&store).await;
    drop(guard);
    let told = log.text();
    assert!(!told.contains("keeps text as"), "{told}");
    store.shutdown().await;
    cluster.execute("postgres", &format!("DROP DATABASE {NAME} WITH (FORCE)")).await;
}

/// Makes the schema as the first version did.
async fn make_first_version(client: &Client) {
    client.batch_execute(include_str!("../../src/migrations/0001_initial.sql")).await.unwrap();
    let note = "CREATE TABLE schema_migration (
            version integer PRIMARY KEY, name text NOT NULL, applied_at bigint NOT NULL);
        INSERT INTO schema_migration VALUES (1, 'initial', 0)";
    client.batch_execute(note).await.unwrap();
}

async fn all_are_applied(store: &PostgresStore) {
    let all = store.migrate_status().await.unwrap();
    assert!(all.iter().all(|migration| migration.applied_at.is_some()), "{all:?}");
}

/// By somebody who wants nobody to wait while it is made.
#[tokio::test]
async fn an_index_that_was_made_by_hand_is_taken_as_it_is() {
    let database = database().await;
    let client = connection(database.dsn()).await;
    make_first_version(&client).await;
    let by_hand = "CREATE INDEX revocation_unswept ON revocation (origin, counter) WHERE NOT swept;
        CREATE INDEX consent_expiry ON consent (expires_at);
        CREATE INDEX oauth_grant_time ON oauth_grant ((left(grant_id::text, 7)) COLLATE \"C\", subject)";
    client.batch_execute(by_hand).await.unwrap();
    let before = indexes_of_grants(&client).await;
    let store = node(database.dsn()).await;
    store.migrate_up().await.unwrap();
    all_are_applied(&store).await;
    let after = indexes_of_grants(&client).await;
    let kept: Vec<_> = before.into_iter().filter(|(name, _)| name != "oauth_grant_subject").collect();
    assert_eq!(after, kept, "that of the subject alone is gone, and no other was made anew");
}

/// Name and number of each.
async fn indexes_of_grants(client: &Client) -> Vec<(String, u32)> {
    let sql = "SELECT c.relname::text, c.oid FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indexrelid
        WHERE i.indrelid = 'oauth_grant'::regclass ORDER BY 1";
    let rows = client.query(sql, &[]).await.unwrap();
    rows.iter().map(|row| (row.get(0), row.get(1))).collect()
}

/// All statements of the repositories: file and text. Those of `hydra` are for the database of another program.
fn statements() -> Vec<(String, String)> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let folders = fs::read_dir(&source).unwrap().map(|entry| entry.unwrap().path());
    let others = |path: &Path| path.ends_with("migrations") || path.ends_with("hydra");
    let folders = folders.filter(|path| path.is_dir() && !others(path));
    let files = folders.flat_map(|folder| fs::read_dir(folder).unwrap()).map(|entry| entry.unwrap().path());
    let statements = files.filter(|file| file.extension().is_some_and(|extension| extension == "sql"));
    statements.map(|file| (file.display().to_string(), fs::read_to_string(&file).unwrap())).collect()
}

/// The others are for speed, for what only an import writes and a node then reads, or for what nodes say of themselves: it starts without them.
#[tokio::test]
async fn no_statement_needs_a_migration_that_is_not_required() {
    let database = database().await;
    let (store, client) = (node(database.dsn()).await, connection(database.dsn()).await);
    for migration in store.migrate_status().await.unwrap() {
        let MigrationStatus { version, name, is_required, .. } = migration;
        let file = format!("src/migrations/{version:04}_{name}.sql");
        let sql = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).unwrap();
        if is_required {
            client.batch_execute(&sql).await.unwrap();
        }
    }
    let statements = statements();
    assert!(statements.len() > 100, "{}", statements.len());
    let does_without = |file: &str| file.contains("/hydra_") || file.contains("/serving_node/");
    for (file, sql) in statements.into_iter().filter(|(file, _)| !does_without(file)) {
        let prepared = client.prepare(&sql).await;
        assert!(prepared.is_ok(), "{file}: {:?}", prepared.err());
    }
}

/// Nodes may have a role of their own, which cannot migrate.
#[tokio::test]
async fn who_may_not_migrate_is_told_who_may() {
    let database = database().await;
    let client = connection(database.dsn()).await;
    let role = format!("reader_of_{}", database.name());
    client.batch_execute(&format!("CREATE ROLE {role}")).await.unwrap();
    make_first_version(&client).await;
    let grant = format!("GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO {role}");
    client.batch_execute(&grant).await.unwrap();
    let reader = node(&format!("{}&options=-c%20role%3D{role}", database.dsn())).await;
    let Err(refused) = reader.migrate_up().await else { panic!("it is not the owner") };
    let told = chain(&refused);
    assert!(told.contains("(42501): migrations need the owner of the tables"), "{told}");
    drop(reader);
    node(database.dsn()).await.migrate_up().await.unwrap();
    client.batch_execute(&format!("DROP OWNED BY {role}; DROP ROLE {role}")).await.unwrap();
}

/// It is not taken for what another node has done.
#[tokio::test]
async fn what_stands_in_the_way_of_a_migration_is_told() {
    let database = database().await;
    let client = connection(database.dsn()).await;
    make_first_version(&client).await;
    client.batch_execute("CREATE TABLE device_code ()").await.unwrap();
    let store = node(database.dsn()).await;
    let migrated = store.migrate_up().await;
    assert!(matches!(migrated, Err(StoreError::Refused(_))), "{migrated:?}");
    client.batch_execute("DROP TABLE device_code").await.unwrap();
    store.migrate_up().await.unwrap();
    all_are_applied(&store).await;
}

/// As an older program makes them, also in a database that is of this version.
#[tokio::test]
async fn a_recovery_code_without_the_name_of_its_key_is_counted_apart_and_spent() {
    let database = database().await;
    let store = node(database.dsn()).await;
    store.migrate_up().await.unwrap();
    let alice = given::registered(&*store, given::identity("alice")).await.id;
    let own = given::recovery_codes(&[[1; 32]]);
    assert!(store.replace_recovery_codes(alice, 1, own, None).await.unwrap());
    let older = "INSERT INTO recovery_code (identity_id, code_hash) VALUES ($1, $2)";
    connection(database.dsn())
        .await
        .execute(older, &[&alice.as_uuid(), &[2_u8; 32].as_slice()])
        .await
        .unwrap();
    let counted = store.all_recovery_codes_left().await.unwrap();
    assert_eq!(counted, BTreeMap::from([(None, 1), (Some(own.key), 1)]));
    assert!(store.spend_recovery_code(alice, &[2; 32], None).await.unwrap());
}

/// Nodes are replaced one by one: those of this version serve logins before their migrations ran, and go on afterwards.
#[tokio::test]
async fn logins_go_on_while_the_first_schema_is_brought_up_to_date() {
    let database = database().await;
    make_first_version(&connection(database.dsn()).await).await;
    let store = node(database.dsn()).await;
    let old = given::redeemed(&*store, given::grant()).await;
    let old = given::rotated(&*store, given::rotate(old.id, 0, 21)).await;
    store.migrate_up().await.unwrap();
    all_are_applied(&store).await;
    let new = Grant { consented_at: given::at(41), ..given::grant() };
    let new = given::redeemed(&*store, new).await;
    let (subject, now, marker_expires_at) = (given::subject("alice"), given::at(40), given::at(9000));
    store.forget(Forget { subject, client: None, now, marker_expires_at }).await.unwrap();
    assert_eq!(store.rotate_refresh(given::rotate(old.id, 1, 50)).await.unwrap(), Rotation::Revoked);
    given::rotated(&*store, given::rotate(new.id, 0, 50)).await;
}

/// Behind one who waits to change a table, readers would wait for whoever reads it already: a backup does for hours.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn logins_go_on_while_a_migration_waits_for_a_reader() {
    let database = database().await;
    let (reader, watching) = (connection(database.dsn()).await, connection(database.dsn()).await);
    make_first_version(&watching).await;
    let (store, migrating) = (node(database.dsn()).await, node(database.dsn()).await);
    let grant = given::redeemed(&*store, given::grant()).await;
    reader.batch_execute("BEGIN; SELECT 1 FROM oauth_grant").await.unwrap();
    let migrated = tokio::spawn(async move { migrating.migrate_up().await });
    somebody_waits(&watching).await;
    assert_eq!(GrantRepository::find(&*store, grant.id).await.unwrap().unwrap().id, grant.id);
    given::rotated(&*store, given::rotate(grant.id, 0, 30)).await;
    reader.batch_execute("COMMIT").await.unwrap();
    migrated.await.unwrap().unwrap();
    all_are_applied(&store).await;
}

/// A database with a marker, as it was before migrations 9 and 10.
async fn without_markers_by_time(store: &PostgresStore, client: &Client) {
    store.migrate_up().await.unwrap();
    store.revoke(given::grant_id(), given::at(20), given::at(9000)).await.unwrap();
    let back = "DROP INDEX revocation_target_time, revocation_left_over;
        CREATE INDEX revocation_target ON revocation (kind, key);
        DELETE FROM schema_migration WHERE version IN (9, 10)";
    client.batch_execute(back).await.unwrap();
}

/// Number, name and whether it is valid, of each index of markers that has their time.
async fn markers_by_time(client: &Client) -> Vec<(u32, String, bool)> {
    let sql = "SELECT c.oid, c.relname::text, i.indisvalid
        FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indexrelid
        WHERE i.indrelid = 'revocation'::regclass AND c.relname IN ('revocation_target_time', 'revocation_left_over')
        ORDER BY 2";
    let rows = client.query(sql, &[]).await.unwrap();
    rows.iter().map(|row| (row.get(0), row.get(1), row.get(2))).collect()
}

async fn both_are_valid(client: &Client) {
    let indexes = markers_by_time(client).await;
    let valid: Vec<_> = indexes.iter().filter(|index| index.2).map(|index| index.1.as_str()).collect();
    assert_eq!(valid, ["revocation_left_over", "revocation_target_time"], "{indexes:?}");
}

/// Of those that keep others from writing a table, or might: by whoever does more than that.
async fn strong_locks_of_markers(client: &Client) -> Vec<String> {
    let sql = "SELECT DISTINCT mode FROM pg_locks
        WHERE relation = 'revocation'::regclass AND mode NOT IN ('AccessShareLock', 'RowShareLock', 'RowExclusiveLock')";
    client.query(sql, &[]).await.unwrap().iter().map(|row| row.get(0)).collect()
}

/// Else whoever revokes would wait, and behind it on its connection logins.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn revocations_go_on_while_a_migration_makes_an_index_of_them() {
    let database = database().await;
    let (writer, watching) = (connection(database.dsn()).await, connection(database.dsn()).await);
    let (store, migrating) = (node(database.dsn()).await, node(database.dsn()).await);
    without_markers_by_time(&store, &watching).await;
    writer.batch_execute("BEGIN; UPDATE revocation SET at = at").await.unwrap();
    let migrated = tokio::spawn(async move { migrating.migrate_up().await });
    somebody_waits(&watching).await;
    assert_eq!(strong_locks_of_markers(&watching).await, ["ShareUpdateExclusiveLock"]);
    store.revoke(given::grant_id(), given::at(20), given::at(9000)).await.unwrap();
    given::redeemed(&*store, given::grant()).await;
    assert!(!migrated.is_finished());
    writer.batch_execute("COMMIT").await.unwrap();
    migrated.await.unwrap().unwrap();
    all_are_applied(&store).await;
    both_are_valid(&watching).await;
}

/// Limits of the database, on PostgreSQL 17 that of a transaction too: what they break off would begin anew, and be broken off again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_index_is_made_without_the_limits_that_the_server_sets() {
    let database = database().await;
    let (writer, watching) = (connection(database.dsn()).await, connection(database.dsn()).await);
    let (store, migrating) = (node(database.dsn()).await, node(database.dsn()).await);
    without_markers_by_time(&store, &watching).await;
    writer.batch_execute("BEGIN; UPDATE revocation SET at = at").await.unwrap();
    let limits = "SELECT name FROM pg_settings WHERE name IN ('lock_timeout', 'transaction_timeout')";
    for row in watching.query(limits, &[]).await.unwrap() {
        let (database, limit): (_, &str) = (database.name(), row.get(0));
        watching.batch_execute(&format!("ALTER DATABASE {database} SET {limit} = '200ms'")).await.unwrap();
    }
    let migrated = tokio::spawn(async move { migrating.migrate_up().await });
    somebody_waits(&watching).await;
    tokio::time::sleep(LOOKING).await;
    let under_way = "SELECT count(*) FROM pg_stat_progress_create_index WHERE datname = current_database()";
    assert_eq!(watching.query_one(under_way, &[]).await.unwrap().get::<_, i64>(0), 1, "it waits on");
    writer.batch_execute("COMMIT").await.unwrap();
    migrated.await.unwrap().unwrap();
    both_are_valid(&watching).await;
}

/// So a server leaves one that was broken off: under its name, and of no use.
#[tokio::test]
async fn an_index_that_is_invalid_is_made_anew() {
    let database = database().await;
    let (store, client) = (node(database.dsn()).await, connection(database.dsn()).await);
    without_markers_by_time(&store, &client).await;
    let broken_off = "CREATE INDEX revocation_target_time ON revocation (kind, key, at);
        UPDATE pg_index SET indisvalid = FALSE WHERE indexrelid = 'revocation_target_time'::regclass";
    client.batch_execute(broken_off).await.unwrap();
    store.migrate_up().await.unwrap();
    all_are_applied(&store).await;
    both_are_valid(&client).await;
}

/// It is invalid until it is made.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_index_that_somebody_is_making_is_left_to_them() {
    let database = database().await;
    let (store, watching) = (node(database.dsn()).await, connection(database.dsn()).await);
    let (writer, by_hand) = (connection(database.dsn()).await, connection(database.dsn()).await);
    without_markers_by_time(&store, &watching).await;
    writer.batch_execute("BEGIN; UPDATE revocation SET at = at").await.unwrap();
    let making = tokio::spawn(async move {
        let sql = "CREATE INDEX CONCURRENTLY revocation_target_time ON revocation (kind, key, at)";
        by_hand.batch_execute(sql).await
    });
    somebody_waits(&watching).await;
    let begun = markers_by_time(&watching).await;
    assert!(matches!(begun[..], [(_, _, false)]), "{begun:?}");
    let mut migrated = pin!(store.migrate_up());
    assert!(timeout(LOOKING, migrated.as_mut()).await.is_err(), "it waits");
    writer.batch_execute("COMMIT").await.unwrap();
    making.await.unwrap().unwrap();
    migrated.await.unwrap();
    all_are_applied(&store).await;
    both_are_valid(&watching).await;
    assert!(markers_by_time(&watching).await.iter().any(|index| index.0 == begun[0].0), "it is theirs");
}

/// Two at once would wait for each other, until the server breaks one off.
#[tokio::test]
async fn indexes_are_made_by_one_node_at_a_time() {
    let database = database().await;
    let (store, other) = (node(database.dsn()).await, connection(database.dsn()).await);
    without_markers_by_time(&store, &other).await;
    let lock = "SELECT pg_advisory_lock(hashtextextended('sluice: indexes', 0))";
    other.batch_execute(lock).await.unwrap();
    let mut migrated = pin!(store.migrate_up());
    assert!(timeout(LOOKING, migrated.as_mut()).await.is_err(), "it waits");
    assert!(markers_by_time(&other).await.is_empty());
    other.batch_execute("SELECT pg_advisory_unlock_all()").await.unwrap();
    migrated.await.unwrap();
    all_are_applied(&store).await;
    both_are_valid(&other).await;
}

/// Its supervisor starts it again; it does not sit there for as long as a migration may take.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_gets_no_connection_to_ask_for_the_status_or_to_migrate_is_told_while_it_waits() {
    let database = database().await;
    let (name, all) = (database.name(), connection(database.dsn()).await);
    let role = format!("CREATE ROLE {name} LOGIN CONNECTION LIMIT 1");
    all.batch_execute(&role).await.unwrap();
    let dsn = database.dsn().replace("postgres://sluice@", &format!("postgres://{name}@"));
    let options = StoreOptions { deadline: Duration::from_secs(1), ..options() };
    let store = PostgresStore::connect(&dsn, options.clone()).await.unwrap();
    let status = store.migrate_status().await.map(drop);
    let migrated = timeout(Duration::from_mins(1), store.migrate_up_telling(options.deadline, |_| {})).await;
    for asked in [status, migrated.expect("it gives up")] {
        let Err(StoreError::Unavailable(Some(cause))) = &asked else { panic!("{asked:?}") };
        assert!(cause.to_string().contains("(53300)"), "{cause}");
    }
}
