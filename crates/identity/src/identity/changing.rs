//! Changes of a record as it is now: somebody who was faster is not overwritten.

use sluice_commit::StoreError;
use sluice_primitives::IdentityId;

use super::model::Identity;
use super::repository::{Changed, IdentityChange, IdentityDirectory};
use crate::audit::Deed;

/// So often somebody else may be faster.
const TRIES: usize = 2;
/// The same for what signs somebody out: whoever is in must not be able to stay in by changing the record all the time.
const TRIES_TO_REVOKE: usize = 8;

/// Changes the identity as it is found: `change` makes the change of what it is shown, and is shown it again if somebody
/// else was faster. The record before the change, and what became of it; none if there is no such identity, or nothing to
/// change. `deed` is what the audit trail says of it.
pub(crate) async fn change_latest(
    identities: &dyn IdentityDirectory,
    id: IdentityId,
    deed: Deed,
    change: impl Fn(&Identity) -> Option<IdentityChange> + Send,
) -> Result<Option<(Identity, Changed)>, StoreError> {
    let mut tried = 0;
    loop {
        let Some(identity) = identities.find(id).await? else { return Ok(None) };
        let Some(change) = change(&identity) else { return Ok(None) };
        let changed = deed.noted(identities.change(&change).await)?;
        tried += 1;
        let tries = if change.revokes { TRIES_TO_REVOKE } else { TRIES };
        if changed != Changed::Stale || tried == tries {
            return Ok(Some((identity, changed)));
        }
    }
}
