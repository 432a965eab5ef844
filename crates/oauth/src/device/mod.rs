//! Device authorization (RFC 8628): a device without a browser asks, the user decides on another one.
//!
//! [`authorization`]: what a device asks for, and is given. [`user_code`]: what the user types. [`service`]: what becomes of
//! that. [`sealed`]: what leaves this server sealed. [`repository`]: the codes. [`polls`]: how often devices ask for them. A code
//! typed by hand is too short to be sealed, so it is stored: the other exception to "no row before consent".
//!
//! What follows is an ordinary flow (`authorization/device.rs`) whose answer the device fetches at the token endpoint
//! (`grant_handler/device_code.rs`).

pub mod authorization;
pub mod polls;
pub mod repository;
pub mod sealed;
pub mod service;
pub mod user_code;

pub use authorization::{DeviceAuthorization, DeviceAuthorizationError, DeviceAuthorizationService};
pub use polls::DevicePolls;
pub use repository::{DeviceCode, DeviceCodeRepository, DevicePoll, Polled, SLOW_DOWN, UserCodeHash};
pub use sealed::{DeviceChallenge, DeviceVerifier, PollingCode};
pub use service::{UserCodeProblem, UserCodeService, WaitingDevice};
pub use user_code::{UserCode, UserCodeKeys};

/// Where users go who are to type a code.
pub const VERIFICATION_PATH: &str = "/oauth2/device/verify";
