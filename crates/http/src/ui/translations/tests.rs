//! Whatever the pages say is a message, and the languages that come along have them all.

use std::collections::{BTreeSet, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use super::*;
use crate::ui::error::SHOWN;
use crate::ui::script::SENTENCES;

/// The methods of what stands around a page by which a template says something.
const SAID_BY: [&str; 6] = ["say", "fill", "fill_two", "fill_three", "parts", "around"];
/// Attributes that people read, or hear.
const READ_ATTRIBUTES: [&str; 4] = ["aria-label=\"", "title=\"", "alt=\"", "placeholder=\""];
const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
/// Files beside the pages with sentences that they show.
const ELSEWHERE: [&str; 5] = [
    "../http/src/respond/page.rs",
    "../http/src/public/logout.rs",
    "../oauth/src/authorization/error.rs",
    "../oauth/src/logout/error.rs",
    "../oauth/src/flow/sealed/quota.rs",
];
/// The links below each page, which the program sets.
const LINKS: [&str; 4] = ["Help", "Privacy", "Terms", "Imprint"];
/// What begins as a sentence does, and is told to an application or to nobody.
const NO_MESSAGES: [&str; 3] = [
    "The account has no second factor.",
    "The user denied the request.",
    "The client may not ask for these any more, or they are too long for its access tokens.",
];

/// What devices call themselves.
const NAMES: [&str; 12] = [
    "Android",
    "Chrome",
    "ChromeOS",
    "CrOS",
    "Edge",
    "Firefox",
    "Linux",
    "Mac OS X",
    "Opera",
    "Safari",
    "Samsung Internet",
    "Windows",
];

fn own(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// The files below a folder whose names end so, but those of tests, and what is in them.
fn files(folder: &Path, end: &str) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.ends_with("tests") {
            found.extend(files(&path, end));
        } else if path.to_string_lossy().ends_with(end) && !path.ends_with("tests.rs") {
            let text = fs::read_to_string(&path).unwrap();
            found.push((path, text));
        }
    }
    found
}

fn templates() -> Vec<(PathBuf, String)> {
    files(&own("src/ui/templates"), ".html")
}

/// A text without what stands between these marks.
fn without(text: &str, start: &str, end: &str, instead: &str) -> String {
    let mut parts = text.split(start);
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + instead + part.split_once(end).map_or("", |(_, rest)| rest))
}

/// The messages that a template says.
fn said(template: &str) -> Vec<&str> {
    let starts = SAID_BY.map(|method| format!("brand.{method}(\""));
    let of = |start: &String| template.split(start.as_str()).skip(1).collect::<Vec<_>>();
    starts.iter().flat_map(of).filter_map(|rest| rest.split('"').next()).collect()
}

/// The texts in the source of a program, up to its tests, without comments.
fn literals(source: &str) -> Vec<String> {
    let source = source.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let lines = source.lines().filter(|line| !line.trim_start().starts_with("//"));
    let source = lines.collect::<Vec<_>>().join("\n");
    let (mut found, mut rest) = (Vec::new(), source.as_str());
    while let Some((_, from)) = rest.split_once('"') {
        let mut end = 0;
        let mut bytes = from.bytes();
        while let Some(byte) = bytes.next().filter(|byte| *byte != b'"') {
            end += 1;
            if byte == b'\\' {
                bytes.next();
                end += 1;
            }
        }
        let (text, after) = from.split_at(end);
        found.push(joined(text));
        rest = after.strip_prefix('"').unwrap_or_default();
    }
    found
}

/// A text that goes on in the next line of its source.
fn joined(literal: &str) -> String {
    literal.split("\\\n").map(str::trim_start).collect()
}

/// Whether somebody is told it: it begins as a sentence does.
fn is_told(text: &str) -> bool {
    let is_name = text.ends_with('/') || text.contains("::");
    text.starts_with(|letter: char| letter.is_ascii_uppercase())
        && text.chars().any(|letter| letter.is_ascii_lowercase())
        && !is_name
}

fn known() -> HashSet<&'static str> {
    messages().collect()
}

#[test]
fn the_languages_that_come_along_have_every_message_and_nothing_else() {
    for (tag, text) in [("de", GERMAN), ("fr", FRENCH)] {
        let translation = read(tag, text).unwrap_or_else(|wrong| panic!("{tag}: {wrong:?}"));
        assert_eq!(translation.unknown, [], "{tag}");
        let missing: Vec<_> =
            messages().filter(|message| translation.language.words_for(message).is_none()).collect();
        assert!(missing.is_empty(), "{tag} lacks {missing:#?}");
    }
    assert_eq!(built_in().tags().collect::<Vec<_>>(), ["en", "de", "fr"]);
    assert_eq!(messages().count(), known().len(), "each is there once");
}

#[test]
fn every_sentence_of_every_template_is_a_message() {
    let (known, templates) = (known(), templates());
    assert!(templates.len() > 30, "{}", templates.len());
    for (path, template) in templates {
        for message in said(&template) {
            assert!(known.contains(message), "{}: {message}", path.display());
        }
        let text = without(&without(&without(&template, "{#", "#}", ""), "{%", "%}", ""), "{{", "}}", "");
        for start in READ_ATTRIBUTES {
            for attribute in text.split(start).skip(1).filter_map(|rest| rest.split('"').next()) {
                assert!(attribute.is_empty(), "{}: {start}{attribute}", path.display());
            }
        }
        let text = without(&text, "<", ">", "");
        let words = text.chars().any(char::is_alphabetic);
        assert!(!words, "{} says something by itself: {}", path.display(), text.trim());
    }
}

