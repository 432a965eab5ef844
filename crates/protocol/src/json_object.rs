//! Objects of JSON (RFC 8259 §4) that are written member by member. A serializer looks at each sign of each name and each text by itself, and
//! that costs more than all else about a short answer.

use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// What is written as JSON without a serializer, in the same words as with one.
pub trait WriteJson {
    /// Writes it at the end of `text`.
    fn write_json(&self, text: &mut Vec<u8>);
}

impl WriteJson for Map<String, Value> {
    fn write_json(&self, text: &mut Vec<u8>) {
        let mut object = JsonObject::begin(text);
        object.members(self);
        object.end();
    }
}

/// An object at the end of a text, which grows until it is [ended](JsonObject::end). Names are written as they are: there is nothing in them
/// that has to be escaped.
#[derive(Debug)]
pub struct JsonObject<'a>(&'a mut Vec<u8>);

impl<'a> JsonObject<'a> {
    /// An object without members.
    pub fn begin(text: &'a mut Vec<u8>) -> Self {
        text.push(b'{');
        Self(text)
    }

    /// It has all its members.
    pub fn end(self) {
        self.0.push(b'}');
    }

    /// A truth value.
    pub fn boolean(&mut self, name: &'static str, value: bool) {
        self.name(name).extend_from_slice(if value { b"true" } else { b"false" });
    }

    /// A number.
    pub fn number(&mut self, name: &'static str, value: i64) {
        self.name(name).extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
    }

    /// A text.
    pub fn text(&mut self, name: &'static str, value: &str) {
        write_text(self.name(name), value);
    }

    /// A list of texts.
    pub fn texts<T: AsRef<str>>(&mut self, name: &'static str, values: &[T]) {
        let text = self.name(name);
        text.push(b'[');
        for (place, value) in values.iter().enumerate() {
            if place > 0 {
                text.push(b',');
            }
            write_text(text, value.as_ref());
        }
        text.push(b']');
    }

    /// What is JSON already.
    pub fn raw(&mut self, name: &'static str, value: &RawValue) {
        self.name(name).extend_from_slice(value.get().as_bytes());
    }

    /// Anything else whose keys are texts.
    pub fn value<T: Serialize>(&mut self, name: &'static str, value: &T) {
        // Memory takes every text.
        let _ = serde_json::to_writer(self.name(name), value);
    }

    /// All members of another object.
    pub fn members(&mut self, members: &Map<String, Value>) {
        for (name, value) in members {
            self.comma();
            write_text(self.0, name);
            self.0.push(b':');
            match value {
                Value::String(value) => write_text(self.0, value),
                // Memory takes every text.
                value => drop(serde_json::to_writer(&mut *self.0, value)),
            }
        }
    }

    /// The members of what a serializer writes as an object.
    pub fn flattened<T: Serialize>(&mut self, value: &T) {
        let start = self.0.len();
        let is_written = serde_json::to_writer(&mut *self.0, value).is_ok();
        let inside = self.0.get(start..).and_then(|text| text.strip_prefix(b"{")?.strip_suffix(b"}"));
        if !is_written || inside.is_none_or(<[u8]>::is_empty) {
            return self.0.truncate(start);
        }
        self.0.pop();
        // What stood before its first member becomes what stands between that and the one before.
        if start.checked_sub(1).and_then(|before| self.0.get(before)) == Some(&b'{') {
            self.0.remove(start);
        } else if let Some(opening) = self.0.get_mut(start) {
            *opening = b',';
        }
    }

    /// A number, if it is there.
    pub fn number_if(&mut self, name: &'static str, value: Option<i64>) {
        if let Some(value) = value {
            self.number(name, value);
        }
    }

    /// A text, if it is there.
    pub fn text_if(&mut self, name: &'static str, value: Option<&str>) {
        if let Some(value) = value {
            self.text(name, value);
        }
    }

    /// What is JSON already, if it is there.
    pub fn raw_if(&mut self, name: &'static str, value: Option<&RawValue>) {
        if let Some(value) = value {
            self.raw(name, value);
        }
    }

    /// Anything else whose keys are texts, if it is there.
    pub fn value_if<T: Serialize>(&mut self, name: &'static str, value: Option<&T>) {
        if let Some(value) = value {
            self.value(name, value);
        }
    }

    /// The name of the next member; its value goes behind it.
    fn name(&mut self, name: &'static str) -> &mut Vec<u8> {
        self.comma();
        self.0.push(b'"');
        self.0.extend_from_slice(name.as_bytes());
        self.0.extend_from_slice(b"\":");
        self.0
    }

    /// What stands before a member, if it is not the first.
    fn comma(&mut self) {
        // Whatever a value is, it ends with another sign.
        if self.0.last() != Some(&b'{') {
            self.0.push(b',');
        }
    }
}

/// Writes a text in its quotation marks, escaped where it has to be (RFC 8259 §7).
pub fn write_text(text: &mut Vec<u8>, value: &str) {
    if is_plain(value) {
        text.push(b'"');
        text.extend_from_slice(value.as_bytes());
        text.push(b'"');
    } else {
        // Memory takes every text.
        let _ = serde_json::to_writer(text, value);
    }
}

