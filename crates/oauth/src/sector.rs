//! Sector identifier documents (OpenID Connect Core §8.1, Registration §5): which redirect URIs belong together, in the
//! words of whoever has the host.

use async_trait::async_trait;
use sluice_commit::chain;
use sluice_net::{FetchLimits, Fetcher};
use thiserror::Error;
use url::Url;

use crate::client::{Client, RegistrationError};

/// A longer document is refused, in bytes.
const MAX_DOCUMENT: usize = 256 * 1024;

/// A sector identifier document that could not be fetched.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct SectorNotFetched(pub String);

/// Why a client does not belong to its sector: for the operator. Who registers is not told what a host answers that this
/// server reaches.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SectorRefused {
    /// Its URI is none.
    #[error("the URI cannot be read")]
    NoUri,
    /// The document could not be fetched.
    #[error(transparent)]
    NotFetched(#[from] SectorNotFetched),
    /// It is something else.
    #[error("it does not lead to a JSON array of redirect URIs")]
    NoList,
    /// It does not name a redirect URI.
    #[error("the redirect URI \"{0}\" is not listed there")]
    NotListed(String),
}

/// Where sector identifier documents are fetched. Guarded against inner networks, endless bodies and slow servers.
#[async_trait]
pub trait SectorSource: Send + Sync {
    /// The document at `uri`.
    async fn document(&self, uri: &Url) -> Result<Vec<u8>, SectorNotFetched>;
}

#[async_trait]
impl SectorSource for Fetcher {
    async fn document(&self, uri: &Url) -> Result<Vec<u8>, SectorNotFetched> {
        let usual = self.limits();
        let max_bytes = usual.max_bytes.min(MAX_DOCUMENT);
        let limits = FetchLimits { https_only: true, max_redirects: 0, max_bytes, ..usual };
        let answer = self.get_with(uri, "application/json", limits).await;
        let answer = answer.map_err(|why| SectorNotFetched(chain(&why)))?;
        if !answer.status.is_success() {
            return Err(SectorNotFetched(format!("the answer has the status {}", answer.status.as_u16())));
        }
        Ok(answer.body.into())
    }
}

/// Refuses a client whose sector identifier document does not name each of its redirect URIs.
///
/// # Errors
/// [`RegistrationError::Sector`]; its source says which one is missing, or why the document cannot be read.
pub(crate) async fn check(client: &Client, source: &dyn SectorSource) -> Result<(), RegistrationError> {
    let Some(uri) = client.sector_identifier_uri.as_deref() else { return Ok(()) };
    let url = Url::parse(uri).map_err(|_| SectorRefused::NoUri)?;
    let document = source.document(&url).await.map_err(SectorRefused::NotFetched)?;
    let named: Vec<String> = serde_json::from_slice(&document).map_err(|_| SectorRefused::NoList)?;
    match client.redirect_uris.iter().find(|own| !named.iter().any(|named| named == own.as_str())) {
        Some(missing) => Err(SectorRefused::NotListed(missing.to_string()).into()),
        None => Ok(()),
    }
}
