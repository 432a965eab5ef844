//! Text of others, made harmless for a terminal: client names come from whoever registered the client.

/// The text, what a terminal would obey or what would reorder a line written as an escape.
pub(crate) fn printable(text: &str) -> String {
    text.chars().fold(String::with_capacity(text.len()), |mut shown, c| {
        if is_harmful(c) {
            shown.extend(c.escape_default());
        } else {
            shown.push(c);
        }
        shown
    })
}

/// Control characters, and marks of writing direction that make a line read as what it is not.
fn is_harmful(c: char) -> bool {
    c.is_control() || matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_is_shown_instead() {
        assert_eq!(printable("a\u{1b}[2Jb\nc"), "a\\u{1b}[2Jb\\nc");
        assert_eq!(printable("photos \u{202e}gpj"), "photos \\u{202e}gpj");
        assert_eq!(printable("Größe 図"), "Größe 図");
    }
}
