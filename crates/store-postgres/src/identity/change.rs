//! Changing an identity: one transaction, whatever follows from the change.

use sluice_commit::StoreError;
use sluice_identity::identity::{Changed, EndsSessions, IdentityChange};
use sluice_primitives::{SessionId, Timestamp};
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use super::{LOCK, stored_status};
use crate::PostgresStore;
use crate::error::column;
use crate::feed::append::Counted;
use crate::serial::{Committed, Transaction};
use crate::storable;

const CLAIM_NAME: &str = include_str!("claim_name.sql");
const CHANGE: &str = include_str!("change.sql");
const CHANGE_OUTCOME: &str = include_str!("change_outcome.sql");

/// The repository's method of this name.
pub(super) async fn change(store: &PostgresStore, change: &IdentityChange) -> Result<Changed, StoreError> {
    check(change)?;
    let values = Values::new(store, change);
    let committed = store.serial.commit(&values.transaction(change)).await?;
    outcome(&committed, change)
}

fn check(change: &IdentityChange) -> Result<(), StoreError> {
    storable::texts(&[
        ("the email of an identity", change.email.as_ref().map(|new| new.email.as_str())),
        ("the username of an identity", change.username.as_deref()),
        ("the credential of an identity", change.credential.as_ref().map(|new| new.stored.as_str())),
    ])?;
    change.mails.iter().try_for_each(|mail| storable::text("a mail", &mail.sealed))
}

/// A change, column by column.
struct Values<'a> {
    id: Uuid,
    attempt: Uuid,
    /// By how much the revision is raised.
    raise: i64,
    email: Option<&'a str>,
    login_name: Option<&'a [u8]>,
    verifies: bool,
    verified_at: Option<i64>,
    status: Option<i16>,
    credential: Option<&'a str>,
    hardening_due: Option<i64>,
    ends: bool,
    spared: Option<Uuid>,
    mails: (Vec<Uuid>, Vec<&'a str>, Vec<i64>),
    marker_expires_at: i64,
    counted: Counted,
}

impl<'a> Values<'a> {
    fn new(store: &PostgresStore, change: &'a IdentityChange) -> Self {
        let spared = match change.ends_sessions {
            EndsSessions::None | EndsSessions::All => None,
            EndsSessions::AllBut(session) => Some(SessionId::as_uuid(session)),
        };
        let credential = change.credential.as_ref();
        Self {
            id: change.id.as_uuid(),
            attempt: change.attempt.as_uuid(),
            raise: i64::from(change.raises_revision()),
            email: change.email.as_ref().map(|new| new.email.as_str()),
            login_name: change.email.as_ref().map(|new| new.login_name.as_slice()),
            verifies: change.email_verified_at.is_some(),
            verified_at: change.email_verified_at.flatten().map(Timestamp::as_millis),
            status: change.status.map(stored_status),
            credential: credential.map(|new| new.stored.as_str()),
            hardening_due: credential.filter(|new| new.hardening).map(|_| change.now.as_millis()),
            ends: change.ends_sessions != EndsSessions::None,
            spared,
            mails: (
                change.mails.iter().map(|mail| mail.id).collect(),
                change.mails.iter().map(|mail| mail.sealed.as_str()).collect(),
                change.mails.iter().map(|mail| mail.due_at.as_millis()).collect(),
            ),
            marker_expires_at: change.marker_expires_at.as_millis(),
            // How many sessions end is known when they have ended: the counter is raised then, and only locked before.
            counted: Counted::new(store, 0, change.now),
        }
    }

    fn transaction<'t>(&'t self, change: &'t IdentityChange) -> Transaction<'t> {
        let mut transaction = Transaction::new().then(LOCK, vec![&self.id]);
        if self.login_name.is_some() {
            transaction = transaction.then(CLAIM_NAME, vec![&self.id, &change.revision, &self.login_name]);
        }
        if self.ends || change.revokes {
            transaction = self.counted.for_revocations(transaction);
        }
        transaction
            .then(CHANGE, self.in_order(change))
            .then(CHANGE_OUTCOME, vec![&self.id, &change.revision, &self.attempt, &self.raise])
    }

    /// In the order of the placeholders.
    fn in_order<'t>(&'t self, change: &'t IdentityChange) -> Vec<&'t (dyn ToSql + Sync)> {
        let (ids, sealed, due) = &self.mails;
        vec![
            &self.id,
            &change.revision,
            &self.email,
            &self.login_name,
            &self.verifies,
            &self.verified_at,
            &change.username,
            &self.status,
            &self.credential,
            &self.hardening_due,
            &self.counted.at,
            &self.attempt,
            &change.forgets_factors,
            &self.ends,
            &self.spared,
            ids,
            sealed,
            due,
            &change.revokes,
            &self.counted.node,
            &self.marker_expires_at,
            &self.raise,
        ]
    }
}

/// What the row says afterwards. At the revision that was looked at, only a name can have been in the way.
fn outcome(committed: &Committed, change: &IdentityChange) -> Result<Changed, StoreError> {
    let Some(row) = committed.row() else { return Ok(Changed::Stale) };
    let (is_done, is_as_before): (bool, bool) = (column(row, 0)?, column(row, 1)?);
    Ok(match (is_done, is_as_before && change.email.is_some()) {
        (true, _) => Changed::Done,
        (false, true) => Changed::Taken,
        (false, false) => Changed::Stale,
    })
}
