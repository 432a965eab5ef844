//! Marks of what was imported from a Hydra: each Hydra and kind has its own.

#![expect(clippy::unwrap_used, reason = "a promise that cannot be checked is broken")]

use sluice_oauth::takeover::{HydraMarkRepository, HydraNetwork, Mark, MarkSet, Part};
use uuid::Uuid;

use crate::{Fixture, given};

const fn set(network: u8, part: Part) -> MarkSet {
    MarkSet { network: HydraNetwork::from_uuid(Uuid::from_bytes([network; 16])), part }
}

fn mark(id: &str, at: i64) -> Mark {
    Mark::new(id.to_owned(), given::at(at))
}

fn ids(all: &[&str]) -> Vec<String> {
    all.iter().map(|id| (*id).to_owned()).collect()
}

async fn found(store: &impl HydraMarkRepository, of: MarkSet, all: &[&str]) -> Vec<Mark> {
    let mut found = store.marks_of(of, ids(all)).await.unwrap();
    found.sort_by(|left, right| left.id.cmp(&right.id));
    found
}

/// A mark is found by its id among those of its Hydra and kind; a later one takes its place, and of several with one id the latest counts.
pub async fn what_was_imported_is_marked(fixture: &impl Fixture) {
    let (store, other) = (fixture.store(), fixture.second_node().await);
    let (clients, of_another) = (set(1, Part::Clients), set(2, Part::Clients));
    store.put_marks(clients, vec![mark("a", 10), mark("b", 12), mark("b", 11)]).await.unwrap();
    store.put_marks(of_another, vec![mark("a", 20)]).await.unwrap();
    assert_eq!(found(&*other, clients, &["a", "b", "c"]).await, [mark("a", 10), mark("b", 12)]);
    assert_eq!(found(&*other, of_another, &["a", "b"]).await, [mark("a", 20)]);
    assert_eq!(found(&*other, set(1, Part::Issuers), &["a"]).await, []);
    store.put_marks(clients, vec![mark("a", 9)]).await.unwrap();
    assert_eq!(found(&*other, clients, &["a"]).await, [mark("a", 9)]);
    for changed in
        [Mark { changed_at: given::at(30), ..mark("a", 9) }, Mark { is_going: true, ..mark("a", 9) }]
    {
        store.put_marks(clients, vec![changed.clone()]).await.unwrap();
        assert_eq!(found(&*other, clients, &["a"]).await, std::slice::from_ref(&changed));
        assert_eq!(store.mark_page(clients, "", 1).await.unwrap(), [changed]);
    }
}

/// In pages, each once; those that are taken away are found no more.
pub async fn marks_are_gone_through_in_pages_and_taken_away(fixture: &impl Fixture) {
    let store = fixture.store();
    let consents = set(1, Part::Consents);
    let all = ["web\nalice", "web\nbob", "web\ncarol"];
    store.put_marks(consents, all.map(|id| mark(id, 10)).to_vec()).await.unwrap();
    store.put_marks(set(2, Part::Consents), vec![mark("web\nbob", 10)]).await.unwrap();
    let first = store.mark_page(consents, "", 2).await.unwrap();
    let last = first.last().unwrap().id.clone();
    let rest = store.mark_page(consents, &last, 2).await.unwrap();
    let mut paged: Vec<_> = first.iter().chain(&rest).map(|mark| mark.id.as_str()).collect();
    paged.sort_unstable();
    assert_eq!((paged, first.len()), (all.to_vec(), 2));
    assert_eq!(store.delete_marks(consents, ids(&["web\nbob", "web\ndave"])).await.unwrap(), 1);
    assert_eq!(found(&*store, consents, &all).await, [mark("web\nalice", 10), mark("web\ncarol", 10)]);
    assert_eq!(found(&*store, set(2, Part::Consents), &all).await, [mark("web\nbob", 10)]);
}
