//! Clients that nobody registered: their id is the URL of a document that says what they are
//! (draft-ietf-oauth-client-id-metadata-document).
//!
//! `url`: which ids are such URLs. `source`: how documents are fetched. `host_limit`: how often. `read`: what they
//! may say.

mod host_limit;
mod read;
mod source;
mod url;

use std::fmt;
use std::sync::Arc;

use ::url::Url;
use quick_cache::sync::Cache;
use sluice_commit::StoreError;
use sluice_net::bounded::half_for_new;
use sluice_net::{FetchPlaces, host_of};
use sluice_primitives::{Clock, Lifetime, Timestamp};
use sluice_protocol::ClientId;
use thiserror::Error;
use tracing::{debug, info};

pub use source::{DocumentSource, FetchedDocument};

use super::model::Client;
use super::registration::{ReadMetadata, RegistrationError, RegistrationRules};
use super::service;
use crate::config::MetadataDocumentPolicy;
use crate::keys::SigningKeys;
use crate::sector::{self, SectorRefused, SectorSource};
use crate::set_back::holds;
use host_limit::HostLimit;
use read::Reader;

/// Documents that are kept.
const CAPACITY: usize = 4_096;
/// A document is kept for at least this, whatever its `max-age`.
const SHORTEST: Lifetime = Lifetime::minutes(5);
/// And for no longer than this; also how long an old one serves while its host does not answer.
const LONGEST: Lifetime = Lifetime::hours(24);
/// How long it is kept if its answer does not say.
const USUAL: Lifetime = Lifetime::hours(1);
/// How long an old one serves before its host is asked again.
const AFTER_FAILURE: Lifetime = Lifetime::minutes(1);
/// How many that are not known are fetched at once.
const FIRST_AT_ONCE: usize = 48;
/// How many that are known are fetched anew at once: nobody who names others takes these places.
const ANEW_AT_ONCE: usize = 16;
/// How many of one host.
const OF_A_HOST: usize = 4;

/// Why a document describes no client.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum DocumentError {
    /// Configuration does not name the host.
    #[error("the host is not one whose documents are read")]
    Host,
    /// Too much is being fetched already.
    #[error("too many documents are being fetched")]
    Busy,
    /// The host does not answer, or not now.
    #[error("the document could not be fetched: {0}")]
    Unreachable(String),
    /// There is no such document.
    #[error("the document's answer has the status {0}")]
    Status(u16),
    /// It is no JSON object, or does not say that it is one.
    #[error("the document is not a JSON object of a JSON media type")]
    NotJson,
    /// Its `client_id` is not its URL.
    #[error("the document describes another client")]
    OtherClient,
    /// It holds a secret, or asks to authenticate by one.
    #[error("the document holds a secret, or asks for a method that needs one")]
    Secret,
    /// A value is refused.
    #[error("the document is refused: {0}")]
    Refused(String),
}

impl DocumentError {
    /// Whether there is no such client; else there may be one, which cannot be told now.
    const fn is_absence(&self) -> bool {
        match self {
            Self::Busy | Self::Unreachable(_) => false,
            Self::Host
            | Self::Status(_)
            | Self::NotJson
            | Self::OtherClient
            | Self::Secret
            | Self::Refused(_) => true,
        }
    }
}

impl From<DocumentError> for StoreError {
    fn from(why: DocumentError) -> Self {
        match why {
            DocumentError::Busy => Self::Busy,
            why => Self::unavailable(why),
        }
    }
}

/// What documents are read with.
#[expect(missing_docs, reason = "each field is what its type says")]
pub struct MetadataDocumentParts {
    pub policy: MetadataDocumentPolicy,
    pub rules: RegistrationRules,
    /// The most that such a client may ask for.
    pub default_scope: String,
    /// Whom its tokens may be for.
    pub default_audience: Vec<String>,
    pub source: Arc<dyn DocumentSource>,
    /// Reads sector identifier documents.
    pub sectors: Arc<dyn SectorSource>,
    /// Makes keys of the algorithms that clients want.
    pub keys: Arc<dyn SigningKeys>,
    /// Reads what a client asks to be.
    pub read: ReadMetadata,
    pub clock: Arc<dyn Clock>,
}

