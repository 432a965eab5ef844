//! Grants in memory.

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use sluice_commit::StoreError;
use sluice_oauth::config::LONGEST_ACCESS_TOKEN;
use sluice_oauth::consent::RememberedConsent;
use sluice_oauth::grant::{
    Generation, Grant, GrantClaims, GrantPage, GrantRepository, Insertion, Listed, RedeemCode, Redemption,
    RefreshRequest, RotateRefresh, Rotation, SecondTime, Standing,
};
use sluice_primitives::{GrantId, NodeId, SessionId, Timestamp};
use sluice_protocol::Subject;
use sluice_token::{Marker, Target};

use super::{Data, MemoryStore, check, count, purge};

#[derive(Debug)]
pub(super) struct Row {
    pub(super) grant: Grant,
    request: RefreshRequest,
}

impl Row {
    /// The row of a new grant.
    pub(super) const fn of(grant: Grant) -> Self {
        Self { grant, request: [0; 16] }
    }

    /// Takes what a later token of Hydra says of the grant, unless it was refreshed, or a token that ends later has spoken. If it was revoked, it
    /// stays so for as long.
    pub(super) fn say(&mut self, later: Grant) {
        let has_begun = self.grant.generation != Generation(0) && self.grant.revoked_at.is_none();
        if !has_begun && self.grant.expires_at <= later.expires_at {
            let Grant { scope, audience, mut claims, rotated_at, expires_at, .. } = later;
            if self.grant.revoked_at.is_some() {
                claims = GrantClaims::default();
            }
            self.grant = Grant { scope, audience, claims, rotated_at, expires_at, ..self.grant.clone() };
        }
    }

    /// Nothing is kept then of its person but who that is.
    fn revoke(&mut self, now: Timestamp) {
        self.grant.revoked_at.get_or_insert(now);
        self.grant.claims = GrantClaims::default();
    }

    /// Takes the claims that a redemption or rotation brings.
    fn take(&mut self, claims: Option<&GrantClaims>) {
        if let Some(claims) = claims {
            self.grant.claims = claims.clone();
        }
    }
}

/// Refuses claims that cannot be stored.
pub(super) fn check_claims(claims: &GrantClaims) -> Result<(), StoreError> {
    check([serde_json::to_string(claims).unwrap_or_default().as_str()])
}

/// The engine's own refusal of a poisoned row.
#[derive(Debug, thiserror::Error)]
#[error("the row is poisoned")]
struct Poisoned;

impl Data {
    /// Inserts a grant, unless one is there, and what is to be remembered with it.
    fn insert(
        &mut self,
        grant: Grant,
        remember: Option<RememberedConsent>,
        participates: bool,
    ) -> Result<Insertion, StoreError> {
        if self.poisoned.contains(&grant.id) {
            return Err(StoreError::fault(Poisoned));
        }
        if let Some(row) = self.grants.get(&grant.id) {
            let own = row.grant.attempt == grant.attempt;
            return Ok(if own { Insertion::Inserted } else { Insertion::Taken });
        }
        if let Some(decision) = remember {
            self.remember(decision, grant.authenticated_at);
        }
        let is_there = |session: &SessionId| self.sessions.contains_key(session);
        if let Some(session) = grant.session.filter(|_| participates).filter(is_there) {
            let shown = grant.claims.shown_subject.clone();
            self.session_clients.entry((session, grant.client.clone())).or_insert(shown);
        }
        self.grants.insert(grant.id, Row::of(grant));
        Ok(Insertion::Inserted)
    }

    /// Whether the grant was revoked, by itself or by a wide marker.
    fn is_revoked(&self, grant: &Grant) -> bool {
        grant.revoked_at.is_some() || self.covers(grant)
    }

    /// Revokes a grant for misuse, and appends its marker.
    fn punish(&mut self, node: NodeId, grant: GrantId, (now, expires_at): (Timestamp, Timestamp)) {
        let Some(row) = self.grants.get_mut(&grant) else { return };
        row.revoke(now);
        self.mark(node, Marker { target: Target::Grant(grant), at: now, expires_at });
    }

