use serde_json::json;

use super::*;

fn printed(format: Format, answer: &Answer) -> String {
    let mut out = Vec::new();
    OutputArgs { format, is_quiet: false }.print(answer, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn quietly(answer: &Answer) -> String {
    let mut out = Vec::new();
    OutputArgs { format: Format::Json, is_quiet: true }.print(answer, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn client() -> Answer {
    let json = json!({"client_id": "photos", "client_secret": "s3cret", "scope": "openid offline"});
    let header = &["CLIENT ID", "CLIENT SECRET", "AUDIENCE", "SCOPE"];
    let cells = vec!["photos".to_owned(), "s3cret".to_owned(), String::new(), "openid offline".to_owned()];
    Answer::one(header, cells, json)
}

fn keys() -> Answer {
    let rows = [["web", "k1", "RS256"], ["web", "a-longer-id", "ES256"]];
    let rows = rows.iter().map(|row| row.iter().map(|cell| (*cell).to_owned()).collect()).collect();
    Answer::list(&["SET ID", "KEY ID", "ALGORITHM"], rows, json!([{"kid": "k1"}, {"kid": "a-longer-id"}]))
}

#[test]
fn one_record_is_a_line_per_field() {
    let expected = "\
CLIENT ID      photos
CLIENT SECRET  s3cret
AUDIENCE
SCOPE          openid offline
";
    assert_eq!(printed(Format::Default, &client()), expected);
    assert_eq!(printed(Format::Table, &client()), expected);
}

#[test]
fn a_list_is_a_line_per_record_below_a_header() {
    let expected = "\
SET ID  KEY ID       ALGORITHM
web     k1           RS256
web     a-longer-id  ES256
";
    assert_eq!(printed(Format::Table, &keys()), expected);
}

#[test]
fn a_footer_stands_below_a_blank_line() {
    let answer =
        keys().with_footer("NEXT PAGE TOKEN", "abc".into()).with_footer("IS LAST PAGE", "false".into());
    let printed = printed(Format::Table, &answer);
    assert!(printed.ends_with("ES256\n\nNEXT PAGE TOKEN  abc\nIS LAST PAGE     false\n"), "{printed}");
}

#[test]
fn json_is_one_line_unless_it_is_to_be_pretty() {
    let json = r#"{"client_id":"photos","client_secret":"s3cret","scope":"openid offline"}"#;
    assert_eq!(printed(Format::Json, &client()), format!("{json}\n"));
    let pretty = "{\n  \"client_id\": \"photos\",\n  \"client_secret\": \"s3cret\",\n  \"scope\": \"openid offline\"\n}\n";
    assert_eq!(printed(Format::JsonPretty, &client()), pretty);
}

#[test]
fn yaml_says_the_same_as_json() {
    let yaml = "client_id: photos\nclient_secret: s3cret\nscope: openid offline\n";
    assert_eq!(printed(Format::Yaml, &client()), yaml);
}

#[test]
fn quiet_prints_ids_only_whatever_the_format() {
    assert_eq!(quietly(&client()), "photos\n");
    assert_eq!(quietly(&Answer::of_ids(vec!["a".into(), "b".into()])), "a\nb\n");
    assert_eq!(quietly(&keys()), "web\nweb\n");
    assert_eq!(quietly(&keys().identified_by("KEY ID")), "k1\na-longer-id\n");
}

#[test]
fn what_was_deleted_is_an_id_or_a_list_of_ids() {
    let (one, two) = (Answer::of_ids(vec!["a".into()]), Answer::of_ids(vec!["a".into(), "b".into()]));
    assert_eq!(printed(Format::Json, &one), "\"a\"\n");
    assert_eq!(printed(Format::Table, &one), "ID  a\n");
    assert_eq!(printed(Format::Json, &two), "[\"a\",\"b\"]\n");
    assert_eq!(printed(Format::Table, &two), "ID\na\nb\n");
}

#[test]
fn a_value_cannot_move_the_cursor_or_start_a_line() {
    let name = "x\u{1b}[2J\nCLIENT SECRET  forged".to_owned();
    let answer = Answer::one(&["CLIENT NAME"], vec![name], json!({}));
    assert_eq!(printed(Format::Table, &answer), "CLIENT NAME  x\\u{1b}[2J\\nCLIENT SECRET  forged\n");
}
