//! The authenticating reverse proxy. Knows tokens, not how they are issued.
//!
//! [`route`]: which rule a request falls under, read from a file. [`authn`]: the token of a request, and the verdict on it. [`validation`]: whether a token
//! holds, from memory where it can be. [`enrichment`]: what the upstream is told about the caller. [`proxy`]: the request on
//! its way to the upstream and back. [`limit`]: how often. [`decision`]: the same verdict for other proxies. [`link`]: keys and
//! revocations for a gateway in a process of its own.
//!
//! A request: [`Gateway::judge`] → `proxy` streams it. No thread ever waits for a validation.

pub mod authn;
pub mod decision;
pub mod enrichment;
pub mod limit;
pub mod link;
pub mod observer;
pub mod proxy;
pub mod route;
pub mod validation;

mod cores;
mod gateway;

pub use authn::{Asked, Caller, Refusal, Verdict};
pub use gateway::{Admitted, Gateway, GatewayParts, Judging, PhantomParts, PolicyValidator};
pub use observer::{Observer, RequestRecord};
pub use route::{Route, RouteTable};
pub use validation::{Question, TokenFault, Validated};
