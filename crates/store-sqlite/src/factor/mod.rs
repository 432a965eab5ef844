//! Second factors and recovery codes on SQLite.
//!
//! [`stored`]: rows.

mod stored;

use async_trait::async_trait;
use rusqlite::params;
use sluice_commit::StoreError;
use sluice_identity::factor::{
    AddedFactor, Factor, FactorRepository, FactorUse, HashedRecoveryCodes, RecoveryCodeCounts, WithFirst,
};
use sluice_identity::identity::Removed;
use sluice_identity::mail::QueuedMail;
use sluice_primitives::IdentityId;
use uuid::Uuid;

pub(crate) use stored::forget;

use crate::identity::removal_prevented;
use crate::store::SqliteStore;
use crate::{mail, row};

const REQUIRE: &str = include_str!("require.sql");
const IS_REQUIRED: &str = include_str!("is_required.sql");
const OF_IDENTITY: &str = include_str!("of_identity.sql");
const USE_ONCE: &str = include_str!("use_once.sql");
const RENAME: &str = include_str!("rename.sql");
const SPEND_RECOVERY_CODE: &str = include_str!("spend_recovery_code.sql");
const RECOVERY_CODES_LEFT: &str = include_str!("recovery_codes_left.sql");
const ALL: &str = include_str!("all.sql");
const RESEAL: &str = include_str!("reseal.sql");
const ALL_RECOVERY_CODES_LEFT: &str = include_str!("all_recovery_codes_left.sql");

#[async_trait]
impl FactorRepository for SqliteStore {
    async fn add(
        &self,
        factor: &Factor,
        revision: i64,
        first: Option<WithFirst<'_>>,
        notice: Option<&QueuedMail>,
    ) -> Result<AddedFactor, StoreError> {
        row::check("name", &factor.name)?;
        row::check("factor", &factor.sealed)?;
        notice.map_or(Ok(()), mail::check)?;
        let (factor, first, notice) = (factor.clone(), first.map(stored::First::of), notice.cloned());
        self.write(move |write| stored::add(write, (&factor, revision), first.as_ref(), notice.as_ref()))
            .await
    }

    async fn require(&self, identity: IdentityId, required: bool) -> Result<bool, StoreError> {
        self.write(move |write| {
            Ok(write.update("identity", REQUIRE, params![identity.as_bytes(), required])? == 1)
        })
        .await
    }

    async fn is_required(&self, identity: IdentityId) -> Result<bool, StoreError> {
        let found =
            self.read(move |read| read.row(IS_REQUIRED, [identity.as_bytes()], |row| Ok(row.get(0)?)));
        Ok(found.await?.unwrap_or(false))
    }

    async fn of_identity(&self, identity: IdentityId) -> Result<Vec<Factor>, StoreError> {
        self.read(move |read| read.rows(OF_IDENTITY, [identity.as_bytes()], stored::factor)).await
    }

    async fn use_once(&self, used: &FactorUse) -> Result<bool, StoreError> {
        used.sealed.as_ref().map_or(Ok(()), |sealed| row::check("factor", sealed))?;
        let used = used.clone();
        self.write(move |write| {
            let values = params![
                used.identity.as_bytes(),
                used.id.as_bytes(),
                used.old_counter,
                used.new_counter,
                used.sealed,
                used.now.as_millis(),
            ];
            Ok(write.update("factor", USE_ONCE, values)? == 1)
        })
        .await
    }

    async fn rename(&self, identity: IdentityId, id: Uuid, name: &str) -> Result<bool, StoreError> {
        row::check("name", name)?;
        let name = name.to_owned();
        self.write(move |write| {
            Ok(write.update("factor", RENAME, params![identity.as_bytes(), id.as_bytes(), name])? == 1)
        })
        .await
    }

    async fn remove(
        &self,
        identity: IdentityId,
        id: Uuid,
        revision: Option<i64>,
        notice: Option<&QueuedMail>,
    ) -> Result<Removed, StoreError> {
        notice.map_or(Ok(()), mail::check)?;
        let notice = notice.cloned();
        self.write(move |write| stored::remove(write, (identity, revision), id, notice.as_ref())).await
    }

    async fn replace_recovery_codes(
        &self,
        identity: IdentityId,
        revision: i64,
        codes: HashedRecoveryCodes<'_>,
        notice: Option<&QueuedMail>,
    ) -> Result<bool, StoreError> {
        notice.map_or(Ok(()), mail::check)?;
        let (codes, notice) = (stored::Codes::of(codes), notice.cloned());
        self.write(move |write| {
            let is_as_before = removal_prevented(write, identity, Some(revision))?.is_none();
            if is_as_before {
                stored::replace_recovery_codes(write, identity, &codes)?;
                stored::raise_revision(write, identity)?;
                notice.as_ref().map_or(Ok(()), |notice| mail::queue(write, notice))?;
            }
            Ok(is_as_before)
        })
        .await
    }

    async fn spend_recovery_code(
        &self,
        identity: IdentityId,
        code: &[u8; 32],
        notice: Option<&QueuedMail>,
    ) -> Result<bool, StoreError> {
        notice.map_or(Ok(()), mail::check)?;
        let (code, notice) = (*code, notice.cloned());
        self.write(move |write| {
            let spent = write.delete("recovery_code", SPEND_RECOVERY_CODE, (identity.as_bytes(), code))?;
            if let Some(notice) = notice.as_ref().filter(|_| spent == 1) {
                mail::queue(write, notice)?;
            }
            Ok(spent == 1)
        })
        .await
    }

    async fn recovery_codes_left(&self, identity: IdentityId) -> Result<u32, StoreError> {
        let left = self
            .read(move |read| read.row(RECOVERY_CODES_LEFT, [identity.as_bytes()], |row| Ok(row.get(0)?)));
        Ok(left.await?.unwrap_or(0))
    }

    async fn all_factors(
        &self,
        after: Option<(IdentityId, Uuid)>,
        limit: u32,
    ) -> Result<Vec<Factor>, StoreError> {
        let (identity, id) = after.unwrap_or((IdentityId::from_bytes([0; 16]), Uuid::nil()));
        self.read(move |read| {
            read.rows(ALL, params![identity.as_bytes(), id.as_bytes(), limit], stored::factor)
        })
        .await
    }

    async fn reseal_factor(&self, factor: &Factor, sealed: &str) -> Result<bool, StoreError> {
        row::check("factor", sealed)?;
        let (factor, sealed) = (factor.clone(), sealed.to_owned());
        self.write(move |write| {
            let values = params![factor.identity.as_bytes(), factor.id.as_bytes(), factor.sealed, sealed];
            Ok(write.update("factor", RESEAL, values)? == 1)
        })
        .await
    }

    async fn all_recovery_codes_left(&self) -> Result<RecoveryCodeCounts, StoreError> {
        let counted = self.read(|read| {
            read.rows(ALL_RECOVERY_CODES_LEFT, [], |row| {
                Ok((row.get::<_, Option<u8>>(0)?, row::count_of(row, 1)?))
            })
        });
        Ok(counted.await?.into_iter().collect())
    }
}
