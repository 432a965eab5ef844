//! Paths, and in how many ways they can be read.
//!
//! A gateway that reads a path otherwise than the upstream does guards the wrong door. So a path is compared without its escapes
//! (`/%6frders` is `/orders`), refused where programs are known to disagree about what it means (`..`, `\`, NUL, an escaped slash), and
//! where they may disagree (`//`, `;`, an escaped `?`, `#` or escape) it passes only if all readings fall under the same route: [`Readings`].
//!
//! `habit`: in what programs differ that read a path. `suffix`: what some of them do not look at.

mod habit;
pub(super) mod suffix;

use std::borrow::Cow;

use habit::{EARLY_HABITS, HABITS};
use percent_encoding::percent_decode_str;

/// An escaped slash, as it stays in what is compared: no path has this character, escaped or not.
const ESCAPED_SLASH: char = '\0';
/// What would be taken for one.
const ESCAPED_NUL: &str = "%00";
/// Letters that some programs without case take for ones of ASCII, and others do not: `İ`, `ı`, `ſ` and the sign of kelvin.
const ALMOST_ASCII: [char; 4] = ['\u{130}', '\u{131}', '\u{17f}', '\u{212a}'];
/// A path that has more readings besides the literal one is refused.
const MOST_OTHERS: usize = 32;
/// So is one whose other readings are longer than this together, in bytes.
const MOST_TEXT: usize = 256 * 1024;

/// The path could be read in two ways.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the path can be read in two ways")]
pub struct AmbiguousPath;

/// A path without its escapes, in every way it may be understood.
#[derive(Debug, PartialEq, Eq)]
pub struct Readings<'a> {
    /// As it is written. NUL stands for an escaped slash.
    pub literal: Cow<'a, str>,
    /// As programs read it that merge slashes, cut `;` and what follows off segments, take an escaped slash for a slash or what follows `//`
    /// at the beginning for a host, decode twice, or end the path at `;`, `?` or `#`; and those that do several of these. Empty for almost
    /// all paths.
    pub others: Vec<String>,
}

impl Readings<'_> {
    /// The same without the case of letters.
    ///
    /// # Errors
    /// [`AmbiguousPath`]: it has a letter about whose case programs disagree.
    pub(super) fn without_case(self) -> Result<Self, AmbiguousPath> {
        let is_open = |text: &str| text.contains(ALMOST_ASCII);
        if is_open(&self.literal) || self.others.iter().any(|other| is_open(other)) {
            return Err(AmbiguousPath);
        }
        let literal = match self.literal {
            Cow::Borrowed(text) => without_case(text),
            Cow::Owned(text) => Cow::Owned(without_case(&text).into_owned()),
        };
        let others = self.others.iter().map(|other| without_case(other).into_owned()).collect();
        Ok(Self { literal, others })
    }
}

/// A text as programs compare it that do not look at the case of letters.
pub(super) fn without_case(text: &str) -> Cow<'_, str> {
    if !text.is_ascii() {
        return Cow::Owned(text.chars().flat_map(|letter| simple_upper(letter).to_lowercase()).collect());
    }
    let has_capitals = text.bytes().any(|byte| byte.is_ascii_uppercase());
    if has_capitals { Cow::Owned(text.to_ascii_lowercase()) } else { Cow::Borrowed(text) }
}

/// The capital of a letter. Some have one in common: `σ` and `ς`. What is a capital of several letters is none.
fn simple_upper(letter: char) -> char {
    let mut upper = letter.to_uppercase();
    match (upper.next(), upper.next()) {
        (Some(upper), None) => upper,
        _ => letter,
    }
}

/// Whether no upstream could read `path` otherwise than this gateway, whatever routes there are: a check without a table.
///
/// # Errors
/// [`AmbiguousPath`]: it could.
pub fn check(path: &str) -> Result<(), AmbiguousPath> {
    let readings = readings(path, false)?;
    if readings.others.is_empty() { Ok(()) } else { Err(AmbiguousPath) }
}

/// All readings of a path. Ordinary paths are not copied.
///
/// # Errors
/// [`AmbiguousPath`]: it has dot segments (also with parameters, `..;x`), a bare `#` or `?`, a backslash, a control character, an escape that is none or
/// text that is not UTF-8; or an escaped slash, unless `encoded_slash` allows it. So it is if another reading has dot segments, a backslash, a
/// control character or letters in more bytes than they need, or there is too much of them. Other escapes that are none, or whose text is
/// not UTF-8, are names to who decodes twice: `/100%25` is let through.
pub fn readings(path: &str, encoded_slash: bool) -> Result<Readings<'_>, AmbiguousPath> {
    if is_plain(path) {
        return Ok(Readings { literal: Cow::Borrowed(path), others: Vec::new() });
    }
    // Whoever takes it for the beginning of a fragment or a query reads another path.
    if path.contains(['#', '?']) {
        return Err(AmbiguousPath);
    }
    let literal = decoded(path)?;
    if is_refused(&literal) || (literal.contains(ESCAPED_SLASH) && !encoded_slash) {
        return Err(AmbiguousPath);
    }
    let mut others = Vec::new();
    if path.contains('%') {
        for shorter in EARLY_HABITS.iter().filter_map(|habit| habit(path)) {
            add(&mut others, decoded(&shorter)?.into_owned())?;
        }
    }
    add_others(&literal, &mut others)?;
    Ok(Readings { literal, others })
}

