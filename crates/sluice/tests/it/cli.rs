//! The command line: the program itself, run against a node within this process.
//!
//! [`audit`]: what commands without a server leave in the audit trail. [`piped`]: what can be read once.

mod audit;
mod piped;

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Stdio};
use std::sync::Arc;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use sluice_crypto::credential::Peppers;
use sluice_primitives::Secret;
use sluice_testkit::{Authorize, Backend, PrivateCluster, Stop, TestSluice};
use tokio::process::Command;
use tokio::task::spawn_blocking;

use crate::program::start;

/// What a run of the program left.
struct Run {
    code: Option<i32>,
    out: String,
    err: String,
}

impl Run {
    /// What it printed; panics unless it ended well.
    #[track_caller]
    fn ok(self) -> String {
        assert_eq!(self.code, Some(0), "{}", self.err);
        self.out
    }

    /// What it printed, as JSON.
    #[track_caller]
    fn json(self) -> Value {
        serde_json::from_str(&self.ok()).unwrap()
    }

    /// What it complained about; panics unless it failed, having understood the command.
    #[track_caller]
    fn failed(self) -> String {
        assert_eq!(self.code, Some(1), "{}{}", self.out, self.err);
        self.err
    }
}

/// The program with an environment that is empty but for these variables.
async fn run_with(variables: &[(&str, &str)], arguments: &[&str]) -> Run {
    let output = Command::new(env!("CARGO_BIN_EXE_sluice"))
        .args(arguments)
        .env_clear()
        .envs(variables.iter().copied())
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output()
        .await
        .unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Run { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
}

/// A command that talks to the admin and public endpoints of this node.
async fn ask(sluice: &TestSluice, arguments: &[&str]) -> Run {
    let variables =
        [("SLUICE_ADMIN_URL", sluice.admin.as_str()), ("SLUICE_PUBLIC_URL", sluice.public.as_str())];
    run_with(&variables, arguments).await
}

/// The value beside a name in a table of one record.
fn cell<'a>(table: &'a str, name: &str) -> &'a str {
    let line =
        table.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("no {name} in {table}"));
    line[name.len()..].trim()
}

const SERVICE: &[&str] =
    &["--name", "A service", "--grant-type", "client_credentials", "--scope", "read,write"];

