//! Sluice from outside, over HTTP, on both stores.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "tests may fail loudly"
)]

mod admin_port;
mod answer;
mod application;
mod attacks;
mod authorization_errors;
mod bench;
mod both_stores;
mod calibrate;
mod cli;
mod client_authentication;
mod client_id_metadata_document;
mod client_listing;
mod closed_pipe;
mod conformance;
mod consent_sessions;
mod crash;
mod cross_origin;
mod database_restart;
mod demo;
mod deploy;
mod disclosure;
mod earlier_schema;
mod fapi2;
mod fapi2_requests;
mod flaws;
mod flaws_without_number;
mod flow;
mod form_post;
mod gateway;
mod hooks;
mod identity;
mod identity_crash;
mod jarm;
mod jwt;
mod key_rotation;
mod keyed;
mod ledger;
mod left_behind;
mod legs;
mod lifespans;
mod listeners;
mod load;
mod login;
mod logout;
mod metadata;
mod multiple_response_types;
mod nodes;
mod oidc_claims;
mod oidc_encryption;
mod oidc_hybrid;
mod oidc_implicit;
mod oidc_pairwise;
mod oidc_prompt;
mod oidc_registration;
mod oidc_request;
mod oidc_userinfo;
mod operations;
mod overload;
mod process;
mod program;
mod refresh;
mod remembered;
mod requests;
mod response;
mod revocation;
mod rfc7523;
mod rfc7523_client;
mod rfc7591;
mod rfc7592;
mod rfc8628;
mod rfc8693;
mod rfc8705;
mod rfc8707;
mod rfc9068;
mod rfc9101;
mod rfc9126;
mod rfc9396;
mod rfc9449;
mod rfc9701;
mod sealed_values;
mod secret_rotation;
mod settings;
mod shutdown;
mod ssrf;
mod statements;
mod tls;
mod token_errors;
mod transfer;
mod userinfo;
