//! An authorization request as it arrives (RFC 6749 §4.1.1, OpenID Connect Core §3.1.2.1), before anything is trusted.

use crate::audience::{self, InvalidTarget};
use crate::parameters::{InvalidParameters, Parameters};

/// Longer requests are refused, in bytes.
pub const MAX_REQUEST: usize = 16 * 1024;
/// A longer `state` is refused, in bytes as it stands in a URL.
pub const MAX_STATE: usize = 8 * 1024;
/// Parameters that may stand more than once (RFC 8707 §2, and Hydra's `audience`).
const REPEATABLE: [&str; 2] = ["resource", "audience"];
/// What decides where an answer goes, and in which way.
const ADDRESSES: [&str; 7] =
    ["client_id", "redirect_uri", "response_type", "response_mode", "state", "request", "request_uri"];

/// The parameters of an authorization request, unchecked. Unknown ones are ignored (RFC 6749 §3.1).
#[derive(Debug, Clone, Default)]
pub struct RawAuthorizationRequest<'a>(Parameters<'a>);

impl<'a> RawAuthorizationRequest<'a> {
    /// Parses a query or form.
    ///
    /// # Errors
    /// [`InvalidParameters`] for repeated, oversized or undecodable parameters.
    pub fn parse(raw: &'a [u8]) -> Result<Self, InvalidParameters> {
        Parameters::parse(raw, MAX_REQUEST, &REPEATABLE).map(Self)
    }

    /// What says who asks and where the answer goes, of a query in which something else is repeated; none if that is not said there, once.
    pub fn who_asks(raw: &'a [u8]) -> Option<Self> {
        let said = Parameters::named(raw, MAX_REQUEST, &ADDRESSES)?;
        let is_elsewhere = said.get("request").or(said.get("request_uri")).is_some();
        (!is_elsewhere).then_some(Self(said))
    }

    /// A request that came in another way than as a query: pushed, or as claims of a signed request.
    pub fn from_pairs(pairs: impl IntoIterator<Item = (String, String)>) -> RawAuthorizationRequest<'static> {
        RawAuthorizationRequest(Parameters::from_pairs(pairs))
    }

    /// All parameters, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter()
    }

    /// The value of a parameter that may stand once.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name)
    }

    /// All values of `audience` (space-separated, Hydra) and `resource` (one each, RFC 8707).
    ///
    /// # Errors
    /// [`InvalidTarget`] if a resource is none, or there are too many of them.
    pub fn audience(&self) -> Result<Vec<String>, InvalidTarget> {
        audience::asked(&self.0)
    }
}