#[tokio::test(flavor = "multi_thread")]
async fn a_client_is_created_shown_changed_and_deleted() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let create =
        [&["create", "client", "--id", "printer", "--secret", "a-secret-of-some-length"], SERVICE].concat();
    let created = ask(&sluice, &create).await.ok();
    assert_eq!(cell(&created, "CLIENT ID"), "printer");
    assert_eq!(cell(&created, "CLIENT SECRET"), "a-secret-of-some-length");
    assert_eq!(cell(&created, "SCOPE"), "read write");

    let shown = ask(&sluice, &["get", "client", "printer", "--format", "json"]).await.json();
    assert_eq!(
        (&shown["client_name"], &shown["grant_types"]),
        (&json!("A service"), &json!(["client_credentials"]))
    );
    assert_eq!(shown["client_secret"], Value::Null);

    let changed =
        ask(&sluice, &["update", "client", "printer", "--scope", "read", "--format", "json"]).await.json();
    assert_eq!((&changed["scope"], &changed["client_name"]), (&json!("read"), &json!("A service")));

    let listed = ask(&sluice, &["list", "clients", "--format", "json"]).await.json();
    assert_eq!(
        (&listed["items"][0]["client_id"], &listed["is_last_page"]),
        (&json!("printer"), &json!(true))
    );
    let listed = ask(&sluice, &["list", "clients"]).await.ok();
    assert!(listed.starts_with("CLIENT ID") && listed.contains("\nprinter"), "{listed}");
    assert_eq!(ask(&sluice, &["list", "clients", "-q"]).await.ok(), "printer\n");

    assert_eq!(ask(&sluice, &["delete", "client", "printer"]).await.ok(), "ID  printer\n");
    let gone = ask(&sluice, &["get", "client", "printer"]).await.failed();
    assert!(gone.contains("404"), "{gone}");
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_is_got_asked_about_and_revoked() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let create = [&["create", "client", "--format", "json"], SERVICE].concat();
    let client = ask(&sluice, &create).await.json();
    let (id, secret) = (client["client_id"].as_str().unwrap(), client["client_secret"].as_str().unwrap());
    let perform =
        ["perform", "client-credentials", "--client-id", id, "--client-secret", secret, "--scope", "read"];
    let table = ask(&sluice, &perform).await.ok();
    let token = cell(&table, "ACCESS TOKEN");
    assert_eq!(cell(&table, "REFRESH TOKEN"), "<empty>");

    let said = ask(&sluice, &["introspect", "token", token, "--format", "json"]).await.json();
    assert_eq!(
        (&said["active"], &said["client_id"], &said["scope"]),
        (&json!(true), &json!(id), &json!("read"))
    );
    assert_eq!(cell(&ask(&sluice, &["introspect", "token", token]).await.ok(), "ACTIVE"), "true");

    let revoke = ["revoke", "token", token, "--client-id", id, "--client-secret", secret];
    ask(&sluice, &revoke).await.ok();
    assert_eq!(cell(&ask(&sluice, &["introspect", "token", token]).await.ok(), "ACTIVE"), "false");

    let again = ask(&sluice, &[&perform[..], &["--format", "json"]].concat()).await.json();
    let token = again["access_token"].as_str().unwrap();
    ask(&sluice, &["delete", "access-tokens", id]).await.ok();
    assert_eq!(cell(&ask(&sluice, &["introspect", "token", token]).await.ok(), "ACTIVE"), "false");
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_secret_is_refused_in_the_servers_words() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let client = sluice.client(&json!({})).await;
    let perform =
        ["perform", "client-credentials", "--client-id", &client.id, "--client-secret", "hunter2-hunter2"];
    let said = ask(&sluice, &perform).await.failed();
    assert!(said.contains("invalid_client") && said.contains("401"), "{said}");
    assert!(!said.contains("hunter2"), "{said}");
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rotated_secret_works_beside_the_old_one() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let client = sluice.client(&json!({})).await;
    let rotated = ask(&sluice, &["rotate", "client-secret", &client.id, "--format", "json"]).await.json();
    let (old, new) = (client.secret.unwrap(), rotated["client_secret"].as_str().unwrap());
    assert_ne!(old, new);
    for secret in [old.as_str(), new] {
        ask(
            &sluice,
            &["perform", "client-credentials", "--client-id", &client.id, "--client-secret", secret],
        )
        .await
        .ok();
    }
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_are_made_and_shown_without_what_is_private() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let made = ask(&sluice, &["create", "jwks", "printers", "key-1", "--alg", "ES256"]).await.ok();
    assert!(made.starts_with("SET ID") && made.contains("printers") && made.contains("key-1"), "{made}");
    let private = ask(&sluice, &["get", "jwks", "printers", "--format", "json"]).await.json();
    assert!(private["d"].is_string(), "{private}");
    let public = ask(&sluice, &["get", "jwks", "printers", "--public", "--format", "json"]).await.json();
    assert_eq!(
        (&public["kid"], &public["alg"], &public["d"]),
        (&json!("key-1"), &json!("ES256"), &Value::Null)
    );
    ask(&sluice, &["delete", "jwks", "printers"]).await.ok();
    ask(&sluice, &["get", "jwks", "printers"]).await.failed();
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_challenge_says_what_it_is() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let client = sluice.client(&json!({})).await;
    let challenge = sluice.browser().begin(&client, &Authorize::default()).await;
    let page = format!("https://login.example.org/login?login_challenge={challenge}");
    for given in [challenge.as_str(), &page] {
        let said = ask(&sluice, &["debug", "challenge", given]).await.ok();
        assert_eq!((cell(&said, "CHALLENGE"), cell(&said, "STATE")), ("login", "open"));
        assert_eq!(cell(&said, "CLIENT ID"), client.id);
    }
    let damaged = ask(&sluice, &["debug", "challenge", &challenge[1..]]).await.failed();
    assert!(damaged.contains("no challenge of this server"), "{damaged}");
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_not_there_is_named() {
    let said = run_with(&[("HYDRA_ADMIN_URL", "http://127.0.0.1:1/")], &["list", "clients"]).await.failed();
    assert!(said.contains("no answer from http://127.0.0.1:1/"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_is_migrated_and_tidied() {
    let directory = tempfile::tempdir().unwrap();
    let dsn = format!("sqlite:{}", directory.path().join("sluice.db").display());
    let applied = run_with(&[("DSN", &dsn)], &["migrate", "sql", "up", "-e", "--yes"]).await.ok();
    assert!(applied.starts_with("VERSION  NAME") && !applied.contains("Pending"), "{applied}");
    assert_eq!(run_with(&[], &["migrate", "sql", "status", &dsn]).await.ok(), applied);
    let ids = run_with(&[], &["migrate", "sql", "status", "-q", &dsn]).await.ok();
    assert_eq!(ids.lines().count(), applied.lines().count() - 1);
    let listed = run_with(&[], &["migrate", "sql", "status", "--format", "json", &dsn]).await.json();
    let first = &listed[0];
    assert_eq!(
        (&first["state"], &first["version"], &first["name"]),
        (&json!("Applied"), &json!("1"), &json!("initial"))
    );
    assert!(first["applied_at"].is_string(), "{first}");
    let tidied = run_with(&[], &["janitor", &dsn]).await.ok();
    assert_eq!(tidied, "Deleted 0 expired rows.\n");
    let unnamed = run_with(&[], &["janitor"]).await.failed();
    assert!(unnamed.contains("name the database"), "{unnamed}");
}

/// A mistyped path, or a disk that is not mounted: what is made there would look like an installation without anybody.
#[tokio::test(flavor = "multi_thread")]
async fn who_looks_for_a_database_makes_none() {
    let directory = tempfile::tempdir().unwrap();
    let folder = directory.path().join("mistyped");
    let dsn = format!("sqlite:{}", folder.join("sluice.db").display());
    let variables = [
        ("DSN", &*dsn),
        ("SECRETS_SYSTEM", "a-system-secret-for-this-test"),
        ("URLS_SELF_ISSUER", "https://id.example.com/"),
        ("SERVE_PUBLIC_HOST", "127.0.0.1"),
        ("SERVE_PUBLIC_PORT", "0"),
        ("SERVE_ADMIN_PORT", "0"),
    ];
    let status = run_with(&variables, &["migrate", "sql", "status", "-e"]).await;
    assert!(status.err.contains("there is no file") && status.err.contains("mistyped"), "{}", status.err);
    let pending = status.ok();
    assert!(pending.contains("initial") && pending.contains("Pending"), "{pending}");
    assert!(!pending.contains("Applied") && !folder.exists(), "{pending}");
    for command in [
        &["backup", "a-copy-that-is-not-made.db", "-e"][..],
        &["janitor", "-e"],
        &["export", "identities", "-"],
        &["worker"],
        &["serve", "all"],
    ] {
        let said = run_with(&variables, command).await.failed();
        assert!(said.contains("there is no file") && said.contains("mistyped"), "{command:?}: {said}");
        assert!(!folder.exists(), "{command:?}");
    }
    run_with(&variables, &["migrate", "sql", "up", "-e", "--yes"]).await.ok();
    assert!(folder.join("sluice.db").exists());
}

/// The program, until it ends by itself or this is dropped.
struct Running(Child);

impl Running {
    /// What it says on standard error, up to a line with `text`.
    #[track_caller]
    fn wait_until_it_says(&mut self, text: &str) -> String {
        let mut said = String::new();
        let mut lines = BufReader::new(self.0.stderr.as_mut().unwrap());
        while !said.contains(text) {
            assert!(lines.read_line(&mut said).unwrap() > 0, "it never says `{text}`: {said}");
        }
        said
    }

    /// What it ends with, and what it printed.
    async fn ended(mut self) -> (Option<i32>, String) {
        let wait = move || {
            let mut printed = String::new();
            self.0.stdout.take().unwrap().read_to_string(&mut printed).unwrap();
            (self.0.wait().unwrap().code(), printed)
        };
        spawn_blocking(wait).await.unwrap()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_comes_later_is_waited_for() {
    let cluster = Arc::new(spawn_blocking(|| PrivateCluster::start().unwrap()).await.unwrap());
    let dsn = cluster.database().await;
    let away = Arc::clone(&cluster);
    spawn_blocking(move || away.stop(Stop::Immediate).unwrap()).await.unwrap();
    let directory = tempfile::tempdir().unwrap();
    let file = format!("sqlite:{}", directory.path().join("sluice.db").display());
    let mut waiting = Vec::new();
    let block = &["status", "--block"][..];
    for (dsn, action) in [(&dsn, &["up"][..]), (&dsn, block), (&file, block)] {
        let mut running = Running(start(&[&["migrate", "sql", "-e"][..], action].concat(), &[("DSN", dsn)]));
        let said = running.wait_until_it_says("it is waited for");
        assert!(said.contains("cannot be reached") || said.contains("there is no file"), "{said}");
        waiting.push(running);
    }
    let back = Arc::clone(&cluster);
    spawn_blocking(move || back.start_again().unwrap()).await.unwrap();
    run_with(&[("DSN", &file)], &["migrate", "sql", "up", "-e"]).await.ok();
    for running in waiting {
        let (code, printed) = running.ended().await;
        assert_eq!(code, Some(0), "{printed}");
        assert!(printed.contains("Applied") && !printed.contains("Pending"), "{printed}");
    }
    // That does not come by itself.
    let none = cluster.dsn("there_is_none");
    for action in [&["up"][..], block] {
        let command = [&["migrate", "sql", "-e"][..], action].concat();
        let said = run_with(&[("DSN", &none)], &command).await.failed();
        assert!(said.contains("(3D000)") && !said.contains("waited for"), "{action:?}: {said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_waits_for_a_database_can_be_told_to_stop_or_not_to_wait() {
    let variables = [
        ("DSN", "postgres://nobody@127.0.0.1:1/none"),
        ("SECRETS_SYSTEM", "a-system-secret-for-this-test"),
        ("URLS_SELF_ISSUER", "https://id.example.com/"),
        ("SERVE_PUBLIC_HOST", "127.0.0.1"),
        ("SERVE_PUBLIC_PORT", "0"),
        ("SERVE_ADMIN_PORT", "0"),
    ];
    let commands = [
        (&["migrate", "sql", "up", "-e"][..], 130),
        (&["migrate", "sql", "status", "--block", "-e"][..], 130),
        (&["serve", "all"][..], 0),
        (&["worker"][..], 0),
    ];
    let started = commands.map(|(command, code)| (Running(start(command, &variables)), command, code));
    for (mut running, command, code) in started {
        running.wait_until_it_says("waited for");
        let pid = Pid::from_raw(i32::try_from(running.0.id()).unwrap()).unwrap();
        kill_process(pid, Signal::TERM).unwrap();
        assert_eq!(running.ended().await.0, Some(code), "{command:?}");
    }
    for command in [&["migrate", "sql", "up", "-e"][..], &["serve", "all"]] {
        let at_once = [command, &["--set", "database.wait=0s"]].concat();
        let said = run_with(&variables, &at_once).await.failed();
        assert!(said.contains("cannot be reached") && !said.contains("waited for"), "{command:?}: {said}");
    }
}

/// Each of it once, as a server logs it.
#[tokio::test(flavor = "multi_thread")]
async fn commands_without_a_server_say_what_the_configuration_is_warned_about() {
    let directory = tempfile::tempdir().unwrap();
    let dsn = format!("sqlite:{}", directory.path().join("sluice.db").display());
    let variables = [
        ("DSN", &*dsn),
        ("SECRETS_SYSTEM", "a-system-secret-for-this-test"),
        ("URLS_SELF_ISSUER", "https://id.example.com/"),
        ("SERVE_PUBLIK_PORT", "1"),
        ("TTL_ACCESS_TOKEN", "745h"),
    ];
    let misspelt = "warning: SERVE_PUBLIK_PORT: unknown environment variable, ignored\n";
    let shortened = "warning: ttl.access_token: is shortened to 744h: ";
    let (nowhere, copy) = (directory.path().join("people.ndjson"), directory.path().join("copy.db"));
    let import = ["import", "identities", nowhere.to_str().unwrap()];
    for (command, reads_lifespans) in [
        (&["migrate", "sql", "up", "-e", "--yes"][..], false),
        (&["backup", copy.to_str().unwrap(), "-e"][..], false),
        (&["janitor", "-e"][..], true),
        (&["secrets", "status"][..], true),
        (&import[..], true),
        (&["export", "identities", "-"][..], true),
    ] {
        let said = run_with(&variables, command).await.err;
        let told = |warning: &str| said.matches(warning).count();
        assert_eq!(
            (told(misspelt), told(shortened)),
            (1, usize::from(reads_lifespans)),
            "{command:?}: {said}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_configuration_is_shown_without_secrets() {
    let variables = [
        ("DSN", "postgres://sluice:hunter2@db/sluice"),
        ("SECRETS_SYSTEM", "hunter2-hunter2-hunter2"),
        ("URLS_SELF_ISSUER", "https://id.example.com/"),
        ("OAUTH2_HASHERS_ALGORITHM", "bcrypt"),
    ];
    let shown = run_with(&variables, &["config", "show", "--set", "ttl.access_token=5m"]).await;
    assert!(shown.err.contains("oauth2.hashers.algorithm: accepted without effect"), "{}", shown.err);
    assert!(!shown.err.contains("hunter2"), "{}", shown.err);
    let shown = shown.ok();
    for line in [
        "dsn: \"postgres://sluice:[redacted]@db/sluice\"  # environment variable DSN\n",
        "  system: [\"[redacted]\"]  # environment variable SECRETS_SYSTEM\n",
        "  access_token: \"5m\"  # command line\n",
    ] {
        assert!(shown.contains(line), "{line} in {shown}");
    }
    assert!(!shown.contains("hunter2"), "{shown}");
    let unusable =
        [&[("DSN", "postgres://sluice:hunter2@db/sluice?sslcert=%2Fc.pem")], &variables[1..]].concat();
    let Run { code, out, err } = run_with(&unusable, &["config", "show"]).await;
    let problem =
        "\n  dsn: has the parameter sslcert, which is not supported (from the environment variable DSN)\n";
    assert!(code == Some(1) && err.contains(problem), "{err}");
    let set =
        "dsn: \"postgres://sluice:[redacted]@db/sluice?sslcert=%2Fc.pem\"  # environment variable DSN\n";
    assert!(out.contains(set), "what is set is shown all the same: {out}");
    assert!(!err.contains("hunter2") && !out.contains("hunter2"), "{err}{out}");
    let refused = run_with(&[], &["config", "show"]).await.failed();
    assert!(
        refused.contains("dsn: is required") && refused.contains("secrets.system: is required"),
        "{refused}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_configuration_of_a_gateway_with_a_link_is_shown() {
    let variables = [
        ("GATEWAY_LINK_URL", "https://id.internal:4446"),
        ("GATEWAY_LINK_TOKEN", "hunter2-hunter2-hunter2-hunter2-hunter2"),
        ("GATEWAY_ROUTE", "r.yaml"),
    ];
    let shown = run_with(&variables, &["config", "show"]).await;
    assert_eq!(shown.err, "warning: GATEWAY_ROUTE: unknown environment variable, ignored\n");
    let shown = shown.ok();
    let line = "    url: \"https://id.internal:4446\"  # environment variable GATEWAY_LINK_URL\n";
    assert!(shown.contains(line) && !shown.contains("hunter2"), "{shown}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_made_at_the_start_is_for_development() {
    let server = [
        ("DSN", "memory"),
        ("SECRETS_SYSTEM", "a-system-secret-for-this-test"),
        ("URLS_SELF_ISSUER", "https://id.example.com/"),
    ];
    let gateway = [
        ("GATEWAY_LINK_URL", "https://id.internal:4446"),
        ("GATEWAY_LINK_TOKEN", "the-token-of-the-link-which-is-long"),
    ];
    for (variables, listeners, key) in
        [(&server[..], "all", "serve.tls"), (&gateway[..], "gateway", "serve.gateway.tls")]
    {
        let refused = run_with(variables, &["serve", listeners, "--tls-self-signed"]).await;
        let said = format!("use it with --dev, or name a certificate ({key})\n");
        assert!(refused.code == Some(2) && refused.err.ends_with(&said), "{}", refused.err);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn secrets_are_counted_but_not_shown() {
    let secrets = ("SECRETS_SYSTEM", "hunter2-hunter2-new,hunter2-hunter2-old");
    let status = run_with(&[secrets], &["secrets", "status", "--dev"]).await.ok();
    assert!(status.contains("secrets.system   2, the first seals, all open: "), "{status}");
    assert!(!status.contains("hunter2"), "{status}");
}

/// The fingerprints of a list of secrets, as `secrets status` prints them.
async fn fingerprints((key, variable): (&str, &str), secrets: &str) -> String {
    let status = run_with(&[(variable, secrets)], &["secrets", "status", "--dev"]).await.ok();
    let line = status.lines().find(|line| line.starts_with(key)).unwrap();
    line.rsplit_once(": ").unwrap_or_else(|| panic!("none in {line}")).1.to_owned()
}

/// So that those of two nodes, or of before and after a deployment, can be compared.
#[tokio::test(flavor = "multi_thread")]
async fn another_secret_and_another_order_show_in_the_status() {
    let (new, old) = ("hunter2-hunter2-new", "hunter2-hunter2-old");
    for list in [
        ("secrets.system", "SECRETS_SYSTEM"),
        ("secrets.cookie", "SECRETS_COOKIE"),
        ("secrets.storage", "SECRETS_STORAGE"),
        ("secrets.pepper", "SECRETS_PEPPER"),
    ] {
        let (of_new, of_old) = (fingerprints(list, new).await, fingerprints(list, old).await);
        assert!(of_new.len() == 8 && of_new.chars().all(|digit| digit.is_ascii_hexdigit()), "{of_new}");
        assert_ne!(of_new, of_old, "{list:?}");
        assert_eq!(
            fingerprints(list, &format!("{new},{old}")).await,
            format!("{of_new} {of_old}"),
            "{list:?}"
        );
        assert_eq!(
            fingerprints(list, &format!("{old},{new}")).await,
            format!("{of_old} {of_new}"),
            "{list:?}"
        );
    }
}

/// So that whoever reads which one is missing knows which of those that were kept it is.
#[tokio::test(flavor = "multi_thread")]
async fn a_pepper_is_called_as_by_the_passwords_that_need_it() {
    let secret = "hunter2-hunter2-new";
    let called = fingerprints(("secrets.pepper", "SECRETS_PEPPER"), secret).await;
    let peppers = Peppers::new(&[Secret::new(secret.as_bytes().to_vec())]).unwrap();
    assert_eq!(called, peppers.ids().first().unwrap().to_string());
}

#[tokio::test(flavor = "multi_thread")]
async fn secrets_of_a_database_that_is_not_there_are_neither_moved_nor_given_up() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("mistyped.db");
    let dsn = format!("dsn=sqlite:{}", path.display());
    for action in [&["reseal"][..], &["abandon"], &["abandon", "--yes"]] {
        let command = |dsn| [&["secrets"][..], action, &["--dev", "--set", dsn]].concat();
        let absent = run_with(&[], &command(dsn.as_str())).await.failed();
        assert!(absent.contains(&format!("there is no file {}", path.display())), "{action:?}: {absent}");
        let passing = run_with(&[], &command("dsn=memory")).await.failed();
        assert!(passing.contains("`memory`"), "{action:?}: {passing}");
    }
    let status = run_with(&[], &["secrets", "status", "--dev", "--set", &dsn]).await.ok();
    assert!(status.contains("there is no database yet"), "{status}");
    assert!(!path.exists(), "looking makes none");
}

/// Renew the page with `cargo run -- config reference > docs/reference/configuration.md`.
#[tokio::test(flavor = "multi_thread")]
async fn the_reference_page_is_the_one_in_the_documentation() {
    const PAGE: &str = include_str!("../../../../docs/reference/configuration.md");
    let made = run_with(&[], &["config", "reference"]).await.ok();
    let difference = made.lines().zip(PAGE.lines()).find(|(made, page)| made != page);
    assert!(
        made == PAGE,
        "docs/reference/configuration.md is out of date (first difference: {difference:?}); renew it with\n\
         cargo run -- config reference > docs/reference/configuration.md"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_program_tells_its_version_and_completes_its_command_line() {
    let version = run_with(&[], &["version"]).await.ok();
    assert!(
        version.starts_with(concat!("Version:    v", env!("CARGO_PKG_VERSION"), "\nGit Hash:   ")),
        "{version}"
    );
    for shell in ["bash", "zsh", "fish"] {
        assert!(run_with(&[], &["completion", shell]).await.ok().contains("introspect"), "{shell}");
    }
    assert_eq!(run_with(&[], &["frobnicate"]).await.code, Some(2));
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_has_not_the_token_of_the_admin_port_is_told_where_it_goes() {
    let token = "a-token-for-the-admin-port";
    let sluice = TestSluice::with(Backend::Sqlite, &[("serve.admin.bearer_token", token)]).await;
    let list = ["list", "clients"];
    let without = ask(&sluice, &list).await.failed();
    assert!(without.contains("none was sent") && without.contains("SLUICE_ADMIN_TOKEN"), "{without}");
    let endpoint = ("SLUICE_ADMIN_URL", sluice.admin.as_str());
    let wrong = run_with(&[endpoint, ("SLUICE_ADMIN_TOKEN", "another")], &list).await.failed();
    assert!(wrong.contains("is another than") && wrong.contains("SLUICE_ADMIN_TOKEN"), "{wrong}");
    run_with(&[endpoint, ("SLUICE_ADMIN_TOKEN", token)], &list).await.ok();
    sluice.node.stop().await;
}

/// Which file it is, and what the system says of it.
#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_a_setting_names_in_vain_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let (folder, missing) = (directory.path().to_str().unwrap(), directory.path().join("missing"));
    let missing = missing.to_str().unwrap();
    let free = ["serve.public.port=0", "serve.admin.port=0", "serve.public.host=127.0.0.1"];
    let free: Vec<_> = free.iter().flat_map(|setting| ["--set", *setting]).collect();
    let list = format!("identity.password.breached.file={missing}");
    let serve = ["serve", "all", "--dev", "--data-dir", folder, "--set", &list];
    let roots = format!("postgres://u@127.0.0.1:1/x?sslmode=verify-full&sslrootcert={missing}");
    let status = ["migrate", "sql", "status", &roots];
    for command in [[&serve[..], &free[..]].concat(), status.to_vec()] {
        let said = run_with(&[], &command).await.failed();
        assert!(said.contains(missing) && said.contains("No such file"), "{command:?}: {said}");
        assert!(!said.contains("cannot be stored"), "{command:?}: {said}");
    }
}
