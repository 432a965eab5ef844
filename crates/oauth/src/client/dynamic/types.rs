//! Which grant types and response types a client may register together (RFC 7591 §2.1). A metadata document is not held to
//! it: it is written for all servers, and what this one does not know is of no use here.

use std::collections::BTreeSet;

use sluice_protocol::{GrantType, ResponseType};

use super::restrict::Bounds;
use crate::client::registration::{ClientMetadata, RegistrationError};

impl Bounds<'_> {
    /// Refuses types by which every request would be refused: the client hears of it when it registers. What an administrator
    /// gave it, it may repeat.
    ///
    /// # Errors
    /// [`RegistrationError`] names the first of them.
    pub fn check_types(&self, asked: &ClientMetadata) -> Result<(), RegistrationError> {
        let has = |name: &str| self.stored.is_some_and(|own| own.grant_types.iter().any(|own| own == name));
        let unknown = |name: &&str| name.parse::<GrantType>().is_err() && !has(name);
        if let Some(name) = named(&asked.grant_types).find(unknown) {
            return Err(refused(format!("The grant type \"{name}\" is not supported.")));
        }
        named(&asked.response_types).try_for_each(|name| self.check_response_type(name, asked))
    }

    fn check_response_type(&self, name: &str, asked: &ClientMetadata) -> Result<(), RegistrationError> {
        let own = self.stored.filter(|own| own.response_types_or_default().any(|own| own == name));
        let Ok(response_type) = name.parse::<ResponseType>() else {
            let unknown = || refused(format!("The response type \"{name}\" is not supported."));
            return own.map(|_| ()).ok_or_else(unknown);
        };
        // A code alone is what everybody has who names none, devices and machines too.
        let is_kept = own.is_some_and(|own| grants(&own.grant_types) == grants(&asked.grant_types));
        let is_of_implicit = named(&asked.grant_types).any(|name| name == GrantType::Implicit.as_str());
        // Who is never sent to the authorization endpoint gets nothing there by whatever type (oidc-agent names one all the same).
        if is_kept || !sends_users_away(asked) || !response_type.has_front_channel_tokens() && !is_of_implicit
        {
            return Ok(());
        }
        let code = response_type.code.then_some(GrantType::AuthorizationCode);
        let missing = |needed: &GrantType| !may(asked, *needed);
        let tokens = response_type.has_front_channel_tokens().then_some(GrantType::Implicit);
        match tokens.into_iter().chain(code).find(missing) {
            Some(missing) => {
                let missing = missing.as_str();
                Err(refused(format!("The response type \"{name}\" needs the grant type \"{missing}\".")))
            }
            None => Ok(()),
        }
    }
}

/// Whether the client sends users to the authorization endpoint, from where they come back to a redirect URI.
pub(super) fn sends_users_away(asked: &ClientMetadata) -> bool {
    [GrantType::AuthorizationCode, GrantType::Implicit].iter().any(|grant_type| may(asked, *grant_type))
}

/// Empty names count for nothing, as when the client is registered.
fn named(names: &[String]) -> impl Iterator<Item = &str> {
    names.iter().map(String::as_str).filter(|name| !name.is_empty())
}

/// In whatever order; `authorization_code` if none is named.
fn grants(names: &[String]) -> BTreeSet<&str> {
    let names: BTreeSet<_> = named(names).collect();
    if names.is_empty() { BTreeSet::from([GrantType::AuthorizationCode.as_str()]) } else { names }
}

/// Whether the client asks for this grant type; for `authorization_code` if it names none.
fn may(asked: &ClientMetadata, grant_type: GrantType) -> bool {
    grants(&asked.grant_types).contains(grant_type.as_str())
}

fn refused(hint: String) -> RegistrationError {
    RegistrationError::Metadata(hint)
}

#[cfg(test)]
mod tests {
    use super::super::Trust;
    use super::*;
    use crate::client::fake;

    const OPEN: Bounds<'_> = Bounds {
        trust: Trust::Anybody,
        default_scope: "openid",
        default_audience: &[],
        plain_http_keys: false,
        unsigned_requests: false,
        id_token_alg: None,
        pairwise_by_default: false,
        stored: None,
    };

    fn asked(grant_types: &[&str], response_types: &[&str]) -> ClientMetadata {
        let list = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        ClientMetadata {
            grant_types: list(grant_types),
            response_types: list(response_types),
            ..ClientMetadata::default()
        }
    }

    #[test]
    fn types_that_go_together_are_registered() {
        let device = GrantType::DeviceCode.as_str();
        for (grant_types, response_types) in [
            (&[][..], &[][..]),
            (&[], &["code"]),
            (&["authorization_code", "implicit"], &["code"]),
            (&["authorization_code", "implicit"], &["code", "id_token code", "id_token token"]),
            (&["implicit"], &["id_token"]),
            (&[device], &["code"]),
            (&["refresh_token", device], &["token"]),
            (&["client_credentials"], &[]),
        ] {
            let checked = OPEN.check_types(&asked(grant_types, response_types));
            assert_eq!(checked, Ok(()), "{grant_types:?} {response_types:?}");
        }
    }

    #[test]
    fn types_of_which_every_request_would_be_refused_are_refused_by_name() {
        for (grant_types, response_types, named) in [
            (&["password"][..], &[][..], "password"),
            (&["authorization_code"], &["none"], "none"),
            (&[], &["code id_token"], "implicit"),
            (&["authorization_code"], &["id_token"], "implicit"),
            (&["implicit"], &["code token"], "authorization_code"),
            (&["implicit"], &["code"], "authorization_code"),
        ] {
            let refused = OPEN.check_types(&asked(grant_types, response_types)).unwrap_err();
            assert!(refused.to_string().contains(&format!("\"{named}\"")), "{refused}");
        }
    }

    #[test]
    fn what_an_administrator_gave_may_be_repeated() {
        let mut stored = fake::client("app");
        stored.grant_types = vec!["password".to_owned()];
        stored.response_types = vec!["none".to_owned(), "id_token".to_owned()];
        let bounds = Bounds { stored: Some(&stored), ..OPEN };
        assert_eq!(bounds.check_types(&asked(&["password"], &["none", "id_token"])), Ok(()));
        assert!(bounds.check_types(&asked(&["password", "authorization_code"], &["code id_token"])).is_err());
        assert!(bounds.check_types(&asked(&["authorization_code"], &["id_token"])).is_err());
        stored.grant_types = vec!["authorization_code".to_owned()];
        let bounds = Bounds { stored: Some(&stored), ..OPEN };
        assert_eq!(bounds.check_types(&asked(&[], &["id_token"])), Ok(()));
        stored.grant_types = vec!["authorization_code".to_owned(), "refresh_token".to_owned()];
        let bounds = Bounds { stored: Some(&stored), ..OPEN };
        assert_eq!(
            bounds.check_types(&asked(&["refresh_token", "authorization_code"], &["id_token"])),
            Ok(())
        );
        stored.grant_types = vec!["implicit".to_owned()];
        stored.response_types.clear();
        let bounds = Bounds { stored: Some(&stored), ..OPEN };
        assert_eq!(bounds.check_types(&asked(&["implicit"], &["code"])), Ok(()), "it was told so");
    }
}
