//! The authorization endpoint (RFC 6749 §3.1): three legs of one flow.
//!
//! [`service`]: what the legs share; `begin`, `after_login`, `after_consent`: the legs. [`browser`]: what a browser presents and is given. [`checks`]: what is checked of a request, in
//! order. [`response`]: how an answer travels. [`code`]: authorization codes. [`error`]: whom an error may reach.

mod after_consent;
mod after_login;
mod begin;
pub mod browser;
pub mod checks;
pub mod code;
pub mod error;
pub mod response;
pub mod service;

pub use browser::{Browser, CookieChange, CookieChanges, SessionCookie};
pub use error::{AuthorizationError, RedirectedError, ShownError};
pub use response::{Location, ResponseTarget};
pub use service::{AuthorizationService, Step};
