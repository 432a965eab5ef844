//! Answers: how errors look outside.
//!
//! `crowd`: a sample of what a flood would have logged. [`dpop`]: nonces for proofs. [`admin_error`]: the JSON of the admin API, as Hydra spells it. [`oauth_error`]: errors of the OAuth endpoints.
//! `json`: answers of JSON. [`problem`]: errors of the identity API. [`redirect`]: answers that send the browser on. [`page`]: pages.

pub(crate) mod admin_error;
pub(crate) mod crowd;
pub(crate) mod dpop;
mod json;
pub(crate) mod oauth_error;
pub(crate) mod page;
pub(crate) mod problem;
pub(crate) mod redirect;

pub(crate) use admin_error::AdminError;
pub(crate) use json::{Json, JsonText, Written, written};
pub(crate) use problem::{Problem, ProblemKind};
