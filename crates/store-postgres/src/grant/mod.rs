//! Grants.
//!
//! [`insert`], [`redeem_code`], [`rotate_refresh`], [`revoke`]: the hot writes, one statement for a batch each; [`swap`] is what
//! the second and third share. [`look`]: the hot reads. [`sweep`]: what wide markers cover. [`row`]: a grant as columns. Here: the repository.

pub(crate) mod insert;
pub(crate) mod look;
pub(crate) mod redeem_code;
pub(crate) mod revoke;
pub(crate) mod rotate_refresh;
pub(crate) mod row;
pub(crate) mod swap;
pub(crate) mod sweep;

use std::sync::Arc;

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use sluice_commit::{BoxError, StoreError};
use sluice_oauth::consent::RememberedConsent;
use sluice_oauth::grant::{
    Grant, GrantPage, GrantRepository, Insertion, Listed, RedeemCode, Redemption, RotateRefresh, Rotation,
    Standing,
};
use sluice_primitives::{GrantId, Timestamp, pinned};
use sluice_protocol::Subject;
use uuid::Uuid;

use crate::PostgresStore;
use crate::error::column;
use crate::feed::append::Counted;
use crate::link::Link;
use crate::queues::Wanted;
use crate::rounds::Slice;
use crate::serial::Transaction;
use crate::statistics::Counters;
use insert::NewGrant;
use redeem_code::Redeeming;
use revoke::Revocation;
use rotate_refresh::Rotating;
use swap::Swapped;

const LIST: &str = include_str!("list.sql");
const COUNT_LISTED: &str = include_str!("count_listed.sql");
const PUNISH: &str = include_str!("punish.sql");
const PURGE_EXPIRED: &str = include_str!("purge_expired.sql");

/// The connection of a lane, which the writers of all kinds share, and what they count.
pub(crate) struct Hot {
    pub(crate) link: Arc<Link>,
    pub(crate) counters: Arc<Counters>,
}

impl Hot {
    /// Replaces the connection, unless another writer of the lane has done so.
    pub(crate) async fn reconnect(&self) -> Result<(), BoxError> {
        self.link.session().await.map(drop).map_err(BoxError::from)
    }
}

/// A hash of an id that any node makes the same of: ids are random in their low bits.
pub(crate) fn mixed(id: Uuid) -> u64 {
    let (high, low) = id.as_u64_pair();
    low ^ high.rotate_left(32)
}

