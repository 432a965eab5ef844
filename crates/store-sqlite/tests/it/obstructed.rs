//! A file, or a directory, that may not be written: who opens it, or makes a copy of it, is told which it is, and why.
//!
//! Root may write everything. So that is done by another process, this program told to run one test alone, as nobody.

use std::env;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::geteuid;
use sluice_commit::chain;
use sluice_store_contract::Fixture;
use sluice_store_sqlite::{SqlitePath, SqliteStore, backup};
use tempfile::TempDir;

use crate::fixture::{SqliteFixture, options};

/// Which file is opened, and copied.
const OPENED: &str = "SLUICE_TEST_OBSTRUCTED";
const OPENING: &str = "obstructed::a_file_that_may_not_be_written_is_opened";
/// Whom nothing belongs to.
const NOBODY: u32 = 65_534;

/// Does nothing where no other test names one.
#[tokio::test]
async fn a_file_that_may_not_be_written_is_opened() {
    if let Some(path) = env::var_os(OPENED).map(PathBuf::from) {
        let copied = backup(&path, &path.with_extension("copy")).unwrap_err();
        println!("the copy: {}", chain(&copied));
        let opened = SqliteStore::open(SqlitePath::File(path), options()).await.unwrap_err();
        println!("the store: {}", chain(&opened));
    }
}

/// Whether everybody gets there, and may enter or run it.
fn is_for_all(path: &Path) -> bool {
    path.ancestors().all(|part| fs::metadata(part).unwrap().permissions().mode() & 0o001 != 0)
}

/// This program; where it is built in a directory that is not for all, and nobody is to run it, a copy in this one.
fn program(apart: &TempDir) -> PathBuf {
    let own = env::current_exe().unwrap();
    if !geteuid().is_root() {
        return own;
    }
    permit(apart.path(), 0o755);
    assert!(is_for_all(apart.path()), "nobody gets to {}: TMPDIR must be for all", apart.path().display());
    if is_for_all(&own) {
        return own;
    }
    let copy = apart.path().join("obstructed");
    // By another process: what other tests start meanwhile would have it open for writing, and nobody could run it.
    assert!(Command::new("cp").args([&own, &copy]).status().unwrap().success());
    permit(&copy, 0o755);
    copy
}

/// What nobody is told of it.
fn told(program: &Path, path: &Path) -> String {
    let mut command = Command::new(program);
    if geteuid().is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
    command.args(["--exact", OPENING, "--nocapture"]).env(OPENED, path);
    let ended = command.output().unwrap_or_else(|cause| panic!("nobody runs {}: {cause}", program.display()));
    let said = [ended.stdout, ended.stderr].map(|text| String::from_utf8(text).unwrap()).concat();
    assert!(ended.status.success() && said.contains("running 1 test"), "{said}");
    said
}

fn permit(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

#[tokio::test]
async fn who_may_not_write_a_database_is_told_which_of_its_files_and_what_the_system_says() {
    let fixture = SqliteFixture::start().await;
    fixture.store().shutdown().await;
    let (path, directory) = (fixture.path(), fixture.directory().to_owned());
    let apart = TempDir::new().unwrap();
    let program = program(&apart);
    permit(&directory, 0o555);
    permit(&path, 0o444);
    let of_the_file = told(&program, &path);
    permit(&path, 0o666);
    let of_the_directory = told(&program, &path);
    permit(&directory, 0o700);
    let forbidden = format!("{} may not be written by this user: Permission denied", path.display());
    assert_eq!(of_the_file.matches(&forbidden).count(), 2, "of both: {of_the_file}");
    assert!(of_the_file.contains("Error code "), "{of_the_file}");
    let no_place = format!("no file can be made and written in {}: Permission denied", directory.display());
    assert_eq!(of_the_directory.matches(&no_place).count(), 2, "of both: {of_the_directory}");
    assert!(!of_the_directory.contains("by this user"), "{of_the_directory}");
}
