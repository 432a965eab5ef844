//! OAuth 2.0 and OpenID Connect on the wire: values, requests, responses. Pure: no policy, no I/O.
//!
//! Values, parsed once at the edge: [`client_id`], [`redirect_uri`], [`scope`], [`audience`], [`prompt`], [`pkce`],
//! [`grant_type`], [`response_type`], [`response_mode`], [`subject`]. Requests: [`parameters`],
//! [`authorization_request`], [`claims_request`], [`authorization_details`], [`token_request`]. Responses: [`token_response`], [`introspection`], [`discovery`],
//! [`error_code`]; [`json_object`]: how those are written that are asked for often.

pub mod audience;
pub mod authorization_details;
pub mod authorization_request;
pub mod claims_request;
pub mod client_id;
pub mod discovery;
mod distinct;
pub mod error_code;
pub mod grant_type;
pub mod introspection;
pub mod json_object;
pub mod parameters;
pub mod pkce;
pub mod prompt;
pub mod redirect_uri;
pub mod response_mode;
pub mod response_type;
pub mod scope;
pub mod subject;
pub mod token_request;
pub mod token_response;

pub use audience::Audience;
pub use authorization_details::AuthorizationDetails;
pub use authorization_request::RawAuthorizationRequest;
pub use claims_request::ClaimsRequest;
pub use client_id::ClientId;
pub use error_code::ErrorCode;
pub use grant_type::GrantType;
pub use json_object::{JsonObject, WriteJson};
pub use parameters::Parameters;
pub use pkce::{CodeChallenge, CodeVerifier};
pub use prompt::Prompt;
pub use redirect_uri::RedirectUri;
pub use response_mode::ResponseMode;
pub use response_type::ResponseType;
pub use scope::Scope;
pub use subject::Subject;
pub use token_request::TokenRequest;
