//! What is refused, what is only warned about, and in which words.

use super::*;

#[test]
fn unknown_keys_are_warned_about_by_their_full_name() {
    let warnings = given(MINIMAL)
        .and_file("serve: {publik: {port: 1}}\nzebra: [1]")
        .variable("SERVE_PUBLIK_PORT", "1")
        .variable("PATH", "/bin")
        .warnings();
    let expected = "serve.publik.port: unknown key, ignored (did you mean serve.public.port?)\n\
                    zebra: unknown key, ignored\n\
                    SERVE_PUBLIK_PORT: unknown environment variable, ignored";
    assert_eq!(warnings, expected);
}

#[test]
fn unknown_variables_of_all_sections_with_a_name_of_their_own_are_warned_about() {
    let warnings = given(MINIMAL)
        .variable("GATEWAY_ACCES_LOG", "off")
        .variable("IDENTITY_PASSWORD_MIN_LENGHT", "12")
        .variable("CLIENTS_HTTP_TIMEOUTS", "1s")
        .variable("WEBFINGER_JWKS_BROADCAST", "mine")
        .warnings();
    let expected = [
        "GATEWAY_ACCES_LOG",
        "IDENTITY_PASSWORD_MIN_LENGHT",
        "CLIENTS_HTTP_TIMEOUTS",
        "WEBFINGER_JWKS_BROADCAST",
    ]
    .map(|name| format!("{name}: unknown environment variable, ignored"));
    assert_eq!(warnings, expected.join("\n"));
}

#[test]
fn what_the_surroundings_set_is_not_warned_about() {
    let warnings = given(MINIMAL)
        .variable("GATEWAY_SERVICE_HOST", "10.0.0.7")
        .variable("GATEWAY_SERVICE_PORT_HTTP", "80")
        .variable("GATEWAY_PORT", "tcp://10.0.0.7:80")
        .variable("IDENTITY_PORT_80_TCP_ADDR", "10.0.0.8")
        .variable("IDENTITY_ENDPOINT", "http://localhost:42356/msi/token")
        .warnings();
    assert_eq!(warnings, "");
    let meant = given(MINIMAL).variable("GATEWAY_PORT", "4455").warnings();
    assert_eq!(meant, "GATEWAY_PORT: unknown environment variable, ignored");
}

#[test]
fn keys_without_effect_are_warned_about_with_the_reason() {
    let warnings = given(MINIMAL).and_file("sqa: {opt_out: true}").variable("SQA_OPT_OUT", "true").warnings();
    assert_eq!(warnings, "sqa.opt_out: accepted without effect: Sluice reports to nobody");
}

#[test]
fn traces_that_are_not_sent_are_warned_about_with_what_is_missing() {
    let server = || given(MINIMAL).set("tracing.providers.otlp.server_url", "collector:4318");
    let unused = "tracing.providers.otlp.server_url: has no effect: no traces are sent unless tracing.provider is otel";
    assert_eq!(server().warnings(), unused);
    let by_otlp = "tracing.provider: no traces are sent: traces are sent by OTLP; set";
    let jaeger = given(MINIMAL).set("tracing.provider", "jaeger").warnings();
    assert_eq!(jaeger, format!("{by_otlp} tracing.providers.otlp"));
    let other = server().set("tracing.provider", "jaeger").warnings();
    assert_eq!(other, format!("{by_otlp} tracing.provider to otel"));
    for earlier in ["datadog", "elastic-apm"] {
        let warnings = given(MINIMAL).set("tracing.provider", earlier).warnings();
        assert_eq!(warnings, format!("{by_otlp} tracing.providers.otlp"), "{earlier}");
    }
    assert_eq!(server().set("tracing.provider", "otel").warnings(), "");
}

#[test]
fn a_form_of_the_log_that_is_not_written_is_warned_about() {
    let gelf = || given(MINIMAL).set("log.format", "gelf");
    assert_eq!(gelf().warnings(), "log.format: gelf is not written; the log is in JSON, one line each");
    assert_eq!(gelf().settings().log.format, LogFormat::Json);
    assert_eq!(given(MINIMAL).set("log.format", "json").warnings(), "");
}

