//! Whom an administrator trusts (Hydra's `/admin/trust/grants/jwt-bearer/issuers`).

use std::sync::Arc;

use sluice_commit::StoreError;
use sluice_crypto::jwk::{Jwk, JwkError};
use sluice_crypto::jws::VerifyingKey;
use sluice_crypto::{Purpose, Sealer};
use sluice_primitives::{Clock, Rng, Timestamp, TrustId};
use sluice_protocol::{Scope, Subject};
use thiserror::Error;
use tracing::info;

use super::key_sets::is_among;
use super::{TrustedIssuer, TrustedIssuerRepository};
use crate::page_token;

/// The number of entries on a page, if none is asked for, and at most (Hydra).
const DEFAULT_PAGE: u32 = 250;
const MAX_PAGE: u32 = 1000;
/// An issuer and a key id have at most so many bytes.
const MAX_NAME: usize = 255;
/// What a page token begins with: it is none of another listing.
const PAGE: &[u8] = b"trust:";

/// Whom to trust from now on.
#[derive(Debug, Clone, Default)]
#[expect(missing_docs, reason = "the fields are Hydra's")]
pub struct NewTrust {
    pub issuer: String,
    pub subject: String,
    pub allow_any_subject: bool,
    pub scope: Vec<String>,
    pub jwk: Jwk,
    pub expires_at: Option<Timestamp>,
}

/// Which entries to list.
#[derive(Debug, Clone, Default)]
pub struct ListTrusted {
    /// Only those of this issuer.
    pub issuer: Option<String>,
    /// How many: 1 to 1000, default 250; beyond that the nearest of them.
    pub page_size: Option<u32>,
    /// What the page before answered.
    pub page_token: Option<String>,
}

/// A page of entries.
#[derive(Debug, Clone)]
pub struct TrustPage {
    /// In the order of their ids.
    pub trusted: Vec<TrustedIssuer>,
    /// How many were asked for, after bounds.
    pub page_size: u32,
    /// How many there are, of whichever issuer.
    pub total: u64,
    /// The token of the next page, if there is one.
    pub next: Option<String>,
}

