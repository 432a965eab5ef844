use proptest::prelude::*;

use super::*;
use crate::authn::given;
use crate::route::{HeaderFrom, Phantom};

fn headers(of: &[(&'static str, &'static str)]) -> HeaderMap {
    of.iter().map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value))).collect()
}

fn names(headers: &HeaderMap) -> Vec<&str> {
    let mut names: Vec<_> = headers.keys().map(HeaderName::as_str).collect();
    names.sort_unstable();
    names
}

fn from(header: &'static str, claim: &str) -> HeaderFrom {
    HeaderFrom { header: HeaderName::from_static(header), claim: claim.to_owned() }
}

#[test]
fn what_only_the_gateway_says_is_stripped_in_every_spelling() {
    let mut sent = headers(&[
        ("oauth-user-id", "root"),
        ("oauth_user_id", "root"),
        ("oauth-user_id", "root"),
        ("oauth.user.id", "root"),
        ("oauth-anything", "x"),
        ("x-user", "root"),
        ("x_user", "root"),
        ("x-username", "kept"),
        ("oauthx", "kept"),
        ("x-oauth-user-id", "kept"),
        ("accept", "kept"),
    ]);
    strip(&mut sent, &[HeaderName::from_static("x-user")], None);
    assert_eq!(names(&sent), ["accept", "oauthx", "x-oauth-user-id", "x-username"]);
}

#[test]
fn a_header_that_a_route_sets_is_stripped_even_where_nothing_is_set() {
    let enrichment = Enrichment {
        claims: vec![from("x-email", "email")],
        fixed: vec![(HeaderName::from_static("x-gateway"), HeaderValue::from_static("sluice"))],
        phantom: Some(Phantom {
            header: AUTHORIZATION,
            audience: "orders".to_owned(),
            lifetime: std::time::Duration::from_mins(1),
        }),
        ..given::ordinary()
    };
    let mut sent = headers(&[
        ("x-email", "a"),
        ("x_email", "a"),
        ("x-gateway", "a"),
        ("authorization", "Basic a"),
        ("x-a", "b"),
    ]);
    strip(&mut sent, &[], Some(&enrichment));
    assert_eq!(names(&sent), ["x-a"]);
}

#[test]
fn what_asks_for_another_method_or_path_is_stripped_unless_the_route_forwards_it() {
    let sent = || {
        headers(&[
            ("x-http-method-override", "DELETE"),
            ("x_http_method_override", "DELETE"),
            ("x-http-method", "DELETE"),
            ("x-method-override", "DELETE"),
            ("x-original-url", "/admin"),
            ("x.original.url", "/admin"),
            ("x-rewrite-url", "/admin"),
            ("script_name", "/x"),
            ("script-name", "/x"),
            ("path_info", "/admin"),
            ("path.info", "/admin"),
            ("daphne-root-path", "/x"),
            ("x-vhm-root", "/x"),
            ("x_vhm_host", "http://admin.example"),
            ("x-script-name", "/x"),
            ("script-names", "kept"),
            ("paths-info", "kept"),
            ("date", "kept"),
            ("sec-fetch-site", "kept"),
            ("x-http-methods", "kept"),
            ("x-original-uri", "kept"),
        ])
    };
    for enrichment in [None, Some(given::ordinary())] {
        let mut left = sent();
        strip(&mut left, &[], enrichment.as_ref());
        let kept =
            ["date", "paths-info", "script-names", "sec-fetch-site", "x-http-methods", "x-original-uri"];
        assert_eq!(names(&left), kept);
    }
    let forwarding = Enrichment { forward_overrides: true, ..given::ordinary() };
    let mut left = sent();
    strip(&mut left, &[HeaderName::from_static("x-rewrite-url")], Some(&forwarding));
    assert_eq!(left.len(), sent().len() - 1, "all but the one that the file strips: {left:?}");
}

