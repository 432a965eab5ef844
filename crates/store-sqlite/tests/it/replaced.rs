//! A file that is replaced or deleted while it is open, or what lies beside it: the engine goes on with it, and nobody may.
//!
//! What becomes of others who open the file then is for another process to show: it is this program, told to run one test alone; see the
//! tests of the whole program too.

use std::os::unix::fs::symlink;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, abort};
use std::{env, fs};

use rusqlite::Connection;
use rusqlite::types::Value;
use sluice_commit::StoreError;
use sluice_oauth::grant::GrantRepository;
use sluice_primitives::GrantId;
use sluice_store_contract::{Fixture, given};
use sluice_store_sqlite::{SqlitePath, SqliteStore};
use sluice_token::{Feed, FeedPosition};

use crate::fixture::{SqliteFixture, names_in, options};

async fn refuses_all(store: &SqliteStore) -> bool {
    let refused = [
        store.ping().await,
        Feed::read(store, &FeedPosition::default()).await.map(drop),
        given::insert(store, &given::grant()).await.map(drop),
    ];
    refused.iter().all(|refused| matches!(refused, Err(StoreError::Refused(_))))
}

#[tokio::test]
async fn a_store_whose_file_is_another_by_now_or_gone_refuses_until_it_is_back() {
    let fixture = SqliteFixture::start().await;
    let store = fixture.store();
    store.ping().await.unwrap();
    let aside = fixture.beside("aside.db");
    fs::rename(fixture.path(), &aside).unwrap();
    assert!(refuses_all(&store).await, "gone");
    fs::copy(&aside, fixture.path()).unwrap();
    assert!(refuses_all(&store).await, "another");
    fs::rename(&aside, fixture.path()).unwrap();
    store.ping().await.unwrap();
    given::inserted(&*store, given::grant()).await;
}

#[tokio::test]
async fn a_store_whose_log_or_its_index_is_another_by_now_or_gone_refuses_until_it_is_back() {
    let fixture = SqliteFixture::start().await;
    // They do not lie beside the link.
    symlink("sluice.db", fixture.beside("link.db")).unwrap();
    let path = SqlitePath::File(fixture.beside("link.db"));
    let (store, linked) = (fixture.store(), SqliteStore::open(path, options()).await.unwrap());
    for name in ["sluice.db-wal", "sluice.db-shm"] {
        let (file, aside) = (fixture.beside(name), fixture.beside("aside"));
        fs::rename(&file, &aside).unwrap();
        assert!(refuses_all(&store).await && refuses_all(&linked).await, "{name} is gone");
        fs::write(&file, "").unwrap();
        assert!(refuses_all(&store).await && refuses_all(&linked).await, "{name} is another");
        fs::rename(&aside, &file).unwrap();
        for store in [&*store, &linked] {
            store.ping().await.unwrap();
            given::inserted(store, given::grant()).await;
        }
    }
}

const LOG: &str = "sluice.db-wal";
const INDEX: &str = "sluice.db-shm";
/// What of it somebody deletes under an open store.
const DELETED: [&[&str]; 2] = [&[LOG], &[LOG, INDEX]];

/// An open store under which this is deleted, and a grant that is in the log alone.
async fn without(names: &[&str]) -> (SqliteFixture, GrantId) {
    let fixture = SqliteFixture::start().await;
    let grant = given::inserted(&*fixture.store(), given::grant()).await;
    for name in names {
        fs::remove_file(fixture.beside(name)).unwrap();
    }
    (fixture, grant.id)
}

/// However many connections are closed at once.
#[tokio::test]
async fn a_clean_stop_leaves_no_log() {
    for _ in 0..20 {
        let fixture = SqliteFixture::start().await;
        fixture.store().shutdown().await;
        assert_eq!(names_in(fixture.directory()), ["sluice.db"]);
    }
}

#[tokio::test]
async fn a_log_that_was_deleted_alone_or_with_its_index_is_in_the_file_after_a_clean_stop() {
    for names in DELETED {
        let (fixture, grant) = without(names).await;
        fixture.store().shutdown().await;
        let store = SqliteStore::open(SqlitePath::File(fixture.path()), options()).await.unwrap();
        assert!(store.find(grant).await.unwrap().is_some(), "{names:?}");
    }
}

