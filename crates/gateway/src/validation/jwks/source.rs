//! Where the keys of an issuer come from.

use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use sluice_crypto::jwk::JwkSet;
use sluice_crypto::jws::VerifyingKey;
use sluice_net::{FetchError, FetchLimits, Fetched, Fetcher};
use thiserror::Error;
use tokio::time::timeout;
use url::Url;

use crate::validation::config::KeySource;

const JSON: &str = "application/json";
const KEY_SET: &str = "application/jwk-set+json, application/json";
/// The most bytes of a document.
const MAX_DOCUMENT: usize = 512 * 1024;

/// Fetches the keys of an issuer.
pub(super) struct RemoteSource {
    pub(super) fetcher: Arc<Fetcher>,
    pub(super) issuer: String,
    pub(super) keys: KeySource,
    /// For all of it.
    pub(super) timeout: Duration,
}

/// Keys as they were fetched.
pub(super) struct FetchedKeys {
    pub(super) keys: Vec<VerifyingKey>,
    /// What they were read from.
    pub(super) document: Vec<u8>,
    /// How long the issuer says that they may be kept.
    pub(super) max_age: Option<Duration>,
}

/// Why the keys of an issuer were not fetched.
#[derive(Debug, Error)]
pub(super) enum KeysNotFetched {
    #[error(transparent)]
    Fetch(#[from] FetchError),
    #[error("the answer has the status {0}")]
    Status(u16),
    #[error("the answer is no key set, or no metadata with a jwks_uri")]
    Unreadable,
    #[error("the metadata are of another issuer")]
    OtherIssuer,
    #[error("the identifier of the issuer is no URL")]
    Identifier,
}

impl RemoteSource {
    /// The keys as they are now.
    pub(super) async fn fetch(&self) -> Result<FetchedKeys, KeysNotFetched> {
        timeout(self.timeout, self.fetch_patiently()).await.unwrap_or(Err(FetchError::TimedOut.into()))
    }

    async fn fetch_patiently(&self) -> Result<FetchedKeys, KeysNotFetched> {
        let jwks_uri = match &self.keys {
            KeySource::JwksUri(url) => url.clone(),
            KeySource::Discovery => self.discover().await?,
        };
        let answer = self.get(&jwks_uri, KEY_SET).await?;
        let set = JwkSet::understood(&answer.body).map_err(|_| KeysNotFetched::Unreadable)?;
        let keys = VerifyingKey::usable_of(&set);
        Ok(FetchedKeys { keys, document: answer.body.into(), max_age: answer.max_age })
    }

    /// Where the metadata say that the keys are: OpenID Connect Discovery §4, else RFC 8414 §3.
    async fn discover(&self) -> Result<Url, KeysNotFetched> {
        let [openid, oauth] = metadata_urls(&self.issuer).ok_or(KeysNotFetched::Identifier)?;
        match self.metadata(&openid).await {
            Err(KeysNotFetched::Status(_) | KeysNotFetched::Unreadable) => self.metadata(&oauth).await,
            known => known,
        }
    }

    async fn metadata(&self, url: &Url) -> Result<Url, KeysNotFetched> {
        #[derive(Deserialize)]
        struct Metadata {
            issuer: String,
            jwks_uri: String,
        }
        let answer = self.get(url, JSON).await?;
        let metadata: Metadata =
            serde_json::from_slice(&answer.body).map_err(|_| KeysNotFetched::Unreadable)?;
        if metadata.issuer != self.issuer {
            return Err(KeysNotFetched::OtherIssuer);
        }
        metadata.jwks_uri.parse().map_err(|_| KeysNotFetched::Unreadable)
    }

    async fn get(&self, url: &Url, accept: &str) -> Result<Fetched, KeysNotFetched> {
        let limits = FetchLimits {
            // Whatever metadata or a redirect say: keys come on no way where anybody may replace them.
            https_only: true,
            max_bytes: MAX_DOCUMENT,
            timeout: self.timeout,
            ..self.fetcher.limits()
        };
        let answer = self.fetcher.get_with(url, accept, limits).await?;
        if answer.status.is_success() {
            Ok(answer)
        } else {
            Err(KeysNotFetched::Status(answer.status.as_u16()))
        }
    }
}

/// Where the metadata of an issuer are: below its identifier, or between its host and path.
fn metadata_urls(issuer: &str) -> Option<[Url; 2]> {
    let mut openid: Url = issuer.parse().ok()?;
    let path = openid.path().trim_end_matches('/').to_owned();
    openid.set_query(None);
    openid.set_fragment(None);
    let mut oauth = openid.clone();
    openid.set_path(&format!("{path}/.well-known/openid-configuration"));
    oauth.set_path(&format!("/.well-known/oauth-authorization-server{path}"));
    Some([openid, oauth])
}

#[cfg(test)]
mod tests {
    use super::metadata_urls;

    #[test]
    fn metadata_are_below_the_identifier_or_between_host_and_path() {
        for (issuer, openid, oauth) in [
            (
                "https://id.example",
                "https://id.example/.well-known/openid-configuration",
                "https://id.example/.well-known/oauth-authorization-server",
            ),
            (
                "https://id.example/realms/one/",
                "https://id.example/realms/one/.well-known/openid-configuration",
                "https://id.example/.well-known/oauth-authorization-server/realms/one",
            ),
        ] {
            assert_eq!(metadata_urls(issuer).unwrap().map(|url| url.to_string()), [openid, oauth]);
        }
        assert!(metadata_urls("id.example").is_none());
    }
}
