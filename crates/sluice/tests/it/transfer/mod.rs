//! People from a file into the database, and back out.
//!
//! [`killed`]: an import that does not come to its end at once.

mod killed;

use std::path::Path;

use serde_json::{Value, json};
use sluice_testkit::{Backend, TestSluice};

use crate::both_stores::on_both_stores;
use crate::program::{Ended, run};

on_both_stores!(
    people_are_imported_log_in_and_are_exported,
    a_file_is_not_emptied_by_its_own_import,
    nobody_is_imported_with_other_secrets,
    a_file_is_imported_into_each_database,
    what_an_earlier_version_imported_is_not_imported_again,
    whom_a_file_says_to_be_verified_and_is_not_believed_is_counted,
);

const BCRYPT: &str = "$2b$05$f5Wln.c9p1tJ/BOosudp1uoOWFqgwCkFgK8NE3cdQZzAWfgiyskVe";
const SECRET: &str = "a-system-secret-for-this-test";
const PASSWORD: &str = "correct horse battery staple";

/// The program, on the database of a server.
fn sluice(server: &TestSluice, arguments: &[&str]) -> Ended {
    let [dsn, secret] = settings(server);
    run(&[arguments, &["--dev", "--set", &dsn, "--set", &secret]].concat(), &[])
}

/// What the program is told of a server.
fn settings(server: &TestSluice) -> [String; 2] {
    [format!("dsn={}", server.database.dsn), format!("secrets.system={SECRET}")]
}

