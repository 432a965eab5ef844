//! What each fuzz target does with one input. `crates/oauth/tests/it/corpus.rs` includes the same files and replays
//! `fuzz/corpus` as ordinary tests.

pub mod authorization_request;
pub mod sealed_value;
pub mod token_form;
