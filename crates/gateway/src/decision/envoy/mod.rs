//! Envoy's external authorization (`ext_authz`, version 3 of its interface), as Envoy wants it said.
//!
//! [`check`]: over gRPC. `messages`: what goes over the wire there. `frame`: how. [`Changes`]: which headers Envoy is to set and to
//! remove, over gRPC and over HTTP.

mod changes;
mod check;
mod frame;
mod messages;

pub(super) use changes::Changes;
pub(super) use check::check;
