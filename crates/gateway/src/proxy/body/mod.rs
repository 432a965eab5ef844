//! Bodies on their way: never held, but watched.
//!
//! [`request`]: from the client to the upstream, counted, and held back where the client waits for `100 Continue`.
//! [`answer`]: from the upstream to the client; carries the connection that it comes from. [`watched`]: the same, given up
//! when its client takes nothing.

mod answer;
mod request;
mod watched;

pub use answer::ProxyBody;
pub(super) use answer::{AnswerBody, Carrier, StreamSlot};
pub(super) use request::{BodyTerms, Mark, Progress, RequestBody, TrailerFilter};
pub(super) use watched::Watch;

/// Why a body ends before its end: the other side must see that it was cut.
#[derive(Debug, thiserror::Error)]
pub enum BodyError {
    /// The connection that it came from failed.
    #[error("the body was cut short")]
    Cut(#[source] hyper::Error),
    /// It came too slowly.
    #[error("the body took too long")]
    TooSlow,
    /// The answer to it ended first.
    #[error("the answer ended before the body")]
    Abandoned,
    /// It is larger than permitted.
    #[error("the body is too large")]
    TooLarge,
}
