//! What listeners and outbound requests promise, over real sockets of this machine.

#![expect(clippy::unwrap_used, reason = "tests may unwrap")]

mod client_address;
mod fetch;
mod fetch_addresses;
mod given;
mod listen;
mod listen_drain;
mod listen_unix;
mod tls;
mod tls_termination;
