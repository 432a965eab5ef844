//! The table of keys, the reference page and a real file.

use std::collections::BTreeSet;

use super::super::error::Findings;
use super::super::key::{Kind, Status};
use super::super::layers::Layers;
use super::*;

/// A configuration file as it runs in production for Hydra.
const HYDRA: &str = include_str!("hydra.yml");

#[test]
fn a_real_configuration_file_of_hydra_loads_with_warnings_only() {
    let loaded = given(HYDRA).loaded();
    let settings = loaded.settings;
    assert_eq!(settings.urls.issuer, "https://auth.example.com/");
    assert_eq!(settings.urls.registration.unwrap().as_str(), "https://login.example.com/login");
    assert_eq!(settings.serve.cookies.same_site, SameSite::Lax);
    assert_eq!(settings.database.max_connections, Some(20));
    assert_eq!(settings.tracing.otlp.unwrap().endpoint.as_str(), "http://collector:4318/");
    assert_eq!(settings.oidc.subjects.default, SubjectType::Public);
    assert_eq!(settings.oauth2.hooks.token.unwrap().auth.unwrap().name, "X-API-Key");
    let warned: Vec<&str> = loaded.warnings.iter().map(|warning| warning.key.as_str()).collect();
    let expected = [
        "cgroups.v1.auto_max_procs_enabled",
        "oauth2.hashers.algorithm",
        "oauth2.hashers.bcrypt.cost",
        "oauth2.session.encrypt_at_rest",
        "sqa.opt_out",
        "urls.self.admin",
        "version",
        "dsn",
        "serve.admin.host",
        "serve.tls.allow_termination_from",
    ];
    assert_eq!(warned, expected);
}

#[test]
fn what_show_prints_can_be_read_again() {
    let shown = given(HYDRA).loaded().show();
    let again: &'static str = shown.replace("[redacted]", "a-secret-that-is-long").leak();
    given(again).loaded();
}

#[test]
fn every_supported_key_is_read_and_every_key_that_is_read_is_known() {
    let given = given("").development();
    let table = Table::new();
    let mut layers = Layers { table: &table, values: Values::default(), findings: Findings::default() };
    layers.defaults();
    let (mut values, mut findings) = (layers.values, layers.findings);
    let mode = derived::fill(&mut values, &mut findings, &given.sources);
    let mut reader = Reader::new(&table, &values, findings);
    read(&mut reader, mode);
    let supported = table.keys().iter().filter(|known| {
        // A hook that is only a URL is read as its `url`.
        known.key.status == Status::Supported && !matches!(known.key.kind, Kind::Hook)
    });
    let outcome = reader.into_outcome();
    let unread: Vec<&str> =
        supported.map(|known| known.path.as_str()).filter(|path| !outcome.read.contains(*path)).collect();
    assert_eq!(unread, [""; 0]);
    outcome.findings.into_warnings().unwrap();
}

