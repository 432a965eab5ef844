//! What a mail carried, as it comes back: the code, typed, or the token of the link.

use serde::Deserialize;
use sluice_identity::account::{Claimant, MailProof};
use sluice_primitives::IdentityId;

use super::text::{SecretText, Text};
use crate::respond::Problem;

/// `{token}`, `{email, code}`, or, of somebody who is signed in, `{code}`.
#[derive(Deserialize)]
pub(super) struct ProofBody<'a> {
    #[serde(borrow, default)]
    pub(super) email: Text<'a>,
    #[serde(default)]
    pub(super) code: SecretText,
    #[serde(default)]
    pub(super) token: SecretText,
}

impl ProofBody<'_> {
    /// The proof of somebody whose code nobody else can have: whatever address stands beside it, which may be the present one or
    /// that which the code was sent to.
    pub(super) fn proof_of(self, caller: IdentityId) -> Result<MailProof, Problem> {
        Self { email: Text::default(), ..self }.proof(Some(caller))
    }

    /// The proof.
    pub(super) fn proof(self, caller: Option<IdentityId>) -> Result<MailProof, Problem> {
        if let Some(token) = self.token.given() {
            return Ok(MailProof::Link(token));
        }
        let code = self.code.required("code")?;
        let who = match (self.email.given(), caller) {
            (Some(email), _) => Claimant::Email(email.to_owned()),
            (None, Some(caller)) => Claimant::Identity(caller),
            (None, None) => return Err(Problem::missing("email")),
        };
        Ok(MailProof::Code { who, code })
    }
}
