//! An answer, borrowed from the buffer that it was read into.

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::Failure;
use super::failure::in_words;

/// Headers that are kept of an answer: those that scenarios look at.
#[derive(Debug, Default)]
pub(super) struct Head {
    pub(super) status: u16,
    pub(super) location: Option<String>,
    /// Bytes of the body, if the head says; otherwise it is chunked, or ends with the connection.
    pub(super) length: Option<usize>,
    pub(super) is_chunked: bool,
    pub(super) closes: bool,
    /// Whether a 503 says when to come again.
    pub(super) turns_away: bool,
    pub(super) cookies: Vec<String>,
}

/// What a server answered.
#[derive(Debug)]
pub struct Answer<'a> {
    pub(super) head: &'a Head,
    pub(super) body: &'a [u8],
    /// What was asked for, where failures are explained.
    pub(super) asked: Option<&'a str>,
}

/// What an answer says that is none of success.
#[derive(Deserialize)]
struct Refusal {
    error: Option<String>,
    error_description: Option<String>,
}

impl<'a> Answer<'a> {
    /// The status code.
    pub const fn status(&self) -> u16 {
        self.head.status
    }

    /// The body, without transfer coding.
    pub const fn body(&self) -> &'a [u8] {
        self.body
    }

    /// The URL that was asked for, without its query, where failures are explained.
    pub(crate) const fn asked(&self) -> Option<&'a str> {
        self.asked
    }

    /// Where the answer leads.
    pub fn location(&self) -> Option<&'a str> {
        self.head.location.as_deref()
    }

    /// This answer, if it has that status.
    ///
    /// # Errors
    /// [`Failure::Status`], [`Failure::TurnedAway`].
    pub fn expect(self, status: u16, step: &'static str) -> Result<Self, Failure> {
        if self.head.status == status {
            return Ok(self);
        }
        Err(self.refused(step))
    }

    /// What an answer of this status is where another was expected.
    pub(crate) fn refused(&self, step: &'static str) -> Failure {
        let status = self.head.status;
        self.explain(if self.head.turns_away {
            Failure::TurnedAway { step }
        } else {
            Failure::Status { step, status }
        })
    }

    /// Why this answer is not what it should be: while something is prepared, with the URL that was asked for and the error that the
    /// answer tells. Nothing else of it is told, which may be secret.
    pub(crate) fn explain(&self, failure: Failure) -> Failure {
        let Some(url) = self.asked else { return failure };
        let refusal: Option<Refusal> = serde_json::from_slice(self.body).ok();
        let said =
            refusal.and_then(|said| in_words(said.error.as_deref(), said.error_description.as_deref()));
        failure.explained(said.map_or_else(|| url.to_owned(), |said| format!("{url} said {said}")))
    }

    /// Where it leads; it must be a redirect.
    ///
    /// # Errors
    /// [`Failure::Status`], [`Failure::TurnedAway`], [`Failure::Incomplete`].
    pub fn redirect(self, step: &'static str) -> Result<&'a str, Failure> {
        if !(300..400).contains(&self.head.status) {
            return Err(self.refused(step));
        }
        self.location().ok_or_else(|| self.explain(Failure::Incomplete { step, missing: "Location" }))
    }

    /// The body as JSON.
    ///
    /// # Errors
    /// [`Failure::Incomplete`] if it is something else.
    pub fn json<T: DeserializeOwned>(&self, step: &'static str) -> Result<T, Failure> {
        serde_json::from_slice(self.body)
            .map_err(|_| self.explain(Failure::Incomplete { step, missing: "the JSON that was expected" }))
    }
}

/// The path and query of an absolute URL or of one that has no authority.
pub fn path_and_query(url: &str) -> &str {
    let Some((_, rest)) = url.split_once("://") else { return url };
    rest.find('/').and_then(|at| rest.get(at..)).unwrap_or("/")
}

/// A value of the query of a URL.
pub fn query_value<'a>(url: &'a str, name: &str) -> Option<Cow<'a, str>> {
    let (_, query) = url.split_once('?')?;
    let query = query.split('#').next()?;
    form_urlencoded::parse(query.as_bytes()).find(|(key, _)| key == name).map(|(_, value)| value)
}
