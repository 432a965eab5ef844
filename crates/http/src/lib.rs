//! Requests in, responses out. No rules.
//!
//! [`public`]: what browsers and clients use. `identity`: the API of people. [`admin`]: Hydra's admin API. [`link`](link()): what gateways elsewhere need. `ui`: the built-in pages. `extract`,
//! `respond`: what handlers share. `cookies`: a browser's cookies. `cors`: who may read answers. `router`: which
//! path leads where, `busy`: what goes around it. `admin_guard`: who may use the admin port. `proxies`: whom this server believes about its clients.

mod admin;
mod admin_guard;
mod busy;
mod cookies;
mod cors;
mod extract;
mod identity;
mod link;
mod patience;
mod proxies;
mod public;
mod respond;
mod router;
mod spelling;
mod state;
mod ui;

pub use admin::client_texts::ClientTexts;
pub use admin::wire::client_form::read_client;
pub use busy::{Answering, BusyRoute, Routes};
pub use cookies::{CookiePolicy, SameSite};
pub use cors::{CorsPolicy, is_name};
pub use identity::{IdentityState, read_identity_bodies};
pub use link::{LinkSource, LinkState, link};
pub use proxies::Proxies;
pub use router::{admin, health_routes, public};
pub use spelling::Spelling;
pub use state::{AdminState, Health, PublicState, Ready};
pub use ui::{UiState, translations};
