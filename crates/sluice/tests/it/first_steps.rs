//! Mistakes of the first steps: what the program says of them names what is to be done.

use std::net::TcpListener;

use crate::program::run;

const SECRET: &str = "secrets.system=a-system-secret-for-this-test";

/// A server for development with these settings, which does not start; what it says.
fn refusal(settings: &[&str]) -> String {
    let local = ["serve.public.host=127.0.0.1", "serve.admin.port=0", "dsn=memory", SECRET];
    let set = local.iter().chain(settings).flat_map(|setting| ["--set", *setting]);
    let arguments: Vec<&str> = ["serve", "all", "--dev"].into_iter().chain(set).collect();
    let ended = run(&arguments, &[]);
    assert!(!ended.success, "{}", ended.stderr);
    ended.stderr
}

#[test]
fn a_port_that_is_taken_is_named_with_its_key() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let said = refusal(&[&format!("serve.public.port={port}")]);
    let expected = format!("the listener public (serve.public.port): cannot listen on 127.0.0.1:{port}");
    assert!(said.contains(&expected), "{said}");
    let temporary = tempfile::tempdir().unwrap();
    let demo = ["demo", "--headless", "--public-port", &port, "--admin-port", "0"];
    let said = run(&demo, &[("TMPDIR", temporary.path().to_str().unwrap())]).stderr;
    assert!(said.contains("choose another port with --public-port"), "{said}");
}

#[test]
fn a_port_of_the_gateway_that_is_taken_is_named_with_its_key() {
    let (taken, directory) = (TcpListener::bind("127.0.0.1:0").unwrap(), tempfile::tempdir().unwrap());
    let port = taken.local_addr().unwrap().port();
    let routes = directory.path().join("routes.yaml");
    std::fs::write(&routes, ROUTES).unwrap();
    let routes = format!("gateway.routes={}", routes.display());
    let free = ["serve.public.port=0", "serve.gateway.host=127.0.0.1", "gateway.access_log=off"];
    for (listener, other) in [("gateway", "decisions"), ("decisions", "gateway")] {
        let (taken, other) = (format!("serve.{listener}.port={port}"), format!("serve.{other}.port=0"));
        let said = refusal(&[&free[..], &[routes.as_str(), &taken, &other]].concat());
        let expected = format!("the listener {listener} (serve.{listener}.port): cannot listen on");
        assert!(said.contains(&expected), "{said}");
    }
}

#[test]
fn what_keeps_a_listener_from_its_address_is_named_with_its_key() {
    let directory = tempfile::tempdir().unwrap();
    let socket = format!("serve.public.host=unix:{}", directory.path().join("public.sock").display());
    let refused = |settings: [&str; 2], expected: &str| {
        let said = refusal(&["serve.public.port=0", settings[0], settings[1]]);
        assert!(said.contains(&format!("the listener public ({expected}")), "{said}");
    };
    let host = |host: &str, expected: &str| {
        refused(
            [&format!("serve.public.host={host}"), "log.level=info"],
            &format!("serve.public.host): {expected}"),
        );
    };
    host("5 parsecs", "5 parsecs has no address");
    // Of the addresses that are for documentation (RFC 5737), no machine has one.
    host("192.0.2.1", "cannot listen on 192.0.2.1:0");
    host("unix:/nowhere/public.sock", "cannot listen on /nowhere/public.sock");
    let owner = [socket.as_str(), "serve.public.socket.owner=nobody-of-this-name"];
    refused(owner, "serve.public.socket.owner): there is no user");
    let group = [socket.as_str(), "serve.public.socket.group=nobody-of-this-name"];
    refused(group, "serve.public.socket.group): there is no group");
}

#[test]
fn a_file_that_a_setting_names_and_that_is_no_good_is_named_with_that() {
    let directory = tempfile::tempdir().unwrap();
    let missing = directory.path().join("missing").display().to_string();
    let said = refusal(&["serve.public.port=0", &format!("gateway.routes={missing}")]);
    assert!(said.contains(&format!("the routes (gateway.routes): {missing} cannot be read")), "{said}");
    let said = refusal(&["serve.public.port=0", &format!("clients.http.ca_file={missing}")]);
    let expected =
        format!("outbound requests (clients.http.ca_file): the certificates of {missing} cannot be used");
    assert!(said.contains(&expected), "{said}");
    let certificate = [
        "serve.tls.enabled=true",
        &format!("serve.tls.cert.path={missing}"),
        "serve.public.tls.key.base64=AAAA",
    ];
    let said =
        refusal(&[&["serve.public.port=0", "serve.admin.tls.enabled=false"][..], &certificate[..]].concat());
    let keys = "serve.tls.cert.path and serve.public.tls.key.base64";
    let expected = format!("TLS of the listener public ({keys}): {missing} cannot be read");
    assert!(said.contains(&expected), "{said}");
}

#[test]
fn a_file_of_the_look_of_pages_that_is_missing_is_named_with_its_setting() {
    let directory = tempfile::tempdir().unwrap();
    for (key, name) in [("identity.pages.stylesheet", "theme.css"), ("identity.pages.logo", "logo.svg")] {
        let missing = directory.path().join(name).display().to_string();
        let said = refusal(&["serve.public.port=0", &format!("{key}={missing}")]);
        assert!(said.contains(&format!("the setting {key}: {missing} cannot be read: No such")), "{said}");
    }
}

#[test]
fn an_access_log_that_cannot_be_written_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let (routes, missing) =
        (directory.path().join("routes.yaml"), directory.path().join("missing/access.log"));
    std::fs::write(&routes, ROUTES).unwrap();
    let (routes, log) =
        (format!("gateway.routes={}", routes.display()), format!("gateway.access_log={}", missing.display()));
    let free = ["serve.public.port=0", "serve.gateway.port=0", "serve.decisions.port=0"];
    let said = refusal(&[&free[..], &[routes.as_str(), &log]].concat());
    let expected = format!("the access log {} (gateway.access_log): No such file", missing.display());
    assert!(said.contains(&expected), "{said}");
}

#[test]
fn who_works_on_a_database_that_was_not_migrated_is_told_to_migrate_it() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("sluice.db");
    std::fs::write(&file, "").unwrap();
    let dsn = format!("dsn=sqlite:{}", file.display());
    for command in
        [&["export", "identities"][..], &["import", "hydra", "--hydra-dsn", "postgres://u@127.0.0.1:1/h"]]
    {
        let arguments = [command, &["--dev", "--set", &dsn, "--set", SECRET]].concat();
        let ended = run(&arguments, &[("HYDRA_SECRETS_SYSTEM", "the-secret-of-a-hydra")]);
        assert!(!ended.success && ended.stderr.contains("run `sluice migrate sql up`"), "{}", ended.stderr);
    }
}

#[test]
fn people_are_not_imported_from_the_standard_input() {
    let ended = run(&["import", "identities", "-"], &[]);
    assert!(!ended.success && ended.stderr.contains("not from the standard input"), "{}", ended.stderr);
}

const ROUTES: &str = "upstreams:
  shop: {servers: [http://127.0.0.1:1]}
routes:
  - {name: orders, match: {prefix: /orders}, upstream: shop}
";
