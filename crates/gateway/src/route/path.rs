//! Paths, and in how many ways they can be read.
//!
//! A gateway that reads a path otherwise than the upstream does guards the wrong door. So a path is compared without its escapes
//! (`/%6frders` is `/orders`), refused where programs are known to disagree about what it means (`..`, `\`, NUL, an escaped slash), and
//! where they may disagree (`//`, `;`) it passes only if all readings fall under the same route: [`Readings`].

use std::borrow::Cow;

use percent_encoding::percent_decode_str;

/// An escaped slash, as it stays in what is compared.
const ESCAPED_SLASH: &str = "%2F";
/// Letters that some programs without case take for ones of ASCII, and others do not: `İ`, `ı`, `ſ` and the sign of kelvin.
const ALMOST_ASCII: [char; 4] = ['\u{130}', '\u{131}', '\u{17f}', '\u{212a}'];
/// A path has at most so many readings besides the literal one.
const OTHERS: u8 = 7;

/// The path could be read in two ways.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the path can be read in two ways")]
pub struct AmbiguousPath;

/// A path without its escapes, in every way it may be understood.
#[derive(Debug, PartialEq, Eq)]
pub struct Readings<'a> {
    /// As it is written.
    pub literal: Cow<'a, str>,
    /// As programs read it that merge slashes, cut `;` and what follows off segments, or take an escaped slash for a slash. Empty for
    /// almost all paths.
    pub others: Vec<String>,
}

impl Readings<'_> {
    /// The same without the case of letters.
    ///
    /// # Errors
    /// [`AmbiguousPath`]: it has a letter about whose case programs disagree.
    pub(super) fn without_case(self) -> Result<Self, AmbiguousPath> {
        if self.literal.contains(ALMOST_ASCII) {
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
/// text that is not UTF-8; or an escaped slash, unless `encoded_slash` allows it.
pub fn readings(path: &str, encoded_slash: bool) -> Result<Readings<'_>, AmbiguousPath> {
    if is_plain(path) {
        return Ok(Readings { literal: Cow::Borrowed(path), others: Vec::new() });
    }
    // Whoever takes it for the beginning of a fragment or a query reads another path.
    if path.contains(['#', '?']) {
        return Err(AmbiguousPath);
    }
    let literal = decoded(path)?;
    let has_escaped_slash = literal.contains(ESCAPED_SLASH);
    if has_escaped_slash && !encoded_slash || literal.contains(|c: char| c == '\\' || c.is_control()) {
        return Err(AmbiguousPath);
    }
    if literal.split('/').flat_map(|segment| segment.split(ESCAPED_SLASH)).any(is_dots) {
        return Err(AmbiguousPath);
    }
    let others = others(&literal);
    Ok(Readings { literal, others })
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
    if !path.contains('%') {
        return Ok(Cow::Borrowed(path));
    }
    if !path.split('%').skip(1).all(begins_with_hex) {
        return Err(AmbiguousPath);
    }
    let kept = path.replace("%2f", "%252F").replace("%2F", "%252F");
    let text = percent_decode_str(&kept).decode_utf8().map_err(|_| AmbiguousPath)?;
    Ok(Cow::Owned(text.into_owned()))
}

fn begins_with_hex(text: &str) -> bool {
    let mut bytes = text.bytes();
    bytes.next().is_some_and(|byte| byte.is_ascii_hexdigit())
        && bytes.next().is_some_and(|byte| byte.is_ascii_hexdigit())
}

fn is_dots(segment: &str) -> bool {
    let name = segment.split(';').next().unwrap_or(segment);
    matches!(name, "." | "..")
}

fn others(literal: &str) -> Vec<String> {
    if !literal.contains(';') && !literal.contains("//") && !literal.contains(ESCAPED_SLASH) {
        return Vec::new();
    }
    let mut others: Vec<String> = Vec::new();
    for habits in 1..=OTHERS {
        let reading = read_with(literal, habits);
        if reading != literal && !others.contains(&reading) {
            others.push(reading);
        }
    }
    others
}

/// The path as a program with these habits reads it: 1 takes escaped slashes for slashes, 2 cuts parameters, 4 merges slashes.
fn read_with(literal: &str, habits: u8) -> String {
    let mut path = literal.to_owned();
    if habits & 1 != 0 {
        path = path.replace(ESCAPED_SLASH, "/");
    }
    if habits & 2 != 0 {
        let bare: Vec<&str> =
            path.split('/').map(|segment| segment.split(';').next().unwrap_or(segment)).collect();
        path = bare.join("/");
    }
    if habits & 4 != 0 {
        while path.contains("//") {
            path = path.replace("//", "/");
        }
    }
    path
}

#[cfg(test)]
mod tests;
