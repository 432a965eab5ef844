//! Where documents are fetched.

use async_trait::async_trait;
use sluice_commit::chain;
use sluice_net::{FetchError, FetchLimits, Fetcher};
use sluice_primitives::Lifetime;
use url::Url;

use super::DocumentError;

/// A longer document is refused, in bytes (draft-ietf-oauth-client-id-metadata-document §8.7).
const MAX_DOCUMENT: usize = 5 * 1024;

/// A document as it was fetched.
#[derive(Debug, Clone)]
pub struct FetchedDocument {
    /// The JSON.
    pub body: Vec<u8>,
    /// `max-age` of the answer.
    pub max_age: Option<Lifetime>,
}

/// Where documents are fetched. Guarded against inner networks, endless bodies and slow servers.
#[async_trait]
pub trait DocumentSource: Send + Sync {
    /// The document at `url`.
    async fn document(&self, url: &Url) -> Result<FetchedDocument, DocumentError>;
}

#[async_trait]
impl DocumentSource for Fetcher {
    async fn document(&self, url: &Url) -> Result<FetchedDocument, DocumentError> {
        let usual = self.limits();
        let max_bytes = usual.max_bytes.min(MAX_DOCUMENT);
        // §5: redirects are not followed, and only 200 is an answer.
        let limits = FetchLimits { https_only: true, max_redirects: 0, max_bytes, ..usual };
        let answer = self.get_with(url, "application/json", limits).await;
        let answer = answer.map_err(|why| not_fetched(&why))?;
        match answer.status.as_u16() {
            200 => {}
            status @ (429 | 500..) => {
                return Err(DocumentError::Unreachable(format!("the answer has the status {status}")));
            }
            status => return Err(DocumentError::Status(status)),
        }
        if !answer.content_type.as_deref().is_some_and(is_json) {
            return Err(DocumentError::NotJson);
        }
        Ok(FetchedDocument { body: answer.body.into(), max_age: answer.max_age.map(Lifetime::from) })
    }
}

/// What cannot be fetched now may be there later, but for what is not fetched at all.
fn not_fetched(why: &FetchError) -> DocumentError {
    match why {
        FetchError::Busy => DocumentError::Busy,
        FetchError::TimedOut
        | FetchError::Transport(_)
        | FetchError::ExtraCa { .. }
        | FetchError::Setup(_)
        | FetchError::SetupTls(_) => DocumentError::Unreachable(chain(why)),
        FetchError::UnsupportedScheme
        | FetchError::NotHttps
        | FetchError::Credentials
        | FetchError::PrivateAddress
        | FetchError::TooManyRedirects
        | FetchError::RedirectToPlainHttp
        | FetchError::InvalidRedirect
        | FetchError::InvalidHeader
        | FetchError::TooLarge { .. } => DocumentError::Refused(why.to_string()),
    }
}

/// `application/json`, or a type of its own that is JSON (§4).
fn is_json(content_type: &str) -> bool {
    let media_type = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    media_type == "application/json"
        || (media_type.starts_with("application/") && media_type.ends_with("+json"))
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use sluice_net::FetchPolicy;

    use super::*;

    #[tokio::test]
    async fn why_a_document_is_not_fetched_is_said_to_the_end() {
        let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let policy = FetchPolicy { allow_private: true, ..FetchPolicy::default() };
        let url = format!("https://{gone}/client").parse().unwrap();
        let fetched = Fetcher::new(policy).unwrap().document(&url).await;
        let Err(DocumentError::Unreachable(why)) = fetched else { panic!("{fetched:?}") };
        assert!(why.contains("Connection refused"), "{why}");
    }
}
