//! Credentials that wait to be hardened. The queue is the rows themselves; what was given up is due at the end of time.

use async_trait::async_trait;
use sluice_commit::StoreError;
use sluice_identity::hardening::{Backlog, HardenedCredential, HardeningRepository, LeasedCredential};
use sluice_primitives::{IdentityId, Lifetime, Timestamp};
use tokio_postgres::Row;
use uuid::Uuid;

use crate::PostgresStore;
use crate::error::{Unreadable, column};
use crate::storable;

const LEASE: &str = include_str!("lease.sql");
const HARDEN: &str = include_str!("harden.sql");
const GIVE_UP: &str = include_str!("give_up.sql");
const BACKLOG: &str = include_str!("backlog.sql");
/// When a credential is due that was given up.
const NEVER: i64 = i64::MAX;
/// How far the backlog is counted.
const COUNTED: i64 = 1_000_000;

#[async_trait]
impl HardeningRepository for PostgresStore {
    async fn lease(
        &self,
        now: Timestamp,
        lease: Lifetime,
        limit: u32,
    ) -> Result<Vec<LeasedCredential>, StoreError> {
        let until = (now + lease).as_millis();
        let rows = self.upkeep(LEASE, &[&now.as_millis(), &until, &i64::from(limit)]).await?;
        Ok(rows.iter().map(read).collect::<Result<_, _>>()?)
    }

    async fn harden(&self, hardened: &[HardenedCredential]) -> Result<u64, StoreError> {
        hardened.iter().try_for_each(|one| storable::text("the credential of an identity", &one.new))?;
        // In one order, so that two workers do not wait for each other.
        let mut hardened: Vec<&HardenedCredential> = hardened.iter().collect();
        hardened.sort_unstable_by_key(|one| one.id);
        let ids: Vec<Uuid> = hardened.iter().map(|one| one.id.as_uuid()).collect();
        let old: Vec<&str> = hardened.iter().map(|one| one.old.as_str()).collect();
        let new: Vec<&str> = hardened.iter().map(|one| one.new.as_str()).collect();
        Ok(self.upkeep(HARDEN, &[&ids, &old, &new]).await?.len() as u64)
    }

    async fn give_up(&self, id: IdentityId, old: &str) -> Result<(), StoreError> {
        self.upkeep(GIVE_UP, &[&id.as_uuid(), &old, &NEVER]).await.map(drop)
    }

    async fn backlog(&self) -> Result<Backlog, StoreError> {
        let rows = self.look_at_work(BACKLOG, &[&NEVER, &COUNTED]).await?;
        let row = rows.first().ok_or_else(|| Unreadable::new("backlog", &"no row"))?;
        let count = |place| column::<i64>(row, place).map(i64::unsigned_abs);
        let oldest = column::<Option<i64>>(row, 1)?.map(Timestamp::from_millis);
        Ok(Backlog { waiting: count(0)?, oldest, dead: count(2)? })
    }
}

fn read(row: &Row) -> Result<LeasedCredential, Unreadable> {
    Ok(LeasedCredential { id: IdentityId::from_uuid(column(row, 0)?), stored: column(row, 1)? })
}
