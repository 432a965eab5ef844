//! When a login is complete: who has a second factor shows it, whatever was asked for; who has none and must have one sets it up.

use std::fmt;

use sluice_primitives::Lifetime;
use tracing::info;

use super::aal::{Aal, with_second};
use super::passkey::PasskeyChallenge;
use super::proof::{FactorCheck, FactorProof};
use super::service::FactorService;
use super::ticket::{LoginTicket, TicketData, TicketUse};
use crate::error::IdentityError;
use crate::identity::{Identity, IdentityStatus};
use crate::login::Network;

/// Somebody who has shown a first factor.
///
/// Prints neither what the login is for nor what comes back.
#[derive(Clone)]
pub struct FirstFactor<'a> {
    /// Who: the record that was looked at.
    pub identity: &'a Identity,
    /// How (RFC 8176): `pwd`, or what [`FactorService::finish_passkey_login`] said.
    pub amr: &'a [&'a str],
    /// What is asked for.
    pub wanted: Aal,
    /// What the login is for, such as the challenge of the flow: a ticket does not end anywhere else.
    pub context: &'a [u8],
    /// What the caller wants back in the end.
    pub data: TicketData,
}

impl fmt::Debug for FirstFactor<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FirstFactor")
            .field("identity", self.identity)
            .field("amr", &self.amr)
            .field("wanted", &self.wanted)
            .finish_non_exhaustive()
    }
}

/// What a person can show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FactorChoices {
    /// A code of an authenticator app.
    pub totp: bool,
    /// A passkey.
    pub passkey: bool,
    /// A recovery code.
    pub recovery_code: bool,
}

impl FactorChoices {
    /// Whether the person has a second factor. Recovery codes stand in for one only.
    pub const fn has_factor(self) -> bool {
        self.totp || self.passkey
    }

    /// What the API says.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        let all = [(self.totp, "totp"), (self.passkey, "passkey"), (self.recovery_code, "recovery_code")];
        all.into_iter().filter_map(|(has, name)| has.then_some(name))
    }
}

/// What comes after a first factor.
///
/// Prints no ticket.
#[derive(Clone, PartialEq, Eq)]
pub enum NextStep {
    /// Nothing.
    Done {
        /// How the person proved who it is.
        amr: Vec<String>,
        /// How well.
        acr: Aal,
    },
    /// A second factor.
    Factor {
        /// To be given back with it.
        ticket: String,
        /// What the person can show.
        kinds: FactorChoices,
    },
    /// A second factor that is to be set up first: the person has none and must have one.
    Enrolment {
        /// To be given back with it: good for this alone, and only as long as there is none.
        ticket: String,
    },
    /// More is asked for than the person can show.
    CannotReach,
}

impl fmt::Debug for NextStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Done { amr, acr } => f.debug_struct("Done").field("amr", amr).field("acr", acr).finish(),
            Self::Factor { kinds, .. } => {
                f.debug_struct("Factor").field("kinds", kinds).finish_non_exhaustive()
            }
            Self::Enrolment { .. } => f.write_str("Enrolment"),
            Self::CannotReach => f.write_str("CannotReach"),
        }
    }
}

/// What comes of asking the person of a ticket for a passkey.
#[derive(Debug, Clone)]
pub enum PasskeyStep {
    /// It is asked for.
    Asked(PasskeyChallenge),
    /// There is none to ask for.
    NotOffered,
    /// It took too long, is of another place, or no ticket at all: begin anew.
    Expired,
}

impl PasskeyStep {
    /// What a browser is to do, if there is something.
    pub fn challenge(self) -> Option<PasskeyChallenge> {
        match self {
            Self::Asked(challenge) => Some(challenge),
            Self::NotOffered | Self::Expired => None,
        }
    }
}

/// What became of a login.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FactorOutcome {
    /// It is complete.
    Done {
        /// Who it is: the present record.
        identity: Box<Identity>,
        /// How the person proved it.
        amr: Vec<String>,
        /// How well.
        acr: Aal,
        /// What the caller wanted back.
        data: TicketData,
    },
    /// What was shown is wrong. There may be another try.
    Wrong,
    /// The code of an authenticator app was shown before. The next one may be right.
    Used,
    /// A passkey was shown too long after it was asked for. It may be asked for again.
    Late,
    /// Too many were wrong; the next may come after this time.
    TooMany(Lifetime),
    /// It took too long, is of another place, or something changed meanwhile: begin anew.
    Expired,
}

impl FactorService {
    /// What comes after a first factor.
    ///
    /// # Errors
    /// [`IdentityError::Store`] if the store cannot do it now.
    pub async fn after_first(&self, first: FirstFactor<'_>) -> Result<NextStep, IdentityError> {
        let amr: Vec<String> = first.amr.iter().map(|method| (*method).to_owned()).collect();
        let acr = Aal::reached_by(&amr);
        if acr == Aal::Aal2 {
            return Ok(NextStep::Done { amr, acr });
        }
        let kinds = self.kinds(first.identity.id).await?;
        let is_required = !kinds.has_factor() && self.is_required_of(Some(first.identity.id)).await?;
        if is_required {
            let identity = first.identity.id;
            info!(target: "sluice_audit", { identity.id = %identity }, "second factor to be set up");
            return Ok(NextStep::Enrolment { ticket: self.ticket(TicketUse::Enrol, first, amr) });
        }
        if !kinds.has_factor() {
            let reached = acr >= first.wanted;
            return Ok(if reached { NextStep::Done { amr, acr } } else { NextStep::CannotReach });
        }
        let ticket = self.ticket(TicketUse::Show, first, amr);
        // A passkey that cannot be asked for here any more is still not done without.
        let kinds = FactorChoices { passkey: kinds.passkey && self.offers_passkeys(), ..kinds };
        Ok(NextStep::Factor { ticket, kinds })
    }

