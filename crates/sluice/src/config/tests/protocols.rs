//! The settings of what goes beyond RFC 6749: devices, hooks, registration, certificates, keys.

use super::*;

const HOOK_KEY: &str =
    "{url: 'https://hooks.example.com/a', auth: {type: api_key, config: {in: cookie, name: k, value: v-1}}}";

/// A minimal file and this one.
fn with(yaml: &str) -> Given {
    given(MINIMAL).and_file(yaml.to_owned().leak())
}

#[test]
fn what_goes_beyond_the_code_grant_is_off_or_strict_by_default() {
    let settings = given(MINIMAL).settings();
    assert!(settings.oidc.registration.is_none() && settings.oidc.metadata_documents.is_none());
    assert_eq!(settings.oidc.default_id_token_algorithm, TokenAlgorithm::Rs256);
    assert_eq!(settings.oidc.subjects.supported, [SubjectType::Public]);
    let JwtBearerSettings { jti_optional, iat_optional, max_ttl, omit_assertion_audience } =
        settings.oauth2.jwt_bearer;
    assert_eq!((jti_optional, iat_optional, omit_assertion_audience), (false, false, true));
    assert_eq!(max_ttl, Duration::from_hours(720));
    let RequestSettings { pushed, objects, fetch_request_uris, long_per_network } = settings.oauth2.requests;
    assert_eq!(long_per_network, Some(2_000));
    let PushedRequestSettings { lifespan, required } = pushed;
    assert_eq!((lifespan, required), (Duration::from_mins(1), false));
    let RequestObjectSettings { require_signed, allow_unsigned } = objects;
    assert!(!require_signed && !allow_unsigned && !fetch_request_uris);
    let DpopSettings { nonce_required, nonce_lifetime, proof_lifetime } = settings.oauth2.dpop;
    assert!(!nonce_required);
    assert_eq!((nonce_lifetime, proof_lifetime), (Duration::from_mins(5), Duration::from_mins(1)));
    let MtlsSettings { listener_asks, proxy, proxy_verifies, trust_anchors, endpoint_aliases_url } =
        settings.oauth2.mtls;
    assert!(!listener_asks && proxy.is_none() && !proxy_verifies);
    assert!(trust_anchors.is_none() && endpoint_aliases_url.is_none());
    let hooks = settings.oauth2.hooks;
    assert!(hooks.token.is_none() && hooks.refresh_token.is_none());
    assert_eq!(hooks.timeout, Duration::from_secs(5));
}

#[test]
fn long_requests_of_a_network_are_counted_unless_there_is_no_limit() {
    let most = |number: &str| {
        with(&format!("oauth2: {{long_requests: {{per_network: {number}}}}}"))
            .settings()
            .oauth2
            .requests
            .long_per_network
    };
    assert_eq!((most("0"), most("150")), (None, Some(150)));
}

#[test]
fn outbound_requests_are_bounded_by_default() {
    let outbound = with("clients: {http: {ca_file: /etc/ca.pem, max_redirects: 0}}").settings().outbound;
    assert_eq!(outbound.ca_file, Some(PathBuf::from("/etc/ca.pem")));
    assert_eq!((outbound.timeout, outbound.max_bytes), (Duration::from_secs(10), 1_048_576));
    assert_eq!(outbound.max_redirects, 0);
    let wrong = with("clients: {http: {timeout: 0s, max_bytes: 1, max_redirects: 11}}").problems();
    let expected = "clients.http.timeout: must be from 1s to 5m\n\
                    clients.http.max_bytes: must be a whole number from 1024 to 104857600, not \"1\"\n\
                    clients.http.max_redirects: must be a whole number from 0 to 10, not \"11\"";
    assert_eq!(wrong, expected);
}

#[test]
fn the_own_network_is_out_of_reach_unless_it_is_a_developers() {
    let guarded = |given: Given| given.settings().outbound.disallow_private_ip_ranges;
    assert!(guarded(given(MINIMAL)));
    assert!(!guarded(with("clients: {http: {disallow_private_ip_ranges: false}}")));
    assert!(!guarded(given("dev: true")));
    assert!(guarded(given("{dev: true, clients: {http: {disallow_private_ip_ranges: true}}}")));
}

