//! Text as the value of a header.

use http::HeaderValue;
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};

/// No value is longer: upstreams bound their headers, and one that is too long would make them refuse the request.
const MAX_LENGTH: usize = 4096;
/// So long is a byte that is escaped.
const LONGEST_ESCAPE: usize = 3;
/// What does not stand for itself. The percent sign is among it, so that no two texts have the same value.
const ESCAPED: &AsciiSet = &CONTROLS.add(b'%');
/// At the ends a space would be lost.
const ESCAPED_AND_SPACE: &AsciiSet = &ESCAPED.add(b' ');

/// Whether there is a value that says `text`. Nearly every text is so short that nobody need look at it.
pub(super) fn has_value(text: &str) -> bool {
    let is_short = text.len() <= MAX_LENGTH / LONGEST_ESCAPE && !text.is_empty();
    is_short || header_value(text).is_some()
}

/// The value that says `text`: printable ASCII as it is, everything else, and `%`, percent-encoded as UTF-8. Whoever decodes it has
/// the text again; two texts never look alike. `None` for a text without a character, and for one whose value is longer than 4096 bytes.
pub(crate) fn header_value(text: &str) -> Option<HeaderValue> {
    if text.is_empty() || text.len() > MAX_LENGTH {
        return None;
    }
    let padded = text.starts_with(' ') || text.ends_with(' ');
    // To the end in any case: so the compiler takes many bytes at once.
    let is_plain = text.bytes().fold(true, |plain, byte| plain & matches!(byte, b' '..=b'$' | b'&'..=b'~'));
    if !padded && is_plain {
        return HeaderValue::from_str(text).ok();
    }
    let escaped = utf8_percent_encode(text, if padded { ESCAPED_AND_SPACE } else { ESCAPED });
    let value = HeaderValue::from_maybe_shared(bytes::Bytes::from(escaped.to_string())).ok()?;
    (value.len() <= MAX_LENGTH).then_some(value)
}

#[cfg(test)]
mod tests {
    use percent_encoding::percent_decode_str;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn ordinary_text_is_as_it_was_and_the_rest_is_escaped() {
        for (text, value) in [
            ("alice", "alice"),
            ("orders.read orders.write", "orders.read orders.write"),
            ("a\r\nX-Admin: 1", "a%0D%0AX-Admin: 1"),
            ("100%", "100%25"),
            ("žofie", "%C5%BEofie"),
            (" a b ", "%20a%20b%20"),
            ("a\tb", "a%09b"),
            ("\u{7f}\0", "%7F%00"),
        ] {
            assert_eq!(header_value(text).unwrap(), value, "{text:?}");
        }
    }

    #[test]
    fn what_is_empty_or_too_long_is_left_out() {
        assert_eq!(header_value(""), None);
        assert!(header_value(&"a".repeat(MAX_LENGTH)).is_some());
        assert_eq!(header_value(&"a".repeat(MAX_LENGTH + 1)), None);
        assert_eq!(header_value(&"é".repeat(1000)), None);
    }

    #[test]
    fn whether_there_is_a_value_is_known_without_making_it() {
        let lengths = [0, 1, 682, 683, 1365, 1366, 2048, 4096, 4097];
        for text in lengths.into_iter().flat_map(|length| ["a".repeat(length), "é".repeat(length)]) {
            assert_eq!(has_value(&text), header_value(&text).is_some(), "{} bytes", text.len());
        }
    }

    proptest! {
        #[test]
        fn every_value_is_printable_and_means_its_text(text in "\\PC{0,20}|[\\x00-\\x7f]{0,20}") {
            if let Some(value) = header_value(&text) {
                let value = value.to_str().unwrap();
                prop_assert!(value.bytes().all(|byte| (b' '..=b'~').contains(&byte)));
                prop_assert_eq!(value.trim(), value);
                prop_assert_eq!(percent_decode_str(value).decode_utf8().unwrap(), text);
            } else {
                prop_assert!(text.is_empty());
            }
        }
    }
}
