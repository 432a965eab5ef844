//! What the built-in pages say in other languages: those that come along, files with others, and a template for such a file.
//!
//! `messages.txt` has all messages in English, `de.yaml` and `fr.yaml` the same in German and French. A message is named by its English
//! words: what the pages are written with is what a translator reads, and what stands in where a language lacks something.
//!
//! A file is YAML of the simplest kind, so that each mistake has its line: a message on each line, `"English words": "other words"`, both
//! in double quotes as JSON has them, comments, and nothing else. Empty words are as good as none.

#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};
use std::fmt::{self, Write as _};

use serde_json::{Deserializer, Value};
use sluice_oauth::config::language::places;
use sluice_oauth::config::{Language, Languages};

const MESSAGES: &str = include_str!("messages.txt");
const GERMAN: &str = include_str!("de.yaml");
const FRENCH: &str = include_str!("fr.yaml");

/// The longest tag of a language, in bytes (RFC 5646 §4.4.1 has 35 for what it can foresee).
const LONGEST_TAG: usize = 35;

/// Something about a line of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remark {
    /// Counted from one.
    pub line: usize,
    /// What, in words that go on from the line: `is no message`.
    pub words: String,
}

impl fmt::Display for Remark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.words)
    }
}

/// A file in which nothing is wrong.
#[derive(Debug, Clone)]
pub struct Translation {
    /// What it says.
    pub language: Language,
    /// Messages that these pages do not have: mistyped, or of another version.
    pub unknown: Vec<Remark>,
}

/// All messages, in English and in the order of the template.
pub fn messages() -> impl Iterator<Item = &'static str> {
    MESSAGES.lines().filter(|line| !is_comment(line))
}

/// The languages that come along.
pub fn built_in() -> Languages {
    Languages::new(built_in_languages())
}

/// The same, one by one: others may add to them.
pub fn built_in_languages() -> impl Iterator<Item = Language> {
    let languages = [("de", GERMAN), ("fr", FRENCH)];
    // A test reads them, and finds nothing wrong.
    languages.into_iter().filter_map(|(tag, text)| Some(read(tag, text).ok()?.language))
}

/// Whether it looks like the tag of a language (RFC 5646 §2.1): letters and digits in parts of eight at most.
pub fn is_tag(tag: &str) -> bool {
    let mut parts = tag.split('-');
    let is_part =
        |part: &str| (1..=8).contains(&part.len()) && part.bytes().all(|c| c.is_ascii_alphanumeric());
    let is_language =
        |part: &str| (2..=8).contains(&part.len()) && part.bytes().all(|c| c.is_ascii_alphabetic());
    tag.len() <= LONGEST_TAG && parts.next().is_some_and(is_language) && parts.all(is_part)
}

/// Reads the file of the language with this tag.
///
/// # Errors
/// All that is wrong with it: lines that are none of such a file, messages that stand twice, and places that are missing or too many.
pub fn read(tag: &str, text: &str) -> Result<Translation, Vec<Remark>> {
    let known: HashSet<&str> = messages().collect();
    let (mut messages, mut seen) = (HashMap::new(), HashMap::new());
    let (mut mistakes, mut unknown) = (Vec::new(), Vec::new());
    // Some editors begin a file with a byte order mark.
    for (number, line) in text.strip_prefix('\u{feff}').unwrap_or(text).lines().enumerate() {
        let (number, line) = (number + 1, line.trim());
        if is_comment(line) || line == "---" {
            continue;
        }
        let remark = |words: String| Remark { line: number, words };
        let Some((english, words)) = pair(line) else {
            mistakes.push(remark("is no `\"message\": \"translation\"` in double quotes".to_owned()));
            continue;
        };
        if let Some(former) = seen.insert(english.clone(), number) {
            mistakes.push(remark(format!("the message stands on line {former} already: {english}")));
        } else if !known.contains(english.as_str()) {
            unknown.push(remark(format!("there is no message with these words: {english}")));
        } else if !words.trim().is_empty() {
            match wrong_places(&english, &words) {
                None => drop(messages.insert(english, words)),
                Some(wrong) => mistakes.push(remark(wrong)),
            }
        }
    }
    if mistakes.is_empty() {
        Ok(Translation { language: Language::new(tag, messages), unknown })
    } else {
        Err(mistakes)
    }
}

/// The file of a language, with the words that there are and empty ones in the place of others: a template for whoever translates.
pub fn template(language: Option<&Language>) -> String {
    let mut text = String::with_capacity(MESSAGES.len() * 3);
    for line in MESSAGES.lines() {
        let _ = if is_comment(line) {
            writeln!(text, "{line}") // a String takes whatever is written
        } else {
            let words = language.and_then(|language| language.words_for(line)).unwrap_or_default();
            writeln!(text, "{}: {}", quoted(line), quoted(words))
        };
    }
    text
}

fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

fn is_comment(line: &str) -> bool {
    line.is_empty() || line.starts_with('#')
}

/// Both texts of a line. A comment may follow.
fn pair(line: &str) -> Option<(String, String)> {
    let (english, rest) = text(line)?;
    let (words, rest) = text(rest.trim_start().strip_prefix(':')?.strip_prefix([' ', '\t'])?.trim_start())?;
    (rest.trim().is_empty() || rest.starts_with([' ', '\t']) && rest.trim_start().starts_with('#'))
        .then_some((english, words))
}

/// The text at the beginning, and what follows it.
fn text(line: &str) -> Option<(String, &str)> {
    if !line.starts_with('"') {
        return None;
    }
    let mut texts = Deserializer::from_str(line).into_iter::<String>();
    let text = texts.next()?.ok()?;
    Some((text, line.get(texts.byte_offset()..)?))
}

/// What is wrong with the places of a translation.
fn wrong_places(english: &str, words: &str) -> Option<String> {
    let (expected, found) = (places(english), places(words));
    if expected == found {
        return None;
    }
    let named = |names: &[&str]| match names {
        [] => "no place".to_owned(),
        names => names.iter().map(|name| format!("{{{name}}}")).collect::<Vec<_>>().join(", "),
    };
    Some(format!("the message has {} and the translation {}: {english}", named(&expected), named(&found)))
}
