//! Credentials that wait to be hardened, on SQLite. A lease is a due time in the future.

use async_trait::async_trait;
use rusqlite::{Row, params};
use sluice_commit::StoreError;
use sluice_identity::hardening::{Backlog, HardenedCredential, HardeningRepository, LeasedCredential};
use sluice_primitives::{IdentityId, Lifetime, Timestamp};

use crate::error::SqliteError;
use crate::identity::REPLACE_CREDENTIAL;
use crate::row;
use crate::store::SqliteStore;

const DUE: &str = include_str!("due.sql");
const LEASE: &str = include_str!("lease.sql");
const GIVE_UP: &str = include_str!("give_up.sql");
const BACKLOG: &str = include_str!("backlog.sql");
/// The latest due time that does not say that a credential was given up.
const LATEST: i64 = i64::MAX - 1;

fn leased(row: &Row<'_>) -> Result<LeasedCredential, SqliteError> {
    Ok(LeasedCredential { id: IdentityId::from_bytes(row.get(0)?), stored: row.get(1)? })
}

#[async_trait]
impl HardeningRepository for SqliteStore {
    async fn lease(
        &self,
        now: Timestamp,
        lease: Lifetime,
        limit: u32,
    ) -> Result<Vec<LeasedCredential>, StoreError> {
        let until = (now + lease).as_millis().min(LATEST);
        self.write(move |write| {
            // Two statements, because rows that an update returns are in no order. Nobody else writes in between.
            let due = write.rows(DUE, (now.as_millis(), limit), leased)?;
            for credential in &due {
                write.update("identity", LEASE, (credential.id.as_bytes(), until))?;
            }
            Ok(due)
        })
        .await
    }

    async fn harden(&self, hardened: &[HardenedCredential]) -> Result<u64, StoreError> {
        hardened.iter().try_for_each(|credential| row::check("credential", &credential.new))?;
        let hardened = hardened.to_vec();
        self.write(move |write| {
            let mut stored = 0;
            for HardenedCredential { id, old, new } in &hardened {
                stored += write.update("identity", REPLACE_CREDENTIAL, params![id.as_bytes(), old, new])?;
            }
            Ok(row::count(stored))
        })
        .await
    }

    async fn give_up(&self, id: IdentityId, old: &str) -> Result<(), StoreError> {
        let old = old.to_owned();
        self.write(move |write| write.update("identity", GIVE_UP, params![id.as_bytes(), old]).map(drop))
            .await
    }

    async fn backlog(&self) -> Result<Backlog, StoreError> {
        let backlog = |row: &Row<'_>| {
            Ok(Backlog {
                waiting: row::count_of(row, 0)?,
                oldest: row::time_if_any(row, 1)?,
                dead: row::count_of(row, 2)?,
            })
        };
        Ok(self.read(move |read| read.row(BACKLOG, [], backlog)).await?.unwrap_or_default())
    }
}
