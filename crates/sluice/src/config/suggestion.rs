//! The known key that somebody may have meant.

/// At most this many letters may be wrong, and at most one in three.
const TOLERANCE: usize = 3;

/// The known name nearest to `name`, if it is near.
pub(super) fn closest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    known
        .map(|candidate| (distance(name, candidate), candidate))
        .min_by_key(|(distance, _)| *distance)
        .filter(|(distance, _)| *distance <= TOLERANCE.min(name.len() / 3))
        .map(|(_, candidate)| candidate)
}

/// The Levenshtein distance: how many letters must be added, removed or replaced.
fn distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (index, letter) in left.chars().enumerate() {
        let mut above_left = index;
        let mut last = index + 1;
        let mut next = vec![last];
        for (above, other) in row.iter().skip(1).zip(&right) {
            last = (above + 1).min(last + 1).min(above_left + usize::from(letter != *other));
            above_left = *above;
            next.push(last);
        }
        row = next;
    }
    row.last().copied().unwrap_or_default()
}