/// `DATABASE_URL` is set by others, too: who has given a database knows.
#[test]
fn variables_of_hydra_1_are_warned_about_where_what_they_said_is_missing() {
    let with =
        |given: Given| given.variable("DATABASE_URL", "postgres://db/x").variable("SYSTEM_SECRET", "s");
    assert_eq!(with(given(MINIMAL)).warnings(), "");
    let without = with(given("urls: {self: {issuer: https://id.example.com}}")).load().err().unwrap();
    let expected =
        "DATABASE_URL: is not read: it is `DSN`\nSYSTEM_SECRET: is not read: it is `SECRETS_SYSTEM`";
    assert_eq!(messages(without.warnings()), expected);
}

/// Left over from another installation, or kept for when traces are sent again.
#[test]
fn a_collector_that_nothing_is_sent_to_may_be_any() {
    let key = "tracing.providers.otlp.server_url";
    for wrong in ["a,b,a", "grpc://collector:4317"] {
        let with = || given(MINIMAL).set(key, wrong);
        let unused = format!("{key}: has no effect: no traces are sent unless tracing.provider is otel");
        assert_eq!(with().warnings(), unused);
        for other in ["jaeger", "zipkin"] {
            let warnings = with().set("tracing.provider", other).warnings();
            assert!(warnings.starts_with("tracing.provider: no traces are sent: "), "{warnings}");
        }
    }
}

#[test]
fn a_collector_that_requests_cannot_go_to_is_refused() {
    let key = "tracing.providers.otlp.server_url";
    let with = |server: &str| given(MINIMAL).set("tracing.provider", "otel").set(key, server);
    for wrong in [
        "a,b,a",
        "collector:4318,other:4318",
        "http://a,b/",
        "a b",
        "grpc://collector:4317",
        "collector:x",
        "/",
    ] {
        let expected = format!("{key}: must be an http or https URL, or host and port");
        assert_eq!(with(wrong).problems(), expected, "{wrong}");
    }
    for right in [
        "collector",
        "collector_1.example.com:4318",
        "10.0.0.7:4318",
        "[::1]:4318",
        "bücher.example",
        "http://collector:4318/v1/traces",
    ] {
        assert!(with(right).load().is_ok(), "{right}");
    }
}

#[test]
fn health_checks_stay_out_of_the_logs_that_there_are() {
    let with = |listener: &str| {
        let yaml = format!("serve: {{{listener}: {{request_log: {{disable_for_health: true}}}}}}");
        given(MINIMAL).and_file(yaml.leak()).loaded()
    };
    for listener in ["gateway", "decisions"] {
        let expected = format!(
            "serve.{listener}.request_log.disable_for_health: accepted without effect: health is asked about at the \
             admin port; gateway.access_log is of all requests here"
        );
        assert_eq!(lines(&with(listener).warnings), expected);
    }
    let link = with("link");
    assert_eq!(lines(&link.warnings), "");
    assert!(link.settings.link.listener.request_log_skips_health);
    assert!(!given(MINIMAL).settings().link.listener.request_log_skips_health);
}

#[test]
fn an_access_token_that_would_outlive_its_revocation_is_warned_about() {
    let long = given(MINIMAL).variable("TTL_ACCESS_TOKEN", "745h").warnings();
    assert_eq!(long, "ttl.access_token: is shortened to 744h: revocations are not remembered for longer");
    assert_eq!(given(MINIMAL).variable("TTL_ACCESS_TOKEN", "744h").warnings(), "");
    let shorter = given(MINIMAL).variable("TTL_LONGEST_ACCESS_TOKEN", "2h");
    let long = shorter.variable("TTL_ACCESS_TOKEN", "3h").warnings();
    assert_eq!(long, "ttl.access_token: is shortened to 2h: revocations are not remembered for longer");
}

#[test]
fn the_longest_life_of_an_access_token_has_bounds() {
    for beyond in ["59m", "745h", "0"] {
        let problems = given(MINIMAL).variable("TTL_LONGEST_ACCESS_TOKEN", beyond).problems();
        assert_eq!(problems, "ttl.longest_access_token: must be from 1h to 744h", "{beyond}");
    }
    let settings = given(MINIMAL).variable("TTL_LONGEST_ACCESS_TOKEN", "1h").settings();
    assert_eq!(settings.ttl.longest_access_token, Duration::from_hours(1));
    assert_eq!(given(MINIMAL).settings().ttl.longest_access_token, Duration::from_hours(744));
}

