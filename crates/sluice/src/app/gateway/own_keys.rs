//! What tokens of this installation are checked with, where its authorization server is in this process.

use std::sync::Arc;

use arc_swap::ArcSwap;
use sluice_crypto::Sealer;
use sluice_crypto::jws::VerifiedJws;
use sluice_gateway::validation::{LocalParts, OwnKeys};
use sluice_identity::session::AccessTokenKeys;
use sluice_oauth::keys::KeyRing;
use sluice_primitives::Lifetime;
use sluice_token::{FeedFollower, RevocationSet};

use crate::app::identity_tokens::IdentityTokenKeys;
use crate::config::GatewaySettings;

/// The keys of this node.
pub(crate) struct RingKeys {
    pub(crate) ring: Arc<KeyRing>,
    pub(crate) persons: Arc<IdentityTokenKeys>,
    pub(crate) longest_access_token: Lifetime,
    pub(crate) longest_person_token: Lifetime,
    pub(crate) issuer: String,
}

impl OwnKeys for RingKeys {
    fn verify_jwt(&self, token: &str) -> Option<VerifiedJws> {
        self.ring.verify_own(token).ok()
    }

    fn verify_paseto(&self, token: &str) -> Option<Vec<u8>> {
        self.persons.verify(token)
    }

    fn generation(&self) -> u64 {
        self.ring.generation()
    }

    fn longest_access_token(&self) -> Lifetime {
        self.longest_access_token
    }

    fn longest_person_token(&self) -> Lifetime {
        self.longest_person_token
    }

    fn is_issuer(&self, claimed: &str) -> bool {
        self.issuer == claimed
    }

    fn issuer(&self) -> Option<String> {
        Some(self.issuer.clone())
    }
}

/// What a node knows of its tokens.
pub(crate) struct Known<'a> {
    pub(crate) sealer: &'a Arc<Sealer>,
    pub(crate) revocations: &'a Arc<RevocationSet>,
    pub(crate) follower: &'a Arc<FeedFollower>,
}

/// Everything that tokens of this node are checked with. Where revocations were not heard of for long there is nobody else to ask: the
/// feed is the store.
pub(crate) fn local_parts(settings: &GatewaySettings, keys: RingKeys, known: &Known<'_>) -> LocalParts {
    LocalParts {
        sealer: Arc::new(ArcSwap::new(Arc::clone(known.sealer))),
        keys: Arc::new(keys),
        revocations: Arc::clone(known.revocations),
        freshness: Arc::clone(known.follower) as _,
        max_age: settings.max_feed_age.into(),
        authority: None,
    }
}
