//! Identities. [`register`]: the hot write, with its [`letters`]. [`directory`]: what is done with records that are there, with
//! [`change`] and [`search`]. Here: the repository, and what a removal rests on.

mod change;
mod directory;
mod letters;
pub(crate) mod register;
mod search;

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use sluice_commit::StoreError;
use sluice_identity::identity::{
    Identity, IdentityRepository, IdentityStatus, LoginNameHash, NewIdentity, Registration, Removed,
};
use sluice_primitives::{AttemptId, IdentityId, Timestamp, pinned};
use tokio_postgres::Row;
use uuid::Uuid;

use crate::PostgresStore;
use crate::error::{Unreadable, column};
use crate::queues::{Columns, Look, Wanted, ids};
use crate::serial::Committed;
use crate::storable;

/// Locks an identity until the end of the transaction: its id and revision, and the attempt that changed it last.
pub(crate) const LOCK: &str = include_str!("lock.sql");
const REPLACE_CREDENTIAL: &str = include_str!("replace_credential.sql");

/// Whether a registration can be stored.
fn check(new: &NewIdentity) -> Result<(), StoreError> {
    let identity = &new.identity;
    storable::text("the email of an identity", &identity.email)?;
    storable::text("the username of an identity", &identity.username)?;
    storable::text("the credential of an identity", &identity.credential)?;
    for letter in new.letters.iter().flat_map(|letters| letters.all()) {
        storable::text("the email of a code", &letter.code.email)?;
        storable::text("a mail", &letter.mail.sealed)?;
    }
    Ok(())
}

/// Records as they are.
pub(crate) struct Identities;

impl Look for Identities {
    type Asked = Uuid;
    type Found = Identity;
    const SQL: &'static str = include_str!("find.sql");

    fn columns<'a>(batch: &[&'a Uuid]) -> Columns<'a> {
        ids(batch)
    }

    fn read(row: &Row, _: &Uuid) -> Result<Identity, Unreadable> {
        read(row)
    }
}

/// The same by their names.
pub(crate) struct Named;

impl Look for Named {
    type Asked = LoginNameHash;
    type Found = Identity;
    const SQL: &'static str = include_str!("find_by_login_name.sql");

    fn columns<'a>(batch: &[&'a LoginNameHash]) -> Columns<'a> {
        vec![Box::new(batch.iter().map(|hash| hash.as_slice()).collect::<Vec<_>>())]
    }

    fn read(row: &Row, _: &LoginNameHash) -> Result<Identity, Unreadable> {
        read(row)
    }
}

#[async_trait]
impl IdentityRepository for PostgresStore {
    fn register(&self, new: NewIdentity) -> BoxFuture<'_, Result<Registration, StoreError>> {
        let registered = check(&new).map(|()| self.registrations.submit(new, self.deadline()));
        pinned(move || async move { Ok(registered?.await?) })
    }

    async fn find_by_login_name(&self, login_name: &LoginNameHash) -> Result<Option<Identity>, StoreError> {
        self.lookups.named.submit(Wanted::new(*login_name), self.deadline()).await?
    }

    async fn find(&self, id: IdentityId) -> Result<Option<Identity>, StoreError> {
        self.lookups.identities.submit(Wanted::new(id.as_uuid()), self.deadline()).await?
    }

    async fn replace_credential(&self, id: IdentityId, old: &str, new: &str) -> Result<bool, StoreError> {
        storable::text("the credential of an identity", new)?;
        let replaced = self.write_with_others(REPLACE_CREDENTIAL, &[&id.as_uuid(), &old, &new]).await?;
        Ok(!replaced.is_empty())
    }
}

/// Why nothing is removed of somebody's record, if nothing is. The first statement of the transaction locked it.
pub(crate) fn removal_prevented(
    committed: &Committed,
    looked_at: Option<i64>,
) -> Result<Option<Removed>, Unreadable> {
    let present = committed.first().first().map(|row| column::<i64>(row, 1)).transpose()?;
    Ok(Removed::prevented(present, looked_at))
}

/// Whether an earlier try of this attempt, whose answer was lost, changed the record last. The first statement of the transaction
/// locked it.
pub(crate) fn was_made_by(committed: &Committed, attempt: Uuid) -> Result<bool, Unreadable> {
    let last = committed.first().first().map(|row| column::<Uuid>(row, 2)).transpose()?;
    Ok(last == Some(attempt))
}

/// What became of a removal. The first statement of the transaction locked the identity, the last one removed.
pub(crate) fn removed(committed: &Committed, looked_at: Option<i64>) -> Result<Removed, Unreadable> {
    if committed.row().is_some() {
        return Ok(Removed::Done);
    }
    Ok(match removal_prevented(committed, looked_at)? {
        Some(Removed::Stale) => Removed::Stale,
        _ if committed.repeated => Removed::Done,
        _ => Removed::Missing,
    })
}

pub(crate) const fn stored_status(status: IdentityStatus) -> i16 {
    match status {
        IdentityStatus::Active => 1,
        IdentityStatus::Disabled => 2,
    }
}

/// The status that was stored; an unknown one may not log in.
const fn status(stored: i16) -> IdentityStatus {
    match stored {
        1 => IdentityStatus::Active,
        _ => IdentityStatus::Disabled,
    }
}

pub(crate) fn read(row: &Row) -> Result<Identity, Unreadable> {
    let login_name: &[u8] = column(row, 2)?;
    Ok(Identity {
        id: IdentityId::from_uuid(column(row, 0)?),
        email: column(row, 1)?,
        login_name: login_name.try_into().map_err(|cause| Unreadable::new("identity", &cause))?,
        username: column(row, 3)?,
        credential: column(row, 4)?,
        hardening: column::<Option<i64>>(row, 5)?.is_some(),
        status: status(column(row, 6)?),
        email_verified_at: column::<Option<i64>>(row, 7)?.map(Timestamp::from_millis),
        created_at: Timestamp::from_millis(column(row, 8)?),
        updated_at: Timestamp::from_millis(column(row, 9)?),
        revision: column(row, 10)?,
        attempt: AttemptId::from_uuid(column(row, 11)?),
    })
}