/// Clients by the URL of their document. Key: the whole client id. Bound: `CAPACITY`. Staleness: the `max-age` of the answer,
/// 5 minutes to 24 hours; the last one that was good serves on for up to `LONGEST` while a new one cannot be had. Those who
/// ask at once share one fetch. What is no client is not kept (§5.2): `HostLimit` keeps questions from becoming a flood.
pub struct MetadataDocuments {
    policy: MetadataDocumentPolicy,
    reader: Reader,
    source: Arc<dyn DocumentSource>,
    sectors: Arc<dyn SectorSource>,
    keys: Arc<dyn SigningKeys>,
    clock: Arc<dyn Clock>,
    known: Cache<ClientId, Arc<Kept>>,
    /// The last good ones, by the same key and bound, half of it for new ones: who asks and goes away does not take the old one along.
    last: Cache<ClientId, Arc<Kept>>,
    hosts: HostLimit,
    first: FetchPlaces,
    anew: FetchPlaces,
}

struct Kept {
    client: Arc<Client>,
    /// When somebody last tried to fetch it.
    tried_at: Timestamp,
    /// When it came; the same, unless the last try failed.
    fetched_at: Timestamp,
    good_until: Timestamp,
}

impl Kept {
    /// Whether it need not be fetched again.
    fn is_current(&self, now: Timestamp) -> bool {
        holds(self.tried_at, self.good_until, now)
    }
}

impl MetadataDocuments {
    /// A reader of documents.
    pub fn new(parts: MetadataDocumentParts) -> Self {
        Self {
            policy: parts.policy,
            reader: Reader {
                read: parts.read,
                rules: parts.rules,
                default_scope: parts.default_scope,
                default_audience: parts.default_audience,
            },
            source: parts.source,
            sectors: parts.sectors,
            keys: parts.keys,
            clock: parts.clock,
            known: Cache::new(CAPACITY),
            last: half_for_new(CAPACITY),
            hosts: HostLimit::new(),
            first: FetchPlaces::new(FIRST_AT_ONCE, OF_A_HOST),
            anew: FetchPlaces::new(ANEW_AT_ONCE, OF_A_HOST),
        }
    }

    /// Whether the id is a URL that a document may be at.
    pub fn is_address(id: &ClientId) -> bool {
        url::document_url(id).is_some()
    }

    /// The client, if its id is the URL of a document that was read a moment ago.
    pub fn known(&self, id: &ClientId) -> Option<Arc<Client>> {
        let kept = self.known.get(id)?;
        kept.is_current(self.clock.now()).then(|| Arc::clone(&kept.client))
    }

    /// The client, if its id is the URL of a document that was read a moment ago, or that may still serve.
    pub fn at_hand(&self, id: &ClientId) -> Option<Arc<Client>> {
        let now = self.clock.now();
        let old = || self.last.get(id).filter(|old| now < old.fetched_at + LONGEST);
        self.known(id).or_else(|| old().map(|old| Arc::clone(&old.client)))
    }

    /// The client, if its id is the URL of a document that describes it. Why it does not is logged.
    ///
    /// # Errors
    /// [`DocumentError`] if the document cannot be had now: that is not to say that there is none.
    pub async fn find(&self, id: &ClientId) -> Result<Option<Arc<Client>>, DocumentError> {
        let Some(url) = url::document_url(id) else { return Ok(None) };
        match self.current(&url, id).await {
            Ok(client) => Ok(Some(client)),
            Err(why) => {
                info!(client.id = %id, reason = %why, "a client metadata document was not taken");
                if why.is_absence() { Ok(None) } else { Err(why) }
            }
        }
    }

    /// Forgets a document: somebody registered a client with this id.
    pub fn forget(&self, id: &ClientId) {
        self.known.remove(id);
        self.last.remove(id);
    }

    /// Forgets all documents.
    pub fn forget_all(&self) {
        self.known.clear();
        self.last.clear();
    }

