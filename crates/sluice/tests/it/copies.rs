//! Copies of a SQLite database, and what becomes of a node when its file is replaced: the program on the files of a running one.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use reqwest::StatusCode;
use serde_json::json;
use sluice_testkit::Backend;

use crate::answer::{Answer, http};
use crate::application::Application;
use crate::load::Load;
use crate::process::{Process, Site, until};
use crate::program::{Ended, run};

/// Logins before the backup and after it.
const LOGINS: usize = 30;

#[track_caller]
fn refused(ended: &Ended, reason: &str) {
    assert!(ended.code == Some(1) && ended.stderr.contains(reason), "{reason}: {ended:?}");
}

/// Something that lies beside the database.
fn beside(site: &Site, suffix: &str) -> PathBuf {
    format!("{}{suffix}", site.dsn().strip_prefix("sqlite:").unwrap()).into()
}

/// Waits until a node says that it is not ready for this reason, and sees that it takes no writes.
async fn refuses_writes(process: &Process, reason: &str) {
    until("not ready", async || process.readiness().await == Some(StatusCode::SERVICE_UNAVAILABLE)).await;
    process.logs(&["the store does not answer", reason]).await;
    let register = http().post(process.admin.join("/admin/clients").unwrap()).json(&json!({}));
    let answer = Answer::to(register).await;
    assert_eq!(answer.status, 500, "{}", answer.body);
}

async fn stop(process: Process) {
    process.tell_to_stop();
    assert!(process.ended().await.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_of_a_node_at_work_is_restored_once_the_node_is_dead_and_not_before() {
    let site = Site::fresh(Backend::Sqlite).await;
    let process = site.start().await;
    let application = Application::register(&[&process]).await;
    let code = application.log_in("alice").await.expect("a code");
    let before = application.redeem(&code).await.expect("tokens");
    let directory = tempfile::tempdir().unwrap();
    let copy = directory.path().join("copy.db").display().to_string();

    let mut load = Load::start(&application);
    load.more_logins(LOGINS).await;
    let copied = run(&["backup", &copy, site.dsn()], &[]);
    assert!(copied.success, "{copied:?}");
    load.more_logins(LOGINS).await;
    load.stop().await;
    let code = application.log_in("bob").await.expect("a code");
    let after = application.redeem(&code).await.expect("tokens");
    refused(&run(&["backup", &copy, site.dsn()], &[]), "already");
    refused(&run(&["restore", &copy, site.dsn()], &[]), "is in use by another process");
    let after = application.refresh(&after).await.expect("nothing was changed");

    process.kill().await;
    let restored = run(&["restore", &copy, site.dsn()], &[]);
    assert!(restored.success && restored.stdout.contains(".replaced-1 now."), "{restored:?}");
    let process = site.start().await;
    let application = application.at(&[&process]);
    application.refresh(&before).await.expect("it is in the copy");
    assert!(application.refresh(&after).await.is_err_and(|error| error.is("invalid_grant")));
    process.kill().await;
}

/// A file that may not grow stands for a disk that is full: no other is written here.
#[tokio::test(flavor = "multi_thread")]
async fn a_backup_that_has_no_room_names_itself_and_not_the_database() {
    let site = Site::fresh(Backend::Sqlite).await;
    let process = site.start().await;
    let directory = tempfile::tempdir().unwrap();
    let copy = directory.path().join("copy.db").display().to_string();
    let mut shell = Command::new("/bin/sh");
    shell.env_clear().args(["-c", "trap '' XFSZ; ulimit -f 64; exec \"$0\" backup \"$1\" \"$2\""]);
    let ended = shell.args([env!("CARGO_BIN_EXE_sluice"), &copy, site.dsn()]).output().unwrap();
    let said = String::from_utf8(ended.stderr).unwrap();
    let file = site.dsn().strip_prefix("sqlite:").unwrap();
    assert!(!ended.status.success() && said.contains(&copy) && !said.contains(file), "{said}");
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0, "nothing is left of it");
    process.kill().await;
}

/// The engine goes on with a file that has lost its name: everything that it is given is gone at the next start.
#[tokio::test(flavor = "multi_thread")]
async fn a_node_whose_file_was_replaced_is_not_ready_and_takes_no_writes_until_it_is_back() {
    let site = Site::fresh(Backend::Sqlite).await;
    let process = site.start().await;
    let file = PathBuf::from(site.dsn().strip_prefix("sqlite:").unwrap());
    let aside = file.with_extension("aside");
    fs::rename(&file, &aside).unwrap();
    fs::copy(&aside, &file).unwrap();
    refuses_writes(&process, "the database file was removed or replaced while it was open").await;
    // It has another file open, and the index of the log that lies beside this one.
    let restored = run(&["restore", aside.to_str().unwrap(), site.dsn()], &[]);
    refused(&restored, "is in use by another process");
    fs::rename(&aside, &file).unwrap();
    until("ready again", async || process.readiness().await == Some(StatusCode::OK)).await;
    process.kill().await;
}

/// The engine goes on with a log that has lost its name, and whoever opens the file meanwhile would get another. Who stops then loses nothing.
#[tokio::test(flavor = "multi_thread")]
async fn a_node_whose_log_was_deleted_takes_no_writes_and_brings_what_it_has_into_the_file_when_it_stops() {
    let site = Site::fresh(Backend::Sqlite).await;
    let process = site.start().await;
    let application = Application::register(&[&process]).await;
    fs::remove_file(beside(&site, "-wal")).unwrap();
    refuses_writes(&process, "the log of the database (-wal)").await;
    let copy = beside(&site, ".copy").display().to_string();
    refused(&run(&["backup", &copy, site.dsn()], &[]), "the log of the database (-wal)");
    assert!(!beside(&site, "-wal").exists(), "nobody made another");
    stop(process).await;
    let process = site.start().await;
    application.at(&[&process]).client_credentials().await.expect("it was answered");
    process.kill().await;
}

/// The index is made from the log by whoever opens the file next, and writes on: what the former one knows of the log is old then.
#[tokio::test(flavor = "multi_thread")]
async fn a_node_whose_index_was_deleted_takes_no_writes_and_keeps_what_others_write_since_when_it_stops() {
    let site = Site::fresh(Backend::Sqlite).await;
    let first = site.start().await;
    let before = Application::register(&[&first]).await;
    fs::remove_file(beside(&site, "-shm")).unwrap();
    refuses_writes(&first, "the log of the database (-wal)").await;
    let second = site.start().await;
    let after = Application::register(&[&second]).await;
    stop(second).await;
    stop(first).await;
    let process = site.start().await;
    for application in [before, after] {
        application.at(&[&process]).client_credentials().await.expect("it was answered");
    }
    process.kill().await;
}

#[test]
fn databases_that_are_no_file_are_not_copied() {
    let copy = tempfile::tempdir().unwrap().path().join("copy.db").display().to_string();
    for command in ["backup", "restore"] {
        refused(&run(&[command, &copy, "postgres://nobody@127.0.0.1:1/none"], &[]), "`pg_dump`");
        refused(&run(&[command, &copy, "memory"], &[]), "keeps nothing");
    }
}
