//! Storable: what PostgreSQL can hold. Checked before a row joins a batch, so that a bad one fails alone and at once.

use sluice_commit::StoreError;

/// The longest text that is stored: 1 MiB.
const LONGEST: usize = 1 << 20;

/// Checks that a text can be stored.
///
/// # Errors
/// [`StoreError::Invalid`] naming `what` if it is longer than 1 MiB or holds a NUL.
pub(crate) fn text(what: &str, text: &str) -> Result<(), StoreError> {
    if text.len() > LONGEST {
        return Err(StoreError::Invalid(format!("{what} is longer than {LONGEST} bytes")));
    }
    if text.as_bytes().contains(&0) {
        return Err(StoreError::Invalid(format!("{what} holds a NUL")));
    }
    Ok(())
}

/// Checks texts that may be missing.
///
/// # Errors
/// As [`text`].
pub(crate) fn texts(named: &[(&str, Option<&str>)]) -> Result<(), StoreError> {
    named.iter().try_for_each(|(what, value)| value.map_or(Ok(()), |value| text(what, value)))
}

/// Checks each text of a list.
///
/// # Errors
/// As [`text`].
pub(crate) fn each(what: &str, values: &[String]) -> Result<(), StoreError> {
    values.iter().try_for_each(|value| text(what, value))
}

/// Whether all of these texts may be there to be found. The server does not look for one that it cannot store.
pub(crate) fn may_be_found(texts: &[Option<&str>]) -> bool {
    texts.iter().flatten().all(|text| !text.as_bytes().contains(&0))
}

/// A list as one text.
pub(crate) fn list(values: &[String]) -> String {
    if values.is_empty() { String::new() } else { serde_json::to_string(values).unwrap_or_default() }
}

/// The list that [`list`] wrote.
///
/// # Errors
/// The JSON error of a damaged text.
pub(crate) fn read_list(text: &str) -> Result<Vec<String>, serde_json::Error> {
    if text.is_empty() { Ok(Vec::new()) } else { serde_json::from_str(text) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_with_a_nul_or_without_end_is_refused_by_name() {
        assert!(text("email", "a@b").is_ok());
        let refused = text("email", "a\0b").unwrap_err();
        assert_eq!(refused.to_string(), "the value cannot be stored: email holds a NUL");
        assert!(text("email", &"x".repeat(LONGEST + 1)).is_err());
    }

    #[test]
    fn a_text_with_a_nul_is_not_there_to_be_found() {
        assert!(may_be_found(&[Some("a"), None, Some("")]));
        assert!(!may_be_found(&[None, Some("a\0b")]));
    }

    #[test]
    fn a_list_is_read_back_as_it_was() {
        for values in [vec![], vec!["a".to_owned(), "b \" c".to_owned()]] {
            assert_eq!(read_list(&list(&values)).unwrap(), values);
        }
    }
}
