//! What records are searched for.

use std::fmt;

use super::email::as_in_domains;

/// A text as it is looked for in addresses and usernames: in whatever case, and of an international domain in the form, too, in which addresses
/// have it.
///
/// Prints nothing of it.
#[derive(Clone)]
pub struct SoughtText {
    /// In lower case.
    text: String,
    in_domain: Option<String>,
}

impl SoughtText {
    /// This text.
    pub fn new(text: &str) -> Self {
        let text = text.to_lowercase();
        let in_domain = as_in_domains(&text);
        Self { text, in_domain }
    }

    /// Whether it is in one of these. Addresses are stored in lower case.
    pub fn is_in(&self, email: &str, username: &str) -> bool {
        email.contains(self.text.as_str())
            || self.in_domain.as_deref().is_some_and(|text| email.contains(text))
            || username.to_lowercase().contains(self.text.as_str())
    }
}

impl fmt::Debug for SoughtText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SoughtText([redacted])")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_domain_is_found_as_it_is_written_and_as_it_is_stored() {
        let stored = "zoe@mail.xn--mller-kva.example";
        for text in
            ["müller", "Müller.example", "@mail.MÜLLER", "zoe@mail.müller.example", "xn--mller", "ZOE@"]
        {
            assert!(SoughtText::new(text).is_in(stored, ""), "{text}");
        }
        for text in ["mueller", "anna@mail.müller.example", "müll", "\u{ad}", "\u{200b}", "。"] {
            assert!(!SoughtText::new(text).is_in(stored, ""), "{text}");
        }
        assert!(SoughtText::new("MÜLL").is_in(stored, "Zoe Müller"));
    }
}