/// Whether a text is its own escape (RFC 8259 §7).
fn is_plain(text: &str) -> bool {
    let (words, rest) = text.as_bytes().as_chunks();
    let mut last = [b' '; WORD];
    for (place, byte) in last.iter_mut().zip(rest) {
        *place = *byte;
    }
    words.iter().chain([&last]).all(|word| is_plain_word(*word))
}

/// So many signs are looked at at once: nearly every text is short.
const WORD: usize = size_of::<u64>();
/// One in each byte.
const ONES: u64 = u64::MAX / 255;

/// Whether none of these signs has to be escaped: there is no byte that is less than a blank, a quotation mark or a backslash.
const fn is_plain_word(word: [u8; WORD]) -> bool {
    // The highest bit of a byte says that it, or one below it, is less than `least`.
    const fn below(word: u64, least: u8) -> u64 {
        word.wrapping_sub(ONES * least as u64) & !word
    }
    let word = u64::from_le_bytes(word);
    let quotes = below(word ^ (ONES * b'"' as u64), 1);
    let backslashes = below(word ^ (ONES * b'\\' as u64), 1);
    (below(word, b' ') | quotes | backslashes) & (ONES << 7) == 0
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_text_is_plain_where_the_library_leaves_it_as_it_is_wherever_its_odd_sign_stands() {
        for sign in (0..=0x17f).filter_map(char::from_u32) {
            for place in [0, 1, 7, 8, 15, 16, 31, 63, 64] {
                let text = format!("{}{sign}{}", "a".repeat(place), "b".repeat(64 - place));
                let library = serde_json::to_string(&text).unwrap();
                assert_eq!(is_plain(&text), library == format!("\"{text}\""), "{sign:?} at {place}");
                let mut written = Vec::new();
                write_text(&mut written, &text);
                assert_eq!(written, library.as_bytes());
            }
        }
    }

    #[test]
    fn a_map_is_written_as_a_serializer_writes_it() {
        for map in [json!({}), json!({"sub": "a", "\"": "\n", "b": [1, "\\"], "c": {"d": null}, "e": true})] {
            let mut text = Vec::new();
            map.as_object().unwrap().write_json(&mut text);
            assert_eq!(String::from_utf8(text).unwrap(), map.to_string());
        }
    }

    #[test]
    fn an_object_has_the_members_of_others_wherever_they_come() {
        for (others, expected) in [
            (vec![json!({})], json!({})),
            (vec![json!({"a": "}"}), json!({})], json!({"a": "}"})),
            (
                vec![json!({}), json!({"a": 1, "b": {"c": "{"}}), json!({"d": []})],
                json!({"a": 1, "b": {"c": "{"}, "d": []}),
            ),
            (vec![json!("{}"), json!([{}]), json!(null), json!({"a": 1})], json!({"a": 1})),
        ] {
            for is_more in [false, true] {
                let (mut text, mut expected) = (Vec::new(), expected.clone());
                let mut object = JsonObject::begin(&mut text);
                for other in &others {
                    object.flattened(other);
                }
                if is_more {
                    object.text("more", "x");
                    object.flattened(&json!({"z": 1}));
                    expected["more"] = json!("x");
                    expected["z"] = json!(1);
                }
                object.end();
                assert_eq!(serde_json::from_slice::<Value>(&text).unwrap(), expected, "{others:?}");
            }
        }
    }

    #[test]
    fn an_object_has_the_members_that_it_was_given() {
        let mut text = b"[".to_vec();
        JsonObject::begin(&mut text).end();
        text.push(b',');
        let raw: Box<RawValue> = serde_json::from_str(r#"{"a":{}}"#).unwrap();
        let mut object = JsonObject::begin(&mut text);
        object.raw("raw", &raw);
        object.text("text", "{");
        object.texts::<&str>("none", &[]);
        object.texts("texts", &["a", "\"{"]);
        object.boolean("yes", true);
        object.boolean("no", false);
        object.number("number", i64::MIN);
        object.value("value", &json!({"b": null}));
        object.number_if("absent", None);
        object.text_if("absent", None);
        object.raw_if("absent", None);
        object.value_if::<i64>("absent", None);
        object.number_if("number too", Some(1));
        object.text_if("text too", Some("\n"));
        object.raw_if("raw too", Some(&raw));
        object.value_if("value too", Some(&json!([])));
        object.members(&Map::new());
        object.members(json!({"more": "x", "and more": 1}).as_object().unwrap());
        object.end();
        text.push(b']');
        let read: serde_json::Value = serde_json::from_slice(&text).unwrap();
        let expected = json!([{}, {"raw": {"a": {}}, "text": "{", "none": [], "texts": ["a", "\"{"], "yes": true, "no": false, "number": i64::MIN,
            "value": {"b": null}, "number too": 1, "text too": "\n", "raw too": {"a": {}}, "value too": [], "more": "x", "and more": 1}]);
        assert_eq!(read, expected);
    }
}
