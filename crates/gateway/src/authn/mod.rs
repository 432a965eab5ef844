//! The token of a request, and the verdict on it.
//!
//! `asked`: the request, as far as a verdict needs it. [`extract`]: where the token is. `caller`: what a valid token
//! says. [`policy`]: whether that is enough for a route. `verdict`: the answer. `challenge`: how a refusal is put. `cross_origin`: which
//! pages may read it. `cross_site`: which pages may ask with the cookie that a token is in.

mod asked;
mod caller;
pub(crate) mod challenge;
pub(crate) mod cross_origin;
pub(crate) mod cross_site;
pub mod extract;
#[cfg(test)]
pub(crate) mod given;
pub mod policy;
mod verdict;

pub use asked::Asked;
pub(crate) use asked::AskedLater;
pub use caller::{Caller, ForeignClaims, PersonClaims, SubjectKind};
pub use cross_origin::Page;
pub use verdict::{Refusal, Verdict};
