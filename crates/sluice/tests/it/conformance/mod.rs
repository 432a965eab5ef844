//! The OpenID Foundation's conformance plans for providers, in sentences of our own. The suite itself is not run here.
//!
//! [`core`]: what every response type shares. [`dynamic`]: clients that register themselves. [`logout`]: the ends of sessions.
//! [`fapi2`], [`message_signing`]: FAPI 2.0. [`coverage`]: which test shows the behaviour of which module (`covered.txt`), and
//! that none is left out (`modules.txt`).

mod core;
mod coverage;
mod dynamic;
mod fapi2;
mod logout;
mod message_signing;
