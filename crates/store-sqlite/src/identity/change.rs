//! Changes of identities. The writer is alone in the file, so what is looked at first still holds when it is written.

use rusqlite::params;
use sluice_commit::StoreError;
use sluice_identity::identity::{Changed, EndsSessions, IdentityChange, LoginNameHash, NewCredential};
use sluice_primitives::{AttemptId, IdentityId, Timestamp};
use sluice_protocol::Subject;
use sluice_token::{Marker, Target};

use super::{FORGET_NAME, REGISTER_NAME, stored};
use crate::error::SqliteError;
use crate::writer::Write;
use crate::{factor, identity_session, mail, row};

const NAME_OWNER: &str = include_str!("name_owner.sql");
const STATE: &str = include_str!("state.sql");
const CHANGE: &str = include_str!("change.sql");

/// What a change is held against.
struct State {
    revision: i64,
    attempt: AttemptId,
    login_name: LoginNameHash,
}

/// Refuses a change that cannot be stored.
pub(super) fn check(change: &IdentityChange) -> Result<(), StoreError> {
    let texts = [
        ("email", change.email.as_ref().map(|email| &email.email)),
        ("username", change.username.as_ref()),
        ("credential", change.credential.as_ref().map(|credential| &credential.stored)),
    ];
    texts.iter().try_for_each(|(name, text)| text.map_or(Ok(()), |text| row::check(name, text)))?;
    change.mails.iter().try_for_each(mail::check)
}

pub(super) fn change(write: &mut Write<'_>, change: &IdentityChange) -> Result<Changed, SqliteError> {
    let state = write.row(STATE, [change.id.as_bytes()], |row| {
        let attempt = AttemptId::from_bytes(row.get(1)?);
        Ok(State { revision: row.get(0)?, attempt, login_name: row.get(2)? })
    })?;
    match state {
        Some(state) if state.attempt == change.attempt => Ok(Changed::Done),
        Some(state) if state.revision == change.revision => {
            if is_taken(write, change)? {
                return Ok(Changed::Taken);
            }
            make(write, change, &state.login_name)?;
            Ok(Changed::Done)
        }
        _ => Ok(Changed::Stale),
    }
}

/// Whether the new login name is another identity's.
fn is_taken(write: &Write<'_>, change: &IdentityChange) -> Result<bool, SqliteError> {
    let Some(email) = &change.email else { return Ok(false) };
    let owner = write.row(NAME_OWNER, [email.login_name], |row| Ok(IdentityId::from_bytes(row.get(0)?)))?;
    Ok(owner.is_some_and(|owner| owner != change.id))
}

fn make(write: &mut Write<'_>, change: &IdentityChange, old_name: &LoginNameHash) -> Result<(), SqliteError> {
    rename(write, change, old_name)?;
    update(write, change)?;
    let until = (change.now, change.marker_expires_at);
    if change.revokes {
        // What the marker covers needs none of its own.
        identity_session::forget_until(write, change.id, change.now)?;
        revoke(write, change.id, until)?;
    }
    match change.ends_sessions {
        EndsSessions::None => {}
        EndsSessions::All => identity_session::end_all(write, change.id, None, until)?,
        EndsSessions::AllBut(session) => identity_session::end_all(write, change.id, Some(session), until)?,
    }
    if change.forgets_factors {
        factor::forget(write, change.id)?;
    }
    change.mails.iter().try_for_each(|mail| mail::queue(write, mail))
}

/// Gives the new login name in the place of the old one.
fn rename(
    write: &mut Write<'_>,
    change: &IdentityChange,
    old_name: &LoginNameHash,
) -> Result<(), SqliteError> {
    let Some(email) = change.email.as_ref().filter(|email| email.login_name != *old_name) else {
        return Ok(());
    };
    write.insert("login_name", REGISTER_NAME, (email.login_name, change.id.as_bytes()))?;
    write.delete("login_name", FORGET_NAME, [old_name]).map(drop)
}

fn update(write: &mut Write<'_>, change: &IdentityChange) -> Result<(), SqliteError> {
    let hardened = |credential: &&NewCredential| credential.hardening;
    let values = params![
        change.id.as_bytes(),
        change.email.as_ref().map(|email| &email.email),
        change.email.as_ref().map(|email| email.login_name),
        change.email_verified_at.is_some(),
        change.email_verified_at.flatten().map(Timestamp::as_millis),
        change.username,
        change.status.map(stored),
        change.credential.as_ref().map(|credential| &credential.stored),
        change.credential.as_ref().filter(hardened).map(|_| change.now.as_millis()),
        change.now.as_millis(),
        change.attempt.as_bytes(),
        i64::from(change.raises_revision()),
    ];
    write.update("identity", CHANGE, values).map(drop)
}

/// Appends the marker of everything that was issued for the subject up to now.
pub(super) fn revoke(
    write: &mut Write<'_>,
    id: IdentityId,
    (at, expires_at): (Timestamp, Timestamp),
) -> Result<(), SqliteError> {
    let subject: Subject = id.to_string().parse().map_err(SqliteError::unreadable)?;
    write.mark(&Marker { target: Target::Subject(subject), at, expires_at })
}
