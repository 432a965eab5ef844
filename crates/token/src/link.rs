//! What an authorization server tells a gateway in a process of its own: keys and the feed, as JSON. Both ends are of one release or
//! of neighbouring ones, so unknown members are passed over.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use sluice_crypto::SealedSubkeys;
use sluice_crypto::jwk::Jwk;
use sluice_primitives::{Lifetime, NodeId, Timestamp};

use crate::revocation::{Change, FeedBatch, FeedPosition, Marker, Target};

/// What a gateway opens and verifies access tokens with. Whoever has it can make sealed ones.
#[derive(Serialize, Deserialize)]
pub struct LinkKeys {
    /// The network, as sealed values name it.
    pub network: String,
    /// The issuer of the authorization server.
    pub issuer: String,
    /// The subkeys of the sealed facts in JWTs, and of sealed access tokens unless gateways are to ask about each of these; of no
    /// other purpose.
    pub sealed: Vec<SealedSubkeys>,
    /// The public keys that JWTs are signed with, a JWK set.
    pub jwks: Box<RawValue>,
    /// The public keys of the identity API's tokens, as JWKs; empty where there is no such API.
    #[serde(default)]
    pub persons: Vec<Jwk>,
    /// The longest life of an access token, in seconds: for so long revocations are told. A server of an earlier release does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub longest_access_token: Option<u32>,
    /// The same of a token of the identity API.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub longest_person_token: Option<u32>,
}

/// A token that is asked about.
#[derive(Serialize, Deserialize)]
pub struct TokenQuestion {
    /// The token.
    pub token: String,
}

/// What an authorization server says of a token.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenAnswer {
    /// Whether it holds.
    pub active: bool,
    /// Whether it is one of the server's, though it may hold no longer: then nobody else need be asked.
    #[serde(default)]
    pub known: bool,
    /// What a token of the authorization server says, as it is sealed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claims: Option<Vec<u8>>,
    /// What a token of the identity API says, as it is signed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub person: Option<String>,
}

/// What a gateway asks: what came after a position.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct FeedQuestion {
    /// Where it is.
    #[serde(default)]
    pub position: WirePosition,
    /// How long the server may wait for something new, in milliseconds.
    #[serde(default)]
    pub wait_ms: u64,
    /// Whether it reads on while there is more. Who does not is told everything at once.
    #[serde(default)]
    pub pages: bool,
}

/// A position on the wire: the last counter of each origin.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WirePosition {
    /// Of markers.
    #[serde(default)]
    pub revocations: BTreeMap<String, i64>,
    /// Of changes.
    #[serde(default)]
    pub changes: BTreeMap<String, i64>,
}

/// What is new.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct FeedAnswer {
    /// Markers: kind and key as stores keep them, when, and until when, in milliseconds.
    pub markers: Vec<(i16, String, i64, i64)>,
    /// Clients that changed.
    #[serde(default)]
    pub clients: Vec<String>,
    /// Sets of signing keys that changed.
    #[serde(default)]
    pub key_sets: Vec<String>,
    /// The position after them.
    pub position: WirePosition,
    /// How old this knowledge is, in milliseconds.
    #[serde(default)]
    pub age_ms: u64,
    /// Whether there may be more behind the position.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub more: bool,
}

impl From<&FeedPosition> for WirePosition {
    fn from(position: &FeedPosition) -> Self {
        let told = |counters: &BTreeMap<NodeId, i64>| {
            counters.iter().map(|(node, counter)| (node.to_string(), *counter)).collect()
        };
        Self { revocations: told(&position.revocations), changes: told(&position.changes) }
    }
}

impl From<&WirePosition> for FeedPosition {
    /// What names no node is passed over: it is read again from its beginning.
    fn from(position: &WirePosition) -> Self {
        let read = |counters: &BTreeMap<String, i64>| {
            counters.iter().filter_map(|(node, counter)| Some((node.parse().ok()?, *counter))).collect()
        };
        Self { revocations: read(&position.revocations), changes: read(&position.changes) }
    }
}

impl From<&FeedBatch> for FeedAnswer {
    fn from(batch: &FeedBatch) -> Self {
        let markers = batch.markers.iter().map(|marker| {
            let Marker { target, at, expires_at } = marker;
            (target.kind(), target.key(), at.as_millis(), expires_at.as_millis())
        });
        let mut answer = Self {
            markers: markers.collect(),
            position: (&batch.position).into(),
            age_ms: batch.age.as_millis().try_into().unwrap_or_default(),
            more: batch.more,
            ..Self::default()
        };
        for change in &batch.changes {
            match change {
                Change::Client(client) => answer.clients.push(client.to_string()),
                Change::Keys(set) => answer.key_sets.push(set.clone()),
            }
        }
        answer
    }
}

impl From<FeedAnswer> for FeedBatch {
    /// Markers of a kind that this release does not know are passed over, as stores do.
    fn from(answer: FeedAnswer) -> Self {
        let marker = |(kind, key, at, expires_at): (i16, String, i64, i64)| {
            let target = Target::parse(kind, &key).ok()?;
            let (at, expires_at) = (Timestamp::from_millis(at), Timestamp::from_millis(expires_at));
            Some(Marker { target, at, expires_at })
        };
        let clients = answer.clients.iter().filter_map(|client| client.parse().ok()).map(Change::Client);
        let sets = answer.key_sets.iter().cloned().map(Change::Keys);
        Self {
            changes: clients.chain(sets).collect(),
            markers: answer.markers.into_iter().filter_map(marker).collect(),
            position: (&answer.position).into(),
            age: Lifetime::millis(answer.age_ms.try_into().unwrap_or(u32::MAX)),
            more: answer.more,
            ..Self::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use sluice_primitives::GrantId;

    use super::*;

    #[test]
    fn a_batch_is_read_back_as_it_was_told() {
        let node = NodeId::from_bytes([7; 16]);
        let batch = FeedBatch {
            markers: vec![
                Marker {
                    target: Target::Grant(GrantId::from_bytes([1; 16])),
                    at: Timestamp::from_millis(5),
                    expires_at: Timestamp::from_millis(9),
                },
                Marker {
                    target: Target::SubjectClient("alice".parse().unwrap(), "shop".parse().unwrap()),
                    at: Timestamp::from_millis(6),
                    expires_at: Timestamp::NEVER,
                },
            ],
            changes: vec![
                Change::Client("shop".parse().unwrap()),
                Change::Keys("hydra.openid.id-token".into()),
            ],
            position: FeedPosition {
                revocations: BTreeMap::from([(node, 41)]),
                changes: BTreeMap::from([(node, 7)]),
            },
            age: Lifetime::millis(120),
            more: true,
            ..FeedBatch::default()
        };
        let told = serde_json::to_vec(&FeedAnswer::from(&batch)).unwrap();
        assert_eq!(FeedBatch::from(serde_json::from_slice::<FeedAnswer>(&told).unwrap()), batch);
    }

    #[test]
    fn a_marker_of_a_later_release_is_passed_over_and_the_rest_is_heard() {
        let told = r#"{"markers":[[99,"x",1,2],[5,"shop",1,2]],"position":{},"new_member":1}"#;
        let batch = FeedBatch::from(serde_json::from_str::<FeedAnswer>(told).unwrap());
        assert_eq!(batch.markers.len(), 1);
    }
}
