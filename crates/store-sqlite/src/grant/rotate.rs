//! Rotates refresh tokens: a compare-and-swap on the generation; the rest of the table of [`Rotation`] is read off the row, in
//! the same transaction.

use rusqlite::params;
use sluice_commit::StoreError;
use sluice_oauth::config::LONGEST_ACCESS_TOKEN;
use sluice_oauth::grant::{RotateRefresh, Rotation};

use super::key_of;
use super::stored::{self, Examined};
use crate::error::SqliteError;
use crate::row;
use crate::writer::{Kind, Write};

const ROTATE_REFRESH: &str = include_str!("rotate_refresh.sql");
const ROTATE_REFRESH_WITH_CLAIMS: &str = include_str!("rotate_refresh_with_claims.sql");

/// A rotation, and the claims that it brings as they are stored.
pub(crate) struct Rotating {
    rotate: RotateRefresh,
    claims: Option<String>,
}

impl Rotating {
    pub(super) fn new(rotate: RotateRefresh) -> Result<Self, StoreError> {
        let claims = rotate.claims.as_deref().map(row::encode_claims).transpose()?;
        Ok(Self { rotate, claims })
    }
}

/// Rotates refresh tokens.
pub(crate) struct Rotate;

impl Kind for Rotate {
    type Op = Rotating;
    type Out = Rotation;

    fn key(op: &Rotating) -> u64 {
        key_of(op.rotate.grant)
    }

    fn write(write: &mut Write<'_>, op: &Rotating) -> Result<Rotation, SqliteError> {
        let Rotating { rotate, claims } = op;
        let (grant, presented) = (rotate.grant.as_bytes(), rotate.presented.0);
        let (attempt, request) = (rotate.attempt.as_bytes(), rotate.request);
        let (now, expires_at) = (rotate.now.as_millis(), rotate.expires_at.as_millis());
        let longest = LONGEST_ACCESS_TOKEN.as_millis();
        let mut rotated = match claims {
            None => {
                let values = params![grant, presented, attempt, request, now, expires_at, longest];
                write.updated("oauth_grant", ROTATE_REFRESH, values, stored::grant)?
            }
            Some(claims) => {
                let values = params![grant, presented, attempt, request, now, expires_at, longest, claims];
                write.updated("oauth_grant", ROTATE_REFRESH_WITH_CLAIMS, values, stored::grant)?
            }
        };
        match rotated.pop() {
            Some(grant) => Ok(Rotation::Rotated(Box::new(grant))),
            None => not_rotated(write, rotate),
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
