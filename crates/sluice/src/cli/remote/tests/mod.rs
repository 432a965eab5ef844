//! The verbs, against a server that answers as it is told.

mod authorization_code;
mod clients;
mod connection;
mod device_code;
mod identities;
mod keys_and_tokens;
mod stub;
