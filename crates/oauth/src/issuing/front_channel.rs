//! Tokens of the authorization endpoint itself (OpenID Connect Core §3.2.2.5, §3.3.2.5): in the browser's sight, so they are
//! bound to no key, and nothing refreshes them.

use std::fmt;

use sluice_primitives::Lifetime;
use sluice_protocol::{GrantType, ResponseType};
use sluice_token::{AccessTokenClaims, TokenId};

use super::id_token::{Beside, half_hash};
use super::issuer::{Issue, IssueError, TokenIssuer};
use super::{algorithm, lifetime};

/// Which one of a grant's access tokens this is: no chain of refresh tokens is so long.
const ACCESS_TOKEN: u32 = u32::MAX / 2;
/// Which one of its id tokens.
pub(crate) const ID_TOKEN: u32 = ACCESS_TOKEN + 1;

/// What the authorization request asked for, and what its answer says besides.
#[derive(Clone, Copy)]
pub struct InFront<'a> {
    /// Which tokens.
    pub response_type: ResponseType,
    /// The code of the same answer.
    pub code: Option<&'a str>,
    /// The `state` of the same answer.
    pub state: Option<&'a str>,
}

impl fmt::Debug for InFront<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InFront").field("response_type", &self.response_type).finish_non_exhaustive()
    }
}

/// Tokens for the answer.
#[derive(Default)]
pub struct FrontChannelTokens {
    /// The access token, and how long it is good for.
    pub access_token: Option<(String, Lifetime)>,
    /// The id token.
    pub id_token: Option<String>,
}

impl fmt::Debug for FrontChannelTokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FrontChannelTokens").finish_non_exhaustive()
    }
}

impl TokenIssuer {
    /// The tokens of a grant that the response type names.
    ///
    /// # Errors
    /// [`IssueError`] if a key is missing or does not sign.
    pub fn issue_in_front(
        &self,
        issue: &Issue<'_>,
        asked: InFront<'_>,
    ) -> Result<FrontChannelTokens, IssueError> {
        let mut tokens = FrontChannelTokens::default();
        if asked.response_type.token {
            let life = lifetime::access_token(issue.client, GrantType::Implicit, &self.config);
            let id = TokenId::derive(issue.grant.id, ACCESS_TOKEN);
            let claims = AccessTokenClaims { id, ..self.claims(issue, issue.issued_at + life) };
            let token = self.access_token(issue.client, &claims, issue.grant.claims.of_access_tokens())?;
            tokens.access_token = Some((token, life));
        }
        if asked.response_type.id_token {
            let algorithm = algorithm::of_id_tokens(issue.client, &self.config)?;
            let hash = |text: &str| half_hash(text, algorithm);
            let beside = Beside {
                at_hash: tokens.access_token.as_ref().map(|(token, _)| hash(token)),
                c_hash: asked.code.map(hash),
                s_hash: asked.code.and(asked.state).map(hash),
            };
            let id = TokenId::derive(issue.grant.id, ID_TOKEN);
            tokens.id_token = Some(self.id_token(issue, id, beside)?);
        }
        Ok(tokens)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neither_codes_nor_tokens_are_printed() {
        let token = "a-token-of-somebody";
        let response_type: ResponseType = "code token id_token".parse().unwrap();
        let asked = InFront { response_type, code: Some(token), state: Some(token) };
        let tokens = FrontChannelTokens {
            access_token: Some((token.to_owned(), Lifetime::secs(1))),
            id_token: Some(token.to_owned()),
        };
        let printed = format!("{asked:?} {tokens:?}");
        assert!(!printed.contains(token), "{printed}");
    }
}
