//! How back-channel notices arrive (OpenID Connect Back-Channel Logout 1.0 §2.4, §2.5): retried with back-off, kept as
//! dead letters in the end.

use std::sync::Arc;

use async_trait::async_trait;
use http::StatusCode;
use serde::Serialize;
use serde_json::json;
use sluice_commit::{StoreError, chain};
use sluice_net::{FetchError, Fetcher};
use sluice_primitives::rng::random_bytes;
use sluice_primitives::{Clock, Lifetime, Rng, Timestamp};
use thiserror::Error;
use tracing::{debug, info, warn};
use url::Url;

use super::metrics::DeliveryMetrics;
use super::outbox::{LeasedNotice, LogoutNotice, OutboxRepository};
use super::under_way::UnderWay;
use crate::client::{Client, ClientDirectory};
use crate::config::Config;
use crate::issuing::algorithm::of_id_tokens;
use crate::issuing::encrypt::{ClientEncryption, Content, NotEncrypted};
use crate::keys::KeyRing;

/// What a logout token tells of.
pub(crate) const EVENT: &str = "http://schemas.openid.net/event/backchannel-logout";
/// A notice that has failed so often is a dead letter: after about a day.
const ATTEMPTS: u32 = 12;
/// How long a notice waits that was not tried: a quarter of the time for which it has waited, within these bounds.
const LEAST_WAIT: Lifetime = Lifetime::secs(10);
const MOST_WAIT: Lifetime = Lifetime::minutes(15);
/// And up to so many milliseconds more, so that not all come back at once.
const MOST_MORE: u32 = 10_000;
/// A notice that is older than this has failed when it could not be tried: there may never be room for it.
const PATIENCE: Lifetime = Lifetime::hours(24);
/// How long this node may take for what it leased.
const LEASE: Lifetime = Lifetime::secs(120);

/// Sends a logout token to a client.
#[async_trait]
pub trait LogoutSender: Send + Sync {
    /// Posts `logout_token`.
    ///
    /// # Errors
    /// [`NotTaken`] unless the client took it (a 2xx answer).
    async fn send(&self, uri: &Url, logout_token: &str) -> Result<(), NotTaken>;
}

/// Why a client has not taken a logout token.
#[derive(Debug, Error)]
pub enum NotTaken {
    /// It answered with a status that is no success.
    #[error("it was answered with {0}")]
    Answered(StatusCode),
    /// It did not answer.
    #[error(transparent)]
    Fetch(#[from] FetchError),
}

#[async_trait]
impl LogoutSender for Fetcher {
    async fn send(&self, uri: &Url, logout_token: &str) -> Result<(), NotTaken> {
        let status = self.post_form(uri, &[("logout_token", logout_token)]).await?;
        if status.is_success() { Ok(()) } else { Err(NotTaken::Answered(status)) }
    }
}

/// Delivers what waits in the outbox.
pub struct LogoutDelivery {
    /// What waits.
    pub outbox: Arc<dyn OutboxRepository>,
    /// Who carries it.
    pub sender: Arc<dyn LogoutSender>,
    /// Who signs it.
    pub keys: Arc<KeyRing>,
    /// Encrypts it for clients that want their id tokens so.
    pub encryption: Arc<ClientEncryption>,
    /// Who hears it: a logout token is signed and encrypted as the id tokens of its client (Back-Channel Logout 1.0 §2.4).
    pub clients: Arc<ClientDirectory>,
    /// Who speaks.
    pub config: Arc<Config>,
    /// What an operator sees.
    pub metrics: Arc<DeliveryMetrics>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Randomness.
    pub rng: Arc<dyn Rng>,
}

#[derive(Serialize)]
struct LogoutToken<'a> {
    iss: &'a str,
    sub: &'a str,
    aud: &'a str,
    iat: i64,
    exp: i64,
    jti: String,
    sid: String,
    events: serde_json::Value,
}

