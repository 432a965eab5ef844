//! What a user consented to, page by page: first the decisions that are remembered, in the order of their clients' ids; then what
//! else was granted and lives, newest first. A place in that is sealed: a page token cannot be made up.

use sluice_commit::{StoreError, chain};
use sluice_crypto::Purpose;
use sluice_primitives::{GrantId, SessionId, Timestamp};
use sluice_protocol::{Audience, ClientId, Scope, Subject};
use thiserror::Error;
use tokio::time::Instant;
use tracing::debug;

use super::grantee::{Grantee, grantees};
use super::late_documents::View;
use super::name::DecisionName;
use super::repository::{DecisionPage, RememberedConsent};
use super::service::ConsentService;
use crate::grant::{Grant, GrantClaims, GrantPage, Listed, MadeIn};
use crate::page_token;

/// The first byte of a sealed place: the id of a client follows, or that of a grant.
const AFTER_CLIENT: u8 = 1;
const BEFORE_GRANT: u8 = 2;
/// More are not counted.
const MOST_COUNTED: u32 = 10_000;

/// What is listed.
#[derive(Debug, Clone)]
pub struct ListConsents {
    /// Whose consents.
    pub subject: Subject,
    /// Only those of this login session.
    pub session: Option<SessionId>,
    /// Which grants, beside the remembered decisions.
    pub grants: Listed,
    /// What the page before answered.
    pub page_token: Option<String>,
    /// At most so many.
    pub page_size: u32,
    /// Until when documents of clients that are not at hand are waited for; the same for all pages that are looked at together.
    pub wait_until: Instant,
}

/// A remembered decision, or a grant.
#[derive(Debug, Clone, PartialEq)]
pub struct ConsentEntry {
    /// What it is revoked by: see [`ConsentService::named`].
    pub id: String,
    /// The id of the flow that it was decided in. Decisions of earlier versions do not know it.
    pub flow: Option<GrantId>,
    /// Whose.
    pub subject: Subject,
    /// To whom.
    pub client: ClientId,
    /// In which login session.
    pub session: Option<SessionId>,
    /// What was granted.
    pub scope: Scope,
    /// For which services.
    pub audience: Audience,
    /// What tokens say besides.
    pub claims: GrantClaims,
    /// When.
    pub decided_at: Timestamp,
}

/// A page of consents with their clients, and where the next one begins.
#[derive(Debug)]
pub struct ConsentPage {
    /// Each with its client.
    pub entries: Vec<(ConsentEntry, Grantee)>,
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

/// Where a page begins.
enum Place {
    /// With the decision about the client after this one.
    After(ClientId),
    /// With the grant before this one; the decisions were listed.
    Before(GrantId),
}

enum Found {
    Decision(RememberedConsent),
    Grant(Grant),
}

impl From<Grant> for ConsentEntry {
    fn from(grant: Grant) -> Self {
        Self {
            id: grant.id.to_string(),
            flow: Some(grant.id),
            subject: grant.subject,
            client: grant.client,
            session: grant.session,
            scope: grant.scope,
            audience: grant.audience,
            claims: grant.claims,
            decided_at: grant.consented_at,
        }
    }
}

impl ConsentService {
    /// A page of what a subject consented to.
    pub async fn list(&self, asked: &ListConsents) -> Result<ConsentPage, InvalidPageToken> {
        let place = page_token::past_the_first(asked.page_token.as_deref());
        let place = place.map(|token| self.open_place(token).ok_or(InvalidPageToken::Token)).transpose()?;
        let mut found = self.find_from(asked, place).await?;
        let wanted = usize::try_from(asked.page_size).unwrap_or(usize::MAX);
        let more = found.len() > wanted;
        found.truncate(wanted);
        let next = found.last().filter(|_| more).map(|last| self.seal_place(last));
        let mut entries = Vec::with_capacity(found.len());
        for one in found {
            entries.push(match one {
                Found::Decision(decision) => self.entry(decision).await?,
                Found::Grant(grant) => ConsentEntry::from(grant),
            });
        }
        let view = View { subject: &asked.subject, until: asked.wait_until };
        let grantees = grantees(&entries, &self.clients, &self.late, &view).await?;
        let with_grantee = |entry: ConsentEntry| {
            let grantee = grantees.get(&entry.client).cloned().unwrap_or(Grantee::Gone);
            (entry, grantee)
        };
        Ok(ConsentPage { entries: entries.into_iter().map(with_grantee).collect(), next })
    }