#[test]
fn every_sentence_of_the_pages_and_of_the_errors_on_them_is_a_message() {
    let known = known();
    let elsewhere = ELSEWHERE.map(|path| (own(path), fs::read_to_string(own(path)).unwrap()));
    for (path, source) in files(&own("src/ui"), ".rs").into_iter().chain(elsewhere) {
        for text in literals(&source).into_iter().filter(|text| is_told(text)) {
            let is_known = known.contains(text.as_str());
            let is_none = [&NAMES[..], &NO_MESSAGES].concat().contains(&text.as_str());
            assert!(is_known || is_none, "{}: {text}", path.display());
        }
    }
    for code in SHOWN {
        assert!(known.contains(code.description()), "{code}");
    }
}

#[test]
fn what_the_script_says_is_what_pages_have_words_for() {
    let script = include_str!("../sluice.js");
    let said: BTreeSet<&str> =
        script.split("inWords('").skip(1).filter_map(|rest| rest.split('\'').next()).collect();
    assert_eq!(said, BTreeSet::from(SENTENCES));
    let known = known();
    assert!(SENTENCES.iter().all(|sentence| known.contains(sentence)));
}

#[test]
fn no_message_is_left_over() {
    let mut said: HashSet<String> =
        [&MONTHS[..], &SENTENCES, &LINKS].concat().into_iter().map(str::to_owned).collect();
    said.extend(SHOWN.map(|code| code.description().to_owned()));
    for (_, template) in templates() {
        said.extend(self::said(&template).into_iter().map(str::to_owned));
    }
    let elsewhere = ELSEWHERE.map(|path| (own(path), fs::read_to_string(own(path)).unwrap()));
    for (_, source) in files(&own("src/ui"), ".rs").into_iter().chain(elsewhere) {
        said.extend(literals(&source));
    }
    let left: Vec<_> = messages().filter(|message| !said.contains(*message)).collect();
    assert!(left.is_empty(), "{left:#?}");
}

#[test]
fn a_template_is_a_file_that_is_filled_in() {
    let german = read("de", GERMAN).unwrap().language;
    let read_again = read("de", &template(Some(&german))).unwrap();
    assert_eq!((read_again.language, read_again.unknown), (german, Vec::new()));
    let empty = read("it", &template(None)).unwrap();
    assert!(empty.language.words_for("Sign in").is_none() && empty.unknown.is_empty());
    assert!(template(None).contains("\n\"Sign in\": \"\"\n"), "{}", template(None));
    assert!(template(None).contains("\n# Signing in\n"));
}

#[test]
fn a_file_has_comments_and_lines_of_two_texts() {
    let file = "\u{feff}---\n# Ours\n\n\"Sign in\": \"Accedi\" # short\n  \"Not you?\" :   \"Non sei \\\"tu\\\"? # \\u00e8\"\r\n";
    let italian = read("it", file).unwrap();
    assert_eq!(italian.language.words_for("Sign in"), Some("Accedi"));
    assert_eq!(italian.language.words_for("Not you?"), Some("Non sei \"tu\"? # è"));
    assert_eq!(italian.unknown, []);
}

#[test]
fn every_mistake_of_a_file_is_told_with_its_line() {
    let file = "\"Sign in\": \"Accedi\"\n\
                Sign out: Esci\n\
                \"Help\": \"Aiuto\n\
                \"Help\" \"Aiuto\"\n\
                \"Help\": \"Aiuto\" e altro\n\
                \"Sign in\": \"Entra\"\n\
                \"to continue to {client}\": \"per continuare\"\n\
                \"Continue\": \"Continua {ora}\"\n\
                \"to continue to {client}.\": \"\"\n";
    let told: Vec<String> = read("it", file).unwrap_err().iter().map(Remark::to_string).collect();
    let form = "is no `\"message\": \"translation\"` in double quotes";
    let expected = [
        format!("line 2: {form}"),
        format!("line 3: {form}"),
        format!("line 4: {form}"),
        format!("line 5: {form}"),
        "line 6: the message stands on line 1 already: Sign in".to_owned(),
        "line 7: the message has {client} and the translation no place: to continue to {client}".to_owned(),
        "line 8: the message has no place and the translation {ora}: Continue".to_owned(),
    ];
    assert_eq!(told, expected);
}

#[test]
fn a_message_that_there_is_not_is_told_and_does_no_harm() {
    let translation = read("it", "\"Sign  in\": \"Accedi\"\n\"Help\": \"Aiuto\"\n").unwrap();
    let told: Vec<String> = translation.unknown.iter().map(Remark::to_string).collect();
    assert_eq!(told, ["line 1: there is no message with these words: Sign  in"]);
    assert_eq!(translation.language.words_for("Help"), Some("Aiuto"));
}

#[test]
fn a_file_is_named_by_the_tag_of_a_language() {
    for tag in ["de", "pt-BR", "zh-Hant-TW", "ckb", "de-CH-1996", "sl-rozaj-biske"] {
        assert!(is_tag(tag), "{tag}");
    }
    for tag in ["", "d", "de-languages", "pt_BR", "de-", "-de", "1a", "de.old", "..", "d\u{e9}"] {
        assert!(!is_tag(tag), "{tag}");
    }
}
