//! The request on its way to the upstream and back.
//!
//! [`RunningProxy`]: threads and listeners. `core`: what the requests of one thread share. `forward`: one request, from its
//! head to the head of its answer: `headers` reads and cleans it, `outgoing` makes what the upstream gets, [`upstream`]
//! sends it, `answering` makes what the client gets. `body`: what follows the heads. `tunnel`: upgraded connections.
//! `account`: what is told of a request. `fault`, `problem`: what goes wrong, and the answer to it; `grpc`: the same for clients of gRPC. [`Traffic`]: what
//! requests are judged and led by. `plain_refusals`: what the log says of plain http. `rooms`: where the state of requests under way is.
//!
//! Cores share the health and the limits of upstreams, never a connection. A request that is judged from memory and sent
//! on an idle connection runs in one task, sets no timer and takes no lock that another core wants.

mod account;
mod alarm;
mod answering;
mod body;
mod core;
mod fault;
mod forward;
mod grpc;
mod headers;
mod outgoing;
mod plain_refusals;
mod problem;
mod rooms;
mod server;
mod traffic;
mod tunnel;
pub mod upstream;

pub use crate::cores::{PlainHttp, ProxyConfig, StartError};
pub(crate) use account::tell_of_unreadable;
pub use body::{BodyError, ProxyBody};
pub use fault::Fault;
pub use headers::{Malformed, Via, prepare};
pub use server::{RunningProxy, Servers};
pub use traffic::Traffic;
