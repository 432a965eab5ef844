//! What administrators and people do with records that are there.

use async_trait::async_trait;
use rusqlite::params;
use sluice_commit::StoreError;
use sluice_identity::identity::{
    Changed, IdentityChange, IdentityDirectory, IdentityFilter, IdentityPage, LoginNameHash, Removed,
};
use sluice_identity::mail::QueuedMail;
use sluice_primitives::{IdentityId, Timestamp};

use super::list::Search;
use super::{FORGET_NAME, change, removal_prevented};
use crate::error::SqliteError;
use crate::store::SqliteStore;
use crate::writer::Write;
use crate::{consent, factor, identity_session, mail, mail_code, row};

const RESEAL_CREDENTIAL: &str = include_str!("reseal_credential.sql");
const DELETE: &str = include_str!("delete.sql");

#[async_trait]
impl IdentityDirectory for SqliteStore {
    async fn list(&self, filter: &IdentityFilter) -> Result<IdentityPage, StoreError> {
        let search = Search::new(filter);
        self.read(move |read| search.page(read)).await
    }

    async fn change(&self, change: &IdentityChange) -> Result<Changed, StoreError> {
        change::check(change)?;
        let change = change.clone();
        self.write(move |write| change::change(write, &change)).await
    }

    async fn reseal_credential(&self, id: IdentityId, old: &str, new: &str) -> Result<bool, StoreError> {
        row::check("credential", new)?;
        let (old, new) = (old.to_owned(), new.to_owned());
        self.write(move |write| {
            Ok(write.update("identity", RESEAL_CREDENTIAL, params![id.as_bytes(), old, new])? == 1)
        })
        .await
    }

    async fn delete(
        &self,
        id: IdentityId,
        revision: Option<i64>,
        now: Timestamp,
        marker_expires_at: Timestamp,
        notice: Option<&QueuedMail>,
    ) -> Result<Removed, StoreError> {
        notice.map_or(Ok(()), mail::check)?;
        let (marker, notice) = ((now, marker_expires_at), notice.cloned());
        self.write(move |write| delete(write, (id, revision), marker, notice.as_ref())).await
    }
}

fn delete(
    write: &mut Write<'_>,
    (id, revision): (IdentityId, Option<i64>),
    marker: (Timestamp, Timestamp),
    notice: Option<&QueuedMail>,
) -> Result<Removed, SqliteError> {
    if let Some(prevented) = removal_prevented(write, id, revision)? {
        return Ok(prevented);
    }
    let name = |row: &rusqlite::Row<'_>| Ok(row.get::<_, LoginNameHash>(0)?);
    let Some(login_name) = write.deleted("identity", DELETE, [id.as_bytes()], name)?.pop() else {
        return Ok(Removed::Missing);
    };
    write.delete("login_name", FORGET_NAME, [login_name])?;
    factor::forget(write, id)?;
    identity_session::forget(write, id)?;
    mail_code::forget(write, id)?;
    consent::forget_all(write, &id.to_string())?;
    change::revoke(write, id, marker)?;
    notice.map_or(Ok(()), |notice| mail::queue(write, notice))?;
    Ok(Removed::Done)
}
