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
        "/a%2500",
        "/x/%252e%252e/admin",
        "/x%252f..%252fadmin",
        "/x%252F..%252Fadmin",
        "/x/%25252e%25252E/admin",
        "/a%255cb",
        "/a%250ab",
        "/a%0d%0ab",
        "/a%7f",
        "/a%",
        "/a%2",
        "/a%zz",
        "/a%+1",
        "/%c0%ae%c0%ae/admin",
        "/a%ff",
        "/a%c2%85b",
        "/x/%25c0%25ae%25c0%25ae/admin",
        "/x/%25252525C0%25252525AE/admin",
        "/x/%25e0%2580%25ae/admin",
        "/x/%25f0%2580%2580%25ae/admin",
        "/x/%25f8%2580%2580%2580%25ae/admin",
        "/x/%25FC%2583%2580%2580%2580%25ae/admin",
        "/x/%25c0%2525ae/admin",
        "/a/..%3Fx",
        "/a/..%2523x",
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
    assert_eq!(readings("/files/a%2fb", true).unwrap().literal, "/files/a\0b");
    assert_eq!(readings("/files/a%2fb", true).unwrap().others, ["/files/a/b"]);
    for path in ["/files/..%2fadmin", "/files%2f..%2Fadmin", "/files/%2e%2e%2fadmin"] {
        assert_eq!(readings(path, true), Err(AmbiguousPath), "{path}");
    }
}

#[test]
fn what_programs_may_read_differently_is_read_in_every_way() {
    assert_eq!(readings("/a//admin", false).unwrap().others, ["/a/admin"]);
    assert_eq!(readings("/admin;x=1/y", false).unwrap().others, ["/admin/y", "/admin"]);
    let all = readings("/;x//admin", false).unwrap().others;
    assert_eq!(all, ["///admin", "/;x/admin", "/", "/admin", "//admin"]);
    assert_eq!(check("//admin"), Err(AmbiguousPath));
}

#[test]
fn some_end_a_path_where_others_have_a_name() {
    for (path, others) in [
        ("/jobs;x/y", &["/jobs/y", "/jobs"][..]),
        ("/;x", &["/"]),
        ("/jobs%3Fx", &["/jobs"]),
        ("/jobs%3fx%23y/z", &["/jobs", "/jobs?x"]),
        ("/jobs%23x", &["/jobs"]),
        ("/%23x", &["/"]),
        ("/jobs%253Fx", &["/jobs?x", "/jobs"]),
        ("/a%23b/secret%3Fx", &["/a#b/secret", "/a"]),
        ("/a%3Bb/secret%3Fx", &["/a/secret?x", "/a", "/a;b/secret", "/a/secret"]),
    ] {
        assert_eq!(readings(path, false).unwrap().others, others, "{path}");
        assert_eq!(check(path), Err(AmbiguousPath), "{path}");
    }
}

#[test]
fn some_cut_off_parameters_before_they_decode_others() {
    for (path, other) in [
        ("/a%3Bb/secret;x/y", "/a;b/secret"),
        ("/%3Bb/secret;x", "/;b/secret"),
        ("/a%253Bb/secret;x/y", "/a;b/secret"),
        ("/a%3Bb%253Bc/secret;x/y", "/a;b;c/secret"),
        ("/a;b/c%3Bd;x", "/a;b/c;d"),
    ] {
        let others = readings(path, false).unwrap().others;
        assert!(others.iter().any(|read| read == other), "{path} as {others:?}");
    }
}

#[test]
fn some_cut_parameters_off_the_last_name_alone() {
    for (path, others) in [
        ("/a;b/c;d;e", &["/a/c", "/a;b/c", "/a"][..]),
        ("/a;b/c%3Bd", &["/a/c;d", "/a", "/a/c", "/a;b/c"]),
        ("/a;b/c;d/", &["/a/c/", "/a"]),
    ] {
        assert_eq!(readings(path, false).unwrap().others, others, "{path}");
    }
}

#[test]
fn what_follows_two_slashes_at_the_beginning_may_be_a_host() {
    for (path, others) in [
        ("//admin", &["/admin", "/"][..]),
        ("//x/admin", &["/x/admin", "/admin"]),
        ("///x/admin", &["/x/admin", "/admin"]),
        ("//u@x:1/admin", &["/u@x:1/admin", "/admin"]),
        ("//", &["/"]),
        ("//x//admin", &["/x/admin", "//admin", "/admin", "/"]),
        ("/;v/x/admin", &["//x/admin", "/", "/x/admin", "/admin"]),
    ] {
        assert_eq!(readings(path, false).unwrap().others, others, "{path}");
    }
    assert_eq!(readings("/%2Fx/admin", false), Err(AmbiguousPath));
    let escaped = readings("/%2Fx/admin", true).unwrap();
    assert_eq!((&*escaped.literal, &*escaped.others[0]), ("/\0x/admin", "//x/admin"));
    assert!(escaped.others.contains(&"/admin".to_owned()));
    assert_eq!(readings("/\\x/admin", true), Err(AmbiguousPath));
}

