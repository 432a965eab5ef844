use super::*;

const HASH: &str = "$2b$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW";

fn wrong(line: &str) -> String {
    parse_line(line.as_bytes()).unwrap_err().to_string()
}

#[test]
fn a_line_says_everything_about_a_person() {
    let line = format!(
        r#"{{"id": "01890a5d-ac96-774b-bcce-b302099a8057", "email": " Ada@Example.com", "username": "Ada",
        "password_hash": "{HASH}", "email_verified": true, "status": "disabled", "created_at": "2024-02-29T12:00:00+01:00"}}"#
    );
    let ada = parse_line(line.as_bytes()).unwrap();
    assert_eq!(ada.id.unwrap().to_string(), "01890a5d-ac96-774b-bcce-b302099a8057");
    assert_eq!((ada.email.as_str(), ada.username.as_str()), ("ada@example.com", "Ada"));
    assert!(matches!(ada.password, Some(ImportedPassword::Foreign(hash)) if hash.as_str() == HASH));
    assert_eq!((ada.email_verified, ada.status), (true, IdentityStatus::Disabled));
    assert_eq!(ada.created_at, Some(Timestamp::from_secs(1_709_204_400)));
}

#[test]
fn an_address_whose_mail_may_go_elsewhere_is_taken_and_not_as_verified() {
    for (email, email_verified) in [("ada@example.com", true), ("ada%example.net@example.com", false)] {
        let line = format!(r#"{{"email": "{email}", "email_verified": true}}"#);
        let ada = parse_line(line.as_bytes()).unwrap();
        assert_eq!((ada.email.as_str(), ada.email_verified), (email, email_verified));
        assert_eq!(ada.is_disbelieved, !email_verified);
    }
}

#[test]
fn an_address_is_enough() {
    let bob = parse_line(br#"{"email":"b\u006fb@example.com","username":null}"#).unwrap();
    assert_eq!((bob.email.as_str(), bob.username.as_str()), ("bob@example.com", ""));
    assert!(bob.id.is_none() && bob.password.is_none() && bob.created_at.is_none());
    assert_eq!((bob.email_verified, bob.status), (false, IdentityStatus::Active));
}

#[test]
fn a_hash_of_this_program_is_taken_as_it_is() {
    let salt = "AAAAAAAAAAAAAAAAAAAAAA";
    let hash = format!("h1$0badcafe$argon2id$v=19$m=64,t=1,p=1${salt}${salt}");
    let line = format!(r#"{{"email": "a@example.com", "password_hash": "{hash}"}}"#);
    let parsed = parse_line(line.as_bytes()).unwrap();
    assert!(matches!(parsed.password, Some(ImportedPassword::Hardened(kept)) if *kept.expose() == hash));
}

#[test]
fn what_says_that_there_is_no_password_is_no_hash() {
    let with = |hash: &str| {
        parse_line(format!(r#"{{"email": "a@example.com", "password_hash": "{hash}"}}"#).as_bytes())
    };
    for unusable in ["", "!", &format!("!{}", "aZ09".repeat(10))] {
        assert!(with(unusable).unwrap().password.is_none(), "{unusable}");
    }
    for locked in ["!!", "!aZ09", "*", &format!("!{HASH}"), &format!("!{}", "$./-".repeat(10))] {
        let said = with(locked).unwrap_err().to_string();
        assert_eq!(said, "password_hash: not a password hash in a form that is known", "{locked}");
    }
}

#[test]
fn what_is_wrong_with_a_line_is_said_by_field_and_reason() {
    let with = |field: &str| wrong(&format!(r#"{{"email": "a@example.com", {field}}}"#));
    for (said, expected) in [
        (wrong(r#"{"username": "Ada"}"#), "email: the e-mail address is missing"),
        (wrong(r#"{"email": "ada"}"#), "email: the e-mail address is malformed"),
        (wrong(r#"{"email": 1}"#), "email: must be a text"),
        (with(r#""id": "7""#), "id: must be a UUID"),
        (with(r#""id": "00000000-0000-0000-0000-000000000000""#), "id: must be a UUID"),
        (with(r#""username": "a\nb""#), "username: the username holds control characters"),
        (with(r#""email_verified": "yes""#), "email_verified: must be true or false"),
        (with(r#""status": "banned""#), "status: must be active or disabled"),
        (with(r#""nickname": "x""#), "nickname: the field is not known"),
        (with(r#""email": "b@example.com""#), "email: the field is there twice"),
        (wrong("[1]"), "the line is no JSON object (column 1)"),
        (wrong(r#"{"email": "a@example.com"} x"#), "the line is no JSON object (column 28)"),
        (wrong(r#"{"email": "a@example"#), "the line is no JSON object (column 20)"),
        (wrong(&" ".repeat(MAX_LINE + 1)), "the line is longer than 64 KiB"),
    ] {
        assert_eq!(said, expected);
    }
    let time = "created_at: must be a time since 1970 as in RFC 3339, such as 2026-01-31T12:00:00Z";
    for text in ["yesterday", "1969-12-31T23:59:59Z", "2026-01-31"] {
        assert_eq!(with(&format!(r#""created_at": "{text}""#)), time, "{text}");
    }
}

#[test]
fn what_is_wrong_with_a_hash_is_said_without_the_hash() {
    let with = |hash: &str| wrong(&format!(r#"{{"email": "a@example.com", "password_hash": {hash}}}"#));
    for (hash, expected) in [
        (r#""hunter2""#, "not a password hash in a form that is known"),
        (r#""$2b$05$hunter2""#, "the bcrypt hash is malformed"),
        (
            r#""$2x$05$hunter2""#,
            "a $2x$ hash is of a faulty bcrypt, which takes letters that are not ASCII for others",
        ),
        (r#""$pbkdf2-sha256$i=99999999,l=32$aHVudGVyMg$aHVudGVyMg""#, "the pbkdf2 hash is out of bounds"),
        (r#""h1$hunter2""#, "not a stored credential in a form that is known"),
        (r#""p1$hunter2""#, "not a password hash in a form that is known"),
        (r#"["hunter2"]"#, "must be a text"),
    ] {
        let said = with(hash);
        assert!(!said.contains("hunter2") && !said.contains("aHVu"), "{said}");
        assert!(said.starts_with("password_hash: "), "{said}");
        if !expected.contains("pbkdf2") {
            assert_eq!(said, format!("password_hash: {expected}"));
        }
    }
}

#[test]
fn an_unknown_name_is_repeated_up_to_a_bound() {
    let said = wrong(&format!(r#"{{"{}": 1}}"#, "x".repeat(1000)));
    assert_eq!(said, format!("{}: the field is not known", "x".repeat(64)));
}
