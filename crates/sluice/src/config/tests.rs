//! What the configuration promises. Files are given as texts; one test reads a real one.

mod addresses;
mod findings;
mod gateway_process;
mod gathered;
mod identity;
mod protocols;
mod table;
mod tokens;

use std::path::Path;
use std::time::Duration;

use super::layers::Layers;
use super::*;

const SYSTEM: &str = "a-system-secret-for-tests";
const MINIMAL: &str = "dsn: memory
secrets: {system: [a-system-secret-for-tests]}
urls: {self: {issuer: https://id.example.com}}
";

/// A configuration under test.
struct Given {
    files: Vec<&'static str>,
    sources: Sources,
}

/// One file with these lines.
fn given(yaml: &'static str) -> Given {
    let sources = Sources {
        files: Vec::new(),
        environment: Vec::new(),
        overrides: Vec::new(),
        mode: Mode::Production,
        data_dir: PathBuf::from("/var/lib/sluice"),
    };
    Given { files: vec![yaml], sources }
}

impl Given {
    fn and_file(mut self, yaml: &'static str) -> Self {
        self.files.push(yaml);
        self
    }

    fn variable(mut self, name: &str, value: &str) -> Self {
        self.sources.environment.push((name.into(), value.into()));
        self
    }

    fn set(mut self, key: &str, value: &str) -> Self {
        self.sources.overrides.push((key.to_owned(), value.to_owned()));
        self
    }

    fn development(mut self) -> Self {
        self.sources.mode = Mode::Development;
        self
    }

    fn gathered(&self) -> Gathered {
        Gathered::with(&self.sources, |layers| write(&self.files, layers))
    }

    fn load(self) -> Result<Loaded, ConfigError> {
        self.gathered().into_node()
    }

    /// As a gateway in a process of its own reads it.
    fn load_gateway(self) -> Result<Loaded<GatewayProcessSettings>, ConfigError> {
        self.gathered().into_gateway()
    }

    #[track_caller]
    fn loaded(self) -> Loaded {
        self.load().unwrap_or_else(|error| panic!("{error}"))
    }

    #[track_caller]
    fn settings(self) -> Settings {
        self.loaded().settings
    }

    /// The warnings, one a line.
    #[track_caller]
    fn warnings(self) -> String {
        lines(&self.loaded().warnings)
    }

    /// The problems, one a line, without where the values were set.
    #[track_caller]
    fn problems(self) -> String {
        self.load().err().map_or_else(|| panic!("is not refused"), |error| messages(error.problems()))
    }
}

fn write(files: &[&str], layers: &mut Layers<'_>) {
    files.iter().zip(1..).for_each(|(text, number)| layers.document(&format!("{number}.yml"), text));
}

fn lines(findings: &[Finding]) -> String {
    findings.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

/// The same without where the values were set.
fn messages(findings: &[Finding]) -> String {
    let messages = findings.iter().map(|finding| format!("{}: {}", finding.key, finding.message));
    messages.collect::<Vec<_>>().join("\n")
}

fn port(settings: &Settings) -> u16 {
    match settings.serve.public.address {
        ListenAddress::Tcp { port, .. } => port,
        ListenAddress::Unix { .. } => panic!("is a socket"),
    }
}

fn expose(secrets: &[SecretString]) -> Vec<&str> {
    secrets.iter().map(SecretString::expose).collect()
}

#[test]
fn every_layer_wins_over_the_one_before_it() {
    let file = || given(MINIMAL).and_file("serve: {public: {port: 1}}");
    assert_eq!(port(&given(MINIMAL).settings()), 4444);
    assert_eq!(port(&file().settings()), 1);
    assert_eq!(port(&file().and_file("serve: {public: {port: 2}}").settings()), 2);
    assert_eq!(port(&file().variable("SERVE_PUBLIC_PORT", "3").settings()), 3);
    assert_eq!(port(&file().variable("SERVE_PUBLIC_PORT", "3").set("serve.public.port", "4").settings()), 4);
}

#[test]
fn files_merge_mappings_and_replace_lists() {
    let settings = given(MINIMAL)
        .and_file("oauth2: {allowed_top_level_claims: [a, b], pkce: {enforced: true}}")
        .and_file("oauth2: {allowed_top_level_claims: [c]}")
        .settings();
    assert_eq!(settings.oauth2.claims.allowed_top_level, ["c"]);
    assert_eq!(settings.oauth2.pkce, PkcePolicy::Required);
}

#[test]
fn anchors_and_merge_keys_of_yaml_work() {
    let yaml =
        "serve: {public: {cors: &cors {enabled: true, max_age: 5}}, admin: {cors: {<<: *cors, max_age: 6}}}";
    let serve = given(MINIMAL).and_file(yaml).settings().serve;
    assert_eq!(serve.public.cors.unwrap().max_age, Duration::from_secs(5));
    assert_eq!(serve.admin.listener.cors.unwrap().max_age, Duration::from_secs(6));
}

#[test]
fn a_list_in_the_environment_is_separated_by_commas_or_written_as_json() {
    let expected = ["first-secret-of-16", "second-secret-of-16"];
    for text in ["first-secret-of-16, second-secret-of-16", r#"["first-secret-of-16","second-secret-of-16"]"#]
    {
        let settings = given(MINIMAL).variable("SECRETS_SYSTEM", text).settings();
        assert_eq!(expose(&settings.secrets.system), expected);
    }
}

#[test]
fn the_environment_alone_can_configure_everything() {
    let settings = given("# nothing\n")
        .variable("DSN", "postgres://u:p@db/sluice?max_conns=7&sslmode=require&max_idle_conns=2")
        .variable("SECRETS_SYSTEM", SYSTEM)
        .variable("URLS_SELF_ISSUER", "https://id.example.com")
        .variable("URLS_LOGIN", "/ui/login")
        .variable("TTL_ACCESS_TOKEN", "1h30m")
        .variable("SERVE_PUBLIC_CORS_ENABLED", "true")
        .variable("LOG_LEVEL", "debug")
        .settings();
    let Dsn::Postgres { url } = settings.database.dsn else { panic!("is not PostgreSQL") };
    assert_eq!(url.expose(), "postgres://u:p@db/sluice?sslmode=require");
    assert_eq!(settings.database.max_connections, Some(7));
    assert_eq!(settings.database.wait, Duration::from_mins(1));
    assert_eq!(settings.urls.login.unwrap().as_str(), "https://id.example.com/ui/login");
    assert_eq!(settings.ttl.access_token, Duration::from_mins(90));
    assert_eq!(settings.serve.public.cors.unwrap().allowed_origins, ["*"]);
    assert_eq!(settings.log.level, LogLevel::Debug);
}

#[test]
fn each_of_the_two_listeners_has_a_number_of_connections() {
    let settings = given(MINIMAL).variable("SERVE_PUBLIC_MAX_CONNECTIONS", "7").settings();
    let (public, admin) = (settings.serve.public, settings.serve.admin.listener);
    assert_eq!((public.max_connections, admin.max_connections), (Some(7), Some(16_384)));
    assert_eq!(settings.link.listener.max_connections, None);
}

#[test]
fn an_empty_variable_counts_as_not_set() {
    let settings = given(MINIMAL).variable("SERVE_ADMIN_HOST", "").variable("TTL_ID_TOKEN", "").settings();
    assert!(settings.serve.admin.listener.address.is_local());
    assert_eq!(settings.ttl.id_token, Duration::from_hours(1));
}

#[test]
fn the_defaults_are_the_documented_ones() {
    let settings = given(MINIMAL).settings();
    assert_eq!(settings.ttl.auth_code, Duration::from_mins(1));
    assert_eq!(settings.ttl.login_consent_request, Duration::from_mins(30));
    assert_eq!(settings.ttl.refresh_token, RefreshTokenTtl::Expires(Duration::from_hours(720)));
    assert_eq!(settings.oauth2.refresh_token_grace, Duration::from_secs(30));
    assert_eq!(settings.strategies.scope, ScopeStrategy::Wildcard);
    assert_eq!(settings.strategies.jwt_scope_claim, ScopeClaim::Both);
    assert_eq!(settings.serve.public.address, ListenAddress::Tcp { host: "0.0.0.0".to_owned(), port: 4444 });
    assert_eq!(
        settings.serve.admin.listener.address,
        ListenAddress::Tcp { host: "127.0.0.1".to_owned(), port: 4445 }
    );
    assert!(settings.serve.cookies.secure);
}

#[test]
fn durations_are_written_as_in_go() {
    for (text, nanos) in
        [("0", 0), ("1h30m", 5_400_000_000_000), ("1.5s", 1_500_000_000), ("10ms2us3ns", 10_002_003)]
    {
        assert_eq!(duration::parse(text), Some(Duration::from_nanos(nanos)), "{text}");
    }
    for text in [
        "",
        "1",
        "h",
        "1d",
        "-1h",
        "1h ",
        ".s",
        "1..5s",
        "9999999h",
        "99999999999999999999999999999999999999999h",
    ] {
        assert_eq!(duration::parse(text), None, "{text}");
    }
}

#[test]
fn a_refresh_token_may_live_for_ever() {
    for yaml in ["ttl: {refresh_token: -1}", "ttl: {refresh_token: '-1'}"] {
        assert_eq!(given(MINIMAL).and_file(yaml).settings().ttl.refresh_token, RefreshTokenTtl::Never);
    }
    assert_eq!(
        given(MINIMAL).and_file("ttl: {access_token: -1}").problems(),
        r#"ttl.access_token: must be a duration such as 1h30m, not "-1""#
    );
}

#[test]
fn dev_needs_nothing_and_allows_plain_http() {
    let settings = given("").development().settings();
    assert!(matches!(settings.database.dsn, Dsn::Sqlite { path } if *path == *"/var/lib/sluice/sluice.db"));
    assert_eq!(settings.urls.issuer, "http://127.0.0.1:4444/");
    assert!(settings.secrets.system.is_empty());
    assert_eq!(settings.serve.cookies.same_site, SameSite::None);
    assert!(!settings.serve.cookies.secure);
    assert_eq!(given("dev: true").settings().mode, Mode::Development);
}

#[test]
fn the_issuer_of_development_is_where_the_public_listener_is() {
    let urls = |given: Given| given.development().settings().urls;
    let issuer = |given: Given| urls(given).issuer;
    let at = |port: &str| given("").variable("SERVE_PUBLIC_PORT", port);
    assert_eq!(issuer(at("5001")), "http://127.0.0.1:5001/");
    assert_eq!(issuer(at("80")), "http://127.0.0.1/");
    let tls = "serve: {public: {port: 5001}, tls: {enabled: true, cert: {path: /c}, key: {path: /k}}}";
    assert_eq!(issuer(given(tls)), "https://127.0.0.1:5001/");
    let relative = urls(given(tls).set("urls.login", "/login"));
    assert_eq!(relative.public.as_str(), "https://127.0.0.1:5001/");
    assert_eq!(relative.login.unwrap().as_str(), "https://127.0.0.1:5001/login");
    assert_eq!(issuer(given(tls).set("urls.self.issuer", "http://a.test/")), "http://a.test/");
    let any_that_is_free = at("0").development().loaded();
    assert_eq!(any_that_is_free.settings.urls.issuer, "http://127.0.0.1:4444/");
    let expected = "urls.self.issuer: is http://127.0.0.1:4444/, but serve.public.port is any that is free: people are \
                    sent to the former, so set one of both";
    assert_eq!(lines(&any_that_is_free.warnings), expected);
    assert_eq!(at("0").development().set("urls.self.issuer", "http://a.test/").warnings(), "");
}

#[test]
fn a_certificate_that_is_made_at_the_start_moves_the_issuer_of_development_to_https() {
    let urls = |given: Given| given.gathered().self_signed().into_node().map(|node| node.settings.urls);
    let made_up = urls(given("").development().set("serve.public.port", "5001")).unwrap();
    assert_eq!(
        (&*made_up.issuer, made_up.public.as_str()),
        ("https://127.0.0.1:5001/", "https://127.0.0.1:5001/")
    );
    let public = urls(given("").development().set("urls.self.public", "https://a.test/")).unwrap();
    assert_eq!((&*public.issuer, public.public.as_str()), ("https://127.0.0.1:4444/", "https://a.test/"));
    let own = urls(given("").development().set("urls.self.issuer", "http://a.test/")).unwrap();
    assert_eq!((&*own.issuer, own.public.as_str()), ("http://a.test/", "http://a.test/"));
    let any_that_is_free = given("").development().set("serve.public.port", "0").gathered();
    let warnings = any_that_is_free.self_signed().into_node().unwrap().warnings;
    let expected = "urls.self.issuer: is https://127.0.0.1:4444/, but serve.public.port is any that is free: people are \
                    sent to the former, so set one of both";
    assert_eq!(lines(&warnings), expected);
    let without = "dsn: memory\nsecrets: {system: [a-system-secret-for-tests]}";
    let problems = urls(given(without)).err().unwrap();
    assert_eq!(messages(problems.problems()), "urls.self.issuer: is required (`--dev` has a default)");
}

#[test]
fn the_environment_does_not_switch_to_development() {
    let hydras = || given(MINIMAL).variable("DEV", "true");
    assert_eq!(hydras().settings().mode, Mode::Production);
    let expected = "DEV: is not read from the environment; `--dev` is for development";
    assert_eq!(hydras().warnings(), expected);
    assert_eq!(hydras().development().warnings(), "");
    assert_eq!(given(MINIMAL).variable("DEV", "false").warnings(), "");
}

#[test]
fn the_issuer_is_kept_exactly_as_written() {
    assert_eq!(given(MINIMAL).settings().urls.issuer, "https://id.example.com");
}

#[test]
fn a_url_for_a_hook_leaves_the_credentials_of_another_behind() {
    let yaml = "oauth2: {token_hook: {url: https://a/, auth: {type: api_key, config: {name: X, value: v}}}}";
    let loaded = given(MINIMAL).and_file(yaml).variable("OAUTH2_TOKEN_HOOK", "https://b/").loaded();
    let shown = loaded.show();
    assert!(shown.contains("url: \"https://b/\"") && !shown.contains("api_key"), "{shown}");
    let hook = loaded.settings.oauth2.hooks.token.unwrap();
    assert!(hook.url.as_str() == "https://b/" && hook.auth.is_none());
}

#[test]
fn a_url_for_a_hook_has_the_credentials_that_the_command_line_names_before_it() {
    let yaml = "oauth2: {token_hook: {url: https://a/, auth: {type: api_key, config: {name: X, value: v}}}}";
    let hook = given(MINIMAL)
        .and_file(yaml)
        .set("oauth2.token_hook.auth.config.name", "Y")
        .set("oauth2.token_hook.auth.config.value", "w")
        .set("oauth2.token_hook", "https://b/")
        .settings()
        .oauth2
        .hooks
        .token
        .unwrap();
    assert_eq!((hook.url.as_str(), hook.auth.unwrap().name.as_str()), ("https://b/", "Y"));
    let whole = r#"{"url": "https://a/", "auth": {"config": {"name": "X", "value": "v"}}}"#;
    let of_another =
        given(MINIMAL).set("oauth2.token_hook", whole).set("oauth2.token_hook", "https://b/").settings();
    assert!(of_another.oauth2.hooks.token.unwrap().auth.is_none());
}

#[test]
fn listeners_take_their_certificate_from_the_common_one() {
    let yaml =
        "serve: {tls: {enabled: true, cert: {path: /c}, key: {path: /k}}, admin: {tls: {enabled: false}},
        public: {tls: {cert: {base64: Yw==}}}}";
    let serve = given(MINIMAL).and_file(yaml).settings().serve;
    let certificate = serve.public.tls.certificate.unwrap();
    assert!(matches!(certificate.chain, PemSource::Base64(_)));
    assert!(matches!(certificate.private_key, PemSource::File(path) if *path == *"/k"));
    assert_eq!(
        certificate.keys, "serve.public.tls.cert.base64 and serve.tls.key.path",
        "where they were written"
    );
    assert!(serve.admin.listener.tls.certificate.is_none());
}

#[test]
fn further_certificates_are_in_a_folder_of_the_listener_or_the_common_one() {
    let yaml = "serve: {tls: {enabled: true, cert: {path: /c}, key: {path: /k}, folder: /more},
        admin: {tls: {folder: /own}}, gateway: {tls: {enabled: true, cert: {path: /c}, key: {path: /k}}}}";
    let settings = given(MINIMAL).and_file(yaml).set("gateway.routes", "/routes.yaml").settings();
    let public = settings.serve.public.tls.certificate.unwrap();
    assert_eq!(public.folder.as_deref(), Some(Path::new("/more")));
    assert_eq!(public.keys, "serve.tls.cert.path and serve.tls.key.path and serve.tls.folder");
    let admin = settings.serve.admin.listener.tls.certificate.unwrap();
    assert_eq!(admin.folder.as_deref(), Some(Path::new("/own")));
}

#[test]
fn the_proxies_of_serve_tls_count_for_the_admin_port_if_it_speaks_tls() {
    let of_admin = |yaml: &'static str| {
        given(MINIMAL).and_file(yaml).settings().serve.admin.listener.tls.allow_termination_from
    };
    let plain = "serve: {tls: {allow_termination_from: [10.0.0.0/8]}}";
    assert_eq!(of_admin(plain), []);
    assert!(
        given(MINIMAL)
            .and_file(plain)
            .warnings()
            .contains("serve.tls.allow_termination_from: does not count for the admin port")
    );
    let tls = "serve: {tls: {enabled: true, cert: {path: /c}, key: {path: /k}, allow_termination_from: [10.0.0.0/8]}}";
    assert_eq!(of_admin(tls).len(), 1);
}

#[test]
fn show_prints_what_is_in_force_of_what_was_shortened() {
    let yaml = "{oauth2: {grant: {refresh_token: {rotation_grace_period: 6m}}}, ttl: {access_token: 745h}}";
    let shown = given(MINIMAL).and_file(yaml).loaded().show();
    for line in ["rotation_grace_period: \"5m\"  # 2.yml\n", "access_token: \"744h\"  # 2.yml\n"] {
        assert!(shown.contains(line), "{line} in {shown}");
    }
}

#[test]
fn show_prints_no_password_of_a_collector() {
    for server in [
        "me:hunter2@collector:4318",
        "hunter2@collector:4318",
        "https://hunter2@collector",
        "https://me:hunter2@collector",
    ] {
        let yaml = given(MINIMAL).set("tracing.providers.otlp.server_url", server).loaded().show();
        assert!(yaml.contains("server_url: \"") && !yaml.contains("hunter2"), "{yaml}");
    }
    let yaml = given(MINIMAL).set("tracing.providers.otlp.server_url", "collector:4318").loaded().show();
    assert!(yaml.contains("server_url: \"collector:4318\"  # command line\n"), "{yaml}");
}

#[test]
fn show_prints_what_is_in_force_without_secrets() {
    let loaded = given(MINIMAL)
        .variable("DSN", "postgres://me:hunter2@db/x?password=hunter2")
        .variable("URLS_IDENTITY_PROVIDER_HEADERS", r#"{"Authorization": "hunter2"}"#)
        .set("secrets.cookie", "hunter2-hunter2-hunter2")
        .loaded();
    let yaml = loaded.show();
    for line in [
        "dsn: \"postgres://me:[redacted]@db/x?password=[redacted]\"  # environment variable DSN\n",
        "secrets:\n  cookie: [\"[redacted]\"]  # command line\n  system: [\"[redacted]\"]  # 1.yml\n",
        "    headers: {\"Authorization\":\"[redacted]\"}  # environment variable URLS_IDENTITY_PROVIDER_HEADERS, without effect\n",
        "  auth_code: \"60s\"\n",
    ] {
        assert!(yaml.contains(line), "{line} in {yaml}");
    }
    for text in [yaml.clone(), format!("{:?}", loaded.settings)] {
        assert!(!text.contains("hunter2") && !text.contains(SYSTEM));
    }
    serde_norway::from_str::<serde_json::Value>(&yaml).unwrap();
}
