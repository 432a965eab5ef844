//! Second factors and recovery codes. What must count a person's factors locks the identity first.

use async_trait::async_trait;
use sluice_commit::StoreError;
use sluice_identity::factor::{
    AddedFactor, Factor, FactorKind, FactorRepository, FactorUse, HashedRecoveryCodes, MAX_FACTORS,
    RecoveryCodeCounts, WeakerSessions, WithFirst,
};
use sluice_identity::identity::Removed;
use sluice_identity::mail::QueuedMail;
use sluice_primitives::{IdentityId, Timestamp};
use tokio_postgres::Row;
use uuid::Uuid;

use crate::PostgresStore;
use crate::error::{Unreadable, column};
use crate::feed::append::Counted;
use crate::identity::{LOCK, removal_prevented, removed, was_made_by};
use crate::serial::Transaction;
use crate::{mail, storable};

const FORGET_CODES_IF_FIRST: &str = include_str!("forget_codes_if_first.sql");
const PUT_CODES_IF_FIRST: &str = include_str!("put_codes_if_first.sql");
const END_WEAKER_IF_FIRST: &str = include_str!("end_weaker_if_first.sql");
const ADD: &str = include_str!("add.sql");
const ADDED: &str = include_str!("added.sql");
const REQUIRE: &str = include_str!("require.sql");
const IS_REQUIRED: &str = include_str!("is_required.sql");
const OF_IDENTITY: &str = include_str!("of_identity.sql");
const USE_ONCE: &str = include_str!("use_once.sql");
const RENAME: &str = include_str!("rename.sql");
const FORGET_CODES_WITH_LAST: &str = include_str!("forget_codes_with_last.sql");
const REMOVE: &str = include_str!("remove.sql");
const FORGET_CODES: &str = include_str!("forget_codes.sql");
const PUT_CODES: &str = include_str!("put_codes.sql");
const RAISE_REVISION: &str = include_str!("raise_revision.sql");
const SPEND_CODE: &str = include_str!("spend_code.sql");
const CODES_LEFT: &str = include_str!("codes_left.sql");
const ALL: &str = include_str!("all.sql");
const RESEAL: &str = include_str!("reseal.sql");
const ALL_CODES_LEFT: &str = include_str!("all_codes_left.sql");
const MOST: i64 = MAX_FACTORS as i64;

#[async_trait]
impl FactorRepository for PostgresStore {
    async fn add(
        &self,
        factor: &Factor,
        revision: i64,
        first: Option<WithFirst<'_>>,
        notice: Option<&QueuedMail>,
    ) -> Result<AddedFactor, StoreError> {
        storable::text("the name of a factor", &factor.name)?;
        storable::text("a sealed factor", &factor.sealed)?;
        let (mail, sealed, due_at) = mail::columns(notice)?;
        let identity = factor.identity.as_uuid();
        let (kind, created_at) = (factor.kind.stored(), factor.created_at.as_millis());
        let last_used_at = factor.last_used_at.map(Timestamp::as_millis);
        let (hashes, key) = first.map(|first| columns(first.codes)).unwrap_or_default();
        // Only the first one finds room for one.
        let most = if first.is_some_and(|first| first.only) { 1 } else { MOST };
        let ending = first.and_then(|first| first.ends).map(|ends| Ending::new(self, ends));
        let mut transaction = Transaction::new().then(LOCK, vec![&identity]);
        if let Some(ending) = &ending {
            transaction = ending.if_first(transaction, (&identity, &revision));
        }
        if first.is_some() {
            transaction = transaction
                .then(FORGET_CODES_IF_FIRST, vec![&identity, &revision])
                .then(PUT_CODES_IF_FIRST, vec![&identity, &revision, &hashes, &key]);
        }
        let transaction = transaction
            .then(
                ADD,
                vec![
                    &identity,
                    &factor.id,
                    &most,
                    &kind,
                    &factor.name,
                    &factor.sealed,
                    &created_at,
                    &last_used_at,
                    &factor.counter,
                    &revision,
                    &mail,
                    &sealed,
                    &due_at,
                ],
            )
            .then(ADDED, vec![&identity, &factor.id, &revision, &hashes, &factor.sealed]);
        let committed = self.serial.commit(&transaction).await?;
        let Some(row) = committed.row() else { return Ok(AddedFactor::Unknown) };
        Ok(match (column(row, 0)?, column(row, 1)?) {
            (true, _) => AddedFactor::told((column(row, 3)?, column(row, 2)?)),
            (false, true) => AddedFactor::TooMany,
            (false, false) => AddedFactor::Unknown,
        })
    }

