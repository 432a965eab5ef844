//! Bodies on their way: never held, but watched.
//!
//! [`request`]: from the client to the upstream, counted, and held back where the client waits for `100 Continue`. [`upload`]: the same
//! over HTTP/2, ended with its answer.
//! [`answer`]: from the upstream to the client; carries the connection that it comes from. [`watched`]: the same, given up
//! when its client takes nothing for too long. [`witness`]: who hears that one broke off.

mod answer;
mod request;
mod upload;
mod watched;
mod witness;

pub use answer::ProxyBody;
pub(super) use answer::{AnswerBody, Carrier, Pace, StreamSlot};
pub(super) use request::{BodyTerms, Mark, Progress, RequestBody, TrailerFilter};
pub(super) use upload::{Remainder, Uploads};
pub(super) use watched::{Patience, Watch};
pub(super) use witness::{Hearing, Witness};

/// Why a body ends before its end: the other side must see that it was cut.
#[derive(Debug, thiserror::Error)]
pub enum BodyError {
    /// The connection that it came from failed.
    #[error("the body was cut short")]
    Cut(#[source] hyper::Error),
    /// Who sends it, over HTTP/2, reset it before its end and named no error (`NO_ERROR`), which hyper takes for the end.
    #[error("the body was reset before its end, without an error")]
    CalledOff,
    /// It came too slowly.
    #[error("the body took too long")]
    TooSlow,
    /// It is larger than permitted.
    #[error("the body is too large")]
    TooLarge,
}
