//! Grants on SQLite.
//!
//! [`lanes`]: the hot writes, each behind its group-commit queue. [`insert`], [`redeem`], [`rotate`], [`revoke`]: one file
//! per kind of them. [`passes`]: the slow walks over the whole table, a slice at a time. [`stored`]: rows.

pub(crate) mod lanes;

mod insert;
mod passes;
mod redeem;
mod revoke;
mod rotate;
mod stored;

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use rusqlite::params;
use sluice_commit::StoreError;
use sluice_oauth::consent::RememberedConsent;
use sluice_oauth::grant::{
    Grant, GrantPage, GrantRepository, Insertion, Listed, RedeemCode, Redemption, RotateRefresh, Rotation,
    Standing,
};
use sluice_primitives::{GrantId, Timestamp, pinned};
use sluice_protocol::Subject;

pub(crate) use passes::Passes;

use self::insert::NewGrant;
use self::redeem::Redeeming;
use self::revoke::Revocation;
use self::rotate::Rotating;
use self::stored::Examined;
use crate::row;
use crate::store::SqliteStore;

const FIND: &str = include_str!("find.sql");
const LIST: &str = include_str!("list.sql");
const COUNT_LISTED: &str = include_str!("count_listed.sql");

/// The key of a grant in a group-commit queue: the random end of its id.
fn key_of(grant: GrantId) -> u64 {
    grant.as_uuid().as_u64_pair().1
}

#[async_trait]
impl GrantRepository for SqliteStore {
    fn insert(
        &self,
        grant: Grant,
        remember: Option<RememberedConsent>,
        participates: bool,
    ) -> BoxFuture<'_, Result<Insertion, StoreError>> {
        let new = NewGrant::new(grant, remember, participates);
        let inserted = new.map(|new| self.grants().insert.submit(new.into(), self.deadline()));
        pinned(move || async move { Ok(inserted?.await?) })
    }

    fn redeem_code(&self, redeem: RedeemCode) -> BoxFuture<'_, Result<Redemption, StoreError>> {
        let redeeming = Redeeming::new(redeem);
        let redeemed = redeeming.map(|redeem| self.grants().redeem.submit(redeem.into(), self.deadline()));
        pinned(move || async move { Ok(redeemed?.await?) })
    }

    fn rotate_refresh(&self, rotate: RotateRefresh) -> BoxFuture<'_, Result<Rotation, StoreError>> {
        let rotating = Rotating::new(rotate);
        let rotated = rotating.map(|rotate| self.grants().rotate.submit(rotate.into(), self.deadline()));
        pinned(move || async move { Ok(rotated?.await?) })
    }

    async fn find(&self, grant: GrantId) -> Result<Option<Grant>, StoreError> {
        self.read(move |read| read.row(FIND, [grant.as_bytes()], stored::grant)).await
    }

    async fn standing(&self, grant: GrantId) -> Result<Option<Standing>, StoreError> {
        let found = self.read(move |read| {
            // Whatever its time: that is for who asks.
            read.row(stored::EXAMINE, (grant.as_bytes(), i64::MIN), stored::examined)
        });
        Ok(found.await?.map(|Examined { grant, is_revoked, .. }| Standing { grant, is_revoked }))
    }

    async fn revoke(
        &self,
        grant: GrantId,
        now: Timestamp,
        marker_expires_at: Timestamp,
    ) -> Result<(), StoreError> {
        let revocation = Revocation { grant, now, marker_expires_at };
        Ok(self.grants().revoke.submit(revocation.into(), self.deadline()).await?)
    }

    async fn list(&self, page: GrantPage) -> Result<Vec<Grant>, StoreError> {
        self.read(move |read| {
            let session = page.session.map(|session| *session.as_bytes());
            let before = page.before.map(|before| *before.as_bytes());
            let (all, now) = (page.listed == Listed::All, page.now.as_millis());
            let session_name = page.session.map(|session| session.to_string());
            let subject = page.subject.as_str();
            let values = params![subject, session, before, page.limit, now, all, session_name];
            read.rows(LIST, values, stored::grant)
        })
        .await
    }

    async fn count_listed(
        &self,
        subject: &Subject,
        listed: Listed,
        now: Timestamp,
        limit: u32,
    ) -> Result<u64, StoreError> {
        let (subject, all) = (subject.clone(), listed == Listed::All);
        let counted = self
            .read(move |read| {
                let values = (subject.as_str(), now.as_millis(), all, limit);
                read.row(COUNT_LISTED, values, |row| row::count_of(row, 0))
            })
            .await?;
        Ok(counted.unwrap_or_default())
    }

    async fn purge_expired(&self, now: Timestamp, limit: u32) -> Result<u64, StoreError> {
        self.purge_grants(now, limit).await
    }

    async fn sweep_revoked(&self, now: Timestamp, limit: u32) -> Result<u64, StoreError> {
        self.sweep_grants(now, limit).await
    }
}