#[test]
fn every_such_name_is_known_in_every_spelling() {
    for name in OVERRIDES {
        let spelled = |sign: &str| name.replace(['-', '_'], sign);
        for sign in ["-", "_", ".", "~"] {
            assert!(
                is_override(&spelled(sign)) && is_override(&spelled(sign).to_uppercase()),
                "{name} {sign}"
            );
        }
        assert!(!is_override(&spelled("")) && !is_override(&format!("{name}s")), "{name}");
    }
}

#[test]
fn the_caller_is_told() {
    let mut told = HeaderMap::new();
    set_identity(&mut told, &given::alice(None));
    assert_eq!(
        (&told[&USER_ID], &told[&CLIENT_ID]),
        (&"alice".parse().unwrap(), &"shop-app".parse().unwrap())
    );
    assert_eq!(told[&USER_SCOPE], "orders.read profile");
}

#[test]
fn a_subject_of_another_issuer_is_told_from_ours() {
    let told = |caller: &Caller| {
        let mut headers = HeaderMap::new();
        set_identity(&mut headers, caller);
        headers.get("oauth-issuer").map(|issuer| issuer.to_str().unwrap().to_owned())
    };
    assert_eq!(told(&given::bob(serde_json::json!({}))).as_deref(), Some("https://login.partner.example"));
    assert_eq!(told(&given::alice(None)), None);
}

#[test]
fn what_is_not_known_of_a_caller_is_not_told() {
    for client in [given::robot(), given::agent()] {
        let mut told = HeaderMap::new();
        set_identity(&mut told, &client);
        assert_eq!(names(&told), ["oauth-client-id", "oauth-user-scope"]);
    }
    let mut of_person = HeaderMap::new();
    set_identity(&mut of_person, &given::person());
    assert_eq!(names(&of_person), ["oauth-user-id"]);
}

#[test]
fn claims_become_headers_and_never_more_than_one_line() {
    let enrichment = Enrichment {
        claims: vec![
            from("oauth-email", "email"),
            from("oauth-age", "age"),
            from("oauth-staff", "staff"),
            from("oauth-groups", "groups"),
            from("oauth-plan", "plan.name"),
            from("oauth-nothing", "nothing"),
            from("oauth-unknown", "unknown"),
            from("oauth-evil", "evil"),
        ],
        ..given::ordinary()
    };
    let mut told = HeaderMap::new();
    set_claims(&mut told, &enrichment, &given::bob(given::bobs_claims()));
    let expected = [
        ("oauth-age", "42"),
        ("oauth-email", "bob@partner.example"),
        ("oauth-evil", "x%0D%0AOAuth-User-Id: root"),
        ("oauth-groups", "[\"a\",\"%C5%BE\"]"),
        ("oauth-plan", "gold"),
        ("oauth-staff", "true"),
    ];
    assert_eq!(names(&told), expected.map(|(name, _)| name));
    for (name, value) in expected {
        assert_eq!(told[name], value);
    }
}

#[test]
fn a_token_goes_with_its_proof_and_nothing_else_goes() {
    let mut sent = headers(&[
        ("authorization", "DPoP abc"),
        ("dpop", "proof"),
        ("cookie", "a=b; session=abc"),
        ("x-a", "b"),
    ]);
    remove_token(&mut sent, &TokenSources::default());
    assert_eq!(names(&sent), ["cookie", "x-a"]);
    assert_eq!(sent["cookie"], "a=b; session=abc");
}

#[test]
fn other_credentials_stay() {
    let mut sent = headers(&[("authorization", "Basic abc"), ("dpop", "proof")]);
    remove_token(&mut sent, &TokenSources::default());
    assert_eq!(names(&sent), ["authorization", "dpop"]);
}

#[test]
fn an_unreadable_token_goes_too() {
    for unreadable in ["Bearer", "Bearer a b", "bearer a,b"] {
        let mut sent = headers(&[("authorization", unreadable)]);
        remove_token(&mut sent, &TokenSources::default());
        assert!(sent.is_empty(), "{unreadable}");
    }
}

