//! Typed ids. Each is a UUID; those that become keys of a B-tree are UUIDv7, so that rows born together lie together.

use std::fmt;
use std::str::FromStr;

use uuid::Uuid;

use crate::rng::{Rng, random_bytes};
use crate::time::Timestamp;

macro_rules! typed_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Uuid);

        impl $name {
            /// A new id (UUIDv7, RFC 9562 §5.7): ordered by `now`, otherwise random.
            pub fn generate(now: Timestamp, rng: &dyn Rng) -> Self {
                let millis = u64::try_from(now.as_millis()).unwrap_or(0);
                Self(uuid::Builder::from_unix_timestamp_millis(millis, &random_bytes(rng)).into_uuid())
            }

            /// The id with this UUID.
            pub const fn from_uuid(uuid: Uuid) -> Self {
                Self(uuid)
            }

            /// The id with these bytes.
            pub const fn from_bytes(bytes: [u8; 16]) -> Self {
                Self(Uuid::from_bytes(bytes))
            }

            /// The UUID of the id.
            pub const fn as_uuid(self) -> Uuid {
                self.0
            }

            /// The sixteen bytes of the id.
            pub const fn as_bytes(&self) -> &[u8; 16] {
                self.0.as_bytes()
            }

            /// When the id was made, as its first 48 bits tell. Meaningless for an id that is no UUIDv7.
            pub fn made_at(self) -> Timestamp {
                let (high, _) = self.0.as_u64_pair();
                Timestamp::from_millis(i64::try_from(high >> 16).unwrap_or(0))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl FromStr for $name {
            type Err = uuid::Error;
            fn from_str(raw: &str) -> Result<Self, uuid::Error> {
                raw.parse().map(Self)
            }
        }
    };
}

typed_id! {
    /// A grant: the authorization that a code, its tokens and their successors belong to. Equal to the id of the flow
    /// that led to it.
    GrantId
}
typed_id! {
    /// A login session of a browser (OpenID Connect `sid`).
    SessionId
}
typed_id! {
    /// A person's record.
    IdentityId
}
typed_id! {
    /// One attempt at a write. Stored in the row, so that after a lost connection a retry recognises its own work.
    AttemptId
}
typed_id! {
    /// One installation: all nodes on one database share it, a copy of the program elsewhere does not.
    NetworkId
}
typed_id! {
    /// One running process, as the origin of what it appends to the feeds.
    NodeId
}
typed_id! {
    /// The trust in one key of an issuer of assertions.
    TrustId
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::SeededRng;

    #[test]
    fn an_id_tells_when_it_was_made() {
        let now = Timestamp::from_millis(1_750_000_000_123);
        assert_eq!(GrantId::generate(now, &SeededRng::new(1)).made_at(), now);
    }

    #[test]
    fn later_ids_sort_after_earlier_ones() {
        let rng = SeededRng::new(1);
        let earlier = GrantId::generate(Timestamp::from_secs(1_000), &rng);
        let later = GrantId::generate(Timestamp::from_secs(1_001), &rng);
        assert!(earlier < later);
    }
}