#[test]
fn devices_are_configured_as_with_hydra() {
    let settings = given(MINIMAL)
        .variable("OAUTH2_DEVICE_AUTHORIZATION_TOKEN_POLLING_INTERVAL", "15s")
        .variable("TTL_DEVICE_USER_CODE", "5m")
        .variable("URLS_DEVICE_VERIFICATION", "/my/device")
        .variable("URLS_DEVICE_SUCCESS", "https://login.example.com/done")
        .variable("WEBFINGER_OIDC_DISCOVERY_DEVICE_AUTHORIZATION_URL", "/device")
        .settings();
    let DeviceSettings { polling_interval, .. } = settings.oauth2.device;
    assert_eq!(polling_interval, Duration::from_secs(15));
    assert_eq!(settings.ttl.device_user_code, Duration::from_mins(5));
    assert_eq!(settings.urls.device_verification.unwrap().as_str(), "https://id.example.com/my/device");
    assert_eq!(settings.urls.device_success.unwrap().as_str(), "https://login.example.com/done");
    let announced = settings.webfinger.device_authorization_url.unwrap();
    assert_eq!(announced.as_str(), "https://id.example.com/device");
    assert!(settings.webfinger.client_registration_url.is_none());
}

#[test]
fn user_codes_follow_a_preset_or_a_length_and_a_character_set() {
    let code = |user_code: &str| {
        with(&format!("oauth2: {{device_authorization: {{user_code: {user_code}}}}}"))
            .settings()
            .oauth2
            .device
            .user_code
    };
    let expected = |length, characters: &str| UserCodeSettings { length, characters: characters.to_owned() };
    assert_eq!(code("{}"), expected(8, "ACDEFGHJKLMNPQRTUVWXY34679"));
    assert_eq!(code("{entropy_preset: medium}"), expected(8, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"));
    assert_eq!(code("{entropy_preset: low}"), expected(9, "0123456789"));
    assert_eq!(code("{length: 6, character_set: abcdABCDwxyz2}"), expected(6, "ABCDWXYZ2"));
}

#[test]
fn user_codes_that_are_too_easy_or_said_twice_are_refused() {
    let problems = |user_code: &str| {
        with(&format!("oauth2: {{device_authorization: {{user_code: {user_code}}}}}"))
            .problems()
            .replace("oauth2.device_authorization.user_code.", "")
    };
    assert_eq!(problems("{length: 7}"), "character_set: is required with length");
    assert_eq!(problems("{character_set: ABCDEFGH}"), "length: is required with character_set");
    assert_eq!(
        problems("{entropy_preset: low, length: 7, character_set: ABCDEFGH}"),
        "entropy_preset: has length and character_set beside it; set the one or the others"
    );
    assert_eq!(
        problems("{length: 5, character_set: abcdABCD}"),
        "length: must be a whole number from 6 to 64, not \"5\"\n\
         character_set: must have 8 different characters or more, upper and lower case being one"
    );
    assert_eq!(
        problems("{length: 6, character_set: ABCDEF-H}"),
        "character_set: must have letters from A to Z and digits only"
    );
}

#[test]
fn a_hook_is_a_url_or_a_mapping_with_a_key() {
    let settings = with(&format!("oauth2: {{token_hook: {HOOK_KEY}, hook_timeout: 30s}}"))
        .variable("OAUTH2_REFRESH_TOKEN_HOOK", "https://hooks.example.com/b")
        .settings();
    let HooksSettings { token, refresh_token, timeout } = settings.oauth2.hooks;
    let HookSettings { url, auth } = token.unwrap();
    assert_eq!(url.as_str(), "https://hooks.example.com/a");
    let HookAuth { place, name, value } = auth.unwrap();
    assert_eq!((place, name.as_str(), value.expose()), (HookKeyPlace::Cookie, "k", "v-1"));
    assert!(refresh_token.unwrap().auth.is_none());
    assert_eq!(timeout, Duration::from_secs(30));
}

#[test]
fn a_hook_that_could_not_be_asked_is_refused() {
    let problems = |hook: &str| with(&format!("oauth2: {{token_hook: {hook}}}")).problems();
    let (url, config) = ("oauth2.token_hook.url", "oauth2.token_hook.auth.config");
    assert_eq!(
        problems("{auth: {type: api_key, config: {name: X, value: v}}}"),
        format!("{url}: is required")
    );
    assert_eq!(
        problems("{url: 'https://a', auth: {type: api_key}}"),
        format!("{config}.name: is required\n{config}.value: is required")
    );
    assert_eq!(
        problems("{url: 'https://a', auth: {type: basic, config: {name: 'a b', value: v}}}"),
        format!(
            "oauth2.token_hook.auth.type: must be one of api_key, not \"basic\"\n\
             {config}.name: has characters that the name of a header or cookie must not have"
        )
    );
    for (place, value) in [("header", "hunter\\n2"), ("cookie", "hunter;2")] {
        let hook =
            format!("{{url: 'https://a', auth: {{config: {{in: {place}, name: k, value: \"{value}\"}}}}}}");
        assert_eq!(problems(&hook), format!("{config}.value: has characters that cannot be sent there"));
    }
    assert_eq!(with("oauth2: {hook_timeout: 31s}").problems(), "oauth2.hook_timeout: must be from 1s to 30s");
}

#[test]
fn pairwise_subjects_need_a_salt() {
    let supporting = |types: &str| given(MINIMAL).variable("OIDC_SUBJECT_IDENTIFIERS_SUPPORTED_TYPES", types);
    let pairwise = || supporting("pairwise,public");
    let salt = "OIDC_SUBJECT_IDENTIFIERS_PAIRWISE_SALT";
    let subjects = pairwise().variable(salt, "12345678").settings().oidc.subjects;
    let SubjectSettings { supported, default, pairwise_salt } = subjects;
    assert_eq!(supported, [SubjectType::Pairwise, SubjectType::Public]);
    assert_eq!(default, SubjectType::Public, "wherever it stands");
    let alone = supporting("pairwise").variable(salt, "12345678").settings().oidc.subjects;
    assert_eq!(alone.default, SubjectType::Pairwise);
    assert_eq!(pairwise_salt.unwrap().expose(), "12345678");
    let key = "oidc.subject_identifiers.pairwise.salt";
    assert_eq!(pairwise().problems(), format!("{key}: is required when pairwise subjects are supported"));
    assert_eq!(
        pairwise().variable(salt, "1234567").problems(),
        format!("{key}: is shorter than 8 characters")
    );
}

#[test]
fn tokens_are_signed_by_default_as_configured() {
    let algorithm = |name: &str| {
        given(MINIMAL)
            .set("oidc.default_id_token_signing_alg", name)
            .settings()
            .oidc
            .default_id_token_algorithm
    };
    assert_eq!(algorithm("ES256"), TokenAlgorithm::Es256);
    assert_eq!(algorithm("EdDSA"), TokenAlgorithm::EdDsa);
    let settings = given(MINIMAL).set("strategies.jwt.access_token_signing_alg", "PS256").settings();
    let both = (settings.strategies.access_token_algorithm, settings.oidc.default_id_token_algorithm);
    assert_eq!(both, (TokenAlgorithm::Ps256, TokenAlgorithm::Rs256));
    let default = given(MINIMAL).settings().strategies.access_token_algorithm;
    assert_eq!(default, TokenAlgorithm::Rs256);
    let unsigned = given(MINIMAL).set("oidc.default_id_token_signing_alg", "none").problems();
    assert_eq!(
        unsigned,
        "oidc.default_id_token_signing_alg: must be one of RS256, ES256, PS256, EdDSA, not \"none\""
    );
}

#[test]
fn clients_may_register_themselves_with_a_token_or_openly() {
    let open = || {
        given(MINIMAL)
            .variable("OIDC_DYNAMIC_CLIENT_REGISTRATION_ENABLED", "true")
            .variable("OIDC_DYNAMIC_CLIENT_REGISTRATION_DEFAULT_SCOPE", "openid,offline")
            .variable("OIDC_DYNAMIC_CLIENT_REGISTRATION_DEFAULT_AUDIENCE", "https://a.example,b")
    };
    let oidc = open().settings().oidc;
    assert_eq!(oidc.default_client_scope, ["openid", "offline"]);
    assert_eq!(oidc.self_registered_audience, ["https://a.example", "b"]);
    let registration = oidc.registration.unwrap();
    assert_eq!(registration.software_statements, SoftwareStatements::Refuse);
    let token = "oidc.dynamic_client_registration.initial_access_token";
    assert_eq!(open().warnings(), format!("{token}: is not set: anybody may register clients"));
    let closed = || open().set(token, "a-token-of-sixteen");
    let RegistrationSettings { initial_access_token, .. } = closed().settings().oidc.registration.unwrap();
    assert_eq!(initial_access_token.unwrap().expose(), "a-token-of-sixteen");
    assert_eq!(closed().warnings(), "");
    assert_eq!(open().set(token, "hunter2").problems(), format!("{token}: is shorter than 16 characters"));
}

#[test]
fn software_statements_are_verified_with_a_key_set() {
    let verify = |rest: &str| {
        with(&format!(
            "oidc: {{dynamic_client_registration: {{enabled: true, software_statements: verify{rest}}}}}"
        ))
    };
    let of_file = verify(", software_statement_jwks: /etc/jwks.json, software_statement_issuers: [a]");
    let registration = of_file.settings().oidc.registration.unwrap();
    assert_eq!(
        registration.software_statement_jwks,
        Some(KeySetSource::File(PathBuf::from("/etc/jwks.json")))
    );
    assert_eq!(registration.software_statement_issuers, ["a"]);
    let of_url = verify(", software_statement_jwks: 'https://trust.example.com/jwks'").settings();
    let source = of_url.oidc.registration.unwrap().software_statement_jwks.unwrap();
    assert!(matches!(source, KeySetSource::Url(url) if url.as_str() == "https://trust.example.com/jwks"));
    let key = "oidc.dynamic_client_registration.software_statement_jwks";
    assert_eq!(verify("").problems(), format!("{key}: is required to verify software statements"));
    assert_eq!(
        verify(", software_statement_jwks: 'ftp://a/b'").problems(),
        format!("{key}: must be a file path, or an absolute URL, not \"ftp://a/b\"")
    );
}

#[test]
fn hosts_of_metadata_documents_are_names_or_what_is_below_them() {
    let hosts = |hosts: &str| {
        with(&format!("oidc: {{client_id_metadata_documents: {{enabled: true, allowed_hosts: [{hosts}]}}}}"))
    };
    let documents = hosts("App.Example.com, '*.bücher.example', '::1', '[::1]'");
    let problem = "oidc.client_id_metadata_documents.allowed_hosts: \"::1\" is not a host such as \
                   app.example.com or *.example.com";
    assert_eq!(documents.problems(), problem);
    let documents = hosts("App.Example.com, '*.bücher.example', '[::1]'").settings().oidc.metadata_documents;
    let MetadataDocumentSettings { allowed_hosts } = documents.unwrap();
    assert_eq!(allowed_hosts, ["app.example.com", "*.xn--bcher-kva.example", "[::1]"]);
    for wrong in ["https://a.example", "a.example/b", "'*'", "'*.*.example'", "'a*.example'", "'*.10.0.0.1'"]
    {
        assert!(hosts(wrong).problems().contains("is not a host"), "{wrong}");
    }
}

#[test]
fn request_objects_are_not_signed_and_unsigned_at_once() {
    let both = with("oauth2: {request_objects: {require_signed: true, allow_unsigned: true}}").problems();
    assert_eq!(
        both,
        "oauth2.request_objects.allow_unsigned: contradicts oauth2.request_objects.require_signed"
    );
    let lifespan = "oauth2.pushed_authorization_requests.lifespan";
    for wrong in ["4s", "10m1s"] {
        let problems = given(MINIMAL).set(lifespan, wrong).problems();
        assert_eq!(problems, format!("{lifespan}: must be from 5s to 10m"), "{wrong}");
    }
    assert_eq!(
        given(MINIMAL).set(lifespan, "soon").problems(),
        format!("{lifespan}: must be a duration such as 1h30m, not \"soon\"")
    );
}

#[test]
fn certificates_come_from_the_listener_or_from_known_proxies() {
    let mtls =
        with("oauth2: {mtls: {header: X-Client-Cert, header_from: [10.0.0.0/8]}}").settings().oauth2.mtls;
    let CertificateHeader { name, from } = mtls.proxy.unwrap();
    assert_eq!((name.as_str(), from.len(), mtls.proxy_verifies), ("X-Client-Cert", 1, false));
    let verifying =
        "oauth2: {mtls: {header: X-Client-Cert, header_from: [10.0.0.0/8], proxy_verifies: true}}";
    assert!(with(verifying).settings().oauth2.mtls.proxy_verifies);
    let tls = "serve: {public: {tls: {enabled: true, cert: {path: /c}, key: {path: /k}}}}\n";
    let asking = with(&format!("{tls}oauth2: {{mtls: {{enabled: true, trust_anchors: /ca.pem}}}}"));
    let mtls = asking.settings().oauth2.mtls;
    assert!(mtls.listener_asks && mtls.trust_anchors == Some(PathBuf::from("/ca.pem")));
}

#[test]
fn certificates_that_prove_nothing_are_refused() {
    let problems = |mtls: &str| with(&format!("oauth2: {{mtls: {mtls}}}")).problems();
    assert_eq!(
        problems("{enabled: true}"),
        "oauth2.mtls.enabled: needs serve.public.tls.enabled; behind a proxy that ends TLS set oauth2.mtls.header"
    );
    let open = "oauth2.mtls.header_from: is required with oauth2.mtls.header: anybody could send that header";
    assert_eq!(problems("{header: X-Client-Cert}"), open);
    assert_eq!(problems("{header: X-Client-Cert, header_from: []}"), open);
    assert!(
        problems("{header: 'a b', header_from: ['::1']}").starts_with("oauth2.mtls.header: has characters")
    );
    assert_eq!(
        with("oauth2: {mtls: {header_from: ['::1']}}").warnings(),
        "oauth2.mtls.header_from: has no effect without oauth2.mtls.header"
    );
    assert_eq!(
        with("oauth2: {mtls: {proxy_verifies: true}}").warnings(),
        "oauth2.mtls.proxy_verifies: has no effect without oauth2.mtls.header"
    );
}

#[test]
fn keys_are_rotated_when_asked() {
    let rotation = given(MINIMAL).settings().key_rotation;
    assert_eq!((rotation.every, rotation.announce_for), (None, Duration::from_hours(2)));
    assert_eq!(rotation.retire_after, Duration::from_hours(768));
    let rotation = given(MINIMAL).variable("KEYS_ROTATION_EVERY", "720h").settings().key_rotation;
    assert_eq!(rotation.every, Some(Duration::from_hours(720)));
}

#[test]
fn a_rotation_that_would_break_tokens_is_refused() {
    let problems = |rotation: &str| with(&format!("keys: {{rotation: {rotation}}}")).problems();
    assert_eq!(
        problems("{announce_for: 5m}"),
        "keys.rotation.announce_for: must be more than 5m: others may keep the key set for so long"
    );
    assert_eq!(problems("{every: 2h}"), "keys.rotation.every: must be more than keys.rotation.announce_for");
    assert_eq!(
        problems("{retire_after: 743h}"),
        "keys.rotation.retire_after: must be at least 744h, as long as an access token may live"
    );
    assert_eq!(given(MINIMAL).set("ttl.id_token", "769h").warnings(), "");
    assert_eq!(
        given(MINIMAL).set("ttl.id_token", "769h").set("keys.rotation.every", "720h").problems(),
        "keys.rotation.retire_after: must be at least ttl.id_token: older id tokens would not verify"
    );
    assert_eq!(
        problems("{every: soon}"),
        "keys.rotation.every: must be a duration such as 1h30m, not \"soon\""
    );
}

#[test]
fn clients_of_the_gateway_have_time_within_bounds() {
    let timeouts = given(MINIMAL).settings().gateway.client_timeouts;
    assert_eq!((timeouts.head, timeouts.idle), (Duration::from_secs(10), Duration::from_secs(75)));
    let timeouts =
        with("serve: {gateway: {timeouts: {head: 3s, idle: 5m}}}").settings().gateway.client_timeouts;
    assert_eq!((timeouts.head, timeouts.idle), (Duration::from_secs(3), Duration::from_mins(5)));
    let wrong = with("serve: {gateway: {timeouts: {head: 0s, idle: 25h}}}").problems();
    let expected = "serve.gateway.timeouts.head: must be from 100ms to 1h\n\
                    serve.gateway.timeouts.idle: must be from 100ms to 24h";
    assert_eq!(wrong, expected);
}

#[test]
fn what_the_gateway_knows_of_revocations_may_be_as_old_as_news_is_while_all_is_well() {
    let age = |given: Given| given.settings().gateway.max_feed_age;
    assert_eq!(age(given(MINIMAL)), Duration::from_secs(10));
    assert_eq!(age(with("gateway: {max_feed_age: 5s}")), Duration::from_secs(5));
    for wrong in ["0s", "1ms", "4999ms", "25h"] {
        let problems = with(&format!("gateway: {{max_feed_age: {wrong}}}")).problems();
        assert_eq!(problems, "gateway.max_feed_age: must be from 5s to 24h", "{wrong}");
    }
}

#[test]
fn the_gateway_takes_certificates_from_its_listener_or_from_known_proxies() {
    let gateway = given(MINIMAL).settings().gateway;
    for none in [gateway.certificates, gateway.decision_certificates] {
        assert!(!none.listener_asks && none.proxy.is_none());
    }
    let tls = "tls: {enabled: true, cert: {path: /c}, key: {path: /k}}";
    let header = "header: Client-Cert, header_from: [10.0.0.0/8]";
    let gateway = with(&format!(
        "serve: {{gateway: {{{tls}, mtls: {{enabled: true, {header}}}}}, decisions: {{mtls: {{{header}}}}}}}"
    ));
    let gateway = gateway.settings().gateway;
    assert!(gateway.certificates.listener_asks);
    for certificates in [gateway.certificates, gateway.decision_certificates] {
        let CertificateHeader { name, from } = certificates.proxy.unwrap();
        assert_eq!((name.as_str(), from.len()), ("Client-Cert", 1));
    }
    let wrong = with("serve: {gateway: {mtls: {enabled: true}}, decisions: {mtls: {header: Client-Cert}}}");
    let expected = "serve.gateway.mtls.enabled: needs serve.gateway.tls.enabled; behind a proxy that ends TLS set \
                    serve.gateway.mtls.header\n\
                    serve.decisions.mtls.header_from: is required with serve.decisions.mtls.header: anybody could \
                    send that header";
    assert_eq!(wrong.problems(), expected);
}

#[test]
fn a_gateway_that_speaks_plain_http_where_others_speak_tls_is_warned_about() {
    let tls = "serve: {tls: {enabled: true, cert: {path: /c}, key: {path: /k}}}";
    let routed = || with(tls).and_file("gateway: {routes: /etc/routes.yaml}");
    let plain = |key: &str| {
        format!("{key}: is not set, and serve.tls does not count here: this listener speaks plain http")
    };
    assert_eq!(routed().warnings(), plain("serve.gateway.tls.enabled"));
    let open =
        routed().variable("SERVE_DECISIONS_HOST", "0.0.0.0").variable("SERVE_GATEWAY_HOST", "127.0.0.1");
    assert_eq!(open.warnings(), plain("serve.decisions.tls.enabled"));
    assert_eq!(with(tls).warnings(), "", "nothing is served without routes");
    for meant in
        [("SERVE_GATEWAY_TLS_ENABLED", "false"), ("SERVE_GATEWAY_TLS_ALLOW_TERMINATION_FROM", "10.0.0.0/8")]
    {
        assert_eq!(routed().variable(meant.0, meant.1).warnings(), "", "{meant:?}");
    }
    assert!(routed().settings().gateway.listener.tls.certificate.is_none());
}

#[test]
fn a_certificate_that_is_made_at_the_start_is_proposed_where_it_will_do() {
    let missing = |listener: &str| {
        let key = format!("serve.{listener}.tls.enabled");
        let problems = given(MINIMAL).set(&key, "true").problems();
        let of_chain = format!("serve.{listener}.tls.cert: is required when TLS is enabled");
        assert!(problems.starts_with(&of_chain), "{problems}");
        problems
    };
    for listener in ["public", "admin", "gateway", "decisions"] {
        assert!(missing(listener).contains("--tls-self-signed"), "{listener}");
    }
    assert!(
        !missing("link").contains("--tls-self-signed"),
        "others reach it with a certificate that they know"
    );
}

#[test]
fn the_keys_of_phantom_tokens_are_served_where_it_is_said_or_nowhere() {
    let path = |yaml: &str| with(yaml).settings().gateway.phantom.jwks_path;
    let usual = Some("/.well-known/sluice-gateway-jwks.json".to_owned());
    assert_eq!(path("gateway: {phantom: {jwks_path: ''}}"), usual, "an empty text counts as not set");
    assert_eq!(path("gateway: {phantom: {jwks_path: /keys}}").as_deref(), Some("/keys"));
    assert_eq!(path("gateway: {phantom: {jwks_path: off}}"), None);
    let by_variable = given(MINIMAL).variable("GATEWAY_PHANTOM_JWKS_PATH", "off").settings();
    assert_eq!(by_variable.gateway.phantom.jwks_path, None);
    assert_eq!(
        with("gateway: {phantom: {jwks_path: keys}}").problems(),
        "gateway.phantom.jwks_path: must begin with a slash, or be off"
    );
}
