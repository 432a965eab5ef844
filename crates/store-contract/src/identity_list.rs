//! Lists of identities: in pages, by text and by status, however many rows lie between two that are sought.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a promise that cannot be checked is broken"
)]

use futures_util::future::join_all;
use sluice_identity::identity::repository::SEARCHED_AT_ONCE;
use sluice_identity::identity::{Identity, IdentityDirectory, IdentityFilter, IdentityStatus};
use sluice_primitives::{IdentityId, OsRng};

use crate::{Fixture, given};

/// All pages of a list: each with so many identities at most.
async fn pages(store: &impl IdentityDirectory, filter: &IdentityFilter) -> Vec<Vec<Identity>> {
    let mut filter = filter.clone();
    let mut pages = Vec::new();
    loop {
        let page = store.list(&filter).await.unwrap();
        assert!(page.identities.len() <= usize::try_from(filter.limit).unwrap());
        assert!(page.next.is_none_or(|next| filter.after.is_none_or(|after| after < next)), "it goes on");
        pages.push(page.identities);
        match page.next {
            Some(next) => filter.after = Some(next),
            None => return pages,
        }
    }
}

/// The e-mail addresses of those whom a list names.
async fn found(store: &impl IdentityDirectory, filter: IdentityFilter) -> Vec<String> {
    let pages = pages(store, &IdentityFilter { limit: 100, ..filter }).await;
    pages.concat().into_iter().map(|identity| identity.email).collect()
}

fn with_text(text: &str) -> IdentityFilter {
    IdentityFilter { text: Some(text.to_owned()), ..IdentityFilter::default() }
}

/// Registers somebody whose id comes after that of everybody with a lower number.
async fn numbered(store: &impl IdentityDirectory, number: i64, identity: Identity) -> Identity {
    let id = IdentityId::generate(given::at(number), &OsRng);
    given::registered(store, Identity { id, ..identity }).await
}

/// Every identity is on one page, as it is stored, in the order of the ids.
pub async fn identities_are_listed_by_id_in_pages(fixture: &impl Fixture) {
    let store = fixture.store();
    assert_eq!(pages(&*store, &IdentityFilter { limit: 2, ..IdentityFilter::default() }).await.concat(), []);
    let mut all = Vec::new();
    for number in [3, 0, 4, 1, 2] {
        all.push(numbered(&*store, number, given::identity(&format!("person-{number}"))).await);
    }
    all.sort_unstable_by_key(|identity| identity.id);
    for limit in [1, 2, 5, 100] {
        let filter = IdentityFilter { limit, ..IdentityFilter::default() };
        assert_eq!(pages(&*fixture.second_node().await, &filter).await.concat(), all, "{limit} at once");
    }
    let after = IdentityFilter { after: Some(all[2].id), limit: 100, ..IdentityFilter::default() };
    assert_eq!(pages(&*store, &after).await, [all[3..].to_vec()]);
}

/// A text is found anywhere in address or username, in whatever case, and means nothing but itself; in a domain also as it is written
/// there where it is stored in ASCII.
pub async fn identities_are_searched_by_text(fixture: &impl Fixture) {
    let store = fixture.store();
    let names = [
        ("ann@example.org", "Ann_1"),
        ("bob@example.org", "100% Bob"),
        ("zoë@müller.example", "ZOË Ünal"),
        ("dan@xn--bcher-kva.example", "Dan"),
    ];
    for (number, (email, username)) in (0..).zip(names) {
        let identity = Identity { username: username.to_owned(), ..given::identity(email) };
        numbered(&*store, number, identity).await;
    }
    let search = async |text: &str| found(&*store, with_text(text)).await;
    let [ann, bob, zoe, dan] = names.map(|(email, _)| email);
    assert_eq!(search("@EXAMPLE.").await, [ann, bob]);
    assert_eq!(search("ann_").await, [ann]);
    for text in ["ünal", "ÜNAL", "MÜLLER", "zoë"] {
        assert_eq!(search(text).await, [zoe], "{text}");
    }
    for text in ["bücher", "@BÜCHER.example", "dan@bücher.example", "xn--bcher"] {
        assert_eq!(search(text).await, [dan], "{text}");
    }
    assert_eq!(search("%").await, [bob]);
    assert_eq!(search("_").await, [ann]);
    for text in ["a%n", "nobody", "\\", "' OR 1=1 --"] {
        assert_eq!(search(text).await, <[&str; 0]>::default(), "{text}");
    }
}

/// A status narrows a list, and a search too.
pub async fn identities_are_listed_by_status(fixture: &impl Fixture) {
    let store = fixture.store();
    for (number, name) in (0..).zip(["ann", "bob", "bobby"]) {
        let status = if number == 1 { IdentityStatus::Active } else { IdentityStatus::Disabled };
        numbered(&*store, number, Identity { status, ..given::identity(name) }).await;
    }
    let disabled = IdentityFilter { status: Some(IdentityStatus::Disabled), ..IdentityFilter::default() };
    let active = IdentityFilter { status: Some(IdentityStatus::Active), ..IdentityFilter::default() };
    assert_eq!(found(&*store, disabled.clone()).await, ["ann", "bobby"]);
    assert_eq!(found(&*store, active).await, ["bob"]);
    assert_eq!(
        found(&*store, IdentityFilter { status: disabled.status, ..with_text("bob") }).await,
        ["bobby"]
    );
    let by_one = IdentityFilter { limit: 1, ..disabled };
    let names: Vec<_> = pages(&*store, &by_one).await.concat().into_iter().map(|found| found.email).collect();
    assert_eq!(names, ["ann", "bobby"]);
}

/// A page looks at a bounded number of rows; if that is all that ends it, the next one goes on.
pub async fn a_page_that_found_nothing_yet_has_a_next_one(fixture: &impl Fixture) {
    let store = fixture.store();
    let crowd: Vec<_> =
        (0..SEARCHED_AT_ONCE).map(|number| given::identity(&format!("one-of-many-{number}"))).collect();
    for some in crowd.chunks(200) {
        join_all(some.iter().map(|identity| given::registered(&*store, identity.clone()))).await;
    }
    numbered(&*store, 1, given::identity("needle")).await;
    let filter = IdentityFilter { limit: 10, ..with_text("needle") };
    let first = store.list(&filter).await.unwrap();
    assert_eq!(first.identities, []);
    let second = store.list(&IdentityFilter { after: first.next, ..filter }).await.unwrap();
    assert!(first.next.is_some());
    assert_eq!((second.identities.len(), second.identities[0].email.as_str()), (1, "needle"));
    assert_eq!(second.next, None);
}