    async fn require(&self, identity: IdentityId, required: bool) -> Result<bool, StoreError> {
        Ok(!self.write(REQUIRE, &[&identity.as_uuid(), &required]).await?.is_empty())
    }

    async fn is_required(&self, identity: IdentityId) -> Result<bool, StoreError> {
        let rows = self.read(IS_REQUIRED, &[&identity.as_uuid()]).await?;
        Ok(rows.first().map(|row| column::<bool>(row, 0)).transpose()?.unwrap_or(false))
    }

    async fn of_identity(&self, identity: IdentityId) -> Result<Vec<Factor>, StoreError> {
        let rows = self.read(OF_IDENTITY, &[&identity.as_uuid()]).await?;
        Ok(rows.iter().map(read).collect::<Result<_, _>>()?)
    }

    async fn use_once(&self, used: &FactorUse) -> Result<bool, StoreError> {
        storable::texts(&[("a sealed factor", used.sealed.as_deref())])?;
        let (identity, now, attempt) = (used.identity.as_uuid(), used.now.as_millis(), self.attempt());
        let rows = self
            .write_with_others(
                USE_ONCE,
                &[&identity, &used.id, &used.old_counter, &used.new_counter, &used.sealed, &now, &attempt],
            )
            .await?;
        Ok(!rows.is_empty())
    }

    async fn rename(&self, identity: IdentityId, id: Uuid, name: &str) -> Result<bool, StoreError> {
        storable::text("the name of a factor", name)?;
        Ok(!self.write(RENAME, &[&identity.as_uuid(), &id, &name]).await?.is_empty())
    }

    async fn remove(
        &self,
        identity: IdentityId,
        id: Uuid,
        revision: Option<i64>,
        notice: Option<&QueuedMail>,
    ) -> Result<Removed, StoreError> {
        let (mail, sealed, due_at) = mail::columns(notice)?;
        let (identity, attempt) = (identity.as_uuid(), self.attempt());
        let transaction = Transaction::new()
            .then(LOCK, vec![&identity])
            .then(FORGET_CODES_WITH_LAST, vec![&identity, &id, &revision])
            .then(REMOVE, vec![&identity, &id, &revision, &attempt, &mail, &sealed, &due_at]);
        let committed = self.serial.commit(&transaction).await?;
        if was_made_by(&committed, attempt)? {
            return Ok(Removed::Done);
        }
        Ok(removed(&committed, revision)?)
    }

    async fn replace_recovery_codes(
        &self,
        identity: IdentityId,
        revision: i64,
        codes: HashedRecoveryCodes<'_>,
        notice: Option<&QueuedMail>,
    ) -> Result<bool, StoreError> {
        let (mail, sealed, due_at) = mail::columns(notice)?;
        let (identity, attempt, (hashes, key)) = (identity.as_uuid(), self.attempt(), columns(codes));
        let transaction = Transaction::new()
            .then(LOCK, vec![&identity])
            .then(FORGET_CODES, vec![&identity, &revision])
            .then(PUT_CODES, vec![&identity, &revision, &hashes, &key])
            .then(RAISE_REVISION, vec![&identity, &revision, &attempt, &mail, &sealed, &due_at]);
        let committed = self.serial.commit(&transaction).await?;
        let is_as_before = removal_prevented(&committed, Some(revision))?.is_none();
        Ok(is_as_before || was_made_by(&committed, attempt)?)
    }

    async fn spend_recovery_code(
        &self,
        identity: IdentityId,
        code: &[u8; 32],
        notice: Option<&QueuedMail>,
    ) -> Result<bool, StoreError> {
        let (mail, sealed, due_at) = mail::columns(notice)?;
        let (identity, attempt) = (identity.as_uuid(), self.attempt());
        let rows = self
            .write_with_others(SPEND_CODE, &[&identity, &code.as_slice(), &attempt, &mail, &sealed, &due_at])
            .await?;
        Ok(!rows.is_empty())
    }