impl LogoutDelivery {
    /// Delivers all that is due, and what becomes due meanwhile, for as long as `goes_on` says so; how many notices were tried. It ends when
    /// nothing is under way any more. Progress is in the store: a crash repeats but never loses.
    ///
    /// # Errors
    /// [`StoreError`] if the store cannot do it now.
    pub async fn run(self: &Arc<Self>, goes_on: impl Fn() -> bool + Send) -> Result<usize, StoreError> {
        let (mut under_way, mut tried, mut failed) = (UnderWay::default(), 0, None);
        loop {
            if failed.is_none() && goes_on() {
                match self.begin(&mut under_way).await {
                    Ok(begun) => tried += begun,
                    Err(error) => failed = Some(error),
                }
            }
            let is_over = under_way.is_empty();
            self.count(if is_over { tried } else { 0 }).await;
            if is_over {
                return failed.map_or(Ok(tried), Err);
            }
            // Its lease brings it back; the others go on.
            if let Err(error) = under_way.some_ended().await {
                warn!(error = %chain(&error), "what became of a logout notice is not written");
            }
        }
    }

    /// Begins what is due and has room; how many notices it is.
    async fn begin(self: &Arc<Self>, under_way: &mut UnderWay) -> Result<usize, StoreError> {
        let room = under_way.room();
        if room.notices == 0 {
            return Ok(0);
        }
        let due = self.outbox.lease(self.clock.now(), LEASE, room).await?;
        let begun = due.len();
        for leased in due {
            let (delivery, client) = (Arc::clone(self), leased.notice.client.clone());
            under_way.begin(client, async move { delivery.deliver(leased).await });
        }
        Ok(begun)
    }

    /// Counts the outbox now and then, and after so many tries. What cannot be counted is delivered all the same.
    async fn count(&self, tried: usize) {
        if !self.metrics.is_due(tried) {
            return;
        }
        match self.outbox.depth().await {
            Ok(depth) => self.metrics.set_depth(depth),
            Err(error) => warn!(error = %chain(&error), "the logout notices that wait cannot be counted"),
        }
    }

    async fn deliver(&self, leased: LeasedNotice) -> Result<(), StoreError> {
        let now = self.clock.now();
        let is_patient = now.since(leased.made_at()) <= PATIENCE;
        let (host, reason) = match self.written(&leased.notice, now).await {
            Written::Letter(uri, token) => match self.sender.send(&uri, &token).await {
                Ok(()) => {
                    info!(client.id = %leased.notice.client, "back-channel logout delivered");
                    self.metrics.delivered.add();
                    return self.outbox.delivered(leased.id).await;
                }
                Err(NotTaken::Fetch(FetchError::Busy)) if is_patient => {
                    return self.postpone(&leased, now).await;
                }
                Err(why) => (uri.host_str().map(str::to_owned), chain(&why)),
            },
            Written::ToNobody => return self.outbox.delivered(leased.id).await,
            Written::NotTried if is_patient => return self.postpone(&leased, now).await,
            Written::NotTried => (None, "there was no room to look the client up".to_owned()),
            Written::NotNow => (None, "it could not be written".to_owned()),
        };
        self.failed(&leased, now, (host.as_deref(), &reason)).await
    }

    async fn failed(
        &self,
        leased: &LeasedNotice,
        now: Timestamp,
        (host, reason): (Option<&str>, &str),
    ) -> Result<(), StoreError> {
        let next = (leased.attempts + 1 < ATTEMPTS).then(|| now + back_off(leased.attempts));
        let (attempts, dead) = (leased.attempts + 1, next.is_none());
        warn!(client.id = %leased.notice.client, host, attempts, dead, reason, "back-channel logout did not arrive");
        self.metrics.failed.add();
        self.outbox.failed(leased.id, next).await
    }

