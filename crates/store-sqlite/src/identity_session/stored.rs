//! Rows of sessions, all read in the same order of columns, and their end.

use rusqlite::{Row, params};
use sluice_identity::factor::WeakerSessions;
use sluice_identity::session::{IdentitySession, MAX_SESSIONS};
use sluice_primitives::{AttemptId, IdentityId, SessionId, Timestamp};
use sluice_token::{Marker, Target};

use crate::error::SqliteError;
use crate::row;
use crate::writer::Write;

const END_ONE: &str = include_str!("end_one.sql");
const END_ALL: &str = include_str!("end_all.sql");
const END_WEAKER: &str = include_str!("end_weaker.sql");
const END_OLDEST: &str = include_str!("end_oldest.sql");
const FORGET: &str = include_str!("forget.sql");
const FORGET_UNTIL: &str = include_str!("forget_until.sql");

pub(super) fn session(row: &Row<'_>) -> Result<IdentitySession, SqliteError> {
    Ok(IdentitySession {
        id: SessionId::from_bytes(row.get(0)?),
        identity: IdentityId::from_bytes(row.get(1)?),
        authenticated_at: row::time(row, 2)?,
        last_seen_at: row::time(row, 3)?,
        expires_at: row::time(row, 4)?,
        generation: row.get(5)?,
        rotated_at: row::time(row, 6)?,
        amr: row::json(row, 7)?,
        device: row.get(8)?,
        network: row.get(9)?,
        attempt: AttemptId::from_bytes(row.get(10)?),
    })
}

/// Deletes a session of this person and appends its marker; whether it was there.
pub(super) fn end_one(
    write: &mut Write<'_>,
    id: SessionId,
    identity: IdentityId,
    (at, expires_at): (Timestamp, Timestamp),
) -> Result<bool, SqliteError> {
    if write.delete("identity_session", END_ONE, (id.as_bytes(), identity.as_bytes()))? == 0 {
        return Ok(false);
    }
    write.mark(&Marker { target: Target::Session(id), at, expires_at })?;
    Ok(true)
}

/// Deletes the sessions of a person, all but one if that is given, and appends a marker for each.
pub(crate) fn end_all(
    write: &mut Write<'_>,
    identity: IdentityId,
    but: Option<SessionId>,
    (at, expires_at): (Timestamp, Timestamp),
) -> Result<(), SqliteError> {
    let but = but.map(|session| *session.as_bytes());
    let ended = write.deleted("identity_session", END_ALL, params![identity.as_bytes(), but], id)?;
    mark_ended(write, &ended, (at, expires_at))
}

/// Deletes the sessions of a person that no second factor was shown in, but the one that goes on, and appends a marker for each.
pub(crate) fn end_weaker(
    write: &mut Write<'_>,
    identity: IdentityId,
    ends: &WeakerSessions,
) -> Result<(), SqliteError> {
    let values = (identity.as_bytes(), ends.keep.as_bytes());
    let ended = write.deleted("identity_session", END_WEAKER, values, id)?;
    mark_ended(write, &ended, (ends.now, ends.marker_expires_at))
}

/// Deletes the oldest sessions of a person who has too many, and appends a marker for each.
pub(super) fn end_oldest(
    write: &mut Write<'_>,
    identity: IdentityId,
    (at, expires_at): (Timestamp, Timestamp),
) -> Result<(), SqliteError> {
    let values = (identity.as_bytes(), MAX_SESSIONS);
    let ended = write.deleted("identity_session", END_OLDEST, values, id)?;
    mark_ended(write, &ended, (at, expires_at))
}

/// Deletes the sessions of a person whose subject is marked anyway.
pub(crate) fn forget(write: &mut Write<'_>, identity: IdentityId) -> Result<(), SqliteError> {
    write.delete("identity_session", FORGET, [identity.as_bytes()]).map(drop)
}

/// Deletes the sessions of a person whose subject is marked up to this time, as far as that marker covers them.
pub(crate) fn forget_until(
    write: &mut Write<'_>,
    identity: IdentityId,
    at: Timestamp,
) -> Result<(), SqliteError> {
    let values = (identity.as_bytes(), at.as_millis());
    write.delete("identity_session", FORGET_UNTIL, values).map(drop)
}

fn id(row: &Row<'_>) -> Result<SessionId, SqliteError> {
    Ok(SessionId::from_bytes(row.get(0)?))
}

fn mark_ended(
    write: &mut Write<'_>,
    ended: &[SessionId],
    (at, expires_at): (Timestamp, Timestamp),
) -> Result<(), SqliteError> {
    for session in ended {
        write.mark(&Marker { target: Target::Session(*session), at, expires_at })?;
    }
    Ok(())
}
