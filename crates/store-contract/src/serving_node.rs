//! What nodes say of themselves: each knows what the others said last.

#![expect(clippy::unwrap_used, reason = "a promise that cannot be checked is broken")]

use futures_util::future::join_all;
use sluice_oauth::serving_node::{ServingNode, ServingNodeRepository, SharedSettings};
use sluice_primitives::NodeId;

use crate::{Fixture, given};

fn node(id: u8, seen_at: i64) -> ServingNode {
    let secrets = vec!["a3f1".to_owned(), "77c0".to_owned()];
    let settings = SharedSettings::default().with_secrets("secrets.system", secrets);
    ServingNode {
        id: NodeId::from_bytes([id; 16]),
        host: format!("node-{id}"),
        seen_at: given::at(seen_at),
        is_serving: true,
        settings: settings.with_value("urls.self.issuer", "https://id.example.com/ \"ö\""),
    }
}

/// Nodes are known to all as they were noted, the one that was seen last first; what one says anew takes the place of what it said.
pub async fn nodes_know_what_others_said_last(fixture: &impl Fixture) {
    let (store, other) = (fixture.store(), fixture.second_node().await);
    assert_eq!(store.known_nodes(10).await.unwrap(), []);
    for noted in [node(1, 10), node(2, 30), node(3, 20)] {
        store.note_node(&noted, given::at(0)).await.unwrap();
    }
    assert_eq!(other.known_nodes(10).await.unwrap(), [node(2, 30), node(3, 20), node(1, 10)]);
    assert_eq!(other.known_nodes(2).await.unwrap(), [node(2, 30), node(3, 20)]);
    let ended = ServingNode { is_serving: false, settings: SharedSettings::default(), ..node(1, 40) };
    other.note_node(&ended, given::at(0)).await.unwrap();
    assert_eq!(store.known_nodes(10).await.unwrap(), [ended, node(2, 30), node(3, 20)]);
}

/// Who was not seen for long is forgotten when another one is noted; the one that is noted is not, whatever its clock says.
pub async fn nodes_that_were_not_seen_for_long_are_forgotten(fixture: &impl Fixture) {
    let store = fixture.store();
    for noted in [node(1, 10), node(2, 20), node(3, 30)] {
        store.note_node(&noted, given::at(0)).await.unwrap();
    }
    store.note_node(&node(3, 15), given::at(20)).await.unwrap();
    assert_eq!(store.known_nodes(10).await.unwrap(), [node(2, 20), node(3, 15)]);
    store.note_node(&node(4, 40), given::at(21)).await.unwrap();
    assert_eq!(store.known_nodes(10).await.unwrap(), [node(4, 40)]);
}

/// Ten nodes that forget the same ones at once keep nobody from being noted.
pub async fn nodes_that_are_noted_at_once_are_all_known(fixture: &impl Fixture) {
    let nodes = [fixture.store(), fixture.second_node().await];
    for id in 100..120 {
        nodes[0].note_node(&node(id, 10), given::at(0)).await.unwrap();
    }
    let noted: Vec<_> = (0..10).map(|id| node(id, 50)).collect();
    let at_once = noted.iter().zip(nodes.iter().cycle()).map(|(one, at)| at.note_node(one, given::at(40)));
    assert!(join_all(at_once).await.iter().all(Result::is_ok));
    assert_eq!(nodes[1].known_nodes(100).await.unwrap(), noted);
}
