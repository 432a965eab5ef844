//! What is refused to a client that registers itself where anybody may, or that a document describes: nobody has looked at it. What
//! the client has, it may repeat.

use crate::client::model::Client;
use crate::client::registration::{ClientMetadata, RegistrationError};

/// Refuses what only somebody who is known may ask for.
pub(super) fn check(asked: &ClientMetadata, stored: Option<&Client>) -> Result<(), RegistrationError> {
    check_origins(asked, stored)
}

/// A client names the origins of its own pages: a pattern may be for those of anybody.
fn check_origins(asked: &ClientMetadata, stored: Option<&Client>) -> Result<(), RegistrationError> {
    let has =
        |origin: &str| stored.is_some_and(|own| own.allowed_cors_origins.iter().any(|own| own == origin));
    match asked.allowed_cors_origins.iter().find(|origin| origin.contains('*') && !has(origin)) {
        Some(origin) => {
            let hint = format!("Origin URL {origin} from allowed_cors_origins must name one origin.");
            Err(RegistrationError::Metadata(hint))
        }
        None => Ok(()),
    }
}
