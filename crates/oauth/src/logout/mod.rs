//! Logout: sessions that end, and who hears of it (OpenID Connect RP-Initiated, Front-Channel and Back-Channel Logout
//! 1.0).
//!
//! [`service`]: from the request to the end of the session; `request`: what is asked for; `whose`: which session that is, and whether it is over;
//! `page`: what the logout page asks; `account`: what becomes of that of the account pages. [`state`]: a logout on its way. [`error`]: refusals.
//! `request_url`: what was asked for, as a URL. `ending`: the end itself; `notice`: who hears of it. [`outbox`]: back-channel notices that
//! must arrive. [`delivery`]: how they do; `under_way`: how many at once.

mod account;
pub mod delivery;
pub(crate) mod ending;
pub mod error;
pub mod metrics;
mod notice;
pub mod outbox;
mod page;
mod request;
mod request_url;
pub mod service;
pub mod state;
mod under_way;
mod whose;

pub use delivery::LogoutDelivery;
pub use error::{LogoutError, LogoutProblem};
pub use metrics::DeliveryMetrics;
pub use outbox::{LeaseRoom, LeasedNotice, LogoutNotice, OutboxRepository};
pub use page::LogoutView;
pub use request::LogoutRequest;
pub use service::{LogoutService, LogoutStep};
pub use state::Logout;
