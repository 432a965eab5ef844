//! What a log says of an error.

use std::error::Error;

/// An error and its causes in one line, from the outermost to the innermost: an error of a store says what it means for its caller, and
/// only its cause says what to mend. What was said already is not said again.
pub fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        let sentence = inner.to_string();
        if !text.contains(&sentence) {
            text.push_str(": ");
            text.push_str(&sentence);
        }
        cause = inner.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use std::io;

    use crate::StoreError;

    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("the feed cannot be read: {0}")]
    struct Unread(#[source] StoreError);

    #[derive(Debug, thiserror::Error)]
    #[error("the secrets: {0}; look at them")]
    struct Wrapped(#[source] io::Error);

    #[test]
    fn a_cause_in_the_middle_of_the_sentence_is_not_said_again() {
        let error = Wrapped(io::Error::other("one is missing"));
        assert_eq!(chain(&error), "the secrets: one is missing; look at them");
    }

    #[test]
    fn the_innermost_cause_is_said_and_none_twice() {
        let error = Unread(StoreError::refused(io::Error::other("password authentication failed")));
        let expected =
            "the feed cannot be read: the store refused, whatever the values: password authentication failed";
        assert_eq!(chain(&error), expected);
    }
}
