//! A login that waits for its person to set up a second factor. Until that is done its ticket is all there is of it: nobody is signed in
//! by it, and it is good for nothing but the first factor of its person.

use std::fmt;

use super::login_step::may_log_in;
use super::model::FactorKind;
use super::service::FactorService;
use super::ticket::{TicketData, TicketUse};
use crate::error::IdentityError;
use crate::identity::Identity;

/// Somebody whose login waits for a first factor.
///
/// Prints nothing of what comes back.
#[derive(Clone, PartialEq, Eq)]
pub struct Enrolling {
    /// Who: the present record, which is the one that the first step looked at.
    pub identity: Identity,
    /// What the caller wanted back.
    pub data: TicketData,
    amr: Vec<String>,
}

impl Enrolling {
    /// How the person has proved who it is once a factor of this kind is set up (RFC 8176). Of the key of a passkey that was made nothing
    /// is said: it signs when it is shown.
    pub fn amr_with(&self, kind: FactorKind) -> Vec<String> {
        let method = match kind {
            FactorKind::Totp => Some("otp"),
            FactorKind::Passkey => None,
        };
        let shown = method.into_iter().chain(["mfa"]).map(str::to_owned);
        self.amr.iter().cloned().chain(shown).collect()
    }
}

impl fmt::Debug for Enrolling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Enrolling")
            .field("identity", &self.identity)
            .field("amr", &self.amr)
            .finish_non_exhaustive()
    }
}

impl FactorService {
    /// Who a ticket lets set up a first factor; none if it took too long, is of another place, or something changed meanwhile, or there is
    /// a factor by now: whoever enrolled it is asked for it.
    ///
    /// # Errors
    /// [`IdentityError::Store`] if the store cannot do it now.
    pub async fn enrolling(&self, ticket: &str, context: &[u8]) -> Result<Option<Enrolling>, IdentityError> {
        let Some(ticket) = self.open_login_of(TicketUse::Enrol, ticket, context) else { return Ok(None) };
        let found = self.parts.identities.find(ticket.identity).await?;
        let same = found.filter(|found| may_log_in(found) && found.revision == ticket.revision);
        let Some(identity) = same else { return Ok(None) };
        let has_none = self.parts.factors.of_identity(identity.id).await?.is_empty();
        Ok(has_none.then_some(Enrolling { identity, data: ticket.data, amr: ticket.amr }))
    }
}
