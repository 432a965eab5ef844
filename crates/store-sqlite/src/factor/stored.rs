//! Rows of factors and recovery codes, inside a transaction.

use rusqlite::{Row, params};
use sluice_identity::factor::{
    AddedFactor, Factor, FactorKind, HashedRecoveryCodes, MAX_FACTORS, WeakerSessions, WithFirst,
};
use sluice_identity::identity::Removed;
use sluice_identity::mail::QueuedMail;
use sluice_primitives::{IdentityId, Timestamp};
use uuid::Uuid;

use crate::error::SqliteError;
use crate::identity::removal_prevented;
use crate::writer::Write;
use crate::{identity_session, mail, row};

const IS_THERE: &str = include_str!("is_there.sql");
const ROOM: &str = include_str!("room.sql");
const ADD: &str = include_str!("add.sql");
const REMOVE: &str = include_str!("remove.sql");
const HAS_ANY: &str = include_str!("has_any.sql");
const RAISE_REVISION: &str = include_str!("raise_revision.sql");
const FORGET: &str = include_str!("forget.sql");
const ADD_RECOVERY_CODE: &str = include_str!("add_recovery_code.sql");
const HAS_RECOVERY_CODE: &str = include_str!("has_recovery_code.sql");
const FORGET_RECOVERY_CODES: &str = include_str!("forget_recovery_codes.sql");

/// Recovery codes, on their way to the thread that writes.
pub(super) struct Codes {
    key: u8,
    hashes: Vec<[u8; 32]>,
}

impl Codes {
    pub(super) fn of(codes: HashedRecoveryCodes<'_>) -> Self {
        Self { key: codes.key, hashes: codes.hashes.to_vec() }
    }
}

/// What comes with the first factor, on its way to the thread that writes.
pub(super) struct First {
    codes: Codes,
    ends: Option<WeakerSessions>,
    only: bool,
}

impl First {
    pub(super) fn of(first: WithFirst<'_>) -> Self {
        Self { codes: Codes::of(first.codes), ends: first.ends, only: first.only }
    }
}

/// A factor. One of a kind that this version does not know is an error: passed over, it would not be asked for.
pub(super) fn factor(row: &Row<'_>) -> Result<Factor, SqliteError> {
    let stored: i16 = row.get(2)?;
    let kind = [FactorKind::Totp, FactorKind::Passkey].into_iter().find(|kind| kind.stored() == stored);
    Ok(Factor {
        identity: IdentityId::from_bytes(row.get(0)?),
        id: Uuid::from_bytes(row.get(1)?),
        kind: kind.ok_or_else(|| SqliteError::unreadable(format_args!("factor of kind {stored}")))?,
        name: row.get(3)?,
        sealed: row.get(4)?,
        created_at: row::time(row, 5)?,
        last_used_at: row::time_if_any(row, 6)?,
        counter: row.get(7)?,
    })
}

pub(super) fn add(
    write: &mut Write<'_>,
    (factor, revision): (&Factor, i64),
    first: Option<&First>,
    notice: Option<&QueuedMail>,
) -> Result<AddedFactor, SqliteError> {
    let (identity, id) = (factor.identity.as_bytes(), factor.id.as_bytes());
    if let Some(sealed) = write.row(IS_THERE, (identity, id), |row| Ok(row.get::<_, String>(0)?))? {
        let hashes = first.map(|first| first.codes.hashes.as_slice()).unwrap_or_default();
        let has_code = has_one(write, factor.identity, hashes)?;
        return Ok(AddedFactor::told((sealed == factor.sealed, has_code)));
    }
    let most = if first.is_some_and(|first| first.only) { 1 } else { MAX_FACTORS };
    let others = match write.row(ROOM, params![identity, revision], |row| Ok(row.get::<_, u32>(0)?))? {
        None => return Ok(AddedFactor::Unknown),
        Some(factors) if factors >= most => return Ok(AddedFactor::TooMany),
        Some(factors) => factors,
    };
    let values = params![
        identity,
        id,
        factor.kind.stored(),
        factor.name,
        factor.sealed,
        factor.created_at.as_millis(),
        factor.last_used_at.map(Timestamp::as_millis),
        factor.counter,
    ];
    write.insert("factor", ADD, values)?;
    notice.map_or(Ok(()), |notice| mail::queue(write, notice))?;
    let Some(first) = first.filter(|_| others == 0) else { return Ok(AddedFactor::Added) };
    replace_recovery_codes(write, factor.identity, &first.codes)?;
    if let Some(ends) = &first.ends {
        identity_session::end_weaker(write, factor.identity, ends)?;
    }
    Ok(AddedFactor::AddedWithCodes)
}

/// Whether a person has one of these recovery codes.
fn has_one(write: &Write<'_>, identity: IdentityId, hashes: &[[u8; 32]]) -> Result<bool, SqliteError> {
    for code in hashes {
        if write.row(HAS_RECOVERY_CODE, (identity.as_bytes(), code), |_| Ok(()))?.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

pub(super) fn remove(
    write: &mut Write<'_>,
    (identity, revision): (IdentityId, Option<i64>),
    id: Uuid,
    notice: Option<&QueuedMail>,
) -> Result<Removed, SqliteError> {
    if let Some(prevented) = removal_prevented(write, identity, revision)? {
        return Ok(prevented);
    }
    if write.delete("factor", REMOVE, (identity.as_bytes(), id.as_bytes()))? == 0 {
        return Ok(Removed::Missing);
    }
    if write.row(HAS_ANY, [identity.as_bytes()], |_| Ok(()))?.is_none() {
        write.delete("recovery_code", FORGET_RECOVERY_CODES, [identity.as_bytes()])?;
    }
    raise_revision(write, identity)?;
    notice.map_or(Ok(()), |notice| mail::queue(write, notice))?;
    Ok(Removed::Done)
}

/// Ends the enrolments that are under way.
pub(super) fn raise_revision(write: &mut Write<'_>, identity: IdentityId) -> Result<(), SqliteError> {
    write.update("identity", RAISE_REVISION, [identity.as_bytes()]).map(drop)
}

pub(super) fn replace_recovery_codes(
    write: &mut Write<'_>,
    identity: IdentityId,
    codes: &Codes,
) -> Result<(), SqliteError> {
    write.delete("recovery_code", FORGET_RECOVERY_CODES, [identity.as_bytes()])?;
    for code in &codes.hashes {
        write.insert("recovery_code", ADD_RECOVERY_CODE, (identity.as_bytes(), code, codes.key))?;
    }
    Ok(())
}

/// Deletes the factors and recovery codes of a person.
pub(crate) fn forget(write: &mut Write<'_>, identity: IdentityId) -> Result<(), SqliteError> {
    write.delete("factor", FORGET, [identity.as_bytes()])?;
    write.delete("recovery_code", FORGET_RECOVERY_CODES, [identity.as_bytes()])?;
    Ok(())
}
