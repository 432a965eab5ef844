//! `scope` (RFC 6749 §3.3): nothing beyond what the client is registered for.

use sluice_protocol::{ErrorCode, Scope};

use super::{Checked, Refused};

pub(super) fn check(checked: &Checked<'_>) -> Result<Scope, Refused> {
    let Some(raw) = checked.raw.get("scope") else { return Ok(Scope::default()) };
    let scope = Scope::asked(raw).map_err(|_| (ErrorCode::InvalidScope, ""))?;
    let may_ask = |value: &str| checked.config.scopes.allows(&checked.client.scope, value);
    let beyond = scope.iter().find(|value| !may_ask(value));
    if let Some(beyond) = beyond {
        return Err(Refused::naming(ErrorCode::InvalidScope, "scope", beyond));
    }
    Ok(scope)
}
