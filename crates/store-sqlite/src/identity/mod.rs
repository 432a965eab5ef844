//! Identities on SQLite: the login name is a row of its own, and whoever gets it gets the identity.
//!
//! [`directory`]: what administrators and people do with records that are there. [`change`], [`list`]: its longer steps.

mod change;
mod directory;
mod list;

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use rusqlite::{Row, params};
use sluice_commit::StoreError;
use sluice_identity::identity::{
    Identity, IdentityRepository, IdentityStatus, LoginNameHash, NewIdentity, Registration, Removed,
};
use sluice_primitives::{AttemptId, IdentityId, Timestamp, pinned};

use crate::error::SqliteError;
use crate::store::SqliteStore;
use crate::writer::{Kind, Write};
use crate::{mail_code, row};

const REGISTER: &str = include_str!("register.sql");
const REGISTER_NAME: &str = include_str!("register_name.sql");
const ATTEMPT: &str = include_str!("attempt.sql");
const FORGET_NAME: &str = include_str!("forget_name.sql");
const FIND: &str = include_str!("find.sql");
const FIND_BY_LOGIN_NAME: &str = include_str!("find_by_login_name.sql");
const REVISION: &str = include_str!("revision.sql");
pub(crate) const REPLACE_CREDENTIAL: &str = include_str!("replace_credential.sql");

const ACTIVE: i16 = 1;
const DISABLED: i16 = 2;

/// Registers identities.
pub(crate) struct RegisterIdentity;

impl Kind for RegisterIdentity {
    type Op = NewIdentity;
    type Out = Registration;

    fn key(op: &NewIdentity) -> u64 {
        op.identity.login_name.first_chunk().map_or(0, |start| u64::from_be_bytes(*start))
    }

    fn write(write: &mut Write<'_>, op: &NewIdentity) -> Result<Registration, SqliteError> {
        let NewIdentity { identity, letters } = op;
        if write.insert("login_name", REGISTER_NAME, (identity.login_name, identity.id.as_bytes()))? == 0 {
            let attempt = |row: &Row<'_>| Ok(AttemptId::from_bytes(row.get(0)?));
            if write.row(ATTEMPT, [identity.login_name], attempt)? == Some(identity.attempt) {
                return Ok(Registration::Registered);
            }
            let letter = letters.as_ref().and_then(|letters| letters.if_taken.as_ref());
            letter.map_or(Ok(()), |letter| mail_code::put(write, letter))?;
            return Ok(Registration::Taken);
        }
        insert(write, identity)?;
        if let Some(letters) = letters {
            mail_code::put(write, &letters.welcome)?;
        }
        Ok(Registration::Registered)
    }
}

fn insert(write: &mut Write<'_>, identity: &Identity) -> Result<(), SqliteError> {
    let values = params![
        identity.id.as_bytes(),
        identity.email,
        identity.login_name,
        identity.username,
        identity.credential,
        identity.hardening.then(|| identity.created_at.as_millis()),
        stored(identity.status),
        identity.email_verified_at.map(Timestamp::as_millis),
        identity.created_at.as_millis(),
        identity.attempt.as_bytes(),
    ];
    write.insert("identity", REGISTER, values).map(drop)
}

/// Why nothing is removed of somebody's record, if nothing is.
pub(crate) fn removal_prevented(
    write: &Write<'_>,
    id: IdentityId,
    looked_at: Option<i64>,
) -> Result<Option<Removed>, SqliteError> {
    let present = write.row(REVISION, [id.as_bytes()], |row| Ok(row.get::<_, i64>(0)?))?;
    Ok(Removed::prevented(present, looked_at))
}

const fn stored(status: IdentityStatus) -> i16 {
    match status {
        IdentityStatus::Active => ACTIVE,
        IdentityStatus::Disabled => DISABLED,
    }
}

/// The status in a column. One that this version does not know lets nobody in.
fn status(row: &Row<'_>, column: usize) -> Result<IdentityStatus, SqliteError> {
    let stored: i16 = row.get(column)?;
    Ok(if stored == ACTIVE { IdentityStatus::Active } else { IdentityStatus::Disabled })
}

fn identity(row: &Row<'_>) -> Result<Identity, SqliteError> {
    Ok(Identity {
        id: IdentityId::from_bytes(row.get(0)?),
        email: row.get(1)?,
        login_name: row.get(2)?,
        username: row.get(3)?,
        credential: row.get(4)?,
        hardening: row.get::<_, Option<i64>>(5)?.is_some(),
        status: status(row, 6)?,
        email_verified_at: row::time_if_any(row, 7)?,
        created_at: row::time(row, 8)?,
        updated_at: row::time(row, 9)?,
        revision: row.get(10)?,
        attempt: AttemptId::from_bytes(row.get(11)?),
    })
}

/// Whether a registration can be stored.
fn check(new: &NewIdentity) -> Result<(), StoreError> {
    let identity = &new.identity;
    row::check("email", &identity.email)?;
    row::check("username", &identity.username)?;
    row::check("credential", &identity.credential)?;
    for letter in new.letters.iter().flat_map(|letters| letters.all()) {
        mail_code::check(&letter.code, &letter.mail)?;
    }
    Ok(())
}

#[async_trait]
impl IdentityRepository for SqliteStore {
    fn register(&self, new: NewIdentity) -> BoxFuture<'_, Result<Registration, StoreError>> {
        let checked = check(&new);
        let registered = checked.map(|()| self.register_lane().submit(new.into(), self.deadline()));
        pinned(move || async move { Ok(registered?.await?) })
    }

    async fn find_by_login_name(&self, login_name: &LoginNameHash) -> Result<Option<Identity>, StoreError> {
        let login_name = *login_name;
        self.read(move |read| read.row(FIND_BY_LOGIN_NAME, [login_name], identity)).await
    }

    async fn find(&self, id: IdentityId) -> Result<Option<Identity>, StoreError> {
        self.read(move |read| read.row(FIND, [id.as_bytes()], identity)).await
    }

    async fn replace_credential(&self, id: IdentityId, old: &str, new: &str) -> Result<bool, StoreError> {
        row::check("credential", new)?;
        let (old, new) = (old.to_owned(), new.to_owned());
        self.write(move |write| {
            Ok(write.update("identity", REPLACE_CREDENTIAL, params![id.as_bytes(), old, new])? == 1)
        })
        .await
    }
}
