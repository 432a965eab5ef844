//! How much a hook may say in an access token.

use serde_json::{Map, Value};

use super::access_token::{MAX_IN_GRANT, MAX_IN_TOKEN, MAX_WITH_SEALED, in_token_twice, length_in_token};
use crate::client::AccessTokenStrategy;
use crate::grant::GrantClaims;

/// Where claims of a hook end up.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Room<'a> {
    /// Those that stand beside the others once more.
    top_level: &'a [String],
    /// In a signed token, in which all of them stand once more, sealed.
    is_signed: bool,
    /// What stands there twice besides, in bytes: authorization details.
    beside: usize,
}

impl<'a> Room<'a> {
    /// That of an access token, of these names beside `ext` if it is signed.
    pub(crate) fn of(claims: &GrantClaims, strategy: AccessTokenStrategy, top_level: &'a [String]) -> Self {
        let is_signed = strategy == AccessTokenStrategy::Jwt;
        let details = claims.authorization_details.as_ref().filter(|_| is_signed);
        let beside = details.map_or(0, |details| details.to_string().len());
        Self { top_level: if is_signed { top_level } else { &[] }, is_signed, beside }
    }

    /// The same with these names beside `ext`, signed or not.
    pub(crate) const fn with_top_level(self, top_level: &'a [String]) -> Self {
        Self { top_level, ..self }
    }

    /// For claims that stand in the token. The error is how long they may be, in bytes.
    pub(crate) fn check_in_token(self, claims: &Map<String, Value>) -> Result<(), usize> {
        let whole = length_in_token(claims, self.top_level);
        if whole > MAX_IN_TOKEN {
            return Err(MAX_IN_TOKEN);
        }
        let once = length_in_token(claims, &[]);
        let twice = in_token_twice(once.saturating_add(self.beside));
        let sealed_too = twice.saturating_add(whole.saturating_sub(once));
        if self.is_signed && sealed_too > MAX_WITH_SEALED { Err(MAX_WITH_SEALED * 3 / 7) } else { Ok(()) }
    }

    /// For those of a hook with those of the consent page, which may say as much without it: what is too long for the token stays in
    /// the grant.
    pub(crate) fn check_beside_page(self, claims: &Map<String, Value>) -> Result<(), usize> {
        let most = if self.is_signed {
            MAX_IN_TOKEN.min(MAX_WITH_SEALED.saturating_sub(in_token_twice(self.beside)))
        } else {
            MAX_IN_GRANT
        };
        if length_in_token(claims, self.top_level) > most { Err(most) } else { Ok(()) }
    }
}