#[tokio::test]
async fn a_log_that_was_deleted_is_in_the_file_when_that_is_noticed_as_something_is_written() {
    for names in DELETED {
        let (fixture, grant) = without(names).await;
        assert!(refuses_all(&fixture.store()).await, "{names:?}");
        // As after a `kill -9`: the file alone.
        let left = fixture.beside("left.db");
        fs::copy(fixture.path(), &left).unwrap();
        let left = SqliteStore::open(SqlitePath::File(left), options()).await.unwrap();
        assert!(left.find(grant).await.unwrap().is_some(), "{names:?}");
    }
}

/// Which file a test that runs in a process of its own opens.
const OPENED: &str = "SLUICE_TEST_OPENED";
const OPENING: &str = "replaced::a_file_that_another_process_names_is_opened";

/// What another process does to it that knows nothing of this store: SQL, after which it ends without closing anything.
const SAID: &str = "SLUICE_TEST_SAID";
const SAYING: &str = "replaced::what_another_process_says_is_done";

/// Does nothing where no other test says something.
#[test]
fn what_another_process_says_is_done() {
    if let (Some(path), Ok(sql)) = (env::var_os(OPENED), env::var(SAID)) {
        let connection = Connection::open(path).unwrap();
        connection.execute_batch(&sql).unwrap();
        abort();
    }
}

/// Has another process do it.
fn say(path: &Path, sql: &str) {
    let mut program = Command::new(env::current_exe().unwrap());
    let ended = program.args(["--exact", SAYING]).env(OPENED, path).env(SAID, sql).output().unwrap();
    assert_eq!(ended.status.signal(), Some(6), "{}", String::from_utf8_lossy(&ended.stdout));
}

#[tokio::test]
async fn a_log_that_another_program_made_beside_the_same_index_is_not_mixed_with_the_one_that_was_deleted() {
    let fixture = SqliteFixture::start().await;
    let store = fixture.store();
    let grant = given::inserted(&*store, given::grant()).await;
    say(&fixture.path(), "PRAGMA wal_checkpoint(PASSIVE)");
    fs::remove_file(fixture.beside(LOG)).unwrap();
    say(&fixture.path(), "CREATE TABLE other (a); INSERT INTO other VALUES (zeroblob(100000))");
    assert!(refuses_all(&store).await);
    store.shutdown().await;
    let connection = Connection::open(fixture.path()).unwrap();
    let read = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, Value>(0)).unwrap();
    assert_eq!(read("PRAGMA integrity_check"), Value::Text("ok".to_owned()));
    assert_eq!(read("SELECT length(a) FROM other"), Value::Integer(100_000));
    drop(connection);
    let store = SqliteStore::open(SqlitePath::File(fixture.path()), options()).await.unwrap();
    assert!(store.find(grant.id).await.unwrap().is_some());
}

/// Does nothing where no other test names one.
#[tokio::test]
async fn a_file_that_another_process_names_is_opened() {
    if let Some(path) = env::var_os(OPENED) {
        let opened = SqliteStore::open(SqlitePath::File(path.into()), options()).await;
        opened.unwrap().shutdown().await;
    }
}

/// None if another process opens a file, or what it says.
fn refused_elsewhere(path: &Path) -> Option<String> {
    let mut program = Command::new(env::current_exe().unwrap());
    let ended = program.args(["--exact", OPENING]).env(OPENED, path).output().unwrap();
    let said = String::from_utf8(ended.stdout).unwrap();
    assert!(said.contains("running 1 test"), "{said}");
    (!ended.status.success()).then_some(said)
}

#[tokio::test]
async fn nobody_opens_a_file_that_others_have_open_with_a_log_that_is_not_beside_it() {
    let fixture = SqliteFixture::start().await;
    given::inserted(&*fixture.store(), given::grant()).await;
    assert_eq!(refused_elsewhere(&fixture.path()), None);
    let other = fixture.beside("other.db");
    fs::hard_link(fixture.path(), &other).unwrap();
    let is_refused = |path: &Path| refused_elsewhere(path).is_some_and(|said| said.contains("LogReplaced"));
    assert!(is_refused(&other) && !fixture.beside("other.db-wal").exists(), "the log has another name");
    for name in [LOG, INDEX] {
        fs::remove_file(fixture.beside(name)).unwrap();
        assert!(is_refused(&fixture.path()) && !fixture.beside(LOG).exists(), "{name} is gone, too");
    }
    fixture.store().shutdown().await;
    assert_eq!(refused_elsewhere(&fixture.path()), None, "nobody has it open");
    assert_eq!(refused_elsewhere(&other), None, "nor by its other name");
}
