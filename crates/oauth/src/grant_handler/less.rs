//! A token request may ask for less than was granted: for fewer services (RFC 8707 §2.2), for fewer authorization details
//! (RFC 9396 §6.1). And what was granted may have become less: the client may have lost some of it.

use serde_json::Value;
use sluice_protocol::{Audience, AuthorizationDetails, Scope};

use super::TokenError;
use crate::client::Client;
use crate::config::ScopeStrategy;
use crate::grant::Grant;
use crate::refused_value::RefusedValue;

/// What is asked for of a grant; all of it where nothing is said.
#[derive(Clone)]
pub(super) struct Less {
    audience: Audience,
    details: Option<AuthorizationDetails>,
}

impl Less {
    /// Reads what the request names.
    pub(super) fn read(audience: Vec<String>, details: Option<&str>) -> Result<Self, TokenError> {
        let details = details.map(AuthorizationDetails::parse).transpose();
        Ok(Self {
            audience: Audience::from_values(audience),
            details: details.map_err(|_| TokenError::AuthorizationDetails)?,
        })
    }

    /// Whether it is all.
    pub(super) fn is_all(&self) -> bool {
        self.audience.is_empty() && self.details.is_none()
    }

    /// Whether all of it was granted.
    pub(super) fn check(&self, grant: &Grant) -> Result<(), TokenError> {
        let granted = grant.audience.as_slice();
        if let Some(beyond) = self.audience.as_slice().iter().find(|name| !granted.contains(name)) {
            return Err(TokenError::Audience(RefusedValue::new(beyond)));
        }
        let Some(asked) = &self.details else { return Ok(()) };
        let granted = grant.claims.authorization_details.as_ref();
        let granted = granted.and_then(|granted| AuthorizationDetails::from_value(granted).ok());
        if granted.unwrap_or_default().covers(asked) { Ok(()) } else { Err(TokenError::AuthorizationDetails) }
    }

    /// The grant as far as it is asked for.
    pub(super) fn of(self, grant: &mut Grant) {
        if !self.audience.is_empty() {
            grant.audience = self.audience;
        }
        if let Some(details) = self.details {
            grant.claims.authorization_details = (!details.is_empty()).then(|| details.into_value());
        }
    }
}

/// The grant as far as the client may still have it. One that is for no service any more is not for all of them.
pub(super) fn keep_permitted(client: &Client, grant: &mut Grant) -> Result<(), TokenError> {
    let granted = grant.audience.as_slice();
    let kept = granted.iter().filter(|name| client.audience.permits(name));
    let kept = Audience::from_values(kept.cloned());
    if let Some(lost) = granted.first().filter(|_| kept.is_empty()) {
        return Err(TokenError::Audience(RefusedValue::new(lost)));
    }
    grant.audience = kept;
    let details = grant.claims.authorization_details.take();
    grant.claims.authorization_details = details.and_then(|details| permitted_details(client, details));
    Ok(())
}

/// The values of a scope that the client may still have.
pub(super) fn permitted_scope(client: &Client, scope: &Scope, strategy: ScopeStrategy) -> Scope {
    let kept = scope.iter().filter(|value| strategy.allows(&client.scope, value));
    Scope::from_values(kept).unwrap_or_default()
}

/// The details of types that the client registered.
pub(super) fn permitted_details(client: &Client, details: Value) -> Option<Value> {
    let Value::Array(details) = details else { return None };
    let may_have = |detail: &Value| {
        let name = detail.get("type").and_then(Value::as_str);
        client.authorization_details_types.iter().any(|own| Some(own.as_str()) == name)
    };
    let kept: Vec<_> = details.into_iter().filter(may_have).collect();
    (!kept.is_empty()).then_some(Value::Array(kept))
}
