//! A restore: what was committed after the backup is gone, also where a process left it in a log; what was there is kept.
//!
//! That another process has the database open is for another process to show: see the tests of the program.

use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};

use sluice_oauth::grant::{Grant, GrantRepository};
use sluice_store_contract::{Fixture, given};
use sluice_store_sqlite::{CopyError, SqlitePath, SqliteStore, backup, restore};
use tempfile::TempDir;

use crate::fixture::{SqliteFixture, is_sound, make_foreign, names_in, options};

/// A grant that is in the backup and one that came later; and the files of a node that was killed then.
struct Crashed {
    _fixture: SqliteFixture,
    copy: PathBuf,
    old: Grant,
    new: Grant,
    directory: TempDir,
}

impl Crashed {
    async fn start(is_checkpointed: bool) -> Self {
        let fixture = SqliteFixture::start().await;
        let copy = fixture.beside("copy.db");
        let old = given::inserted(&*fixture.store(), given::grant()).await;
        backup(&fixture.path(), &copy).unwrap();
        let new = given::inserted(&*fixture.store(), given::grant()).await;
        if is_checkpointed {
            let checkpoint = "PRAGMA wal_checkpoint(PASSIVE)";
            fixture.another_process().query_row(checkpoint, [], |_| Ok(())).unwrap();
            given::inserted(&*fixture.store(), given::grant()).await;
        }
        let directory = TempDir::new().unwrap();
        for name in ["sluice.db", "sluice.db-wal", "sluice.db-shm"] {
            fs::copy(fixture.beside(name), directory.path().join(name)).unwrap();
        }
        Self { _fixture: fixture, copy, old, new, directory }
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join("sluice.db")
    }
}

async fn has(path: &Path, grant: &Grant) -> bool {
    let store = SqliteStore::open(SqlitePath::File(path.to_owned()), options()).await.unwrap();
    let found = store.find(grant.id).await.unwrap();
    store.shutdown().await;
    found.is_some()
}

/// Whoever is not root owns what they made.
#[tokio::test]
async fn a_restored_file_is_of_who_owned_the_former_one_or_owns_the_directory() {
    const SERVER: u32 = 65_534;
    let fixture = SqliteFixture::start().await;
    let copy = fixture.beside("copy.db");
    backup(&fixture.path(), &copy).unwrap();
    let directory = TempDir::new().unwrap();
    let place = directory.path().join("sluice.db");
    let own = copy.metadata().unwrap().uid();
    let server = if own == 0 { SERVER } else { own };
    chown(directory.path(), Some(server), None).unwrap();
    restore(&copy, &place).unwrap();
    assert_eq!(place.metadata().unwrap().uid(), server, "of the directory");
    chown(directory.path(), Some(own), None).unwrap();
    restore(&copy, &place).unwrap();
    assert_eq!(place.metadata().unwrap().uid(), server, "of the former file");
}

#[tokio::test]
async fn after_a_kill_a_restore_brings_back_what_was_and_nothing_of_what_came_later() {
    for is_checkpointed in [false, true] {
        let crashed = Crashed::start(is_checkpointed).await;
        let path = crashed.path();
        let restored = restore(&crashed.copy, &path).unwrap();
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert!(has(&path, &crashed.old).await && !has(&path, &crashed.new).await);
        assert!(is_sound(&path));
        // All of the former one is there, with what was only in its log.
        let former = restored.former.unwrap();
        assert!(has(&former, &crashed.old).await && has(&former, &crashed.new).await);
        // It can be put back as any copy can, once its log is part of it.
        assert!(is_sound(&former));
        let back = restore(&former, &path).unwrap();
        assert!(back.former != Some(former) && back.network == restored.network);
        assert!(has(&path, &crashed.new).await);
    }
}

/// As after a restore by hand that forgot them, or one that was broken off.
#[tokio::test]
async fn logs_without_a_file_are_not_replayed_into_the_copy() {
    let crashed = Crashed::start(true).await;
    let path = crashed.path();
    fs::remove_file(&path).unwrap();
    assert_eq!(restore(&crashed.copy, &path).unwrap().former, None);
    assert!(has(&path, &crashed.old).await && !has(&path, &crashed.new).await);
    assert!(is_sound(&path));
}

#[tokio::test]
async fn a_damaged_database_is_replaced_behind_the_link_that_leads_to_it() {
    let crashed = Crashed::start(false).await;
    let link = crashed.directory.path().join("link.db");
    symlink("sluice.db", &link).unwrap();
    fs::write(crashed.path(), "nothing of it can be read").unwrap();
    restore(&crashed.copy, &link).unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert!(has(&crashed.path(), &crashed.old).await && !has(&crashed.path(), &crashed.new).await);
}

/// Makes copies that are none, each with what is said of it.
fn none_of_them_copies(crashed: &Crashed) -> Vec<(PathBuf, &'static str)> {
    let named = |name: &str| crashed.copy.with_file_name(name);
    let length = fs::copy(&crashed.copy, named("half.db")).unwrap();
    File::options().write(true).open(named("half.db")).unwrap().set_len(length / 2).unwrap();
    fs::write(named("text.db"), "no database at all, but long enough for the head of one".repeat(99))
        .unwrap();
    fs::write(named("empty.db"), "").unwrap();
    make_foreign(&named("foreign.db"));
    fs::copy(&crashed.copy, named("open.db")).unwrap();
    fs::write(named("open.db-wal"), "").unwrap();
    vec![
        (named("half.db"), ""),
        (named("text.db"), "not a database"),
        (named("empty.db"), "no database of Sluice"),
        (named("foreign.db"), "no database of Sluice"),
        (named("open.db"), "is not whole"),
        (named("none.db"), "No such file"),
        (crashed.path(), "is the database itself"),
    ]
}

#[tokio::test]
async fn what_is_no_whole_copy_of_a_database_of_ours_is_refused_and_nothing_is_changed() {
    let crashed = Crashed::start(false).await;
    let before = names_in(crashed.directory.path());
    for (copy, reason) in none_of_them_copies(&crashed) {
        let refused = restore(&copy, &crashed.path()).unwrap_err();
        let said = sluice_commit::chain(&refused);
        assert!(said.contains(reason), "{copy:?}: {said}");
        assert_eq!(names_in(crashed.directory.path()), before, "{copy:?}: {said}");
    }
    let nowhere = crashed.directory.path().join("none").join("sluice.db");
    let refused = restore(&crashed.copy, &nowhere).unwrap_err();
    assert!(matches!(refused, CopyError::File { .. }), "{refused:?}");
    assert!(has(&crashed.path(), &crashed.new).await, "its log is still there");
}
