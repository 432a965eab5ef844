//! How long a body is, said once (RFC 9110 §8.6).

use http::header::{CONTENT_LENGTH, TRANSFER_ENCODING};
use http::{HeaderMap, HeaderValue};

use super::target::Malformed;

/// So many digits are less than 64 bits, whatever they are.
const CERTAIN_DIGITS: usize = 19;

/// Leaves one length of a request, without leading zeros, which somebody might take for octal; none beside a transfer coding.
pub(super) fn normalise_length(headers: &mut HeaderMap) -> Result<(), Malformed> {
    let mut lengths = headers.get_all(CONTENT_LENGTH).iter();
    let Some(first) = lengths.next() else { return Ok(()) };
    let length = number(first).ok_or(Malformed::Length)?;
    let (mut is_repeated, has_zeros) = (false, first.len() > 1 && first.as_bytes().starts_with(b"0"));
    for further in lengths {
        is_repeated = true;
        if number(further) != Some(length) {
            return Err(Malformed::Length);
        }
    }
    if headers.contains_key(TRANSFER_ENCODING) {
        headers.remove(CONTENT_LENGTH);
    } else if is_repeated || has_zeros {
        headers.insert(CONTENT_LENGTH, length.into());
    }
    Ok(())
}

/// Whether a length of an answer can be handed on as it is, if it is the only one.
pub(super) fn is_plain(length: &HeaderValue) -> bool {
    let digits = length.as_bytes();
    let has_zeros = digits.len() > 1 && digits.starts_with(b"0");
    (1..=CERTAIN_DIGITS).contains(&digits.len()) && digits.iter().all(u8::is_ascii_digit) && !has_zeros
}

/// Leaves one length of an answer whose lengths are the same, be they lines or a list in one, and none of others. Whether there is one.
pub(super) fn leave_one_length(headers: &mut HeaderMap) -> bool {
    let lines = headers.get_all(CONTENT_LENGTH).iter();
    let mut lengths = lines
        .flat_map(|line| line.to_str().unwrap_or_default().split(','))
        .map(|length| digits(length.trim_matches([' ', '\t'])));
    let length = lengths.next().flatten().filter(|first| lengths.all(|further| further == Some(*first)));
    match length {
        Some(length) => headers.insert(CONTENT_LENGTH, length.into()),
        None => headers.remove(CONTENT_LENGTH),
    };
    length.is_some()
}

fn number(length: &HeaderValue) -> Option<u64> {
    digits(length.to_str().ok()?)
}

/// Digits only.
fn digits(text: &str) -> Option<u64> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is left of these lines.
    fn left(lines: &[&str]) -> (bool, Vec<String>) {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(CONTENT_LENGTH, line.parse().unwrap());
        }
        let has_one = leave_one_length(&mut headers);
        let left = headers.get_all(CONTENT_LENGTH).iter();
        (has_one, left.map(|length| length.to_str().unwrap().to_owned()).collect())
    }

    #[test]
    fn lengths_of_an_answer_that_are_the_same_are_one() {
        for lines in [&["5, 5"][..], &["5,5 ,\t5"], &["5", "5"], &["05"], &["5, 05", "5"]] {
            assert_eq!(left(lines), (true, vec!["5".to_owned()]), "{lines:?}");
        }
        assert_eq!(left(&["18446744073709551615"]), (true, vec!["18446744073709551615".to_owned()]));
    }

    #[test]
    fn lengths_of_an_answer_that_differ_or_are_none_go_no_further() {
        for lines in [
            &["5, 6"][..],
            &["5", "6"],
            &["5,"],
            &[",5"],
            &[""],
            &["+5"],
            &["5 5"],
            &["18446744073709551616"],
        ] {
            assert_eq!(left(lines), (false, vec![]), "{lines:?}");
        }
    }

    #[test]
    fn a_plain_length_is_one_number_in_its_shortest_form() {
        for (length, expected) in [
            ("0", true),
            ("5", true),
            ("1234567890123456789", true),
            ("12345678901234567890", false),
            ("05", false),
            ("00", false),
            ("5, 5", false),
            ("+5", false),
            ("", false),
        ] {
            assert_eq!(is_plain(&HeaderValue::from_static(length)), expected, "{length:?}");
        }
    }
}
