//! What stands for the first page of a listing.

/// The token, if it is one: Hydra's document has `1` as the default, which some clients send, others `0`.
pub(crate) fn past_the_first(token: Option<&str>) -> Option<&str> {
    token.filter(|token| !matches!(*token, "0" | "1"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tokens_that_hydras_document_names_are_the_first_page_and_no_others() {
        for first in [None, Some("0"), Some("1")] {
            assert_eq!(past_the_first(first), None);
        }
        for other in ["", "2", "10", "01", "1 ", "v1.x"] {
            assert_eq!(past_the_first(Some(other)), Some(other));
        }
    }
}
