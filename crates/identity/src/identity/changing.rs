//! Changes of a record as it is now: somebody who was faster is not overwritten.

use sluice_commit::StoreError;
use sluice_primitives::IdentityId;

use super::model::Identity;
use super::repository::{Changed, IdentityChange, IdentityDirectory};

/// So often somebody else may be faster.
const TRIES: usize = 2;

/// Changes the identity as it is found: `change` makes the change of what it is shown, and is shown it again if somebody
/// else was faster. The record before the change, and what became of it; none if there is no such identity, or nothing to
/// change.
pub(crate) async fn change_latest(
    identities: &dyn IdentityDirectory,
    id: IdentityId,
    change: impl Fn(&Identity) -> Option<IdentityChange> + Send,
) -> Result<Option<(Identity, Changed)>, StoreError> {
    let mut latest = None;
    for _ in 0..TRIES {
        let Some(identity) = identities.find(id).await? else { return Ok(None) };
        let Some(change) = change(&identity) else { return Ok(None) };
        let changed = identities.change(&change).await?;
        latest = Some((identity, changed));
        if changed != Changed::Stale {
            break;
        }
    }
    Ok(latest)
}
