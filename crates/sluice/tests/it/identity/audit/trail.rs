//! The audit trail in a log of JSON lines.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// What every line of a log has beside what it tells.
const FRAME: &[&str] = &["timestamp", "level", "target", "span", "message"];
/// So much of a secret is one, too, in characters.
const PART: usize = 24;

/// What the trail tells of people, in order: the sentence of each line, and its fields in alphabetical order. Instead of ids there
/// are names.
pub(super) fn of_people(log: &str, names: &[(String, &str)]) -> Vec<String> {
    let events = log.lines().filter_map(|line| serde_json::from_str::<Map<String, Value>>(line).ok());
    // A server makes keys before anybody comes.
    let is_audit =
        |event: &Map<String, Value>| event.get("target").is_some_and(|target| target == "sluice_audit");
    let audit = events.filter(|event| is_audit(event) && !event.contains_key("key.set"));
    audit.map(|event| told(&event, names)).collect()
}

/// What a line of [`of_people`] says, without its fields.
pub(super) fn sentence(line: &str) -> String {
    let words = line.trim_start_matches("WARN ").split(' ');
    words.take_while(|word| !word.contains('=')).collect::<Vec<_>>().join(" ")
}

/// The first line of a log that holds one of these secrets, or the beginning of one.
pub(super) fn leak<'a>(log: &'a str, secrets: &[String]) -> Option<&'a str> {
    log.lines().find(|line| secrets.iter().any(|secret| holds(line, secret)))
}

fn told(event: &Map<String, Value>, names: &[(String, &str)]) -> String {
    let level = if event["level"] == "WARN" { "WARN " } else { "" };
    let fields: BTreeMap<_, _> = event.iter().filter(|(name, _)| !FRAME.contains(&name.as_str())).collect();
    let sentence = event["message"].as_str().expect("a sentence");
    let fields = fields.into_iter().map(|(name, value)| format!("{name}={}", shown(name, value, names)));
    let words: Vec<_> = std::iter::once(format!("{level}{sentence}")).chain(fields).collect();
    words.join(" ")
}

fn shown(name: &str, value: &Value, names: &[(String, &str)]) -> String {
    if name == "wait_ms" {
        // How long exactly, the clock decides.
        assert!(value.as_u64().is_some_and(|millis| millis > 0), "{value}");
        return "some".to_owned();
    }
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    names.iter().find(|(id, _)| *id == text).map_or(text, |(_, name)| (*name).to_owned())
}

fn holds(line: &str, secret: &str) -> bool {
    if secret.bytes().all(|byte| byte.is_ascii_digit()) {
        // So few digits may be anywhere in an id or a time.
        let mut words = line.split(|c: char| !c.is_ascii_alphanumeric() && c != '.');
        return words.any(|word| word.trim_matches('.') == secret);
    }
    let part: String = secret.chars().take(PART).collect();
    line.contains(&part)
}
