//! Login session: a browser that is known here (OpenID Connect `sid`).
//!
//! [`repository`]: the model and its atomic steps. [`origin`]: where somebody logged in. [`service`]: what an administrator may do. `trail`: what
//! the audit trail says.

#[cfg(test)]
pub(crate) mod fake;
pub mod origin;
pub mod repository;
pub mod service;
pub(crate) mod trail;

pub use origin::LoginOrigin;
pub use repository::{
    EndSessions, EndedSession, LoginSession, LoginSessionRepository, SESSIONS_AT_ONCE, SessionClient,
};
pub use service::LoginSessionService;
