//! Rotates the refresh token of a session: a compare-and-swap on the generation; why one failed is read off the row, in
//! the same transaction.

use sluice_identity::session::{Rotation, SessionRotation};

use super::stored;
use crate::error::SqliteError;
use crate::writer::Write;

const ROTATE: &str = include_str!("rotate.sql");
const EXAMINE: &str = include_str!("examine.sql");

pub(super) fn rotate(write: &mut Write<'_>, op: &SessionRotation) -> Result<Rotation, SqliteError> {
    let values = (
        op.id.as_bytes(),
        op.presented,
        op.now.as_millis(),
        op.expires_at.as_millis(),
        op.attempt.as_bytes(),
    );
    match write.updated("identity_session", ROTATE, values, stored::session)?.pop() {
        Some(session) => Ok(Rotation::Rotated(session)),
        None => not_rotated(write, op),
    }
}

fn not_rotated(write: &mut Write<'_>, op: &SessionRotation) -> Result<Rotation, SqliteError> {
    let examined = write.row(EXAMINE, (op.id.as_bytes(), op.now.as_millis()), stored::session)?;
    let Some(session) = examined else { return Ok(Rotation::Gone) };
    let behind = session.generation.saturating_sub(op.presented);
    let is_retry = session.attempt == op.attempt;
    let within = op.now.since(session.rotated_at) < op.window;
    match behind {
        ..=0 => Ok(Rotation::Gone), // a generation that this file never saw: it was restored from a copy
        1 if is_retry || within => Ok(Rotation::Rotated(session)),
        2 if within => Ok(Rotation::Stale),
        _ => {
            stored::end_one(write, session.id, session.identity, (op.now, op.marker_expires_at))?;
            Ok(Rotation::Reused(session))
        }
    }
}
