//! What anybody may register: where codes go, and how the client is called.

use super::*;

#[test]
fn the_codes_of_who_anybody_may_be_travel_protected_and_to_an_application() {
    let to = |uri: &str, kind: &str| {
        asked(|asked| {
            asked.redirect_uris.push(uri.to_owned());
            asked.software.application_type = kind.to_owned();
        })
    };
    for local in [
        "http://127.0.0.1/cb",
        "http://127.8.8.8:53112/cb",
        "http://[::1]:53112/cb",
        "http://localhost:5173/cb",
    ] {
        for kind in ["", "native", "web"] {
            assert!(OPEN.restrict(to(local, kind)).is_ok(), "{local} {kind}");
            let mut with_tokens = to(local, kind);
            with_tokens.grant_types = vec!["authorization_code".to_owned(), "implicit".to_owned()];
            assert_eq!(OPEN.restrict(with_tokens).is_err(), kind == "web", "{local} {kind}");
        }
    }
    for native in ["com.example.app:/cb", "com.example.app://callback", "editor://callback"] {
        assert!(
            OPEN.restrict(to(native, "")).is_ok() && OPEN.restrict(to(native, "native")).is_ok(),
            "{native}"
        );
        let refused = OPEN.restrict(to(native, "web")).unwrap_err().to_string();
        assert!(refused.contains("application_type"), "{refused}");
    }
    assert!(OPEN.restrict(to("https://other.example/cb", "web")).is_ok());
    for uri in [
        "http://evil.example/cb",
        "http://127.0.0.1.evil.example/cb",
        "http://10.0.0.5/cb",
        "HTTP://evil.example/cb",
        "view-source:https://app.example/",
        "filesystem:https://app.example/temporary/x",
        "chrome://settings",
        "jar:https://app.example/a.jar!/",
        "mailto:someone@example.com",
        "ms-settings:",
        "intent://scan/",
        "tel:+123",
        "ftp://app.example/cb",
        "ws://app.example/cb",
    ] {
        for kind in ["", "native", "web"] {
            let refused = OPEN.restrict(to(uri, kind)).unwrap_err();
            assert!(matches!(refused, RegistrationError::RedirectUri(_)), "{uri}");
        }
        assert!(INVITED.restrict(to(uri, "")).is_ok(), "{uri}");
    }
    let mut stored = fake::client("app");
    stored.redirect_uris = "http://app.example/cb".parse().into_iter().collect();
    let bounds = Bounds { stored: Some(&stored), ..OPEN };
    assert!(bounds.restrict(to("http://app.example/cb", "")).is_ok(), "what it has it may repeat");
    assert!(bounds.restrict(to("http://app.example/other", "")).is_err());
}

#[test]
fn the_name_of_who_anybody_may_be_is_a_line_of_text() {
    let named = |name: &str| asked(|asked| name.clone_into(&mut asked.client_name));
    let longest = "é".repeat(200);
    let family = "\u{645}\u{6CC}\u{200C}\u{62E}\u{648}\u{627}\u{647}\u{645} \u{1F468}\u{200D}\u{1F469}";
    for good in ["", "Shop & Söhne", "日本語のアプリ", longest.as_str(), family] {
        assert!(OPEN.restrict(named(good)).is_ok(), "{good}");
    }
    let long = "x ".repeat(101);
    for bad in [
        long.as_str(),
        "a\0b",
        "a\r\nb",
        "\x1b[2J",
        "a\u{85}b",
        "a\u{202E}b",
        "a\u{2066}b",
        "a\u{200B}b",
        "a\u{2028}b",
        "\u{FEFF}a",
        "a\u{E0041}",
    ] {
        assert!(OPEN.restrict(named(bad)).is_err() && INVITED.restrict(named(bad)).is_ok(), "{bad:?}");
        let mut stored = fake::client("app");
        bad.clone_into(&mut stored.name);
        let bounds = Bounds { stored: Some(&stored), ..OPEN };
        assert!(bounds.restrict(named(bad)).is_ok(), "an administrator gave it: {bad:?}");
    }
}
