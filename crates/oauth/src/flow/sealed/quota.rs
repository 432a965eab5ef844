//! Whose requests that are too long for a URL are too many.

use sluice_primitives::Lifetime;
use thiserror::Error;

use super::PARKED_WINDOW;

/// Whose requests that are too long for a URL are too many. The text is for the operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Quota {
    /// Those of a network, whoever is in it.
    #[error("this network has asked for too many requests that are too long for a URL")]
    Network,
    /// Those of a network that are still kept, or of all networks that are exempt. In so long some of them may be over.
    #[error("this network has as many requests that are too long for a URL kept as it may")]
    Share(Lifetime),
    /// Those of a client that authenticates.
    #[error("the client has pushed too many requests that are too long for a URL")]
    Client,
    /// Those of the installation.
    #[error("the installation keeps as many requests that are too long for a URL as it may")]
    All,
}

impl Quota {
    /// What whoever asks reads.
    pub const fn sentence(self) -> &'static str {
        match self {
            Self::Network => {
                "Too many long sign-in requests came from this network. Please try again in some minutes."
            }
            Self::Share(_) => {
                "Too many long sign-in requests of this network are under way. Please try again later."
            }
            Self::Client => {
                "The application has made too many long sign-in requests. Please try again in some minutes."
            }
            Self::All => "The service has too many long sign-in requests under way. Please try again later.",
        }
    }

    /// After how long trying again may help.
    pub const fn wait(self) -> Lifetime {
        match self {
            Self::Network | Self::Client => PARKED_WINDOW,
            Self::Share(part) => part,
            // Some end all the time.
            Self::All => Lifetime::minutes(1),
        }
    }
}
