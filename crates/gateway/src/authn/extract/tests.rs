use http::HeaderName;
use proptest::prelude::*;

use super::*;

fn headers(of: &[(&'static str, &str)]) -> HeaderMap {
    let mut map = HeaderMap::new();
    for (name, value) in of {
        map.append(*name, HeaderValue::from_bytes(value.as_bytes()).unwrap());
    }
    map
}

fn everywhere() -> TokenSources {
    TokenSources {
        header: Some(HeaderName::from_static("x-token")),
        cookie: Some("session".to_owned()),
        ..TokenSources::default()
    }
}

/// The token, `None` for none, `Some("!")` for one that cannot be read.
fn found<'a>(headers: &'a HeaderMap, sources: &TokenSources) -> Option<(&'a str, Scheme)> {
    match token(headers, sources) {
        Ok(found) => found.map(|presented| (presented.token, presented.scheme)),
        Err(refusal) => {
            assert_eq!(refusal, Refusal::TokenUnreadable);
            Some(("!", Scheme::Bearer))
        }
    }
}

#[test]
fn the_scheme_may_be_spelled_in_any_case() {
    for (value, expected) in [
        ("Bearer a.b-c_d~e+f/g==", ("a.b-c_d~e+f/g==", Scheme::Bearer)),
        ("bEARER abc", ("abc", Scheme::Bearer)),
        ("Bearer    abc", ("abc", Scheme::Bearer)),
        ("dpop abc", ("abc", Scheme::Dpop)),
        ("DPoP abc", ("abc", Scheme::Dpop)),
    ] {
        let headers = headers(&[("authorization", value)]);
        assert_eq!(found(&headers, &TokenSources::default()), Some(expected), "{value}");
    }
}

#[test]
fn other_credentials_are_no_token() {
    for value in [
        " Basic dXNlcjpwYXNz",
        "Basic dXNlcjpwYXNz",
        "Digest username=\"x\"",
        "",
        "Bearerabc",
        "Bearer-Token x",
        "token",
    ] {
        let headers = headers(&[("authorization", value)]);
        assert_eq!(found(&headers, &TokenSources::default()), None, "{value}");
    }
}

#[test]
fn what_might_be_a_token_and_is_none_is_unreadable() {
    let no_token = [
        "Bearer",
        "Bearer ",
        "Bearer a b",
        "Bearer a,b",
        "Bearer a, Bearer b",
        "Bearer\tabc",
        "Bearer =",
        "Bearer a=b",
        "Bearer \"abc\"",
        "Bearer ab\u{e9}",
        "Bearer: abc",
        "DPoP",
        "DPoP a;b",
        "Bearer ,abc",
        " Bearer abc",
        "\tDPoP abc",
        "\u{a0}Bearer abc",
        ",Bearer abc",
    ];
    for value in no_token {
        let headers = headers(&[("authorization", value)]);
        assert_eq!(found(&headers, &TokenSources::default()), Some(("!", Scheme::Bearer)), "{value}");
    }
}

#[test]
fn a_token_is_made_of_the_signs_that_the_grammar_names() {
    let named = ('A'..='Z').chain('a'..='z').chain('0'..='9').chain("-._~+/".chars());
    let named: Vec<u8> = named.map(|sign| u8::try_from(sign).unwrap()).collect();
    for byte in 0..=u8::MAX {
        assert_eq!(is_token68(byte), named.contains(&byte), "{byte:#x}");
    }
}

#[test]
fn two_authorizations_are_unreadable_even_if_they_are_equal() {
    for second in ["Bearer abc", "Basic abc"] {
        let headers = headers(&[("authorization", "Bearer abc"), ("authorization", second)]);
        assert_eq!(found(&headers, &TokenSources::default()), Some(("!", Scheme::Bearer)));
    }
}

#[test]
fn a_header_of_its_own_holds_nothing_but_the_token() {
    let sources = TokenSources { authorization: false, ..everywhere() };
    assert_eq!(found(&headers(&[("x-token", "abc")]), &sources), Some(("abc", Scheme::Bearer)));
    for wrong in ["", "Bearer abc", "a,b"] {
        assert_eq!(found(&headers(&[("x-token", wrong)]), &sources), Some(("!", Scheme::Bearer)), "{wrong}");
    }
    let twice = headers(&[("x-token", "abc"), ("x-token", "abc")]);
    assert_eq!(found(&twice, &sources), Some(("!", Scheme::Bearer)));
}

#[test]
fn a_cookie_is_found_among_others() {
    for cookie in [
        "session=abc",
        "a=b; session=abc; c=d",
        "session=\"abc\"",
        " session = abc ",
        "xsession=1;session=abc",
    ] {
        assert_eq!(
            found(&headers(&[("cookie", cookie)]), &everywhere()),
            Some(("abc", Scheme::Bearer)),
            "{cookie}"
        );
    }
    let second_header = headers(&[("cookie", "a=b"), ("cookie", "session=abc")]);
    assert_eq!(found(&second_header, &everywhere()), Some(("abc", Scheme::Bearer)));
    for none in ["a=b", "Session=abc", "session", "session=", "sessions=abc", "a=session=abc"] {
        assert_eq!(found(&headers(&[("cookie", none)]), &everywhere()), None, "{none}");
    }
}

#[test]
fn two_cookies_of_the_name_are_unreadable() {
    for cookies in [&["session=abc; session=def"][..], &["session=abc", "session=abc"], &["session=a b"]] {
        let headers = headers(&cookies.iter().map(|cookie| ("cookie", *cookie)).collect::<Vec<_>>());
        assert_eq!(found(&headers, &everywhere()), Some(("!", Scheme::Bearer)), "{cookies:?}");
    }
}

#[test]
fn tokens_in_two_places_are_unreadable() {
    let places = [("authorization", "Bearer abc"), ("x-token", "abc"), ("cookie", "session=abc")];
    for (left, right) in [(0, 1), (0, 2), (1, 2)] {
        let headers = headers(&[places[left], places[right]]);
        assert_eq!(found(&headers, &everywhere()), Some(("!", Scheme::Bearer)));
    }
    let beside_basic = headers(&[("authorization", "Basic abc"), ("cookie", "session=abc")]);
    assert_eq!(found(&beside_basic, &everywhere()), Some(("abc", Scheme::Bearer)));
}

#[test]
fn only_configured_places_are_looked_at() {
    let headers = headers(&[("authorization", "Bearer abc"), ("x-token", "abc"), ("cookie", "session=abc")]);
    let nowhere = TokenSources { authorization: false, ..TokenSources::default() };
    assert_eq!(found(&headers, &nowhere), None);
    assert_eq!(found(&headers, &TokenSources::default()), Some(("abc", Scheme::Bearer)));
}

proptest! {
    #[test]
    fn whatever_is_sent_a_token_is_token68(value in "[ -~\t]{0,40}", cookie in "[ -~]{0,40}") {
        let headers = headers(&[("authorization", value.as_str()), ("cookie", cookie.as_str())]);
        if let Ok(Some(presented)) = token(&headers, &everywhere()) {
            let body = presented.token.trim_end_matches('=');
            prop_assert!(!body.is_empty() && body.bytes().all(is_token68));
        }
    }
}
