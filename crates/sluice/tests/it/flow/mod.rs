//! A flow from the authorization request to the code, and what may happen on the way.

mod browser;
mod client_changes;
mod consent;
mod expiry;
mod parked;
mod prompt;
mod request_url;
mod sealed;
mod session;
mod single_use;
mod sudden_end;