#[test]
fn of_cookies_only_that_with_the_token_goes() {
    let sources = TokenSources {
        authorization: false,
        header: Some(HeaderName::from_static("x-token")),
        cookie: Some("session".to_owned()),
        ..TokenSources::default()
    };
    for (before, after) in [
        ("a=b; session=abc; c=\"d e\"", Some("a=b; c=\"d e\"")),
        ("session=abc; session=def;a=b", Some("a=b")),
        ("session=abc", None),
        ("a=b;c=d", Some("a=b;c=d")),
        ("sessions=abc", Some("sessions=abc")),
    ] {
        let mut sent = headers(&[("authorization", "Bearer kept"), ("x-token", "abc"), ("cookie", before)]);
        remove_token(&mut sent, &sources);
        assert_eq!(sent.get(COOKIE).map(|value| value.to_str().unwrap()), after);
        assert!(sent.contains_key(AUTHORIZATION) && !sent.contains_key("x-token"));
    }
}

#[test]
fn what_looks_like_the_header_of_the_token_goes_and_no_other() {
    let mut sent =
        headers(&[("x-token", "abc"), ("x_token", "abc"), ("x.token", "abc"), ("x-tokens", "abc")]);
    remove_twins(&mut sent, &TokenSources::default());
    assert_eq!(sent.len(), 4, "no header has a token");
    let header = Some(HeaderName::from_static("x-token"));
    remove_twins(&mut sent, &TokenSources { header, ..TokenSources::default() });
    assert_eq!(names(&sent), ["x-token", "x-tokens"]);
}

/// Names that look like the gateway's, and others.
fn any_name() -> impl Strategy<Value = String> {
    prop_oneof![
        "[oO][aA][uU]th[-_.!~|]{1,2}(user[-_.]id|country|[a-zA-Z0-9]{0,6})",
        "[xX][-_][uU]ser",
        "[a-zA-Z][a-zA-Z0-9_.-]{0,12}",
    ]
}

proptest! {
    #[test]
    fn whatever_a_client_sends_no_name_of_the_gateway_goes_on(sent in prop::collection::vec(any_name(), 0..20)) {
        let mut map = HeaderMap::new();
        for name in &sent {
            map.append(HeaderName::from_bytes(name.as_bytes()).unwrap(), HeaderValue::from_static("root"));
        }
        strip(&mut map, &[HeaderName::from_static("x-user")], None);
        for name in map.keys() {
            let folded = name.as_str().to_ascii_lowercase().replace(|sign: char| !sign.is_ascii_alphanumeric(), "_");
            prop_assert!(!folded.starts_with("oauth_") && folded != "x_user", "{} went on", name);
        }
        for name in sent {
            let folded = name.to_ascii_lowercase().replace(|sign: char| !sign.is_ascii_alphanumeric(), "_");
            prop_assert!(folded.starts_with("oauth_") || folded == "x_user" || map.contains_key(name));
        }
    }
}

#[test]
fn a_claim_that_was_too_large_for_the_token_is_missed_and_one_that_is_not_said_is_not() {
    let with = |claim| Enrichment { claims: vec![from("x-claim", claim)], ..Enrichment::default() };
    let Caller::Own(mut elsewhere) = given::alice(None) else {
        unreachable!("alice's is one of the server's")
    };
    elsewhere.extra = sluice_token::claims::Extra::InGrant;
    let elsewhere = Caller::Own(elsewhere);
    for (claim, caller, are_all_known) in [
        ("email", &elsewhere, false),
        ("sub", &elsewhere, true),
        ("email", &given::alice(None), true),
        ("nothing", &given::bob(given::bobs_claims()), true),
    ] {
        assert_eq!(set_claims(&mut HeaderMap::new(), &with(claim), caller), are_all_known, "{claim}");
    }
}
