use proptest::prelude::*;

use super::*;

fn literal(path: &str) -> String {
    readings(path, false).unwrap().literal.into_owned()
}

#[test]
fn an_ordinary_path_is_taken_as_it_is_without_a_copy() {
    for path in ["/", "/orders", "/orders/7/items", "/a-b_c~d.e/x@y:z", "/orders/", "/a..b/c."] {
        assert!(
            matches!(readings(path, false).unwrap().literal, Cow::Borrowed(same) if same == path),
            "{path}"
        );
        assert_eq!(check(path), Ok(()), "{path}");
    }
}

#[test]
fn escapes_of_harmless_characters_say_nothing_new() {
    assert_eq!(literal("/%6frders/%7Eada"), "/orders/~ada");
    assert_eq!(literal("/gr%C3%B6%C3%9fe"), "/größe");
    assert_eq!(literal("/.well-known/jwks.json"), "/.well-known/jwks.json");
    assert_eq!(literal("/a%252e"), "/a%2e");
}

#[test]
fn what_programs_are_known_to_read_differently_is_refused() {
    let paths = [
        "/a/../admin",
        "/a/..",
        "/./a",
        "/.",
        "/a/%2e%2e/admin",
        "/a/.%2E/b",
        "/a/%2e/b",
        "/a/..;/admin",
        "/a/..;x=1/b",
        "/a/.;/b",
        "/a\\..\\admin",
        "/a%5cadmin",
        "/a%5Cb",
        "/a%2fb",
        "/a%2Fb",
        "/a%00",
        "/a%0d%0ab",
        "/a%7f",
        "/a%",
        "/a%2",
        "/a%zz",
        "/a%+1",
        "/%c0%ae%c0%ae/admin",
        "/a%ff",
        "/a%c2%85b",
        "/orders#/x",
        "/a?b",
    ];
    for path in paths {
        assert_eq!(readings(path, false), Err(AmbiguousPath), "{path}");
        assert_eq!(check(path), Err(AmbiguousPath), "{path}");
    }
}

#[test]
fn an_escaped_slash_that_is_allowed_hides_no_dots() {
    assert_eq!(readings("/files/a%2fb", true).unwrap().literal, "/files/a%2Fb");
    assert_eq!(readings("/files/a%2fb", true).unwrap().others, ["/files/a/b"]);
    for path in ["/files/..%2fadmin", "/files%2f..%2Fadmin", "/files/%2e%2e%2fadmin"] {
        assert_eq!(readings(path, true), Err(AmbiguousPath), "{path}");
    }
}

#[test]
fn what_programs_may_read_differently_is_read_in_every_way() {
    assert_eq!(readings("//admin", false).unwrap().others, ["/admin"]);
    assert_eq!(readings("/admin;x=1/y", false).unwrap().others, ["/admin/y"]);
    let all = readings("/;x//admin", false).unwrap().others;
    assert_eq!(all, ["///admin", "/;x/admin", "/admin"]);
    assert_eq!(check("//admin"), Err(AmbiguousPath));
}

proptest! {
    #[test]
    fn a_reading_reads_the_same_when_it_is_read_again(path in "/([a-z%./;]|%2[ef]|%41|\\.\\.){0,12}") {
        if let Ok(readings) = readings(&path, false) {
            for habits in 1..=OTHERS {
                let once = read_with(&readings.literal, habits);
                prop_assert_eq!(&read_with(&once, habits), &once);
            }
        }
    }

    #[test]
    fn no_reading_of_an_accepted_path_has_dot_segments(path in "/(\\PC|[./;\\\\]|%2[eEfF]|%5c|%25){0,12}", slash: bool) {
        if let Ok(readings) = readings(&path, slash) {
            let all = std::iter::once(readings.literal.as_ref()).chain(readings.others.iter().map(String::as_str));
            for reading in all {
                prop_assert!(reading.split('/').all(|segment| segment != "." && segment != ".."), "{}", reading);
            }
        }
    }
}
