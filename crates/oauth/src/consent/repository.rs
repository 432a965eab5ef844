//! Remembered decisions.

use async_trait::async_trait;
use sluice_commit::StoreError;
use sluice_primitives::{GrantId, SessionId, Timestamp};
use sluice_protocol::claims_request::ClaimsRequest;
use sluice_protocol::{Audience, ClientId, Scope, Subject};
use sluice_token::{Marker, Target};

use super::name::DecisionName;
use crate::config::ScopeStrategy;
use crate::grant::{GrantClaims, Requested};
use crate::userinfo::comes_with;

/// Claims that tell how somebody logged in, or by which name the client knows them, and nothing about them.
const ABOUT_LOGIN: [&str; 5] = ["sub", "acr", "amr", "auth_time", "sid"];

/// A decision that was to be remembered. One per subject and client: a later one replaces it.
#[derive(Debug, Clone, PartialEq)]
pub struct RememberedConsent {
    /// Whose decision.
    pub subject: Subject,
    /// About whom.
    pub client: ClientId,
    /// What was granted.
    pub scope: Scope,
    /// For which services.
    pub audience: Audience,
    /// The claims of the consent page, for those that skip it.
    pub claims: GrantClaims,
    /// When it was decided.
    pub decided_at: Timestamp,
    /// Until when it holds; [`Timestamp::NEVER`] if without end.
    pub expires_at: Timestamp,
}

impl RememberedConsent {
    /// Whether nobody need be asked about this again: scope and audience were granted, or no audience at all, and this one was asked
    /// for. Pages written for Hydra, which does not look at the audience, often grant none; one that granted some and refused others
    /// is asked again, because who skips it may not look at what was refused.
    pub(crate) fn answers(&self, (scope, audience): (&Scope, &Audience), strategy: ScopeStrategy) -> bool {
        let asked = self.claims.requested.as_ref().map(Requested::audience).unwrap_or_default();
        let granted = self.audience.as_slice();
        let is_answered =
            |name: &String| granted.contains(name) || (granted.is_empty() && asked.contains(name));
        strategy.covers(&self.scope, scope) && audience.as_slice().iter().all(is_answered)
    }
}

impl RememberedConsent {
    /// Whether nobody need be asked about these claims again, which a request asks for one by one (OpenID Connect Core §5.5): each was
    /// asked for when this was decided, or comes with a scope that was granted. No page asks about how somebody logs in.
    pub(crate) fn answers_claims(&self, asked: Option<&str>) -> bool {
        let Some(asked) = asked.and_then(|text| ClaimsRequest::parse(text).ok()) else { return true };
        let before = self.claims.claims_request.as_ref();
        let is_answered = |place: &str, name: &str| {
            ABOUT_LOGIN.contains(&name)
                || comes_with(&self.scope, name)
                || before.and_then(|before| before.get(place)?.get(name)).is_some()
        };
        asked.userinfo.keys().all(|name| is_answered("userinfo", name))
            && asked.id_token.keys().all(|name| is_answered("id_token", name))
    }
}

/// Whose decisions are forgotten and whose grants are revoked with them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Forget {
    /// Whose.
    pub subject: Subject,
    /// About this client only; about all if none.
    pub client: Option<ClientId>,
    /// When.
    pub now: Timestamp,
    /// When nodes may forget the marker.
    pub marker_expires_at: Timestamp,
}

impl Forget {
    /// The marker of it.
    pub fn marker(&self) -> Marker {
        let subject = self.subject.clone();
        let target = match self.client.clone() {
            Some(client) => Target::SubjectClient(subject, client),
            None => Target::SubjectConsents(subject),
        };
        Marker { target, at: self.now, expires_at: self.marker_expires_at }
    }
}

/// One page of a subject's remembered decisions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecisionPage {
    /// Whose.
    pub subject: Subject,
    /// Only those made in this login session.
    pub session: Option<SessionId>,
    /// Only about clients whose id comes after this one.
    pub after: Option<ClientId>,
    /// At most so many.
    pub limit: u32,
    /// Decisions that have ended are left out.
    pub now: Timestamp,
}

/// Remembered decisions. Every method is one transaction. A decision about a registered client holds if it was not made before that was
/// registered; about any other if the last marker of that is older.
#[async_trait]
pub trait ConsentRepository: Send + Sync {
    /// The decision of a subject about a client, if it holds at `now`.
    async fn find(
        &self,
        subject: &Subject,
        client: &ClientId,
        now: Timestamp,
    ) -> Result<Option<RememberedConsent>, StoreError>;

    /// The decisions of a subject that hold at `now`, in the order of their clients' ids.
    async fn list(&self, page: DecisionPage) -> Result<Vec<RememberedConsent>, StoreError>;

    /// How many decisions of a subject hold at `now`. The count ends at `limit`.
    async fn count_decisions(&self, subject: &Subject, now: Timestamp, limit: u32)
    -> Result<u64, StoreError>;

    /// The decision that was made in this flow, of which a login session was part, whether or not it still holds; none once
    /// another has taken its place, or it was purged.
    async fn made_in(&self, flow: GrantId) -> Result<Option<DecisionName>, StoreError>;

    /// Forgets decisions and revokes what was granted by them, or will be by flows under way: one marker for (subject,
    /// client), or without a client for all consents of the subject, however many there are. Grants whose consent was
    /// accepted later are not touched.
    async fn forget(&self, forget: Forget) -> Result<(), StoreError>;

    /// Remembers decisions that were made elsewhere, all in one step: each unless it or a later one is there, or it was forgotten after it was
    /// made, or its subject was signed out since. How many were written.
    async fn import(&self, decisions: Vec<RememberedConsent>) -> Result<u64, StoreError>;

    /// Deletes at most `limit` decisions that ended before `now`; how many it was. One that another has taken the place of
    /// meanwhile is not touched.
    async fn purge_expired(&self, now: Timestamp, limit: u32) -> Result<u64, StoreError>;
}
