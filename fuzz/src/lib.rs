//! What each fuzz target does with one input. `tests/it/corpus.rs` of `crates/oauth`, `crates/crypto`, `crates/gateway` and `crates/http`
//! include the same files and replay `fuzz/corpus` as ordinary tests.

pub mod authorization_request;
pub mod gateway_connection;
pub mod gateway_request;
pub mod identity_body;
pub mod sealed_value;
pub mod stored_password;
pub mod strict_reader;
pub mod token_form;
