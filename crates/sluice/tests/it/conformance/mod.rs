//! The OpenID Foundation's conformance plans for providers, in sentences of our own. The suite itself is not run here.
//!
//! [`core`]: what every response type shares. [`coverage`]: which test shows the behaviour of which module (`covered.txt`), and that none is left out (`modules.txt`).

mod core;
mod coverage;