/// Adds every other reading of a path without its escapes, and of `others` that are known: by each habit of programs, and by several in
/// whatever order.
fn add_others(literal: &str, others: &mut Vec<String>) -> Result<(), AmbiguousPath> {
    let mut path = Cow::Borrowed(literal);
    for next in 0.. {
        for other in HABITS.iter().filter_map(|habit| habit(&path)) {
            add(others, other)?;
        }
        let Some(other) = others.get(next) else { break };
        path = Cow::Owned(other.clone());
    }
    Ok(())
}

/// Adds a reading, unless it is known.
///
/// # Errors
/// [`AmbiguousPath`]: it has what is refused, or there are too many, or they are too long.
fn add(others: &mut Vec<String>, other: String) -> Result<(), AmbiguousPath> {
    if others.contains(&other) {
        return Ok(());
    }
    let text = others.iter().map(String::len).sum::<usize>() + other.len();
    if others.len() == MOST_OTHERS || text > MOST_TEXT || is_refused(&other) {
        return Err(AmbiguousPath);
    }
    others.push(other);
    Ok(())
}

/// Whether there is nothing in it that needs a closer look.
fn is_plain(path: &str) -> bool {
    let mut previous = 0;
    path.bytes().all(|byte| {
        let after_slash = std::mem::replace(&mut previous, byte) == b'/';
        match byte {
            b'/' | b'.' => !after_slash,
            b'%' | b'\\' | b';' | b'#' | b'?' | 0x7f.. => false,
            _ => byte >= b' ',
        }
    })
}

/// The path without its escapes, but for those of slashes.
fn decoded(path: &str) -> Result<Cow<'_, str>, AmbiguousPath> {
    if path.contains(ESCAPED_SLASH) || path.contains(ESCAPED_NUL) {
        return Err(AmbiguousPath);
    }
    if !path.contains('%') {
        return Ok(Cow::Borrowed(path));
    }
    if !path.split('%').skip(1).all(begins_with_hex) {
        return Err(AmbiguousPath);
    }
    let slash = ESCAPED_SLASH.to_string();
    let kept = path.replace("%2f", &slash).replace("%2F", &slash);
    let text = percent_decode_str(&kept).decode_utf8().map_err(|_| AmbiguousPath)?;
    Ok(Cow::Owned(text.into_owned()))
}

fn begins_with_hex(text: &str) -> bool {
    let mut bytes = text.bytes();
    bytes.next().is_some_and(|byte| byte.is_ascii_hexdigit())
        && bytes.next().is_some_and(|byte| byte.is_ascii_hexdigit())
}

/// Whether a path without its escapes has what programs are known to read differently.
fn is_refused(path: &str) -> bool {
    let is_control = |letter: char| letter.is_control() && letter != ESCAPED_SLASH;
    path.contains('\\')
        || path.contains(is_control)
        || path.contains(ESCAPED_NUL)
        || has_overlong_escapes(path)
        || path.split(['/', ESCAPED_SLASH]).any(is_dots)
}

/// Whether it has escapes of a letter in more bytes than it needs, which UTF-8 forbids and some programs take, up to the six of
/// RFC 2279: `%c0%ae` for a dot. The second may be escaped more often than the first.
fn has_overlong_escapes(path: &str) -> bool {
    let escapes = path.split('%').skip(1).map(|text| text.trim_start_matches("25"));
    let byte = |digits: Option<&str>| u8::from_str_radix(digits?, 16).ok();
    escapes.clone().zip(escapes.skip(1)).filter(|(first, _)| first.len() == 2).any(|(first, second)| {
        matches!(
            (byte(Some(first)), byte(second.get(..2))),
            (Some(0xc0 | 0xc1), Some(0x80..=0xbf))
                | (Some(0xe0), Some(0x80..=0x9f))
                | (Some(0xf0), Some(0x80..=0x8f))
                | (Some(0xf8), Some(0x80..=0x87))
                | (Some(0xfc), Some(0x80..=0x83))
        )
    })
}

fn is_dots(segment: &str) -> bool {
    let name = segment.split(';').next().unwrap_or(segment);
    matches!(name, "." | "..")
}

#[cfg(test)]
mod tests;
