//! An answer, borrowed from the buffer that it was read into.

use std::borrow::Cow;

use serde::de::DeserializeOwned;

use super::Failure;

/// Headers that are kept of an answer: those that scenarios look at.
#[derive(Debug, Default)]
pub(super) struct Head {
    pub(super) status: u16,
    pub(super) location: Option<String>,
    /// Bytes of the body, if the head says; otherwise it is chunked, or ends with the connection.
    pub(super) length: Option<usize>,
    pub(super) is_chunked: bool,
    pub(super) closes: bool,
    pub(super) cookies: Vec<String>,
}

/// What a server answered.
#[derive(Debug)]
pub struct Answer<'a> {
    pub(super) head: &'a Head,
    pub(super) body: &'a [u8],
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

    /// Where the answer leads.
    pub fn location(&self) -> Option<&'a str> {
        self.head.location.as_deref()
    }

    /// This answer, if it has that status.
    ///
    /// # Errors
    /// [`Failure::Status`].
    pub fn expect(self, status: u16, step: &'static str) -> Result<Self, Failure> {
        if self.head.status == status {
            return Ok(self);
        }
        Err(Failure::Status { step, status: self.head.status })
    }

    /// Where it leads; it must be a redirect.
    ///
    /// # Errors
    /// [`Failure::Status`], [`Failure::Incomplete`].
    pub fn redirect(self, step: &'static str) -> Result<&'a str, Failure> {
        if !(300..400).contains(&self.head.status) {
            return Err(Failure::Status { step, status: self.head.status });
        }
        self.location().ok_or(Failure::Incomplete { step, missing: "Location" })
    }

    /// The body as JSON.
    ///
    /// # Errors
    /// [`Failure::Incomplete`] if it is something else.
    pub fn json<T: DeserializeOwned>(&self, step: &'static str) -> Result<T, Failure> {
        serde_json::from_slice(self.body)
            .map_err(|_| Failure::Incomplete { step, missing: "the JSON that was expected" })
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