    fn redeem(&mut self, node: NodeId, redeem: &RedeemCode) -> Redemption {
        let Some(row) = self.grants.get(&redeem.grant).filter(|row| row.grant.expires_at > redeem.now) else {
            return Redemption::Unknown;
        };
        if self.is_revoked(&row.grant) {
            return Redemption::Revoked;
        }
        if row.grant.redeemed_at.is_some() {
            if row.grant.attempt == redeem.attempt {
                return Redemption::Redeemed(Box::new(row.grant.clone()));
            }
            if redeem.second_time == SecondTime::IsRefused {
                return Redemption::Refused;
            }
            self.punish(node, redeem.grant, (redeem.now, redeem.marker_expires_at));
            return Redemption::Replayed;
        }
        let Some(row) = self.grants.get_mut(&redeem.grant) else { return Redemption::Unknown };
        row.grant.redeemed_at = Some(redeem.now);
        row.grant.rotated_at = Some(redeem.now);
        row.grant.generation = Generation(0);
        let is_refreshable = row.grant.scope.to_string().contains("offline");
        row.grant.expires_at = if is_refreshable { redeem.refreshable_until } else { redeem.expires_at };
        row.grant.attempt = redeem.attempt;
        row.take(redeem.claims.as_deref());
        Redemption::Redeemed(Box::new(row.grant.clone()))
    }

    fn rotate(&mut self, node: NodeId, rotate: &RotateRefresh) -> Rotation {
        let Some(row) = self.grants.get(&rotate.grant).filter(|row| row.grant.expires_at > rotate.now) else {
            return Rotation::Unknown;
        };
        let (grant, presented) = (&row.grant, rotate.presented);
        if self.is_revoked(grant) {
            return Rotation::Revoked;
        }
        let Some(rotated_at) = grant.rotated_at else { return Rotation::Unknown };
        if grant.attempt == rotate.attempt && grant.generation == presented.next() {
            return Rotation::Rotated(Box::new(grant.clone()));
        }
        let within = rotate.now.since(rotated_at) < rotate.window;
        match grant.generation.0.checked_sub(presented.0) {
            None => Rotation::Unknown,
            Some(0) => self.advance(rotate),
            Some(1) if within && row.request == rotate.request => Rotation::Repeated(Box::new(grant.clone())),
            Some(1 | 2) if within => Rotation::Stale,
            Some(_) => {
                self.punish(node, rotate.grant, (rotate.now, rotate.marker_expires_at));
                Rotation::Reused
            }
        }
    }

    fn advance(&mut self, rotate: &RotateRefresh) -> Rotation {
        let Some(row) = self.grants.get_mut(&rotate.grant) else { return Rotation::Unknown };
        row.request = rotate.request;
        row.grant.generation = rotate.presented.next();
        row.grant.rotated_at = Some(rotate.now);
        let kept = row.grant.expires_at.min(rotate.now + LONGEST_ACCESS_TOKEN);
        row.grant.expires_at = rotate.expires_at.max(kept);
        row.grant.attempt = rotate.attempt;
        row.take(rotate.claims.as_deref());
        Rotation::Rotated(Box::new(row.grant.clone()))
    }

    /// Writes `revoked_at` onto covered grants; if none is left, decisions about deleted clients go, and expired markers whose sessions are
    /// deleted.
    fn sweep(&mut self, now: Timestamp, limit: u32) -> u64 {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let mut covered: Vec<GrantId> = self
            .grants
            .values()
            .filter(|row| row.grant.revoked_at.is_none() && self.covers(&row.grant))
            .map(|row| row.grant.id)
            .collect();
        let complete = covered.len() <= limit;
        covered.truncate(limit);
        for grant in &covered {
            if let Some(row) = self.grants.get_mut(grant) {
                row.revoke(now);
            }
        }
        if complete {
            self.forget_decisions();
            let stays = |marker: &Marker| marker.expires_at > now || self.is_left_over(marker);
            let gone = self.markers.iter().filter(|(_, marker)| !stays(marker));
            let gone: Vec<_> = gone.map(|(place, _)| *place).collect();
            self.markers.retain(|place, _| !gone.contains(place));
        }
        count(&covered)
    }
}