    /// Puts a notice off that nobody was asked about: its client is not to blame.
    async fn postpone(&self, leased: &LeasedNotice, now: Timestamp) -> Result<(), StoreError> {
        debug!(client.id = %leased.notice.client, "too much is asked for: a back-channel logout waits");
        let more = u32::from(u16::from_le_bytes(random_bytes(&*self.rng)));
        let quarter = Lifetime::from(now.since(leased.made_at()).as_duration() / 4);
        let wait = quarter.clamp(LEAST_WAIT, MOST_WAIT);
        let until = now + wait + Lifetime::millis(more % MOST_MORE);
        self.outbox.postponed(leased.id, until).await
    }

    async fn written(&self, notice: &LogoutNotice, now: Timestamp) -> Written {
        let client = match self.clients.find(&notice.client).await {
            Ok(client) => client,
            // Its host is asked for the documents of others, or the store has too much to do.
            Err(StoreError::Busy) => return Written::NotTried,
            Err(_) => return Written::NotNow,
        };
        let Some(uri) = address(notice, client.as_deref()) else { return Written::ToNobody };
        let Some(token) = self.token(notice, client.as_deref(), now) else { return Written::NotNow };
        match self.encrypted(client.as_deref(), token).await {
            Ok(token) => Written::Letter(uri, token),
            Err(why) => {
                info!(client.id = %notice.client, reason = %why, "a logout token cannot be encrypted: it waits");
                Written::NotNow
            }
        }
    }

    /// As the id tokens of its client: a token that says as much must not travel less guarded.
    async fn encrypted(&self, client: Option<&Client>, token: String) -> Result<String, NotEncrypted> {
        let Some(client) = client else { return Ok(token) };
        let how = client.formats.id_token_encryption.as_ref();
        self.encryption.apply(client, how, (Content::Jwt, token)).await
    }

    fn token(&self, notice: &LogoutNotice, client: Option<&Client>, now: Timestamp) -> Option<String> {
        let algorithm = match client {
            Some(client) => of_id_tokens(client, &self.config).ok()?,
            // A client that is gone still has users who signed out.
            None => self.config.policies.id_token_alg,
        };
        let key = self.keys.id_token_signer(algorithm)?;
        let token = LogoutToken {
            iss: self.config.issuer.as_str(),
            sub: notice.subject.as_str(),
            aud: notice.client.as_str(),
            iat: now.as_secs(),
            exp: now.as_secs() + 120,
            jti: uuid::Uuid::from_bytes(random_bytes(&*self.rng)).to_string(),
            sid: notice.session.to_string(),
            events: json!({ EVENT: {} }),
        };
        let typ = self.config.policies.logout_token_type.as_str();
        key.sign(Some(typ), &serde_json::to_vec(&token).ok()?).ok()
    }
}

/// What became of a notice.
enum Written {
    /// Where to, and the logout token.
    Letter(Url, String),
    /// Its client does not listen.
    ToNobody,
    /// There is no room to look the client up.
    NotTried,
    /// The client cannot be looked up, or there is no key to sign with or to encrypt to.
    NotNow,
}

/// Where a notice goes. If the document of its client was not at hand when it was made, that says now where the client listens. A client that
/// is gone hears nothing in plain text if it had asked for encrypted tokens.
fn address(notice: &LogoutNotice, client: Option<&Client>) -> Option<Url> {
    if notice.is_described() {
        return Some(client?.backchannel_logout.as_ref()?.url().clone());
    }
    // Nobody knows the key any more that the token would have to be encrypted to.
    if client.is_none() && notice.is_for_encrypted() {
        return None;
    }
    let mut uri = notice.uri.clone();
    uri.set_fragment(None);
    Some(uri)
}

/// 1 s, 4 s, 16 s, … at most 4 h.
fn back_off(attempts: u32) -> Lifetime {
    let secs = 4_u32.saturating_pow(attempts).min(4 * 3600);
    Lifetime::secs(secs)
}

#[cfg(test)]
mod tests;
