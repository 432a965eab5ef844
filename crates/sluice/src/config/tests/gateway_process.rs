//! A gateway in a process of its own: what it reads, and what it is told of the rest.

use super::*;

const LINKED: &str = "gateway: {routes: /etc/routes.yaml, link: {url: https://id.internal:4446, token: the-token-of-the-link-which-is-long}}";

#[test]
fn a_gateway_with_a_link_hears_what_is_ignored() {
    let loaded = given(LINKED)
        .and_file("serve: {gateway: {tls: {enabeld: true}, base_url: https://api.example.com}}")
        .variable("GATEWAY_THREAD", "2")
        .load_gateway()
        .unwrap();
    let expected = "serve.gateway.tls.enabeld: unknown key, ignored (did you mean serve.gateway.tls.enabled?)\n\
                    GATEWAY_THREAD: unknown environment variable, ignored\n\
                    serve.gateway.base_url: accepted without effect: the addresses in answers come from urls.self";
    assert_eq!(lines(&loaded.warnings), expected);
}

#[test]
fn a_gateway_with_a_link_is_for_development_if_that_is_said() {
    let mode = |given: Given| given.load_gateway().unwrap().settings.mode;
    assert_eq!(mode(given(LINKED)), Mode::Production);
    assert_eq!(mode(given(LINKED).development()), Mode::Development);
    assert_eq!(mode(given(LINKED).and_file("dev: true")), Mode::Development);
}

#[test]
fn what_is_noticed_besides_is_told_with_what_is_refused() {
    let error =
        given("gateway: {link: {url: https://id.internal:4446, tokn: a}}").load_gateway().err().unwrap();
    assert_eq!(lines(error.problems()), "gateway.link.token: is required with gateway.link.url");
    assert!(lines(error.warnings()).starts_with("gateway.link.tokn: unknown key"), "{error:?}");
}

#[test]
fn the_token_of_a_link_is_as_long_at_either_end() {
    let short = "a-token-of-thirty-one-bytes-...";
    let gateway = given(LINKED).set("gateway.link.token", short).load_gateway().err().unwrap();
    assert_eq!(messages(gateway.problems()), "gateway.link.token: must have 32 bytes or more");
    let server = given(MINIMAL).set("serve.link.token", short).problems();
    assert_eq!(server, "serve.link.token: must have 32 bytes or more");
}

#[test]
fn only_what_a_gateway_with_a_link_reads_is_in_force() {
    let shown = given(LINKED)
        .and_file("{serve: {tls: {enabled: false}, public: {port: 1}}, oauth2: {pkce: {enforced: true}}}")
        .load_gateway()
        .unwrap()
        .show();
    for line in
        ["  routes: \"/etc/routes.yaml\"  # 1.yml\n", "    token: \"[redacted]\"  # 1.yml\n", "log:\n"]
    {
        assert!(shown.contains(line), "{line} in {shown}");
    }
    for other in ["oauth2", "public", "ttl", "the-token-of-the-link-which-is-long"] {
        assert!(!shown.contains(other), "{other} in {shown}");
    }
}

#[test]
fn what_the_port_of_health_inherits_is_refused_where_it_was_written() {
    let error = given(LINKED).and_file("serve: {tls: {enabled: maybe}}").load_gateway().err().unwrap();
    assert_eq!(
        lines(error.problems()),
        "serve.tls.enabled: must be true or false, not \"maybe\" (from 2.yml)"
    );
}

#[test]
fn a_configuration_without_a_link_is_not_that_of_a_gateway_by_itself() {
    assert!(!given(MINIMAL).and_file("gateway: {routes: /etc/routes.yaml}").gathered().has_link());
    assert!(given(LINKED).gathered().has_link());
}

/// What is shown of these settings.
fn shown(settings: &[(&str, &str)]) -> Result<(String, Vec<Finding>), ConfigError> {
    let mut given = given("");
    for (key, value) in settings {
        given = given.set(key, value);
    }
    in_force(&given.sources).map_err(|(problems, _)| problems)
}

#[test]
fn show_tells_of_a_gateway_where_there_is_a_link_and_no_database() {
    let link = [
        ("gateway.link.url", "https://id.internal:4446"),
        ("gateway.link.token", "the-token-of-the-link-which-is-long"),
    ];
    let (alone, _) = shown(&link).unwrap();
    assert!(alone.contains("link:\n") && !alone.contains("oauth2:"), "{alone}");
    let with_database = [&link[..], &[("dsn", "memory")]].concat();
    let refused = shown(&with_database).err().unwrap();
    assert!(lines(refused.problems()).contains("secrets.system: is required"), "{refused}");
    let node =
        [&with_database[..], &[("secrets.system", SYSTEM), ("urls.self.issuer", "https://id.example.com")]];
    let (node, _) = shown(&node.concat()).unwrap();
    assert!(node.contains("oauth2:") && node.contains("link:\n"), "{node}");
}
