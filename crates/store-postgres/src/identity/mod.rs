//! Identities. [`register`]: the hot write. Here: the repository.

pub(crate) mod register;

use async_trait::async_trait;
use sluice_commit::StoreError;
use sluice_identity::identity::{Identity, IdentityRepository, IdentityStatus, LoginNameHash, Registration};
use sluice_primitives::{AttemptId, IdentityId, Timestamp};
use tokio_postgres::Row;

use crate::PostgresStore;
use crate::error::{Unreadable, column};
use crate::storable;

const FIND_BY_LOGIN_NAME: &str = include_str!("find_by_login_name.sql");
const FIND: &str = include_str!("find.sql");
const REPLACE_PASSWORD_HASH: &str = include_str!("replace_password_hash.sql");

#[async_trait]
impl IdentityRepository for PostgresStore {
    async fn register(&self, identity: Identity) -> Result<Registration, StoreError> {
        storable::text("the email of an identity", &identity.email)?;
        storable::text("the password hash of an identity", &identity.password_hash)?;
        Ok(self.registrations.submit(identity, self.deadline()).await?)
    }

    async fn find_by_login_name(&self, login_name: &LoginNameHash) -> Result<Option<Identity>, StoreError> {
        let rows = self.read(FIND_BY_LOGIN_NAME, &[&login_name.as_slice()]).await?;
        Ok(rows.first().map(read).transpose()?)
    }

    async fn find(&self, id: IdentityId) -> Result<Option<Identity>, StoreError> {
        let rows = self.read(FIND, &[&id.as_uuid()]).await?;
        Ok(rows.first().map(read).transpose()?)
    }

    async fn replace_password_hash(&self, id: IdentityId, old: &str, new: &str) -> Result<bool, StoreError> {
        storable::text("the password hash of an identity", new)?;
        let replaced = self.write(REPLACE_PASSWORD_HASH, &[&id.as_uuid(), &old, &new]).await?;
        Ok(!replaced.is_empty())
    }
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

fn read(row: &Row) -> Result<Identity, Unreadable> {
    let login_name: &[u8] = column(row, 2)?;
    Ok(Identity {
        id: IdentityId::from_uuid(column(row, 0)?),
        email: column(row, 1)?,
        login_name: login_name.try_into().map_err(|cause| Unreadable::new("identity", &cause))?,
        password_hash: column(row, 3)?,
        status: status(column(row, 4)?),
        created_at: Timestamp::from_millis(column(row, 5)?),
        attempt: AttemptId::from_uuid(column(row, 6)?),
    })
}