    async fn recovery_codes_left(&self, identity: IdentityId) -> Result<u32, StoreError> {
        let rows = self.read(CODES_LEFT, &[&identity.as_uuid()]).await?;
        let left = rows.first().map(|row| column::<i64>(row, 0)).transpose()?;
        Ok(left.and_then(|left| u32::try_from(left).ok()).unwrap_or_default())
    }

    async fn all_factors(
        &self,
        after: Option<(IdentityId, Uuid)>,
        limit: u32,
    ) -> Result<Vec<Factor>, StoreError> {
        let (identity, id) = after.map_or_else(Default::default, |(identity, id)| (identity.as_uuid(), id));
        let rows = self.read(ALL, &[&identity, &id, &i64::from(limit)]).await?;
        Ok(rows.iter().map(read).collect::<Result<_, _>>()?)
    }

    async fn reseal_factor(&self, factor: &Factor, sealed: &str) -> Result<bool, StoreError> {
        storable::text("a sealed factor", sealed)?;
        let identity = factor.identity.as_uuid();
        let rows = self.write(RESEAL, &[&identity, &factor.id, &factor.sealed, &sealed]).await?;
        Ok(!rows.is_empty())
    }

    async fn all_recovery_codes_left(&self) -> Result<RecoveryCodeCounts, StoreError> {
        let mut counts = RecoveryCodeCounts::new();
        let (mut person, mut hash) = (Uuid::nil(), Vec::<u8>::new());
        loop {
            let rows = self.read(ALL_CODES_LEFT, &[&person, &hash]).await?;
            let Some(row) = rows.first() else { return Ok(counts) };
            person = column(row, 2)?;
            hash = column(row, 3)?;
            for row in &rows {
                let (key, left) = counted(row)?;
                if left > 0 {
                    *counts.entry(key).or_default() += left;
                }
            }
        }
    }
}

/// The end of sessions with the first factor, column by column.
struct Ending {
    keep: Uuid,
    counted: Counted,
    marker_expires_at: i64,
}

impl Ending {
    fn new(store: &PostgresStore, ends: WeakerSessions) -> Self {
        Self {
            keep: ends.keep.as_uuid(),
            // How many end is known when they have: the counter is raised then, and only locked before.
            counted: Counted::new(store, 0, ends.now),
            marker_expires_at: ends.marker_expires_at.as_millis(),
        }
    }

    /// Ends them, if the person with this record has no factor yet.
    fn if_first<'a>(
        &'a self,
        transaction: Transaction<'a>,
        (identity, revision): (&'a Uuid, &'a i64),
    ) -> Transaction<'a> {
        let Counted { node, at, .. } = &self.counted;
        self.counted.for_revocations(transaction).then(
            END_WEAKER_IF_FIRST,
            vec![identity, revision, &self.keep, node, at, &self.marker_expires_at],
        )
    }
}

/// The hashes, and the name of their key.
fn columns(codes: HashedRecoveryCodes<'_>) -> (Vec<&[u8]>, i16) {
    (codes.hashes.iter().map(<[u8; 32]>::as_slice).collect(), i16::from(codes.key))
}

/// How many recovery codes of a key are left in a slice.
fn counted(row: &Row) -> Result<(Option<u8>, u64), Unreadable> {
    let key = column::<Option<i16>>(row, 0)?.map(u8::try_from).transpose();
    let key = key.map_err(|cause| Unreadable::new("recovery code", &cause))?;
    Ok((key, column::<i64>(row, 1)?.unsigned_abs()))
}

fn read(row: &Row) -> Result<Factor, Unreadable> {
    Ok(Factor {
        identity: IdentityId::from_uuid(column(row, 0)?),
        id: column(row, 1)?,
        kind: kind(column(row, 2)?)?,
        name: column(row, 3)?,
        sealed: column(row, 4)?,
        created_at: Timestamp::from_millis(column(row, 5)?),
        last_used_at: column::<Option<i64>>(row, 6)?.map(Timestamp::from_millis),
        counter: column(row, 7)?,
    })
}

fn kind(stored: i16) -> Result<FactorKind, Unreadable> {
    let kinds = [FactorKind::Totp, FactorKind::Passkey];
    let known = kinds.into_iter().find(|kind| kind.stored() == stored);
    known.ok_or_else(|| Unreadable::new("factor", &format_args!("unknown kind {stored}")))
}
