//! What an administrator may do with consents: list what a subject granted, and revoke it.

use std::sync::Arc;

use sluice_commit::StoreError;
use sluice_crypto::{Purpose, Sealer};
use sluice_primitives::{Clock, GrantId, Rng, SessionId};
use sluice_protocol::{ClientId, Subject};
use sluice_token::{Marker, RevocationSet, Target};
use thiserror::Error;

use super::repository::{ConsentRepository, Forget};
use crate::client::{Client, ClientDirectory};
use crate::config::LONGEST_ACCESS_TOKEN;
use crate::grant::{Grant, GrantPage, GrantRepository};

/// A page of grants with their clients, and where the next one begins.
#[derive(Debug)]
pub struct ConsentPage {
    /// Newest first. A deleted client is none.
    pub grants: Vec<(Grant, Option<Arc<Client>>)>,
    /// The token of the next page, if there is one.
    pub next: Option<String>,
}

/// Why a page could not be listed.
#[derive(Debug, Error)]
pub enum InvalidPageToken {
    /// The page token is not one of ours.
    #[error("the page token is not one of this server's")]
    Token,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What is revoked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Revoke {
    /// One grant.
    Grant(GrantId),
    /// All that a subject granted to a client.
    Client(Subject, ClientId),
    /// All that a subject granted.
    All(Subject),
}

/// Lists and revokes consents.
pub struct ConsentService {
    /// Remembered decisions.
    pub consents: Arc<dyn ConsentRepository>,
    /// Grants.
    pub grants: Arc<dyn GrantRepository>,
    /// Clients.
    pub clients: Arc<ClientDirectory>,
    /// What was revoked.
    pub revocations: Arc<RevocationSet>,
    /// Seals page tokens.
    pub sealer: Arc<Sealer>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Randomness.
    pub rng: Arc<dyn Rng>,
}

impl ConsentService {
    /// A page of what a subject granted.
    pub async fn list(
        &self,
        subject: Subject,
        session: Option<SessionId>,
        (token, size): (Option<&str>, u32),
    ) -> Result<ConsentPage, InvalidPageToken> {
        let before = token.map(|token| self.open(token).ok_or(InvalidPageToken::Token)).transpose()?;
        let page =
            GrantPage { subject, session, before, limit: size.saturating_add(1), now: self.clock.now() };
        let mut grants = self.grants.list(page).await?;
        let wanted = usize::try_from(size).unwrap_or(usize::MAX);
        let more = grants.len() > wanted;
        grants.truncate(wanted);
        let next = grants
            .last()
            .filter(|_| more)
            .map(|last| self.sealer.seal(Purpose::PageToken, last.id.as_bytes(), &*self.rng));
        let mut with_clients = Vec::with_capacity(grants.len());
        for grant in grants {
            let client = self.clients.find(&grant.client).await?;
            with_clients.push((grant, client));
        }
        Ok(ConsentPage { grants: with_clients, next })
    }

    /// Revokes consents with everything that was granted by them.
    pub async fn revoke(&self, revoke: Revoke) -> Result<(), StoreError> {
        let now = self.clock.now();
        let expires_at = now + LONGEST_ACCESS_TOKEN;
        match revoke {
            Revoke::Grant(grant) => {
                self.grants.revoke(grant, now, expires_at).await?;
                self.revocations.apply(&Marker { target: Target::Grant(grant), at: now, expires_at });
            }
            Revoke::Client(subject, client) => {
                let forget = Forget { subject, client: Some(client), now, marker_expires_at: expires_at };
                self.forget(forget).await?;
            }
            Revoke::All(subject) => {
                let forget = Forget { subject, client: None, now, marker_expires_at: expires_at };
                self.forget(forget).await?;
            }
        }
        Ok(())
    }

    /// The other nodes hear of it by the feed.
    async fn forget(&self, forget: Forget) -> Result<(), StoreError> {
        let marker = forget.marker();
        self.consents.forget(forget).await?;
        self.revocations.apply(&marker);
        Ok(())
    }

    fn open(&self, token: &str) -> Option<GrantId> {
        let bytes = self.sealer.open(Purpose::PageToken, token).ok()?;
        Some(GrantId::from_bytes(bytes.try_into().ok()?))
    }
}