#[test]
fn a_grace_period_is_five_minutes_at_most_whatever_the_count_of_reuses() {
    let yaml =
        "oauth2: {grant: {refresh_token: {rotation_grace_period: 720h, rotation_grace_reuse_count: 3}}}";
    let loaded = given(MINIMAL).and_file(yaml).loaded();
    assert_eq!(loaded.settings.oauth2.refresh_token_grace, Duration::from_mins(5));
    let expected = "oauth2.grant.refresh_token.rotation_grace_reuse_count: accepted without effect: within the grace \
                    period, 5m at most, a pair is answered again however often\n\
                    oauth2.grant.refresh_token.rotation_grace_period: is shortened to 5m: for so long whoever has the \
                    token before gets the current pair";
    assert_eq!(lines(&loaded.warnings), expected);
}

#[test]
fn fewer_connections_than_will_do_are_warned_about() {
    let few = given(MINIMAL).variable("DSN", "postgres://u@db/x?max_conns=2");
    assert_eq!(few.warnings(), "dsn: max_conns counts as 4, the fewest that will do");
}

#[test]
fn an_unknown_key_on_the_command_line_is_refused() {
    let problems = given(MINIMAL).set("ttl.acess_token", "1h").problems();
    assert_eq!(problems, "ttl.acess_token: unknown key (did you mean ttl.access_token?)");
}

