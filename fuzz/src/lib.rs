//! What each fuzz target does with one input. `tests/it/corpus.rs` of `crates/oauth` and of `crates/crypto` include the
//! same files and replay `fuzz/corpus` as ordinary tests.

pub mod authorization_request;
pub mod sealed_value;
pub mod stored_password;
pub mod token_form;
