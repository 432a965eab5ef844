//! A marker: one thing that was revoked.

use sluice_primitives::{GrantId, SessionId, Timestamp};
use sluice_protocol::{ClientId, Subject};
use thiserror::Error;

/// What a marker covers.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Target {
    /// One grant and all its tokens, or one token alone ([`TokenId::as_grant`](crate::TokenId::as_grant)).
    Grant(GrantId),
    /// Every grant of a login session whose authentication is not later than the marker.
    Session(SessionId),
    /// Every grant of a subject whose authentication is not later than the marker.
    Subject(Subject),
    /// Every grant of a subject to a client whose consent was accepted not later than the marker.
    SubjectClient(Subject, ClientId),
    /// Every grant of a client whose consent was accepted not later than the marker.
    Client(ClientId),
    /// Every grant of a subject, whatever the client, whose consent was accepted not later than the marker.
    SubjectConsents(Subject),
}

/// A stored target of a kind that this program does not know.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("unknown revocation target: kind {kind}")]
pub struct UnknownTarget {
    /// The stored kind.
    pub kind: i16,
}

impl Target {
    /// The kind as stores keep it: 1 grant, 2 session, 3 subject, 4 subject and client, 5 client, 6 consents of a
    /// subject.
    pub const fn kind(&self) -> i16 {
        match self {
            Self::Grant(_) => 1,
            Self::Session(_) => 2,
            Self::Subject(_) => 3,
            Self::SubjectClient(..) => 4,
            Self::Client(_) => 5,
            Self::SubjectConsents(_) => 6,
        }
    }

    /// The key as stores keep it. Subject and client are joined as `client_id LF subject`; neither holds a line feed.
    pub fn key(&self) -> String {
        match self {
            Self::Grant(grant) => grant.to_string(),
            Self::Session(session) => session.to_string(),
            Self::Subject(subject) | Self::SubjectConsents(subject) => subject.to_string(),
            Self::SubjectClient(subject, client) => [client.as_str(), subject.as_str()].join("\n"),
            Self::Client(client) => client.to_string(),
        }
    }

    /// The target that a store kept.
    ///
    /// # Errors
    /// [`UnknownTarget`] for a kind or key that no version of this program up to this one writes.
    pub fn parse(kind: i16, key: &str) -> Result<Self, UnknownTarget> {
        let unknown = || UnknownTarget { kind };
        match kind {
            1 => key.parse().map(Self::Grant).map_err(|_| unknown()),
            2 => key.parse().map(Self::Session).map_err(|_| unknown()),
            3 => key.parse().map(Self::Subject).map_err(|_| unknown()),
            4 => {
                let (client, subject) = key.split_once('\n').ok_or_else(unknown)?;
                let subject = subject.parse().map_err(|_| unknown())?;
                Ok(Self::SubjectClient(subject, client.parse().map_err(|_| unknown())?))
            }
            5 => key.parse().map(Self::Client).map_err(|_| unknown()),
            6 => key.parse().map(Self::SubjectConsents).map_err(|_| unknown()),
            _ => Err(unknown()),
        }
    }

    /// Whether the marker covers many grants, told apart by time.
    pub const fn is_wide(&self) -> bool {
        !matches!(self, Self::Grant(_))
    }
}

/// One thing that was revoked, and when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Marker {
    /// What.
    pub target: Target,
    /// When; wide markers cover what is not later.
    pub at: Timestamp,
    /// When the last token it covers will have expired by itself, so that nodes may forget it.
    pub expires_at: Timestamp,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_read_back_as_it_was_kept() {
        let subject = || "alice".parse::<Subject>().unwrap();
        let client = || "shop".parse::<ClientId>().unwrap();
        let targets = [
            Target::Grant(GrantId::from_bytes([1; 16])),
            Target::Session(SessionId::from_bytes([2; 16])),
            Target::Subject(subject()),
            Target::SubjectClient(subject(), client()),
            Target::Client(client()),
            Target::SubjectConsents(subject()),
        ];
        for (kind, target) in (1..).zip(targets) {
            assert_eq!((target.kind(), target.is_wide()), (kind, kind > 1));
            assert_eq!(Target::parse(kind, &target.key()), Ok(target));
        }
        assert_eq!(Target::parse(7, "alice"), Err(UnknownTarget { kind: 7 }));
    }
}
