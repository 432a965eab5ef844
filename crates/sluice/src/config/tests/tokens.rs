//! Secrets as they are written: tokens that others present, and quotation marks.

use super::*;

/// A text is one token, as it is at whoever bears it: a comma parts nothing.
#[test]
fn a_token_may_be_a_list_while_it_is_replaced() {
    const OLD: &str = "the old token, which is long enough for all";
    const NEW: &str = "the new token, which is long enough for all";
    let tokens = |given: Given| {
        let settings = given.settings();
        let of = |tokens: &[SecretString]| expose(tokens).into_iter().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(of(&settings.link.tokens), of(&settings.serve.admin.bearer_tokens));
        of(&settings.link.tokens)
    };
    let both = |value: &str| {
        given(MINIMAL).variable("SERVE_LINK_TOKEN", value).variable("SERVE_ADMIN_BEARER_TOKEN", value)
    };
    let list = format!("[{NEW:?}, {OLD:?}]");
    assert_eq!(tokens(both(OLD)), [OLD]);
    assert_eq!(tokens(both(&list)), [NEW, OLD]);
    let set = given(MINIMAL).set("serve.link.token", &list).set("serve.admin.bearer_token", &list);
    assert_eq!(tokens(set), [NEW, OLD]);
    let file = format!("serve: {{link: {{token: {list}}}, admin: {{bearer_token: {list}}}}}");
    assert_eq!(tokens(given(MINIMAL).and_file(file.leak())), [NEW, OLD]);
    let file = format!("serve: {{link: {{token: {OLD:?}}}, admin: {{bearer_token: {OLD:?}}}}}");
    assert_eq!(tokens(given(MINIMAL).and_file(file.leak())), [OLD]);
    // What is no list of texts is one token.
    for odd in
        ["[the token begins like a list, and is none]", "[1111111111, 2222222222, 3333333333, 4444444444]"]
    {
        assert_eq!(tokens(both(odd)), [odd]);
        let set = given(MINIMAL).set("serve.link.token", odd).set("serve.admin.bearer_token", odd);
        assert_eq!(tokens(set), [odd]);
    }
    let short = both(&format!("[{OLD:?}, \"short\"]")).problems();
    for refused in [
        "serve.admin.bearer_token: is shorter than 16 characters",
        "serve.link.token: must have 32 bytes or more",
    ] {
        assert!(short.contains(refused), "{refused} in {short}");
    }
    assert!(!both(&list).gathered().show().contains("long enough"), "they are secret");
}

#[test]
fn a_secret_of_the_environment_in_quotation_marks_is_warned_about() {
    let warned = |variable: &str, value: &str| {
        let gathered = given(MINIMAL).variable(variable, value).gathered();
        lines(&gathered.findings.into_warnings_alone())
    };
    let quoted = [
        ("DSN", r#""postgres://sluice@db/sluice""#),
        ("SECRETS_SYSTEM", r#""a-system-secret-for-tests""#),
        ("SECRETS_COOKIE", "'a-secret-of-cookies'"),
        ("SERVE_ADMIN_BEARER_TOKEN", r#""a-token-of-the-admin-port""#),
    ];
    for (variable, value) in quoted {
        let expected =
            format!("{variable}: begins and ends with a quotation mark, which counts as part of it");
        assert!(warned(variable, value).starts_with(&expected), "{variable}: {}", warned(variable, value));
        assert_eq!(warned(variable, value.trim_matches(['"', '\''])), "");
    }
    for fine in [r#"["a-secret-of-cookies"]"#, "\"a-secret-of-cookies", "a-secret-of-cookies\"", "\""] {
        assert_eq!(warned("SECRETS_COOKIE", fine), "", "{fine}");
    }
}

#[test]
fn a_token_that_looks_like_a_list_is_warned_about() {
    let warned = |value: &str| {
        let gathered = given(MINIMAL).variable("SERVE_ADMIN_BEARER_TOKEN", value).gathered();
        lines(&gathered.findings.into_warnings_alone())
    };
    for mistyped in ["[a-new-long-token, the-old-long-token]", "['a-new-long-token','the-old-long-token']"] {
        assert!(warned(mistyped).starts_with("serve.admin.bearer_token: stands in brackets"), "{mistyped}");
    }
    for fine in [r#"["a-new-long-token", "the-old-long-token"]"#, "[a-token-of-the-admin-port"] {
        assert_eq!(warned(fine), "", "{fine}");
    }
}
