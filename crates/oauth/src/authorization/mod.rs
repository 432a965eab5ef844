//! The authorization endpoint (RFC 6749 §3.1): three legs of one flow.
//!
//! [`service`]: what the legs share; `begin`, `after_login`, `after_consent`: the legs; `device`: those of a device's flow; `asked_by`: whom a refused one was about. [`browser`]: what a browser presents and is given. [`checks`]: what is checked of a request, in
//! order. [`response`]: how an answer travels; `signed_response`: as one signed parameter. [`code`]: authorization codes. [`error`]: whom an error may reach.

mod after_consent;
mod after_login;
mod arrival;
mod asked_by;
mod begin;
pub mod browser;
pub mod checks;
pub mod code;
mod device;
pub mod error;
pub mod pushed;
pub mod request_object;
pub mod response;
pub mod service;
mod signed_response;

pub use arrival::{Arrival, Pushed};
pub(crate) use begin::wanted_acr;
pub use browser::{AccountSession, Browser, CookieChange, CookieChanges, SessionCookie};
pub use error::{AuthorizationError, RedirectedError, ShownError};
pub use pushed::{PushError, PushedRequests, RequestUri};
pub use request_object::{RequestObjectSource, RequestObjects};
pub use response::{Location, ResponseTarget};
pub use service::{AuthorizationService, Step};
