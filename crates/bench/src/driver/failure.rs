//! Why an operation did not do what it should.

use std::io;

use thiserror::Error;

/// Of what a server says, in characters.
const LONGEST: usize = 200;

/// Counted under its text: the texts of one kind are the same, whatever was asked.
#[derive(Debug, Error)]
pub enum Failure {
    /// The server cannot be reached, or the connection broke.
    #[error("connection: {}", .0.kind())]
    Connection(#[from] io::Error),
    /// What came is not HTTP/1.1.
    #[error("not an HTTP/1.1 response")]
    Malformed,
    /// The answer took longer than a request may.
    #[error("no answer within {0} s")]
    TimedOut(u64),
    /// Another status than the one that says success.
    #[error("{step}: status {status}")]
    Status {
        /// What was asked.
        step: &'static str,
        /// What was answered.
        status: u16,
    },
    /// 503 with `Retry-After`: what the server has to do already is all that it gets done in time.
    #[error("{step}: turned away: the server lets nobody else in for now (status 503, Retry-After)")]
    TurnedAway {
        /// What was asked.
        step: &'static str,
    },
    /// Success, without what should come with it.
    #[error("{step}: {missing} is missing")]
    Incomplete {
        /// What was asked.
        step: &'static str,
        /// What the answer lacks.
        missing: &'static str,
    },
    /// One of the others, met while something is prepared.
    #[error("{short} ({more})")]
    Explained {
        /// What it is counted as in a run.
        short: Box<Failure>,
        /// Where it was met, and what the server said of it.
        more: String,
    },
    /// The scenario cannot be set up.
    #[error("{0}")]
    Setup(String),
}

impl Failure {
    /// The same with more to read. A sentence for the terminal, and what was explained before, stay as they are.
    pub(crate) fn explained(self, more: String) -> Self {
        match self {
            Self::Setup(_) | Self::Explained { .. } => self,
            short => Self::Explained { short: Box::new(short), more },
        }
    }
}

/// An error of OAuth 2.0 (RFC 6749 section 5.2) in words, if there is one: no longer than a line, whatever the server says.
pub(super) fn in_words(error: Option<&str>, description: Option<&str>) -> Option<String> {
    let parts: Vec<String> = [error, description].into_iter().flatten().map(capped).collect();
    (!parts.is_empty()).then(|| parts.join(": "))
}

fn capped(said: &str) -> String {
    let clean = |one: char| if one.is_control() { ' ' } else { one };
    said.chars().take(LONGEST).map(clean).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_explanation_is_told_beside_what_is_counted_and_only_once() {
        let failure = Failure::Status { step: "token", status: 401 }.explained("http://a/b".to_owned());
        assert_eq!(failure.to_string(), "token: status 401 (http://a/b)");
        assert_eq!(failure.explained("again".to_owned()).to_string(), "token: status 401 (http://a/b)");
        let sentence = Failure::Setup("there is no gateway".to_owned());
        assert_eq!(sentence.explained("http://a/b".to_owned()).to_string(), "there is no gateway");
    }

    #[test]
    fn what_a_server_says_is_no_longer_than_a_line() {
        assert_eq!(in_words(None, None), None);
        assert_eq!(in_words(Some("invalid_client"), None).as_deref(), Some("invalid_client"));
        let long = format!("a\n\u{1b}[31m{}", "b".repeat(1000));
        let told = in_words(Some("invalid_client"), Some(&long)).unwrap();
        assert!(told.starts_with("invalid_client: a  [31mb") && told.len() < 250, "{told}");
    }
}