#[async_trait]
impl GrantRepository for MemoryStore {
    fn insert(
        &self,
        grant: Grant,
        remember: Option<RememberedConsent>,
        participates: bool,
    ) -> BoxFuture<'_, Result<Insertion, StoreError>> {
        Box::pin(async move {
            check(grant.audience.as_slice().iter().map(String::as_str))?;
            check_claims(&grant.claims)?;
            self.write(|data| data.insert(grant, remember, participates)).await?
        })
    }

    fn redeem_code(&self, redeem: RedeemCode) -> BoxFuture<'_, Result<Redemption, StoreError>> {
        Box::pin(async move {
            redeem.claims.as_deref().map_or(Ok(()), check_claims)?;
            self.write(|data| data.redeem(self.node, &redeem)).await
        })
    }

    fn rotate_refresh(&self, rotate: RotateRefresh) -> BoxFuture<'_, Result<Rotation, StoreError>> {
        Box::pin(async move {
            rotate.claims.as_deref().map_or(Ok(()), check_claims)?;
            self.write(|data| data.rotate(self.node, &rotate)).await
        })
    }

    async fn find(&self, grant: GrantId) -> Result<Option<Grant>, StoreError> {
        Ok(self.read(|data| data.grants.get(&grant).map(|row| row.grant.clone())))
    }

    async fn standing(&self, grant: GrantId) -> Result<Option<Standing>, StoreError> {
        Ok(self.read(|data| {
            let grant = data.grants.get(&grant)?.grant.clone();
            Some(Standing { is_revoked: data.is_revoked(&grant), grant })
        }))
    }

    async fn revoke(
        &self,
        grant: GrantId,
        now: Timestamp,
        marker_expires_at: Timestamp,
    ) -> Result<(), StoreError> {
        self.write(|data| {
            if let Some(row) = data.grants.get_mut(&grant) {
                row.revoke(now);
            }
            let target = Target::Grant(grant);
            data.mark(self.node, Marker { target, at: now, expires_at: marker_expires_at });
        })
        .await
    }

    async fn list(&self, page: GrantPage) -> Result<Vec<Grant>, StoreError> {
        let limit = usize::try_from(page.limit).unwrap_or(usize::MAX);
        Ok(self.read(|data| {
            let newest_first = data.grants.values().rev().map(|row| &row.grant);
            newest_first
                .filter(|grant| grant.subject == page.subject && grant.expires_at > page.now)
                .filter(|grant| page.session.is_none() || grant.session == page.session)
                .filter(|grant| page.before.is_none_or(|before| grant.id < before))
                .filter(|grant| !data.is_revoked(grant))
                .filter(|grant| {
                    let decided = data.is_listed_as_decision(grant, page.session, page.now);
                    page.listed == Listed::All || (!grant.claims.skipped && !decided)
                })
                .take(limit)
                .cloned()
                .collect()
        }))
    }

    async fn count_listed(
        &self,
        subject: &Subject,
        listed: Listed,
        now: Timestamp,
        limit: u32,
    ) -> Result<u64, StoreError> {
        let (subject, session) = (subject.clone(), None);
        let all = GrantPage { subject, session, listed, before: None, limit, now };
        Ok(GrantRepository::list(self, all).await?.len() as u64)
    }

    async fn purge_expired(&self, now: Timestamp, limit: u32) -> Result<u64, StoreError> {
        self.write(|data| count(&purge(&mut data.grants, limit, |row| row.grant.expires_at < now))).await
    }

    async fn sweep_revoked(&self, now: Timestamp, limit: u32) -> Result<u64, StoreError> {
        self.write(|data| data.sweep(now, limit)).await
    }
}
