//! The audit trail where nobody knows whether something was done: the store could not be reached, or did not answer in time.
//! It may have done it all the same, or do it a moment later; or it was never asked. What is noted is the answer to what
//! writes, and to nothing that is read before. Where already what goes before it was not answered, it is known that it was not done, and said so.
//!
//! What was done is written down where it was done, by a line of its own.

use sluice_commit::StoreError;
use sluice_primitives::{IdentityId, SessionId};
use tracing::field::display;
use tracing::warn;
use uuid::Uuid;

use crate::error::IdentityError;
use crate::identity::NotBegun;
use crate::login::Network;

/// Something that the trail tells when it is done: in which words, and whom it is about.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Deed {
    sentence: &'static str,
    identity: Option<IdentityId>,
    network: Option<Network>,
    session: Option<SessionId>,
    factor: Option<Uuid>,
}

impl Deed {
    /// What is told by this sentence, of this person, if it is of one.
    pub(crate) fn new(sentence: &'static str, identity: impl Into<Option<IdentityId>>) -> Self {
        Self { sentence, identity: identity.into(), network: None, session: None, factor: None }
    }

    /// The same, asked for from this network.
    pub(crate) const fn at(self, network: Network) -> Self {
        Self { network: Some(network), ..self }
    }

    /// The same, of this session.
    pub(crate) const fn of_session(self, session: SessionId) -> Self {
        Self { session: Some(session), ..self }
    }

    /// The same, of this factor.
    pub(crate) const fn of_factor(self, factor: Uuid) -> Self {
        Self { factor: Some(factor), ..self }
    }

    /// Hands on what came of it; if nobody knows that, the trail says so, and if it is known that only what goes before it may be done.
    pub(crate) fn noted<T, E: MayBeDone>(self, answer: Result<T, E>) -> Result<T, E> {
        answer.inspect_err(|error| {
            if error.may_be_done() {
                self.tell("nobody was told whether it was done");
            } else if error.is_not_begun() {
                self.tell("it was not done, but the person may be signed out of applications");
            }
        })
    }

    fn tell(self, what: &str) {
        let Self { sentence, identity, network, session, factor } = self;
        let (identity, network) = (identity.map(display), network.map(display));
        let (session, factor) = (session.map(display), factor.map(display));
        warn!(target: "sluice_audit", { identity.id = identity, client.network = network, session.id = session, factor.id = factor }, "{sentence}: {what}");
    }
}

/// An error of something that may be done all the same.
pub(crate) trait MayBeDone {
    /// Whether it may.
    fn may_be_done(&self) -> bool;

    /// Whether it is not, and what goes before it may be.
    fn is_not_begun(&self) -> bool;
}

impl MayBeDone for StoreError {
    fn may_be_done(&self) -> bool {
        match self {
            Self::Unavailable(_) => !self.is_not_begun(),
            Self::Busy | Self::Invalid(_) | Self::Refused(_) | Self::Fault(_) => false,
        }
    }

    fn is_not_begun(&self) -> bool {
        NotBegun::is_said_by(self)
    }
}

impl MayBeDone for IdentityError {
    fn may_be_done(&self) -> bool {
        match self {
            Self::Store(error) => error.may_be_done(),
            Self::Busy(_) | Self::Hash(_) | Self::Breached(_) | Self::Changed | Self::Key(_) => false,
        }
    }

    fn is_not_begun(&self) -> bool {
        matches!(self, Self::Store(error) if error.is_not_begun())
    }
}