#[test]
fn all_problems_are_reported_at_once_and_none_shows_a_secret() {
    let error = given(
        "dsn: mysql://u:hunter2@db/x
secrets: {system: [hunter2], cookie: {a: hunter2}}
urls: {self: {issuer: http://id.example.com?x}, login: 'https://u:hunter2@[bad'}
serve: {public: {port: 70000, tls: {enabled: true}}, trusted_proxies: [10.0.0.0/33], admin: 5}
ttl: {id_token: 1d, access_token: 0s}
log: {level: loud}
oidc: {subject_identifiers: {supported_types: [hunter?], pairwise: {salt: hunter}}}
",
    )
    .load()
    .err()
    .unwrap();
    let expected = r#"the configuration is refused:
  serve.admin: must be a mapping, for it has keys of its own (from 1.yml)
  dsn: MySQL is not supported; use PostgreSQL or SQLite (from 1.yml)
  urls.self.issuer: must be https (plain http is allowed with `--dev` only) (from 1.yml)
  urls.self.issuer: must have no query and no fragment (OpenID Connect Discovery §3) (from 1.yml)
  urls.login: must be a URL, or a whole path at the host of urls.self.public, its own path included, not this value (from 1.yml)
  secrets.system: entry 1 is shorter than 16 characters (from 1.yml)
  secrets.cookie: must be a list of secret texts (from 1.yml)
  serve.public.port: must be a whole number from 0 to 65535, not "70000" (from 1.yml)
  serve.public.tls.cert: is required when TLS is enabled: set path or base64; for development leave `enabled` out and start with `--dev --tls-self-signed`, which makes one
  serve.public.tls.key: is required when TLS is enabled: set path or base64
  serve.trusted_proxies: "10.0.0.0/33" is not a CIDR block (from 1.yml)
  ttl.access_token: must be at least 1s (from 1.yml)
  ttl.id_token: must be a duration such as 1h30m, not "1d" (from 1.yml)
  oidc.subject_identifiers.supported_types: must be a list of public, pairwise (from 1.yml)
  log.level: must be one of panic, fatal, error, warn, info, debug, trace, not "loud" (from 1.yml)"#;
    assert_eq!(error.to_string(), expected);
    assert!(!format!("{error:?}").contains("hunter"));
}

/// Of several places where a key may be set, one counts, and that one is to be mended.
#[test]
fn what_is_refused_says_where_it_was_set() {
    let said = |given: Given| lines(given.load().err().unwrap().problems());
    let port = "serve.public.port: must be a whole number from 0 to 65535, not \"70000\"";
    let file = |yaml| given(MINIMAL).and_file(yaml);
    assert_eq!(said(file("serve: {public: {port: 70000}}")), format!("{port} (from 2.yml)"));
    let variable = || file("serve: {public: {port: 1}}").variable("SERVE_PUBLIC_PORT", "70000");
    assert_eq!(said(variable()), format!("{port} (from the environment variable SERVE_PUBLIC_PORT)"));
    let set = variable().set("serve.public.port", "70000");
    assert_eq!(said(set), format!("{port} (from the command line)"));
    let no_section = "serve.admin: must be a mapping, for it has keys of its own (from 2.yml)";
    assert_eq!(said(file("serve: {admin: 5}")), no_section);
    let no_json = "secrets.cookie: is not valid JSON (from the environment variable SECRETS_COOKIE)";
    assert_eq!(said(given(MINIMAL).variable("SECRETS_COOKIE", "[a")), no_json);
    assert!(said(file("secrets: {storage: }")).ends_with("or leave the key out (from 2.yml)"));
    let named_already = said(given(MINIMAL).variable("SECRETS_STORAGE", ""));
    assert!(named_already.starts_with("SECRETS_STORAGE: is empty") && !named_already.contains("(from "));
    assert!(!said(given("")).contains("(from "), "nobody set what is missing");
}

/// Also where an address is none, and its password cannot be told from the rest.
#[test]
fn what_is_refused_is_shown_without_its_secrets() {
    for dsn in ["mysql://u:hunter2@db/x", "postgres://u:hun?ter2@db/x", "u:hunter2@db", "hunter2"] {
        let given = given("")
            .variable("DSN", dsn)
            .variable("URLS_LOGIN", "u:hunter2@login.example.com")
            .variable("SECRETS_SYSTEM", "hunter2")
            .set("ttl.access_token", "soon");
        let (problems, shown) = in_force(&given.sources).err().unwrap();
        assert!(!problems.to_string().contains("ter2"), "{problems}");
        assert!(shown.contains("  access_token: \"soon\"  # command line\n"), "{shown}");
        assert!(!shown.contains("ter2"), "{shown}");
    }
    for (login, is_shown) in [
        ("//u:hunter2@h", false),
        ("/\\u:hunter2@h", false),
        ("https:/u:hunter2@h", false),
        ("https://hunter2@h", false),
        ("/me@home", true),
    ] {
        let given = given("").variable("URLS_LOGIN", login);
        let (shown, problems) = (given.gathered().show(), given.problems());
        assert!(!problems.contains("hunter2") && !shown.contains("hunter2"), "{problems} {shown}");
        assert_eq!(shown.contains("/me@home"), is_shown, "{shown}");
    }
    let origins = given(MINIMAL)
        .and_file("serve: {public: {cors: {allowed_origins: ['https://u:hunter2@o.example']}}}");
    let problems = origins.problems();
    assert!(problems.contains("allowed_origins: this value is not an origin"), "{problems}");
    assert!(!problems.contains("hunter2"), "{problems}");
}

/// What is read as a number is another secret than the one that was written, or is shown with what is wrong with it.
#[test]
fn a_secret_that_is_read_as_no_text_is_refused_and_not_shown() {
    for (secret, read) in [
        ("1234567890123456", "a number"),
        ("0x9f86d081884c7d65", "a number"),
        ("1234567890123456e4", "a number"),
        ("true", "a truth value"),
    ] {
        let file = format!(
            "secrets: {{cookie: [a-secret-of-cookies, {secret}]}}\nserve: {{admin: {{bearer_token: {secret}}}}}"
        );
        let problems = given(MINIMAL).and_file(file.leak()).problems();
        let expected = format!(
            "secrets.cookie: must be a list of secret texts, in quotes: without them it is read as {read}\n\
             serve.admin.bearer_token: must be a secret text, or a list of them, in quotes: without them it is read as {read}"
        );
        assert_eq!(problems, expected, "{secret}");
    }
    for file in [
        "secrets:\n  system: [98765432109876543210987654321098]",
        "secrets:\n  system: [!!int 'hunter2-9876543210987654']",
    ] {
        let problems = given(file).problems();
        let expected = "1.yml: is not valid YAML: secrets.system[0]: a value is not what it is taken for: a text of digits must \
                        be in quotes, at line 2 ";
        assert!(problems.starts_with(expected) && !problems.contains("9876"), "{problems}");
    }
    let in_json = given(MINIMAL).variable("SECRETS_COOKIE", "[1234567890123456]").problems();
    let expected =
        "secrets.cookie: must be a list of secret texts, in quotes: without them it is read as a number";
    assert_eq!(in_json, expected);
    let in_list = given(MINIMAL).and_file("serve: {admin: {bearer_token: [1234567890123456]}}").problems();
    let expected = "serve.admin.bearer_token: must be a secret text, or a list of them, in quotes: without them it is \
                    read as a number";
    assert_eq!(in_list, expected);
    let no_list = given(MINIMAL).and_file("gateway: {link: {token: [1234567890123456]}}").problems();
    assert_eq!(no_list, "gateway.link.token: must be a secret text, not a list");
    let quoted = given(MINIMAL).set("serve.admin.bearer_token", "1234567890123456");
    let quoted = quoted.and_file("secrets: {cookie: ['1234567890123456']}").settings();
    assert_eq!(expose(&quoted.secrets.cookie), ["1234567890123456"]);
}

/// That is YAML, and not what a configuration is made of.
#[test]
fn what_is_no_value_of_a_configuration_is_refused_with_what_is_known_of_it() {
    let reason = "a value is not what it is taken for: a text of digits must be in quotes";
    for (file, expected) in [
        ("secrets:\n  system: [!own hunter2]", format!("secrets.system[0]: {reason}, at line 2 ")),
        (
            "secrets:\n  system: [!!int 'hunter2 invalid type: ']",
            format!("secrets.system[0]: {reason}, at line 2 "),
        ),
        ("secrets:\n  5: hunter2", format!("{reason} (expected a string key)")),
    ] {
        let problems = given(file).problems();
        assert!(problems.starts_with(&format!("1.yml: is not valid YAML: {expected}")), "{problems}");
        assert!(!problems.contains("hunter2"), "{problems}");
    }
}

#[test]
fn without_dev_store_secret_and_issuer_are_required() {
    let problems = given("").problems();
    for key in ["dsn: is required", "secrets.system: is required", "urls.self.issuer: is required"] {
        assert!(problems.contains(key), "{key} in {problems}");
    }
}

#[test]
fn what_is_wrong_with_an_inherited_value_is_said_once_where_it_was_written() {
    let problems =
        given(MINIMAL).and_file("serve: {tls: {enabled: maybe, allow_termination_from: [x]}}").problems();
    let expected = "serve.tls.enabled: must be true or false, not \"maybe\"\n\
                    serve.tls.allow_termination_from: \"x\" is not a CIDR block";
    assert_eq!(problems, expected);
}

#[test]
fn a_certificate_that_nobody_switched_on_is_warned_about_by_each_listener_that_passes_it_over() {
    let warning = |listener: &str| {
        format!(
            "serve.{listener}.tls.enabled: is not set: the certificate does not count, and this listener speaks plain http"
        )
    };
    let own = ["public", "admin", "gateway", "decisions", "link"];
    for listener in own {
        for part in ["cert.path", "key.base64", "folder"] {
            let with = || given(MINIMAL).set(&format!("serve.{listener}.tls.{part}"), "/c.pem");
            assert_eq!(with().warnings(), warning(listener), "{part}");
            let off = with().set(&format!("serve.{listener}.tls.enabled"), "false");
            assert_eq!(off.warnings(), "", "{listener} {part}");
        }
    }
    let common =
        || given(MINIMAL).variable("SERVE_TLS_CERT_PATH", "/c.pem").variable("SERVE_TLS_KEY_PATH", "/k.pem");
    assert_eq!(common().warnings(), [warning("public"), warning("admin")].join("\n"));
    assert_eq!(common().variable("SERVE_TLS_ENABLED", "false").warnings(), "");
    let both = common().variable("SERVE_TLS_ENABLED", "true").set("gateway.routes", "/routes.yaml");
    let gateway = both.set("serve.gateway.tls.cert.path", "/c.pem");
    assert_eq!(gateway.warnings(), warning("gateway"));
}

#[test]
fn admin_endpoints_open_to_all_are_warned_about() {
    let open = || given(MINIMAL).variable("SERVE_ADMIN_HOST", "0.0.0.0");
    assert!(open().warnings().starts_with("serve.admin.host: other machines may reach"));
    assert_eq!(open().variable("SERVE_ADMIN_BEARER_TOKEN", "sixteen letters!").warnings(), "");
    let short = open().variable("SERVE_ADMIN_BEARER_TOKEN", "t").problems();
    assert_eq!(short, "serve.admin.bearer_token: is shorter than 16 characters");
}

/// A secret made from a file often ends as the file does.
#[test]
fn a_token_that_no_request_can_bear_is_refused() {
    for key in [
        "serve.admin.bearer_token",
        "serve.link.token",
        "gateway.link.token",
        "oidc.dynamic_client_registration.initial_access_token",
    ] {
        let with = |token: &str| given(MINIMAL).set(key, token);
        for odd in ["TOKEN\n", "TOKEN\r\n", " TOKEN", "TOKEN ", "one\nTOKEN", "žluťoučký TOKEN"] {
            let token = odd.replace("TOKEN", "token, long enough for each of them");
            let expected =
                format!("{key}: has characters that no request can bear: a line end or a space at an end?");
            assert_eq!(with(&token).problems(), expected, "{token:?}");
        }
        assert!(with("token, long enough for each of them: ~+/=").load().is_ok(), "{key}");
    }
}

/// Left to be filled in, they would open a port, or bind to one secret what others were meant for.
#[test]
fn what_must_not_be_left_empty_is_refused_by_the_name_it_has_there() {
    let registering = || given(MINIMAL).variable("OIDC_DYNAMIC_CLIENT_REGISTRATION_ENABLED", "true");
    for (variable, key) in [
        ("SERVE_ADMIN_BEARER_TOKEN", "serve.admin.bearer_token"),
        ("SECRETS_STORAGE", "secrets.storage"),
        ("SECRETS_PEPPER", "secrets.pepper"),
        (
            "OIDC_DYNAMIC_CLIENT_REGISTRATION_INITIAL_ACCESS_TOKEN",
            "oidc.dynamic_client_registration.initial_access_token",
        ),
    ] {
        for empty in ["", " "] {
            let problems = registering().variable(variable, empty).problems();
            assert!(problems.starts_with(&format!("{variable}: is empty, and without it ")), "{problems}");
        }
        assert!(registering().set(key, "").problems().starts_with(&format!("{key}: is empty")));
        let elsewhere = registering().variable(variable, "").set(key, "what-counts-in-its-place");
        assert!(elsewhere.load().is_ok(), "{key}");
    }
    for (variable, key) in [("SECRETS_STORAGE", "secrets.storage"), ("SECRETS_PEPPER", "secrets.pepper")] {
        for empty in ["[]", ",", " , "] {
            let problems = given(MINIMAL).variable(variable, empty).problems();
            assert!(problems.starts_with(&format!("{variable}: is empty, and without it ")), "{problems}");
            let problems = given(MINIMAL).set(key, empty).problems();
            assert!(problems.starts_with(&format!("{key}: is empty, and without it ")), "{problems}");
        }
        let emptied = given(MINIMAL).set(key, "[]").variable(variable, "what-counted-in-its-place");
        assert!(emptied.problems().starts_with(&format!("{key}: is empty")), "{key}");
        let elsewhere = given(MINIMAL).variable(variable, "[]").set(key, "what-counts-in-its-place");
        assert!(elsewhere.load().is_ok(), "{key}");
    }
    let files = [
        "serve: {admin: {bearer_token: ''}}",
        "serve: {admin: {bearer_token: }}",
        "serve: {admin: {bearer_token: []}}",
        "secrets: {system: [a-system-secret-for-tests], storage: }",
        "secrets: {system: [a-system-secret-for-tests], storage: []}",
        "secrets: {system: [a-system-secret-for-tests], pepper: []}",
    ];
    for file in files {
        assert!(given(MINIMAL).and_file(file).problems().contains(": is empty, and without it "), "{file}");
    }
    assert_eq!(given(MINIMAL).variable("SECRETS_COOKIE", "").warnings(), "");
    assert_eq!(given(MINIMAL).variable("SECRETS_COOKIE", "[]").warnings(), "");
    let unused = given(MINIMAL).variable("OIDC_DYNAMIC_CLIENT_REGISTRATION_INITIAL_ACCESS_TOKEN", "");
    assert_eq!(unused.warnings(), "", "nobody registers clients");
}

#[test]
fn an_empty_list_for_what_is_no_list_is_one_problem() {
    let files = [
        ("gateway: {link: {token: []}}", "gateway.link.token"),
        (
            "oidc: {dynamic_client_registration: {enabled: true, initial_access_token: []}}",
            "oidc.dynamic_client_registration.initial_access_token",
        ),
    ];
    for (file, key) in files {
        let problems = given(MINIMAL).and_file(file).problems();
        assert_eq!(problems, format!("{key}: must be a secret text, not a list"));
    }
}

#[test]
fn who_is_refused_an_empty_token_of_registration_is_not_warned_besides() {
    let key = "oidc.dynamic_client_registration.initial_access_token";
    let registering = || given(MINIMAL).variable("OIDC_DYNAMIC_CLIENT_REGISTRATION_ENABLED", "true");
    assert_eq!(registering().warnings(), format!("{key}: is not set: anybody may register clients"));
    let refused = registering().set(key, "").load().err().unwrap();
    assert!(messages(refused.problems()).starts_with(&format!("{key}: is empty")));
    assert_eq!(lines(refused.warnings()), "");
}

#[test]
fn an_empty_value_of_the_command_line_that_unsets_nothing_says_so() {
    let kept = given(MINIMAL).variable("SECRETS_COOKIE", "a-secret-of-cookies").set("secrets.cookie", "");
    let expected = "secrets.cookie: an empty value unsets nothing: what is set elsewhere counts";
    assert_eq!(kept.warnings(), expected);
    assert_eq!(given(MINIMAL).set("secrets.cookie", "").warnings(), "");
}

#[test]
fn pages_of_all_origins_at_the_admin_port_are_warned_about() {
    let open = || given(MINIMAL).variable("SERVE_ADMIN_CORS_ENABLED", "true");
    assert!(
        open().warnings().starts_with("serve.admin.cors.allowed_origins: `*` for any host lets no page in")
    );
    assert_eq!(open().variable("SERVE_ADMIN_BEARER_TOKEN", "sixteen letters!").warnings(), "");
    let named = open().variable("SERVE_ADMIN_CORS_ALLOWED_ORIGINS", "https://console.example.com");
    assert_eq!(named.warnings(), "");
}

#[test]
fn credentials_of_pages_that_nobody_names_are_warned_about() {
    let asked = |origins: &str| {
        let yaml =
            format!("serve: {{public: {{cors: {{enabled: true, allow_credentials: true, {origins}}}}}}}");
        given(MINIMAL).and_file(yaml.leak())
    };
    let expected = "serve.public.cors.allow_credentials: has no effect for pages that only `*` lets in: name their origins in \
                    serve.public.cors.allowed_origins, or those of a client in its allowed_cors_origins";
    for nobody in ["", "allowed_origins: ['*']", "allowed_origins: []", "allowed_origins: ['https://*']"] {
        assert_eq!(asked(nobody).warnings(), expected, "{nobody}");
    }
    for named in
        ["allowed_origins: ['https://app.example.com']", "allowed_origins: ['*', 'https://*.example.com']"]
    {
        assert_eq!(asked(named).warnings(), "", "{named}");
    }
    let off = "serve: {public: {cors: {enabled: true, allow_credentials: false}}}";
    assert_eq!(given(MINIMAL).and_file(off).warnings(), "");
    // Nobody who said nothing about it hears of it.
    assert_eq!(given(MINIMAL).variable("SERVE_PUBLIC_CORS_ENABLED", "true").warnings(), "");
}

#[test]
fn a_host_that_the_admin_port_is_reached_at_is_a_name_without_a_port() {
    let hosts = |text: &str| given(MINIMAL).variable("SERVE_ADMIN_ALLOWED_HOSTS", text).problems();
    let expected =
        "serve.admin.allowed_hosts: \"a.example:4445\" is not a host name such as admin.example.com";
    assert_eq!(hosts("admin.example.com,a.example:4445"), expected);
    let expected =
        "serve.admin.allowed_hosts: \"*.example.com\" is not a host name such as admin.example.com";
    assert_eq!(hosts("*.example.com"), expected);
    let read = given(MINIMAL).variable("SERVE_ADMIN_ALLOWED_HOSTS", "Admin.Example.com.,bücher.example");
    assert_eq!(read.settings().serve.admin.allowed_hosts, ["admin.example.com", "xn--bcher-kva.example"]);
}
