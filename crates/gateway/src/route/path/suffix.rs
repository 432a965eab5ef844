//! What some programs do not look at: dots and blanks at the end of a name, and a suffix that chooses the form of an answer.

use std::borrow::Cow;

use super::AmbiguousPath;

/// A longer list of suffixes is not looked through.
const MOST_SUFFIXES: usize = 16;
const DOTS_AND_BLANKS: [char; 2] = ['.', ' '];

/// A path without the dots and blanks at the ends of its segments, as Windows takes it; `None`: there are none.
///
/// # Errors
/// [`AmbiguousPath`]: a segment has nothing else. For some programs it is not there, for others it is a name.
pub(in crate::route) fn without_ends(path: &str) -> Result<Option<String>, AmbiguousPath> {
    if !path.split('/').any(|segment| segment.ends_with(DOTS_AND_BLANKS)) {
        return Ok(None);
    }
    let bare = path.split('/').map(without_end).collect::<Result<Vec<_>, _>>()?;
    Ok(Some(bare.join("/")))
}

fn without_end(segment: &str) -> Result<&str, AmbiguousPath> {
    let bare = segment.trim_end_matches(DOTS_AND_BLANKS);
    if bare.is_empty() && !segment.is_empty() { Err(AmbiguousPath) } else { Ok(bare) }
}

/// A path without the last of its suffixes, without the last two, and so on: `/a.tar.gz` is `/a.tar` and `/a`. A slash at its end stays, and
/// a dot at the beginning of a name is no suffix. `None`: there are too many.
pub(in crate::route) fn without_suffixes(path: &str) -> Option<impl Iterator<Item = Cow<'_, str>>> {
    let (whole, slash) = path.strip_suffix('/').map_or((path, ""), |whole| (whole, "/"));
    let name = whole.rfind('/').map_or(0, |at| at + 1);
    let dots = whole.rmatch_indices('.').map(|(at, _)| at).take_while(move |at| *at > name);
    let shorter = move |at| {
        let shorter = whole.split_at(at).0;
        if slash.is_empty() { Cow::Borrowed(shorter) } else { Cow::Owned(format!("{shorter}{slash}")) }
    };
    (dots.clone().count() <= MOST_SUFFIXES).then(|| dots.map(shorter))
}
