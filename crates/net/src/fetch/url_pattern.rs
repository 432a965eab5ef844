//! URLs that are exempt, as Hydra writes them.

use std::convert::Infallible;
use std::str::FromStr;

use url::Url;

/// A URL without query and fragment, or a pattern of such: `*` stands for any characters but `.` and `/`, `**` for any
/// at all, `?` for one that is neither `.` nor `/`. The case counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UrlPattern(String);

impl UrlPattern {
    /// Whether `url`, less query and fragment, matches.
    pub fn matches(&self, url: &Url) -> bool {
        let mut bare = url.clone();
        bare.set_query(None);
        bare.set_fragment(None);
        glob(self.0.as_bytes(), bare.as_str().as_bytes())
    }
}

impl FromStr for UrlPattern {
    type Err = Infallible;

    /// A pattern without wildcards is written as URLs are: `https://host` becomes `https://host/`.
    fn from_str(raw: &str) -> Result<Self, Infallible> {
        let is_literal = !raw.contains(['*', '?']);
        let url = is_literal.then(|| Url::parse(raw).ok()).flatten();
        Ok(Self(url.map_or_else(|| raw.to_owned(), String::from)))
    }
}

/// Matches with one place to go back to for each kind of star: a `*` that cannot grow over a separator gives way to
/// the last `**`.
fn glob(pattern: &[u8], text: &[u8]) -> bool {
    let (mut p, mut t) = (0, 0);
    let mut single: Option<(usize, usize)> = None;
    let mut double: Option<(usize, usize)> = None;
    loop {
        match (pattern.get(p), text.get(t)) {
            (Some(b'*'), _) if pattern.get(p + 1) == Some(&b'*') => {
                (double, single) = (Some((p + 2, t)), None);
                p += 2;
                continue;
            }
            (Some(b'*'), _) => {
                single = Some((p + 1, t));
                p += 1;
                continue;
            }
            (None, None) => return true,
            (Some(b'?'), Some(&byte)) if !is_separator(byte) => {
                (p, t) = (p + 1, t + 1);
                continue;
            }
            (Some(wanted), Some(byte)) if wanted == byte => {
                (p, t) = (p + 1, t + 1);
                continue;
            }
            _ => {}
        }
        if let Some((after, at)) = single
            && text.get(at).is_some_and(|&byte| !is_separator(byte))
        {
            single = Some((after, at + 1));
            (p, t) = (after, at + 1);
        } else if let Some((after, at)) = double
            && at < text.len()
        {
            (double, single) = (Some((after, at + 1)), None);
            (p, t) = (after, at + 1);
        } else {
            return false;
        }
    }
}

fn is_separator(byte: u8) -> bool {
    matches!(byte, b'.' | b'/')
}