fn lines(path: &Path) -> Vec<Value> {
    std::fs::read_to_string(path).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

async fn a_file_is_not_emptied_by_its_own_import(backend: Backend) {
    let server = TestSluice::with(backend, &[("secrets.system", SECRET)]).await;
    let directory = tempfile::tempdir().unwrap();
    let (people, by_another_name) = (directory.path().join("people.ndjson"), directory.path().join("errors"));
    let written = "{\"email\": \"ada@example.com\"}\n";
    std::fs::write(&people, written).unwrap();
    std::fs::hard_link(&people, &by_another_name).unwrap();
    let import = ["import", "identities", people.to_str().unwrap()];
    for errors in [&people, &by_another_name] {
        let ended = sluice(&server, &[&import[..], &["--errors", errors.to_str().unwrap()]].concat());
        let is_told = ended.stderr.contains("--errors names the file that is imported");
        assert!(!ended.success && is_told, "{}", ended.stderr);
        assert_eq!(std::fs::read_to_string(&people).unwrap(), written);
    }
    assert!(sluice(&server, &import).success);
}

async fn nobody_is_imported_with_other_secrets(backend: Backend) {
    let server = TestSluice::with(backend, &[("secrets.system", SECRET)]).await;
    let directory = tempfile::tempdir().unwrap();
    let people = directory.path().join("people.ndjson");
    std::fs::write(&people, format!("{}\n", json!({ "email": "ada@example.com", "password_hash": BCRYPT })))
        .unwrap();
    let import = ["import", "identities", people.to_str().unwrap()];
    let [dsn, secret] = settings(&server);
    let another = "secrets.storage=another-secret-for-this-test";
    for secrets in [&["secrets.system=another-secret-for-this-test"][..], &[secret.as_str(), another][..]] {
        let set = secrets.iter().flat_map(|secret| ["--set", *secret]);
        let arguments: Vec<&str> =
            import.into_iter().chain(["--dev", "--set", dsn.as_str()]).chain(set).collect();
        let ended = run(&arguments, &[]);
        let is_told = ended.stderr.contains("has sealed none of the signing keys in this database");
        assert!(!ended.success && is_told, "{secrets:?}: {}", ended.stderr);
        let exported = sluice(&server, &["export", "identities"]);
        assert!(exported.success && exported.stdout.is_empty(), "{}", exported.stdout);
    }
    let ended = sluice(&server, &import);
    assert!(ended.success, "{}", ended.stderr);
    server.node.stop().await;
}

async fn a_file_is_imported_into_each_database(backend: Backend) {
    let staging = TestSluice::with(backend, &[("secrets.system", SECRET)]).await;
    let production = TestSluice::with(backend, &[("secrets.system", SECRET)]).await;
    let directory = tempfile::tempdir().unwrap();
    let people = directory.path().join("people.ndjson");
    std::fs::write(&people, "{\"email\": \"ada@example.com\"}\n").unwrap();
    let import = ["import", "identities", people.to_str().unwrap()];
    assert!(sluice(&staging, &import).success);
    let ended = sluice(&production, &import);
    let is_told = ended.stderr.contains("belongs to an import into another database");
    assert!(!ended.success && is_told, "{}", ended.stderr);
    let ended = sluice(&production, &[&import[..], &["--restart"]].concat());
    assert!(ended.success, "{}", ended.stderr);
    let exported = sluice(&production, &["export", "identities"]);
    assert!(exported.stdout.contains("ada@example.com"), "{}", exported.stdout);
    staging.node.stop().await;
    production.node.stop().await;
}

async fn what_an_earlier_version_imported_is_not_imported_again(backend: Backend) {
    let server = TestSluice::with(backend, &[("secrets.system", SECRET)]).await;
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    let (people, kept) = (path("people.ndjson"), path("people.ndjson.sluice-import"));
    std::fs::write(&people, "{\"email\": \"ada@example.com\"}\n").unwrap();
    let import = ["import", "identities", people.to_str().unwrap()];
    assert!(sluice(&server, &import).success);
    let mut state = lines(&kept).remove(0);
    state["version"] = json!(1);
    state.as_object_mut().unwrap().remove("network");
    std::fs::write(&kept, state.to_string()).unwrap();
    for is_warned in [true, false] {
        let ended = sluice(&server, &import);
        assert!(ended.success && ended.stderr.contains("imported to its end before"), "{}", ended.stderr);
        assert_eq!(ended.stderr.contains("warning: an earlier version kept"), is_warned, "{}", ended.stderr);
    }
    server.node.stop().await;
}

async fn whom_a_file_says_to_be_verified_and_is_not_believed_is_counted(backend: Backend) {
    let server = TestSluice::with(backend, &[("secrets.system", SECRET)]).await;
    let directory = tempfile::tempdir().unwrap();
    let people = directory.path().join("people.ndjson");
    let line = json!({ "email": "ada%example.net@example.com", "email_verified": true });
    std::fs::write(&people, format!("{line}\n")).unwrap();
    let import = ["import", "identities", people.to_str().unwrap(), "--format", "json"];
    let ended = sluice(&server, &import);
    let is_told = ended.stderr.contains("warning: 1 lines say `email_verified` of an address that nobody is");
    assert!(ended.success && is_told, "{}", ended.stderr);
    let summary: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!((summary["imported"].as_u64(), summary["disbelieved"].as_u64()), (Some(1), Some(1)));
    server.node.stop().await;
}

async fn people_are_imported_log_in_and_are_exported(backend: Backend) {
    // given
    let server = TestSluice::with(backend, &[("secrets.system", SECRET)]).await;
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    let (people, errors, exported) = (path("people.ndjson"), path("errors.ndjson"), path("exported.ndjson"));
    let ada = json!({ "email": "Ada@example.com", "username": "Ada", "password_hash": BCRYPT });
    let bad = json!({ "email": "bob@example.com", "password_hash": "hunter2" });
    let twice = json!({ "email": "ada@example.com" });
    std::fs::write(&people, format!("{ada}\n{bad}\n{twice}\n{{\"email\": \"eve@example.com\"}}\n")).unwrap();
    // when
    let import = ["import", "identities", people.to_str().unwrap(), "--format", "json"];
    let with_errors = [&import[..], &["--errors", errors.to_str().unwrap()]].concat();
    let ended = sluice(&server, &with_errors);
    // then
    assert!(!ended.success && !ended.stderr.contains("hunter2"), "{}", ended.stderr);
    let summary: Value = serde_json::from_str(&ended.stdout).expect(&ended.stderr);
    let counts = ["lines", "imported", "duplicates", "invalid"].map(|name| summary[name].as_u64().unwrap());
    assert_eq!(counts, [4, 2, 1, 1]);
    let told = lines(&errors);
    assert_eq!((told[0]["line"].as_u64(), told[0]["field"].as_str()), (Some(2), Some("password_hash")));
    assert_eq!((told[1]["line"].as_u64(), told[1]["field"].as_str()), (Some(3), Some("email")));
    // and when it is done again
    let again = sluice(&server, &import);
    assert!(again.stderr.contains("--restart begins anew"), "{}", again.stderr);
    let restarted: Value =
        serde_json::from_str(&sluice(&server, &[&import[..], &["--restart"]].concat()).stdout).unwrap();
    assert_eq!((restarted["imported"].as_u64(), restarted["duplicates"].as_u64()), (Some(2), Some(1)));
    // and when somebody logs in
    let login = json!({ "email": "ada@example.com", "password": PASSWORD });
    let url = server.public.join("/auth/login").unwrap();
    let answer = reqwest::Client::new().post(url).json(&login).send().await.unwrap();
    assert_eq!(answer.status(), 200, "{:?}", answer.text().await);
    // then the hash that is exported is not the one that was imported
    let ended = sluice(&server, &["export", "identities", exported.to_str().unwrap()]);
    assert!(ended.success, "{}", ended.stderr);
    let ended = sluice(&server, &["export", "identities", exported.to_str().unwrap()]);
    let refused = format!("{} cannot be written: ", exported.display());
    assert!(!ended.success && ended.stderr.contains(&refused), "{}", ended.stderr);
    let people = lines(&exported);
    let find = |email: &str| people.iter().find(|person| person["email"] == email).unwrap().clone();
    let ada = find("ada@example.com");
    assert!(ada["password_hash"].as_str().unwrap().starts_with("h1$"), "{ada}");
    assert_eq!((ada["username"].as_str(), ada["status"].as_str()), (Some("Ada"), Some("active")));
    assert!(find("eve@example.com").get("password_hash").is_none());
    let ended = sluice(&server, &["secrets", "status"]);
    assert!(ended.stdout.contains("1 hashed with secrets.system #1, which hashes"), "{}", ended.stdout);
}
