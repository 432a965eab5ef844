//! Load: users who do one thing after another, each with connections and cookies of its own.
//!
//! A thread for each of [`Load::threads`], with a runtime of its own; users never move between them.

mod agent;
mod answer;
mod connection;
mod failure;
mod ledger;
mod load;
mod observer;
mod patience;

pub use agent::{Agent, Ask, Body, Endpoint, Endpoints, Origin};
pub use answer::{Answer, path_and_query, query_value};
pub use failure::Failure;
pub use ledger::{Entry, Ledger, Receipt};
pub(crate) use load::NOT_BEGUN;
pub use load::{Length, Load, Measured, Pace, Second, run};
pub use observer::{Nobody, Observer};