#[test]
fn no_report_of_a_benchmark_shows_a_secret() {
    const SECRET: &str = "hunter2";
    for known in Table::new().keys() {
        let path = &known.path;
        let shown = |value: &str| sluice_bench::shown_setting(&format!("{path}={value}"));
        let in_an_address = format!("postgres://me:{SECRET}@db:5432/x?max_conns=9");
        let in_a_hook =
            format!(r#"{{"url":"https://id.example","auth":{{"config":{{"value":"{SECRET}"}}}}}}"#);
        let mut values = vec![in_an_address, in_a_hook];
        if known.key.kind.is_secret() {
            values.extend([SECRET.to_owned(), format!("one,{SECRET}"), format!("[\"{SECRET}\"]")]);
        }
        for value in values {
            assert!(!shown(&value).contains(SECRET), "{path}={value} is shown as {}", shown(&value));
        }
    }
    assert_eq!(sluice_bench::shown_setting("ttl.access_token=2m"), "ttl.access_token=2m");
}

#[test]
fn no_two_keys_share_a_name_or_an_environment_variable() {
    let table = Table::new();
    let paths: BTreeSet<&str> = table.keys().iter().map(|known| known.path.as_str()).collect();
    assert_eq!(paths.len(), table.keys().len());
    let variables: Vec<String> =
        table.keys().iter().filter_map(super::super::table::KnownKey::variable).collect();
    assert_eq!(variables.iter().collect::<BTreeSet<_>>().len(), variables.len());
}

#[test]
fn the_reference_page_names_every_key() {
    let page = reference_markdown();
    for known in Table::new().keys() {
        assert!(page.contains(&format!("| `{}` |", known.path)), "{}", known.path);
    }
    assert!(page.contains("| `serve.admin.host` | an address, or unix:<path> | `127.0.0.1` |"));
}

#[test]
fn a_file_that_cannot_be_read_is_a_problem() {
    let mut sources = given("").sources;
    sources.files.push(PathBuf::from("/does/not/exist.yml"));
    let error = load(&sources).err().unwrap();
    assert!(error.to_string().contains("/does/not/exist.yml: cannot be read:"), "{error}");
}

#[test]
fn a_file_of_toml_is_refused_as_what_it_is() {
    for name in ["hydra.toml", "/etc/hydra/HYDRA.TOML"] {
        let mut sources = given("").sources;
        sources.files.push(PathBuf::from(name));
        let error = load(&sources).err().unwrap().to_string();
        assert!(error.contains(&format!("{name}: TOML is not read; YAML and JSON are")), "{error}");
        assert!(!error.contains("is required"), "what it may say is not missed: {error}");
    }
}

#[test]
fn a_file_that_is_no_mapping_is_a_problem() {
    assert!(given("- a").problems().contains("1.yml: must be a mapping"));
    let broken = given("a: [").problems();
    assert!(broken.starts_with("1.yml: is not valid YAML"), "{broken}");
    assert!(!broken.contains("is required"), "what it may say is not missed: {broken}");
}

#[test]
fn data_source_names_of_hydra_are_understood() {
    let path = |text: &str| match dsn::parse(text).map(|parsed| parsed.dsn) {
        Ok(Dsn::Sqlite { path }) => path.display().to_string(),
        other => format!("{other:?}"),
    };
    assert_eq!(path("sqlite:///var/lib/sqlite/db.sqlite?_fk=true"), "/var/lib/sqlite/db.sqlite");
    assert_eq!(path("sqlite:sluice.db"), "sluice.db");
    assert_eq!(path("sqlite://file::memory:?_fk=true&cache=shared"), "Ok(Memory)");
    assert_eq!(path("memory"), "Ok(Memory)");
    assert_eq!(path("postgres://u:secret@db/x"), "Ok(Postgres { url: [redacted] })");
    assert_eq!(path("sqlite:"), r#"Err("names no SQLite file")"#);
    assert_eq!(path("secret"), r#"Err("must be postgres://…, sqlite:<file> or memory")"#);
}

#[test]
fn a_data_source_name_that_the_store_cannot_use_is_refused_when_it_is_read() {
    let problems = |dsn: &str| given(MINIMAL).variable("DSN", dsn).problems();
    assert_eq!(
        problems("postgres://u:hunter2@db/x?sslmode=verify-full&sslcert=%2Fc.pem&max_conns=9"),
        "dsn: has the parameter sslcert, which is not supported"
    );
    assert_eq!(
        problems("postgres://u:hunter2@db/x?sslmode=hunter2"),
        "dsn: has a value of sslmode that is not known"
    );
    assert_eq!(
        problems("postgres://u:hun?ter2@db/x"),
        "dsn: has a parameter that is not known (a `?` in a password is written `%3F`)"
    );
    assert_eq!(problems("cockroach://u@db:x/x"), "dsn: cannot be read: invalid value for option `port`");
    let options =
        "postgres://u@db/x?sslmode=verify-full&sslrootcert=system&options=-c%20search_path%3Dsluice";
    assert_eq!(given(MINIMAL).variable("DSN", options).warnings(), "");
}
