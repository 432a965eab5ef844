//! The head of a request, as the upstream may see it, and what of the head of an answer is for the client to follow.
//!
//! [`target`]: host and path, read in one way only. [`hop_by_hop`]: what is between two neighbours and goes no further.
//! [`length`]: how long a body is, that of an answer too. [`location`]: where an answer leads. [`certificates`]: whose count. [`cookies`]: in one line. [`host`]: what it is for.
//! [`forwarded`]: where it came from. [`via`]: through which proxies. [`max_forwards`]: how much further it may go.
//! [`visitor`]: what is known of the connection that it came on.

mod certificates;
mod cookies;
mod forwarded;
mod hop_by_hop;
mod host;
mod length;
mod location;
mod max_forwards;
mod target;
mod via;
mod visitor;

pub(super) use certificates::{drop_certificates, drop_unbelieved_certificates};
pub(super) use cookies::join_cookies;
pub(super) use forwarded::{Origin, tell_origin};
pub(super) use hop_by_hop::{
    Handover, announce_upgrade, retain_harmless_trailers, strip_answer, strip_request,
};
pub(super) use host::{Host, LastHost};
pub(super) use location::{Place, relocate};
pub(super) use max_forwards::count_hop;
pub use target::Malformed;
pub(super) use target::{read_target, trim_values};
pub use via::Via;
pub(super) use visitor::Visitor;

use http::HeaderValue;
use http::request::Parts;

/// What is done to a head before it is judged and after, without a connection around it; the host that it is for.
///
/// # Errors
/// [`Malformed`]: the request goes nowhere.
pub fn prepare(parts: &mut Parts) -> Result<HeaderValue, Malformed> {
    let host = read_target(parts, &LastHost::default())?;
    strip_request(&mut parts.headers, parts.version);
    Ok(host.value.clone())
}
