//! Rotates refresh tokens: a compare-and-swap on the generation; the rest of the table of DESIGN §3 is read off the row, in
//! the same transaction.

use rusqlite::params;
use sluice_oauth::config::LONGEST_ACCESS_TOKEN;
use sluice_oauth::grant::{RotateRefresh, Rotation};

use super::key_of;
use super::stored::{self, Examined};
use crate::error::SqliteError;
use crate::writer::{Kind, Write};

const ROTATE_REFRESH: &str = include_str!("rotate_refresh.sql");

/// Rotates refresh tokens.
pub(crate) struct Rotate;

impl Kind for Rotate {
    type Op = RotateRefresh;
    type Out = Rotation;

    fn key(op: &RotateRefresh) -> u64 {
        key_of(op.grant)
    }

    fn write(write: &mut Write<'_>, op: &RotateRefresh) -> Result<Rotation, SqliteError> {
        let values = params![
            op.grant.as_bytes(),
            op.presented.0,
            op.attempt.as_bytes(),
            op.request,
            op.now.as_millis(),
            op.expires_at.as_millis(),
            LONGEST_ACCESS_TOKEN.as_millis(),
        ];
        match write.updated("oauth_grant", ROTATE_REFRESH, values, stored::grant)?.pop() {
            Some(grant) => Ok(Rotation::Rotated(Box::new(grant))),
            None => not_rotated(write, op),
        }
    }
}

fn not_rotated(write: &mut Write<'_>, op: &RotateRefresh) -> Result<Rotation, SqliteError> {
    let Some(Examined { grant, request, is_revoked }) = stored::examine(write, op.grant, op.now)? else {
        return Ok(Rotation::Unknown);
    };
    if is_revoked {
        return Ok(Rotation::Revoked);
    }
    let Some(rotated_at) = grant.rotated_at else { return Ok(Rotation::Unknown) };
    if grant.attempt == op.attempt && grant.generation == op.presented.next() {
        return Ok(Rotation::Rotated(Box::new(grant)));
    }
    let within = op.now.since(rotated_at) < op.window;
    Ok(match grant.generation.0.checked_sub(op.presented.0) {
        None | Some(0) => Rotation::Unknown, // a generation that this file never saw: it was restored from a copy
        Some(1) if within && request == Some(op.request) => Rotation::Repeated(Box::new(grant)),
        Some(1 | 2) if within => Rotation::Stale,
        Some(_) => {
            stored::punish(write, &grant, (op.now, op.marker_expires_at))?;
            Rotation::Reused
        }
    })
}