#[test]
fn an_escaped_escape_is_read_both_ways_whatever_its_case() {
    for path in ["/a%252fb", "/a%252Fb"] {
        for encoded_slash in [false, true] {
            assert_eq!(readings(path, encoded_slash).unwrap().others, ["/a/b"], "{path}");
        }
    }
    assert_eq!(literal("/a%252Fb"), "/a%2Fb");
    assert_eq!(readings("/%2561dmin", false).unwrap().others, ["/admin"]);
    assert_eq!(readings("/%252561dmin", false).unwrap().others, ["/%61dmin", "/admin"]);
    assert_eq!(check("/100%25"), Ok(()));
    assert_eq!(check("/100%25+off"), Ok(()));
    assert!(readings("/100%25added", false).is_ok(), "what is not UTF-8 is a name");
    assert!(readings("/50%25c1rca/caf%25E9", false).is_ok(), "no letter is longer than it need be");
}

#[test]
fn a_path_that_can_be_read_in_very_many_ways_is_refused() {
    assert_eq!(readings(&"//a".repeat(40), false), Err(AmbiguousPath));
    assert_eq!(readings(&format!("/%{}41", "25".repeat(40)), false), Err(AmbiguousPath));
    assert_eq!(readings(&"/a".repeat(1_000), false).unwrap().others, [""; 0]);
    assert_eq!(readings(&"/a;b".repeat(1_000), false).unwrap().others.len(), 3);
    let long = |times: usize| format!("/{};a//b%2541", "x".repeat(times));
    assert_eq!(readings(&long(1_000), false).unwrap().others.len(), 8);
    assert_eq!(readings(&long(50_000), false), Err(AmbiguousPath), "they are too long together");
    assert!(readings(&format!("/{};x", "a/".repeat(30_000)), false).is_ok());
    for ordinary in [
        "/proxy/https%3A%2F%2Fexample.com%2Fa%3Bv=1%2Fb%2520c",
        "/web/2024/http:%2F%2Fx.com%2F%2Fa;b%2Fc%2520d",
        "/web/2024/https://example.com//a;v=1/b%3Fq=c%2520d%23e",
        "//a//b//c//d//e//f//g",
    ] {
        assert!(readings(ordinary, true).is_ok(), "{ordinary}");
    }
}

#[test]
fn case_that_programs_disagree_about_is_seen_in_every_reading() {
    assert!(readings("/a%25C5%25BF", false).unwrap().without_case().is_err());
    let readings = readings("/a%2541", false).unwrap().without_case().unwrap();
    assert_eq!((&*readings.literal, &*readings.others), ("/a%41", &["/aa".to_owned()][..]));
}

#[test]
fn suffixes_and_the_ends_of_names_are_cut_off_one_by_one() {
    for (path, shorter) in [
        ("/admin.json", &["/admin"][..]),
        ("/admin", &[]),
        ("/admin.json/", &["/admin/"]),
        ("/a.b/admin.", &["/a.b/admin"]),
        ("/a.tar.gz", &["/a.tar", "/a"]),
        ("/.well-known/.x.y", &["/.well-known/.x"]),
        ("/", &[]),
    ] {
        let all: Vec<_> = suffix::without_suffixes(path).unwrap().collect();
        assert_eq!(all, shorter, "{path}");
    }
    assert!(suffix::without_suffixes(&format!("/a{}", ".b".repeat(16))).is_some());
    assert!(suffix::without_suffixes(&format!("/a{}", ".b".repeat(17))).is_none());
    for (path, bare) in [
        ("/admin", Ok(None)),
        ("/.x/y", Ok(None)),
        ("/admin. ./x", Ok(Some("/admin/x"))),
        ("/admin ", Ok(Some("/admin"))),
        ("/admin. /", Ok(Some("/admin/"))),
        ("/admin/ ", Err(AmbiguousPath)),
        ("/admin/...", Err(AmbiguousPath)),
        ("/x/.. /admin", Err(AmbiguousPath)),
    ] {
        let read = suffix::without_ends(path);
        assert_eq!(read.as_ref().map(Option::as_deref), bare.as_ref().copied(), "{path}");
    }
}

proptest! {
    #[test]
    fn a_reading_that_is_read_again_is_one_of_the_others(path in "/([a-z./;]|//|%2[ef3]|%3[bf]|%41|%25(41|2f|3[bf]|23|25)|\\.\\.){0,8}") {
        if let Ok(readings) = readings(&path, true) {
            for reading in &readings.others {
                let mut again = Vec::new();
                add_others(reading, &mut again).unwrap();
                for one in again {
                    prop_assert!(readings.others.contains(&one), "{} of {}", one, reading);
                }
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
