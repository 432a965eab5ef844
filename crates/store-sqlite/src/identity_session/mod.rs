//! Sessions of the identity service on SQLite.
//!
//! [`rotate`]: refresh tokens. [`stored`]: rows.

mod rotate;
mod stored;

use async_trait::async_trait;
use rusqlite::params;
use sluice_commit::StoreError;
use sluice_identity::session::{IdentitySession, IdentitySessionRepository, Rotation, SessionRotation};
use sluice_primitives::{IdentityId, SessionId, Timestamp};

pub(crate) use stored::{end_all, end_weaker, forget, forget_until};

use crate::row;
use crate::slices::{Expiry, Search};
use crate::store::SqliteStore;

const BEGIN: &str = include_str!("begin.sql");
const IS_THERE: &str = include_str!("is_there.sql");
const FIND: &str = include_str!("find.sql");
const OF_IDENTITY: &str = include_str!("of_identity.sql");
const EXPIRY: Expiry = Expiry {
    table: "identity_session",
    search: Search { slice_end: include_str!("slice_end.sql"), candidates: include_str!("expired.sql") },
    delete: include_str!("purge_expired.sql"),
};

#[async_trait]
impl IdentitySessionRepository for SqliteStore {
    async fn begin(
        &self,
        session: &IdentitySession,
        marker_expires_at: Timestamp,
    ) -> Result<bool, StoreError> {
        row::check("device", &session.device)?;
        row::check("network", &session.network)?;
        let amr = row::encode_list("amr", &session.amr)?;
        let session = session.clone();
        self.write(move |write| {
            let values = params![
                session.id.as_bytes(),
                session.identity.as_bytes(),
                session.authenticated_at.as_millis(),
                session.last_seen_at.as_millis(),
                session.expires_at.as_millis(),
                session.generation,
                session.rotated_at.as_millis(),
                amr,
                session.device,
                session.network,
                session.attempt.as_bytes(),
                session.id.to_string(),
                session.identity.to_string(),
            ];
            if write.insert("identity_session", BEGIN, values)? == 1 {
                let times = (session.authenticated_at, marker_expires_at);
                stored::end_oldest(write, session.identity, times)?;
                return Ok(true);
            }
            Ok(write.row(IS_THERE, [session.id.as_bytes()], |_| Ok(()))?.is_some())
        })
        .await
    }

    async fn find(&self, id: SessionId, now: Timestamp) -> Result<Option<IdentitySession>, StoreError> {
        self.read(move |read| read.row(FIND, (id.as_bytes(), now.as_millis()), stored::session)).await
    }

    async fn rotate(&self, rotation: &SessionRotation) -> Result<Rotation, StoreError> {
        let rotation = rotation.clone();
        self.write(move |write| rotate::rotate(write, &rotation)).await
    }

    async fn of_identity(
        &self,
        identity: IdentityId,
        now: Timestamp,
    ) -> Result<Vec<IdentitySession>, StoreError> {
        let values = (*identity.as_bytes(), now.as_millis());
        self.read(move |read| read.rows(OF_IDENTITY, values, stored::session)).await
    }

    async fn end(
        &self,
        id: SessionId,
        identity: IdentityId,
        (now, marker_expires_at): (Timestamp, Timestamp),
    ) -> Result<bool, StoreError> {
        self.write(move |write| stored::end_one(write, id, identity, (now, marker_expires_at))).await
    }

    async fn purge_expired(&self, before: Timestamp, limit: u32) -> Result<u64, StoreError> {
        self.purge_slices(EXPIRY, self.identity_session_purge(), before, limit).await
    }
}