    /// Asks the person of a ticket for a passkey. Of one that does not open nobody is looked for: it tells of no account.
    ///
    /// # Errors
    /// [`IdentityError::Store`] if the store cannot do it now.
    pub async fn begin_passkey_step(
        &self,
        ticket: &str,
        context: &[u8],
    ) -> Result<PasskeyStep, IdentityError> {
        let Some(ticket) = self.open_login(ticket, context) else { return Ok(PasskeyStep::Expired) };
        let challenge = self.begin_passkey(Some(ticket.identity), context).await?;
        Ok(challenge.map_or(PasskeyStep::NotOffered, PasskeyStep::Asked))
    }

    /// Completes the login of a ticket.
    ///
    /// # Errors
    /// [`IdentityError::Store`] if the store cannot do it now.
    pub async fn finish_with(
        &self,
        ticket: &str,
        proof: FactorProof<'_>,
        context: &[u8],
        network: Network,
    ) -> Result<FactorOutcome, IdentityError> {
        let Some(ticket) = self.open_login(ticket, context) else { return Ok(FactorOutcome::Expired) };
        let found = self.parts.identities.find(ticket.identity).await?;
        let same = found.filter(|found| may_log_in(found) && found.revision == ticket.revision);
        let Some(identity) = same else { return Ok(FactorOutcome::Expired) };
        Ok(match self.check(&identity, proof, context, network).await? {
            FactorCheck::Wrong => FactorOutcome::Wrong,
            FactorCheck::Used => FactorOutcome::Used,
            FactorCheck::Late => FactorOutcome::Late,
            FactorCheck::TooMany(wait) => FactorOutcome::TooMany(wait),
            FactorCheck::Right(shown) => {
                let amr = with_second(&ticket.amr, shown);
                let acr = Aal::reached_by(&amr);
                FactorOutcome::Done { identity: Box::new(identity), amr, acr, data: ticket.data }
            }
        })
    }

    /// Logs somebody in with a passkey alone, that [`FactorService::begin_passkey`] asked for without saying whose. No second
    /// factor is left to ask for: the authenticator verified its user.
    ///
    /// # Errors
    /// [`IdentityError::Store`] if the store cannot do it now.
    pub async fn finish_passkey_login(
        &self,
        state: &str,
        response: &str,
        context: &[u8],
        network: Network,
    ) -> Result<FactorOutcome, IdentityError> {
        // The record of before the passkey is looked for: if its passkeys are removed meanwhile, no session begins with it.
        let owner = match self.claimed_owner(state, response, context) {
            Some(owner) => self.parts.identities.find(owner).await?,
            None => None,
        };
        let Some((id, proof)) = self.finish_passkey(state, response, context, network).await? else {
            return Ok(self.count_wrong_passkey(state, context, network));
        };
        let Some(identity) = owner.filter(may_log_in) else {
            info!(target: "sluice_audit", { identity.id = %id, client.network = %network }, "login refused: disabled account");
            return Ok(FactorOutcome::Wrong);
        };
        info!(target: "sluice_audit", { identity.id = %id, client.network = %network }, "passkey right");
        let amr = proof.amr();
        let acr = Aal::reached_by(&amr);
        Ok(FactorOutcome::Done { identity: Box::new(identity), amr, acr, data: TicketData::default() })
    }

    /// A right passkey costs its network nothing, and what others in it use up does not keep it out: nobody guesses one, and to look at it
    /// costs no hash.
    fn count_wrong_passkey(&self, state: &str, context: &[u8], network: Network) -> FactorOutcome {
        match self.parts.limits.check_login(network) {
            Err(wait) => FactorOutcome::TooMany(wait),
            Ok(()) if self.is_late(state, context) => FactorOutcome::Late,
            Ok(()) => FactorOutcome::Wrong,
        }
    }

    /// A ticket for what is left to do of a login.
    fn ticket(&self, of: TicketUse, first: FirstFactor<'_>, amr: Vec<String>) -> String {
        let FirstFactor { identity, context, data, .. } = first;
        let ticket = LoginTicket { identity: identity.id, revision: identity.revision, amr, data };
        ticket.seal(of, (context, self.parts.clock.now()), &self.parts.in_flight, &*self.parts.rng)
    }

    fn open_login(&self, ticket: &str, context: &[u8]) -> Option<LoginTicket> {
        self.open_login_of(TicketUse::Show, ticket, context)
    }

    pub(super) fn open_login_of(&self, of: TicketUse, ticket: &str, context: &[u8]) -> Option<LoginTicket> {
        LoginTicket::open(of, ticket, (context, self.parts.clock.now()), &self.parts.in_flight)
    }
}

pub(super) fn may_log_in(identity: &Identity) -> bool {
    match identity.status {
        IdentityStatus::Active => true,
        IdentityStatus::Disabled => false,
    }
}
