//! Revokes grants, whether or not they have a row.

use sluice_primitives::{GrantId, Timestamp};
use sluice_token::{Marker, Target};

use super::key_of;
use crate::error::SqliteError;
use crate::writer::{Kind, Write};

const REVOKE: &str = include_str!("revoke.sql");
const IS_MARKED: &str = include_str!("is_marked.sql");

/// What is to be revoked.
pub(crate) struct Revocation {
    pub(super) grant: GrantId,
    pub(super) now: Timestamp,
    pub(super) marker_expires_at: Timestamp,
}

/// Revokes grants.
pub(crate) struct Revoke;

impl Kind for Revoke {
    type Op = Revocation;
    type Out = ();

    fn key(op: &Revocation) -> u64 {
        key_of(op.grant)
    }

    fn write(write: &mut Write<'_>, op: &Revocation) -> Result<(), SqliteError> {
        write.update("oauth_grant", REVOKE, (op.grant.as_bytes(), op.now.as_millis()))?;
        let target = Target::Grant(op.grant);
        let expires_at = op.marker_expires_at;
        // A token that is revoked again and again appends nothing new.
        if write.row(IS_MARKED, (target.key(), expires_at.as_millis()), |_| Ok(()))?.is_none() {
            write.mark(&Marker { target, at: op.now, expires_at })?;
        }
        Ok(())
    }
}