    /// How many consents there are of the subject on all pages, of whichever session. They are counted if they are not all on `page`;
    /// nothing is said of more than 10,000, or if they cannot be counted now: a page is of use without.
    pub async fn total(&self, asked: &ListConsents, page: &ConsentPage) -> Option<u64> {
        let is_first = page_token::past_the_first(asked.page_token.as_deref()).is_none();
        if is_first && asked.session.is_none() && page.next.is_none() {
            return Some(page.entries.len() as u64);
        }
        told(self.count_up_to(MOST_COUNTED + 1, asked).await)
    }

    async fn count_up_to(&self, limit: u32, asked: &ListConsents) -> Result<u64, StoreError> {
        let (subject, now) = (&asked.subject, self.clock.now());
        let decisions = self.consents.count_decisions(subject, now, limit).await?;
        let left = limit.saturating_sub(u32::try_from(decisions).unwrap_or(u32::MAX));
        if left == 0 {
            return Ok(decisions);
        }
        Ok(decisions + self.grants.count_listed(subject, asked.grants, now, left).await?)
    }

    /// What a page shows, and one more if there is a next one.
    async fn find_from(&self, asked: &ListConsents, place: Option<Place>) -> Result<Vec<Found>, StoreError> {
        let (subject, session, now) = (&asked.subject, asked.session, self.clock.now());
        let limit = asked.page_size.saturating_add(1);
        let (after, before) = match place {
            None => (None, None),
            Some(Place::After(client)) => (Some(client), None),
            Some(Place::Before(grant)) => (None, Some(grant)),
        };
        let mut found = Vec::new();
        if before.is_none() {
            let page = DecisionPage { subject: subject.clone(), session, after, limit, now };
            found.extend(self.consents.list(page).await?.into_iter().map(Found::Decision));
        }
        let limit = limit.saturating_sub(u32::try_from(found.len()).unwrap_or(u32::MAX));
        if limit > 0 {
            let page =
                GrantPage { subject: subject.clone(), session, listed: asked.grants, before, limit, now };
            found.extend(self.grants.list(page).await?.into_iter().map(Found::Grant));
        }
        Ok(found)
    }

    /// A decision has the id of its flow as long as its grant is there to be found by it.
    async fn entry(&self, decision: RememberedConsent) -> Result<ConsentEntry, StoreError> {
        let made_in = decision.claims.made_in;
        let flow = made_in.map(MadeIn::grant);
        let lives = match flow {
            Some(flow) => {
                let grant = self.grants.find(flow).await?;
                grant.is_some_and(|grant| self.clock.now() < grant.expires_at)
            }
            None => false,
        };
        let own_name = || DecisionName::of(&decision).seal(&self.sealer);
        let id = flow.filter(|_| lives).map_or_else(own_name, |flow| flow.to_string());
        Ok(ConsentEntry {
            id,
            flow,
            subject: decision.subject,
            client: decision.client,
            session: made_in.and_then(MadeIn::session),
            scope: decision.scope,
            audience: decision.audience,
            claims: decision.claims,
            decided_at: decision.decided_at,
        })
    }

    fn seal_place(&self, last: &Found) -> String {
        let place = match last {
            Found::Decision(decision) => {
                [[AFTER_CLIENT].as_slice(), decision.client.as_str().as_bytes()].concat()
            }
            Found::Grant(grant) => [[BEFORE_GRANT].as_slice(), grant.id.as_bytes()].concat(),
        };
        self.sealer.seal(Purpose::PageToken, &place, &*self.rng)
    }

    fn open_place(&self, token: &str) -> Option<Place> {
        let opened = self.sealer.open(Purpose::PageToken, token).ok()?;
        match opened.split_first()? {
            (&AFTER_CLIENT, client) => Some(Place::After(std::str::from_utf8(client).ok()?.parse().ok()?)),
            (&BEFORE_GRANT, grant) => Some(Place::Before(GrantId::from_bytes(grant.try_into().ok()?))),
            _ => None,
        }
    }
}

/// What is said of a count that ended at one more than are counted, or failed.
fn told(counted: Result<u64, StoreError>) -> Option<u64> {
    match counted {
        Ok(counted) => Some(counted).filter(|counted| *counted <= u64::from(MOST_COUNTED)),
        Err(error) => {
            debug!(error = %chain(&error), "the consents of a subject are not counted");
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_consents_than_are_counted_and_a_count_that_fails_have_no_number() {
        let counts = [Ok(0), Ok(10_000), Ok(10_001), Err(StoreError::Busy)];
        assert_eq!(counts.map(told), [Some(0), Some(10_000), None, None]);
    }
}
