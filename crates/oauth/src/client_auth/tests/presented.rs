use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sluice_protocol::{ErrorCode, Parameters};

use super::super::*;

fn read(header: Option<&str>, form: &str) -> Result<Presented, ClientAuthError> {
    let form = Parameters::parse(form.as_bytes(), 4096, &[]).unwrap();
    Presented::read(header, &form)
}

fn basic(credentials: &str) -> String {
    format!("Basic {}", STANDARD.encode(credentials))
}

fn code(header: Option<&str>, form: &str) -> ErrorCode {
    read(header, form).unwrap_err().code()
}

const ASSERTION: &str = "client_assertion=a.b.c&client_assertion_type=urn%3Aietf%3Aparams%3Aoauth%3Aclient-assertion-type%3Ajwt-bearer";

#[test]
fn basic_credentials_are_form_decoded() {
    let Ok(Presented::Basic { client, secret, as_sent }) = read(Some(&basic("my%3Aapp:a+b%25%2B")), "")
    else {
        panic!()
    };
    assert_eq!((client.as_str(), secret.expose().as_str()), ("my:app", "a b%+"));
    assert_eq!(as_sent.unwrap().expose(), "a+b%25%2B", "for clients that do not encode");
    for (sent, why) in [
        ("100%:x", "a percent sign that starts no escape stands for itself"),
        ("%fd", "what would be no text is as it was sent"),
    ] {
        let Ok(Presented::Basic { secret, as_sent, .. }) = read(Some(&basic(&format!("app:{sent}"))), "")
        else {
            panic!()
        };
        assert_eq!((secret.expose().as_str(), as_sent.is_none()), (sent, true), "{why}");
    }
    assert!(matches!(read(Some(&basic("app:x").replace("Basic", "bAsIc")), ""), Ok(Presented::Basic { .. })));
}

#[test]
fn each_way_is_told_apart() {
    assert!(matches!(read(None, "client_id=app&client_secret=x"), Ok(Presented::Post { .. })));
    assert!(matches!(read(None, "client_id=app"), Ok(Presented::Public { .. })));
    assert!(matches!(read(Some(&basic("app:")), ""), Ok(Presented::Public { .. })));
    assert!(matches!(read(None, ASSERTION), Ok(Presented::Assertion { client: None, .. })));
    let named = read(None, &format!("client_id=app&{ASSERTION}"));
    assert!(matches!(named, Ok(Presented::Assertion { client: Some(_), .. })));
    assert!(matches!(read(Some("Bearer x"), "client_id=app"), Ok(Presented::Public { .. })));
}

#[test]
fn two_ways_at_once_are_refused() {
    let header = basic("app:x");
    assert_eq!(code(Some(&header), "client_id=app&client_secret=x"), ErrorCode::InvalidRequest);
    assert_eq!(code(Some(&header), ASSERTION), ErrorCode::InvalidRequest);
    assert_eq!(code(None, &format!("client_id=app&client_secret=x&{ASSERTION}")), ErrorCode::InvalidRequest);
    assert_eq!(code(Some(&header), "client_id=other"), ErrorCode::InvalidRequest);
    assert!(read(Some(&header), "client_id=app").is_ok(), "naming the same client twice is harmless");
}

#[test]
fn what_is_malformed_or_missing_is_refused() {
    for (header, form) in [
        (None, ""),
        (None, "client_secret=x"),
        (None, "client_assertion=a.b.c"),
        (None, "client_assertion=a.b.c&client_assertion_type=other"),
        (None, "client_assertion_type=urn%3Aietf%3Aparams%3Aoauth%3Aclient-assertion-type%3Ajwt-bearer"),
    ] {
        assert_eq!(code(header, form), ErrorCode::InvalidRequest, "{header:?} {form}");
    }
    assert_eq!(code(None, "client_id=%C3%A4"), ErrorCode::InvalidClient, "no client has such an id");
}

/// RFC 6749 §5.2: the answer is 401, with the scheme that is meant.
#[test]
fn who_tries_it_by_a_header_that_is_not_understood_is_not_authenticated() {
    for header in ["Basic !!!", "Basic YXBw", "Basic /////w==", "Basic", "Bearer x", "DPoP x", "x"] {
        assert_eq!(code(Some(header), ""), ErrorCode::InvalidClient, "{header}");
    }
}

#[test]
fn what_is_presented_never_prints_its_secret() {
    let printed = format!("{:?}", read(None, "client_id=app&client_secret=hunter2").unwrap());
    assert!(!printed.contains("hunter2"), "{printed}");
}

proptest::proptest! {
    #[test]
    fn reading_never_panics(header: String, form: Vec<u8>) {
        if let Ok(form) = Parameters::parse(&form, 4096, &[]) {
            let _ = Presented::read(Some(&header), &form);
            let _ = Presented::read(Some(&basic(&header)), &form);
        }
    }
}
