//! `scope` (RFC 6749 §3.3): nothing beyond what the client is registered for.

use sluice_protocol::{ErrorCode, Scope};

use super::{Checked, Refusal};

pub(super) fn check(checked: &Checked<'_>) -> Result<Scope, Refusal> {
    let Some(raw) = checked.raw.get("scope") else { return Ok(Scope::default()) };
    let scope = Scope::asked(raw).map_err(|_| (ErrorCode::InvalidScope, ""))?;
    if !scope.iter().all(|value| checked.config.scopes.allows(&checked.client.scope, value)) {
        return Err((ErrorCode::InvalidScope, "The client may not ask for one of these scopes."));
    }
    Ok(scope)
}
