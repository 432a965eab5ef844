//! A backup: of one moment, whoever writes meanwhile; for its owner alone; never in the place of another file.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::sync::mpsc::{Sender, channel};
use std::thread;

use rusqlite::Connection;
use sluice_store_contract::Fixture;
use sluice_store_sqlite::{CopyError, backup};

use crate::fixture::{SqliteFixture, is_sound, make_foreign, names_in};

const BACKUPS: usize = 8;

/// Adds a row to both tables in each commit, and tells of it, as long as somebody listens; how often.
fn commit_without_pause(file: &Connection, tell: &Sender<()>) -> i64 {
    let mut commits = 0;
    loop {
        file.execute_batch("BEGIN; INSERT INTO one VALUES (1); INSERT INTO other VALUES (1); COMMIT")
            .unwrap();
        commits += 1;
        if tell.send(()).is_err() {
            return commits;
        }
    }
}

#[tokio::test]
async fn a_backup_is_of_one_moment_while_others_go_on_committing() {
    let fixture = SqliteFixture::start().await;
    let file = fixture.another_process();
    file.execute_batch("CREATE TABLE one (x); CREATE TABLE other (x)").unwrap();
    let network = fixture.store().network_id().await.unwrap();
    let (tell, told) = channel();
    let committing = thread::spawn(move || commit_without_pause(&file, &tell));
    let mut copies = Vec::new();
    for number in 0..BACKUPS {
        told.recv().unwrap();
        let copy = fixture.beside(&format!("copy-{number}.db"));
        assert_eq!(backup(&fixture.path(), &copy).unwrap(), network);
        copies.push(copy);
    }
    drop(told);
    let commits = committing.join().unwrap();
    for copy in &copies {
        assert!(is_sound(copy));
        let rows = "SELECT (SELECT COUNT(*) FROM one), (SELECT COUNT(*) FROM other)";
        let counts: (i64, i64) = Connection::open(copy)
            .unwrap()
            .query_row(rows, [], |row| Ok((row.get(0)?, row.get(1)?)))
            .unwrap();
        assert!(counts.0 == counts.1 && (1..=commits).contains(&counts.0), "{counts:?} of {commits}");
    }
}

#[tokio::test]
async fn a_backup_is_one_file_that_its_owner_alone_reads() {
    let fixture = SqliteFixture::start().await;
    let mut names = names_in(fixture.directory());
    let copy = fixture.beside("copy.db");
    backup(&fixture.path(), &copy).unwrap();
    let mode = fs::metadata(&copy).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    names.push("copy.db".to_owned());
    names.sort_unstable();
    assert_eq!(names_in(fixture.directory()), names);
}

#[tokio::test]
async fn a_backup_replaces_no_file_and_is_of_a_database_of_ours() {
    let fixture = SqliteFixture::start().await;
    let (copy, foreign) = (fixture.beside("copy.db"), fixture.beside("foreign.db"));
    fs::write(&copy, "somebody's").unwrap();
    make_foreign(&foreign);
    let before = names_in(fixture.directory());
    let refused = backup(&fixture.path(), &copy).unwrap_err();
    assert!(matches!(refused, CopyError::Exists(_)), "{refused:?}");
    assert_eq!(fs::read_to_string(&copy).unwrap(), "somebody's");
    let refused = backup(&foreign, &fixture.beside("other.db")).unwrap_err();
    assert!(matches!(refused, CopyError::Foreign(_)), "{refused:?}");
    let refused = backup(&fixture.beside("none.db"), &fixture.beside("other.db")).unwrap_err();
    assert!(matches!(refused, CopyError::Engine { .. }), "{refused:?}");
    let nowhere = fixture.beside("none").join("copy.db");
    let refused = backup(&fixture.path(), &nowhere).unwrap_err();
    assert!(matches!(refused, CopyError::File { .. }), "{refused:?}");
    assert_eq!(names_in(fixture.directory()), before);
}