    async fn current(&self, url: &Url, id: &ClientId) -> Result<Arc<Client>, DocumentError> {
        let now = self.clock.now();
        let old = self.known.get(id).filter(|kept| !kept.is_current(now));
        if let Some(old) = &old {
            self.known.remove_if(id, |kept| Arc::ptr_eq(kept, old));
        }
        match self.known.get_value_or_guard_async(id).await {
            Ok(kept) => Ok(Arc::clone(&kept.client)),
            Err(placeholder) => {
                let kept = self.renewed(url, id).await?;
                // Fails if the placeholder was evicted: then the next one fetches again.
                let _ = placeholder.insert(Arc::clone(&kept));
                Ok(Arc::clone(&kept.client))
            }
        }
    }

    /// The document as it is now, or the old one while a new one cannot be had.
    async fn renewed(&self, url: &Url, id: &ClientId) -> Result<Arc<Kept>, DocumentError> {
        let now = self.clock.now();
        let old = self.last.get(id).filter(|old| now < old.fetched_at + LONGEST);
        let fetched = self.fetch(url, id, old.as_deref()).await;
        let kept = match (fetched, old) {
            (Err(why @ (DocumentError::Unreachable(_) | DocumentError::Busy)), Some(old)) => {
                debug!(client.id = %id, reason = %why, "an old client metadata document serves on");
                // One that came by a clock that was ahead is as old as it was found.
                let (fetched_at, good_until) = (old.fetched_at.min(now), now + AFTER_FAILURE);
                Kept { client: Arc::clone(&old.client), tried_at: now, fetched_at, good_until }
            }
            (Ok(fetched), _) => fetched,
            (Err(why), _) => {
                self.last.remove(id);
                return Err(why);
            }
        };
        let kept = Arc::new(kept);
        self.last.insert(id.clone(), Arc::clone(&kept));
        Ok(kept)
    }

    /// The document. One that is known is asked for now and then and not whenever anybody names a URL: it does not count
    /// against its host, so that nobody can keep it from being renewed.
    async fn fetch(&self, url: &Url, id: &ClientId, old: Option<&Kept>) -> Result<Kept, DocumentError> {
        let (now, is_known) = (self.clock.now(), old.is_some());
        if !url::is_allowed(url, &self.policy.allowed_hosts) {
            return Err(DocumentError::Host);
        }
        let host = host_of(url);
        let places = if is_known { &self.anew } else { &self.first };
        let _place = places.take(host).ok_or(DocumentError::Busy)?;
        if !is_known && !self.hosts.allows(host, now) {
            return Err(DocumentError::Busy);
        }
        let document = self.source.document(url).await?;
        let client = self.reader.client(id, &document.body, now)?;
        self.check_sector(&client, old, now).await?;
        let keys = service::make_keys(&*self.keys, &client).await;
        keys.map_err(|why| DocumentError::Refused(why.to_string()))?;
        if !is_known {
            self.hosts.forgive(host);
        }
        let good_until = now + document.max_age.unwrap_or(USUAL).clamp(SHORTEST, LONGEST);
        Ok(Kept { client: Arc::new(client), tried_at: now, fetched_at: now, good_until })
    }

    /// Holds a client against its sector identifier document. That counts against the host that is asked, whoever has the
    /// other document; but not if the document that was good before named it, too.
    async fn check_sector(
        &self,
        client: &Client,
        old: Option<&Kept>,
        now: Timestamp,
    ) -> Result<(), DocumentError> {
        let asked = client.sector_identifier_uri.as_deref();
        let is_known = old.is_some_and(|old| old.client.sector_identifier_uri.as_deref() == asked);
        let url = asked.filter(|_| !is_known).and_then(|uri| Url::parse(uri).ok());
        let host = url.as_ref().map(host_of);
        if host.is_some_and(|host| !self.hosts.allows(host, now)) {
            return Err(DocumentError::Busy);
        }
        sector::check(client, &*self.sectors).await.map_err(|why| match why {
            RegistrationError::Sector(SectorRefused::NotFetched(why)) => {
                DocumentError::Unreachable(why.to_string())
            }
            RegistrationError::Sector(cause) => DocumentError::Refused(cause.to_string()),
            why => DocumentError::Refused(why.to_string()),
        })?;
        if let Some(host) = host {
            self.hosts.forgive(host);
        }
        Ok(())
    }
}

impl fmt::Debug for MetadataDocuments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MetadataDocuments").field("known", &self.known.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
