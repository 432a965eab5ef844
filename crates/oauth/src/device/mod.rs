//! Device authorization (RFC 8628): a device without a browser asks, the user decides on another one.
//!
//! [`repository`]: the codes that users type. A code typed by hand is too short to be sealed, so it is stored: the other
//! exception to "no row before consent".

pub mod repository;

pub use repository::{DeviceCode, DeviceCodeRepository, DevicePoll, Polled, SLOW_DOWN, UserCodeHash};
