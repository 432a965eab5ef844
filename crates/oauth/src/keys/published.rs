//! The public keys in the order in which they are published: some libraries take the first one for what a token was signed with, whatever
//! its header says.

use std::collections::BTreeSet;
use std::sync::Arc;

use sluice_crypto::jwk::{Jwk, JwkSet, SigningAlgorithm};
use sluice_crypto::jws::SigningKey;
use sluice_primitives::Timestamp;

use super::loaded::LoadedSet;
use super::ring::DefaultAlgorithms;

/// What is published, written when keys are read, and once for each later time at which another key begins to sign: nobody writes it when it is asked for.
pub(super) struct Published {
    /// Until the first of these times.
    first: Arc<str>,
    /// From when on what; as time goes on.
    later: Vec<(Timestamp, Arc<str>)>,
}

impl Published {
    /// Of `keys`, the public parts of those of the sets that sign, those that sign come first among those of their place; `others` come last.
    pub(super) fn of(
        keys: &[Jwk],
        others: &[Jwk],
        sets: [&LoadedSet; 2],
        defaults: Option<DefaultAlgorithms>,
        now: Timestamp,
    ) -> Self {
        let written = |at: Timestamp| -> Arc<str> {
            let signers: Vec<_> = sets.iter().flat_map(|set| set.signers_at(at)).collect();
            let mut keys = keys.to_vec();
            keys.sort_by_key(|key| (place(key, defaults), !is_among(key, &signers)));
            keys.extend_from_slice(others);
            serde_json::to_string(&JwkSet { keys }).unwrap_or_default().into()
        };
        let turns: BTreeSet<_> = sets.into_iter().flat_map(LoadedSet::turns).filter(|at| *at > now).collect();
        let first = written(now);
        let mut later: Vec<(Timestamp, Arc<str>)> = Vec::new();
        for turn in turns {
            let text = written(turn);
            let last = later.last().map_or(&first, |(_, text)| text);
            if *last != text {
                later.push((turn, text));
            }
        }
        Self { first, later }
    }

    /// What is published at this time.
    pub(super) fn at(&self, now: Timestamp) -> Arc<str> {
        let begun = self.later.iter().rev().find(|(from, _)| *from <= now);
        Arc::clone(begun.map_or(&self.first, |(_, text)| text))
    }
}

fn is_among(key: &Jwk, signers: &[Arc<SigningKey>]) -> bool {
    key.kid.is_some() && signers.iter().any(|signer| signer.kid() == key.kid.as_deref())
}

/// Where a key that signs stands among all that are published; of one place those that sign now come first, and then the newest. Most tokens are
/// signed as no client has asked for.
pub(super) fn place(key: &Jwk, defaults: Option<DefaultAlgorithms>) -> usize {
    let first = defaults.map_or(SigningAlgorithm::RS256, |defaults| defaults.id_token);
    let second = defaults.map_or(first, |defaults| defaults.access_token);
    let algorithm = key.signing_algorithm().ok();
    [first, second].iter().position(|usual| algorithm == Some(*usual)).unwrap_or(2)
}
