//! Rotating the refresh token of a session: one statement, and a second look at those it did not touch.

use sluice_commit::StoreError;
use sluice_identity::session::{IdentitySession, Rotation, SessionRotation};

use super::read;
use crate::PostgresStore;

const ROTATE: &str = include_str!("rotate.sql");
const EXAMINE: &str = include_str!("examine.sql");
/// A row that changes between the UPDATE and the second look is given another chance, this many times.
const CHANCES: usize = 3;

/// What the second look says.
enum Verdict {
    /// The answer.
    Done(Rotation),
    /// The session is to be ended before anything is answered.
    Reused(IdentitySession),
    /// By the row's present state it would be rotated.
    Again,
}

/// The repository's method of this name.
pub(super) async fn rotate(
    store: &PostgresStore,
    rotation: &SessionRotation,
) -> Result<Rotation, StoreError> {
    let (id, now, expires_at) =
        (rotation.id.as_uuid(), rotation.now.as_millis(), rotation.expires_at.as_millis());
    let attempt = rotation.attempt.as_uuid();
    for _ in 0..CHANCES {
        let swapped = store.write(ROTATE, &[&id, &rotation.presented, &now, &expires_at, &attempt]).await?;
        if let Some(row) = swapped.first() {
            return Ok(Rotation::Rotated(read(row)?));
        }
        let rows = store.read(EXAMINE, &[&id, &now]).await?;
        let Some(row) = rows.first() else { return Ok(Rotation::Gone) };
        match examine(read(row)?, rotation) {
            Verdict::Done(outcome) => return Ok(outcome),
            Verdict::Reused(session) => return punish(store, session, rotation).await,
            Verdict::Again => {}
        }
    }
    Ok(Rotation::Gone)
}

fn examine(session: IdentitySession, rotation: &SessionRotation) -> Verdict {
    let in_window = rotation.now.since(session.rotated_at) < rotation.window;
    match session.generation.saturating_sub(rotation.presented) {
        0 => Verdict::Again,
        1 if in_window || session.attempt == rotation.attempt => Verdict::Done(Rotation::Rotated(session)),
        1.. => Verdict::Reused(session),
        _ => Verdict::Done(Rotation::Gone),
    }
}

/// Ends the session, unless somebody else has meanwhile.
async fn punish(
    store: &PostgresStore,
    session: IdentitySession,
    rotation: &SessionRotation,
) -> Result<Rotation, StoreError> {
    let times = (rotation.now, rotation.marker_expires_at);
    let ended = store.end_identity_session(session.id, session.identity, times).await?;
    Ok(if ended { Rotation::Reused(session) } else { Rotation::Gone })
}