/// Why a trust was not changed.
#[derive(Debug, Error)]
pub enum TrustError {
    /// A field is missing, or two contradict each other; in Hydra's words.
    #[error("{0}")]
    Missing(&'static str),
    /// A field cannot be used.
    #[error("{0}")]
    Invalid(&'static str),
    /// The key cannot be used.
    #[error("Field 'jwk' is refused: {0}.")]
    Key(#[from] JwkError),
    /// One with this issuer, subject and key id exists.
    #[error("this issuer is trusted already, with the same subject and key id")]
    Taken,
    /// There is none with this id.
    #[error("nothing of this id is trusted")]
    NotFound,
    /// The page token was not made here.
    #[error("the page token is not one that this server made")]
    PageToken,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Changes whom this server trusts.
pub struct TrustService {
    /// Whom it trusts.
    pub issuers: Arc<dyn TrustedIssuerRepository>,
    /// Seals page tokens.
    pub sealer: Arc<Sealer>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Randomness.
    pub rng: Arc<dyn Rng>,
}

impl TrustService {
    /// Trusts an issuer.
    ///
    /// # Errors
    /// [`TrustError`] says why not.
    pub async fn create(&self, asked: NewTrust) -> Result<TrustedIssuer, TrustError> {
        let now = self.clock.now();
        let trusted = checked(asked, now, TrustId::generate(now, &*self.rng))?;
        if !self.issuers.insert(&trusted).await? {
            return Err(TrustError::Taken);
        }
        let (issuer, kid) = (trusted.issuer.as_str(), trusted.key_id.as_str());
        info!(target: "sluice_audit", { trust.id = %trusted.id, trust.issuer = issuer, key.kid = kid }, "issuer trusted by an administrator");
        Ok(trusted)
    }

    /// The trust with this id, expired or not.
    ///
    /// # Errors
    /// [`TrustError::NotFound`] if there is none.
    pub async fn get(&self, id: TrustId) -> Result<TrustedIssuer, TrustError> {
        self.issuers.find(id).await?.ok_or(TrustError::NotFound)
    }

    /// A page of them, expired ones too.
    ///
    /// # Errors
    /// [`TrustError::PageToken`] for a token that was not made here.
    pub async fn list(&self, asked: ListTrusted) -> Result<TrustPage, TrustError> {
        let page_size = asked.page_size.unwrap_or(DEFAULT_PAGE).clamp(1, MAX_PAGE);
        let token = page_token::past_the_first(asked.page_token.as_deref());
        let after = token.map(|token| self.open_page_token(token)).transpose()?;
        // One more than asked for tells whether there is a next page.
        let is_of_all = asked.issuer.is_none() && after.is_none();
        let mut trusted = self.issuers.list(asked.issuer.as_deref(), after, page_size + 1).await?;
        let full = usize::try_from(page_size).unwrap_or(usize::MAX);
        let more = trusted.len() > full;
        trusted.truncate(full);
        let next = trusted.last().filter(|_| more).map(|last| self.seal_page_token(last.id));
        let total =
            if is_of_all && !more { trusted.len() as u64 } else { self.issuers.count_trusted().await? };
        Ok(TrustPage { trusted, page_size, total, next })
    }

    /// Trusts it no more. Tokens that its assertions were exchanged for stay what they are.
    ///
    /// # Errors
    /// [`TrustError::NotFound`] if there is none with this id.
    pub async fn delete(&self, id: TrustId) -> Result<(), TrustError> {
        if self.end(id).await? { Ok(()) } else { Err(TrustError::NotFound) }
    }

    /// The keys that it is trusted with: one of them, or all. Those of trusts that have expired are among them.
    pub(super) async fn keys_of(&self, issuer: &str, kid: Option<&str>) -> Result<Vec<Jwk>, StoreError> {
        self.issuers.keys_of(issuer, kid).await
    }

    /// Trusts an issuer no more with one of its keys, or with any, whoever it speaks of.
    pub(super) async fn end_by_key(&self, issuer: &str, kid: Option<&str>) -> Result<(), StoreError> {
        if self.issuers.delete_keys_of(issuer, kid).await? {
            info!(target: "sluice_audit", { trust.issuer = issuer, key.kid = kid }, "trust in an issuer ended with its key by an administrator");
        }
        Ok(())
    }

    /// Trusts an issuer no more with a key that is not one of these, whoever it speaks of: with such a key of one key id, or with any.
    pub(super) async fn end_but_for(
        &self,
        kept: &[Jwk],
        (issuer, kid): (&str, Option<&str>),
    ) -> Result<(), StoreError> {
        let keys = self.keys_of(issuer, kid).await?;
        let (stay, go): (Vec<_>, Vec<_>) = keys.iter().partition(|key| is_among(key, kept));
        let mut kids: Vec<&str> = go.iter().filter_map(|key| key.kid.as_deref()).collect();
        kids.dedup();
        for kid in kids {
            if stay.iter().any(|key| key.kid.as_deref() == Some(kid)) {
                self.end_others(kept, (issuer, kid)).await?;
            } else {
                self.end_by_key(issuer, Some(kid)).await?;
            }
        }
        Ok(())
    }

    /// The same of a key id that one subject is spoken of with another key than the next.
    async fn end_others(&self, kept: &[Jwk], (issuer, kid): (&str, &str)) -> Result<(), StoreError> {
        let mut after = None;
        loop {
            let page = self.issuers.list(Some(issuer), after, MAX_PAGE).await?;
            for trusted in &page {
                if trusted.key_id == kid && !is_among(&trusted.jwk, kept) {
                    self.end(trusted.id).await?;
                }
            }
            let Some(last) = page.last() else { return Ok(()) };
            after = Some(last.id);
        }
    }

    async fn end(&self, id: TrustId) -> Result<bool, StoreError> {
        let was_there = self.issuers.delete(id).await?;
        if was_there {
            info!(target: "sluice_audit", { trust.id = %id }, "trust in an issuer ended by an administrator");
        }
        Ok(was_there)
    }

    fn seal_page_token(&self, last: TrustId) -> String {
        let place = [PAGE, last.as_bytes()].concat();
        self.sealer.seal(Purpose::PageToken, &place, &*self.rng)
    }

    fn open_page_token(&self, token: &str) -> Result<TrustId, TrustError> {
        let opened = self.sealer.open(Purpose::PageToken, token).map_err(|_| TrustError::PageToken)?;
        let id = opened.strip_prefix(PAGE).and_then(|id| id.try_into().ok());
        id.map(TrustId::from_bytes).ok_or(TrustError::PageToken)
    }
}

/// The trust that is asked for, under this id, if it may be.
pub(crate) fn checked(asked: NewTrust, now: Timestamp, id: TrustId) -> Result<TrustedIssuer, TrustError> {
    let key_id = asked.jwk.kid.clone().unwrap_or_default();
    check_presence(&asked, &key_id)?;
    check_name(&asked.issuer, "Field 'issuer' has more than 255 bytes, or control characters.")?;
    check_name(&key_id, "The kid of 'jwk' has more than 255 bytes, or control characters.")?;
    let subject = Some(asked.subject).filter(|subject| !subject.is_empty());
    if subject.as_ref().is_some_and(|subject| subject.parse::<Subject>().is_err()) {
        return Err(TrustError::Invalid("Field 'subject' has more than 255 bytes, or control characters."));
    }
    let expires_at = asked.expires_at.unwrap_or(now).floor_to_secs();
    if expires_at <= now {
        return Err(TrustError::Invalid("Field 'expires_at' has passed."));
    }
    let scope = Scope::from_values(asked.scope.iter().map(String::as_str));
    let jwk = asked.jwk.public();
    VerifyingKey::from_jwk(&jwk)?;
    Ok(TrustedIssuer {
        id,
        issuer: asked.issuer,
        subject,
        scope: scope.map_err(|_| TrustError::Invalid("Field 'scope' holds something that is no scope."))?,
        key_id,
        jwk,
        created_at: now.floor_to_secs(),
        expires_at,
    })
}

fn check_presence(asked: &NewTrust, key_id: &str) -> Result<(), TrustError> {
    if asked.issuer.is_empty() {
        return Err(TrustError::Missing("Field 'issuer' is required."));
    }
    match (asked.subject.is_empty(), asked.allow_any_subject) {
        (true, false) => {
            Err(TrustError::Missing("One of 'subject' or 'allow_any_subject' field must be set."))
        }
        (false, true) => Err(TrustError::Missing(
            "Both 'subject' and 'allow_any_subject' fields cannot be set at the same time.",
        )),
        _ if asked.expires_at.is_none() => Err(TrustError::Missing("Field 'expires_at' is required.")),
        _ if key_id.is_empty() => Err(TrustError::Missing("Field 'jwk' must contain JWK with kid header.")),
        _ => Ok(()),
    }
}

fn check_name(name: &str, refusal: &'static str) -> Result<(), TrustError> {
    if name.len() > MAX_NAME || name.chars().any(char::is_control) {
        return Err(TrustError::Invalid(refusal));
    }
    Ok(())
}