#[async_trait]
impl GrantRepository for PostgresStore {
    fn insert(
        &self,
        grant: Grant,
        remember: Option<RememberedConsent>,
        participates: bool,
    ) -> BoxFuture<'_, Result<Insertion, StoreError>> {
        let new = NewGrant::new(grant, remember, participates);
        let inserted = new.map(|new| self.inserts.submit(new, self.deadline()));
        pinned(move || async move { Ok(inserted?.await?) })
    }

    fn redeem_code(&self, redeem: RedeemCode) -> BoxFuture<'_, Result<Redemption, StoreError>> {
        let (grant, now) = (redeem.grant, redeem.now);
        let redeeming = Redeeming::new(redeem);
        let redeemed = redeeming.map(|redeem| self.redemptions.submit(redeem, self.deadline()));
        pinned(move || async move { self.settle(redeemed?.await??, grant, now).await })
    }

    fn rotate_refresh(&self, rotate: RotateRefresh) -> BoxFuture<'_, Result<Rotation, StoreError>> {
        let (grant, now) = (rotate.grant, rotate.now);
        let rotating = Rotating::new(rotate);
        let rotated = rotating.map(|rotate| self.rotations.submit(rotate, self.deadline()));
        pinned(move || async move { self.settle(rotated?.await??, grant, now).await })
    }

    async fn find(&self, grant: GrantId) -> Result<Option<Grant>, StoreError> {
        self.lookups.grants.submit(Wanted::new(grant.as_uuid()), self.deadline()).await?
    }

    async fn standing(&self, grant: GrantId) -> Result<Option<Standing>, StoreError> {
        self.lookups.standings.submit(Wanted::new(grant.as_uuid()), self.deadline()).await?
    }

    async fn revoke(
        &self,
        grant: GrantId,
        now: Timestamp,
        marker_expires_at: Timestamp,
    ) -> Result<(), StoreError> {
        let (at, marker_expires_at) = (now.as_millis(), marker_expires_at.as_millis());
        let revocation = Revocation { grant, at, marker_expires_at };
        Ok(self.revocations.submit(revocation, self.deadline()).await?)
    }

    async fn list(&self, page: GrantPage) -> Result<Vec<Grant>, StoreError> {
        let subject = page.subject.as_str();
        let session = page.session.map(sluice_primitives::SessionId::as_uuid);
        let before = page.before.map(GrantId::as_uuid);
        let (now, limit) = (page.now.as_millis(), i64::from(page.limit));
        let all = page.listed == Listed::All;
        // It looks at each quarter of an hour of which grants are alive: others who read wait for one at most.
        let rows = self.read_in_turn(LIST, &[&subject, &session, &before, &now, &limit, &all]).await?;
        let grants = rows.iter().map(|found| row::read(found).map(|stored| stored.grant));
        let mut grants: Vec<Grant> = grants.collect::<Result<_, _>>()?;
        // As they are found, in truth: an SQL planner does not owe it.
        grants.sort_unstable_by_key(|grant| std::cmp::Reverse(grant.id));
        Ok(grants)
    }

    async fn count_listed(
        &self,
        subject: &Subject,
        listed: Listed,
        now: Timestamp,
        limit: u32,
    ) -> Result<u64, StoreError> {
        let (now, all, limit) = (now.as_millis(), listed == Listed::All, i64::from(limit));
        let rows = self.read_in_turn(COUNT_LISTED, &[&subject.as_str(), &now, &all, &limit]).await?;
        let counted: Option<i64> = rows.first().map(|row| column(row, 0)).transpose()?;
        Ok(counted.unwrap_or_default().unsigned_abs())
    }

    async fn purge_expired(&self, now: Timestamp, limit: u32) -> Result<u64, StoreError> {
        self.grant_purge.go(limit, |slice| self.purge_slice(PURGE_EXPIRED, now, slice)).await
    }

    async fn sweep_revoked(&self, now: Timestamp, limit: u32) -> Result<u64, StoreError> {
        sweep::sweep_revoked(self, now, limit).await
    }
}

impl PostgresStore {
    /// Does what must follow a compare-and-swap before it is answered.
    async fn settle<T>(&self, swapped: Swapped<T>, grant: GrantId, now: Timestamp) -> Result<T, StoreError> {
        match swapped {
            Swapped::Done(outcome) => Ok(outcome),
            Swapped::Misused { by_me, before, marker_expires_at } => {
                // Hardly ever: no other call is to be larger for it.
                let was_punished = Box::pin(self.punish((grant, marker_expires_at), now)).await?;
                Ok(if was_punished { by_me } else { before })
            }
        }
    }

    /// Revokes a grant whose code or refresh token was used twice. Whether this call has done so.
    async fn punish(
        &self,
        (grant, marker_expires_at): (GrantId, Timestamp),
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let counted = Counted::new(self, 1, now);
        let (id, expires_at) = (grant.as_uuid(), marker_expires_at.as_millis());
        let transaction = counted
            .for_revocations(Transaction::new())
            .then(PUNISH, vec![&id, &counted.at, &expires_at, &counted.node]);
        let committed = self.serial.commit(&transaction).await?;
        Ok(committed.row().is_some() || committed.repeated)
    }

    /// Deletes what has expired in one slice of a table.
    pub(crate) async fn purge_slice(
        &self,
        sql: &'static str,
        now: Timestamp,
        slice: Slice,
    ) -> Result<crate::rounds::Done, StoreError> {
        let rows = self.upkeep(sql, &[&slice.after, &slice.rows, &now.as_millis(), &slice.limit]).await?;
        crate::rounds::Done::read(rows.first())
    }
}
