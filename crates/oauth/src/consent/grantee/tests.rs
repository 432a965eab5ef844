//! Hosts that are silent, slow, or have nothing.

use std::sync::atomic::{AtomicUsize, Ordering};

use sluice_primitives::Timestamp;
use sluice_protocol::{Audience, Scope, Subject};

use super::super::late_documents::{LATE, SUBJECTS};
use super::*;
use crate::client::fake::{
    self, FakeClients, directory_of_empty_hosts, directory_of_silent_hosts, directory_of_slow_hosts,
};
use crate::grant::GrantClaims;

fn entry(client: &str) -> ConsentEntry {
    ConsentEntry {
        id: String::new(),
        flow: None,
        subject: "alice".parse().unwrap(),
        client: client.parse().unwrap(),
        session: None,
        scope: Scope::default(),
        audience: Audience::default(),
        claims: GrantClaims::default(),
        decided_at: Timestamp::from_secs(1_000_000),
    }
}

/// How long the pages of these tests wait.
const PATIENCE: Duration = Duration::from_secs(2);

fn subject(name: &str) -> Subject {
    name.parse().unwrap()
}

/// The clients of these entries, on a page of its own.
async fn on_a_page(
    entries: &[ConsentEntry],
    clients: ClientDirectory,
) -> Result<HashMap<ClientId, Grantee>, StoreError> {
    let (late, subject) = (LateDocuments::default(), subject("alice"));
    let view = View { subject: &subject, until: Instant::now() + PATIENCE };
    grantees(entries, &Arc::new(clients), &late, &view).await
}

/// A page of a subject that waits for nothing beyond `until`.
async fn look(
    (clients, late): (&Arc<ClientDirectory>, &LateDocuments),
    (subject, until): (&Subject, Instant),
    entries: &[ConsentEntry],
) {
    grantees(entries, clients, late, &View { subject, until }).await.unwrap();
}

fn of<'a>(found: &'a HashMap<ClientId, Grantee>, client: &str) -> &'a Grantee {
    let client: ClientId = client.parse().unwrap();
    &found[&client]
}

#[tokio::test]
async fn each_client_is_looked_up_once() {
    let registered = Arc::new(FakeClients::default());
    registered.put(fake::client("shop"));
    let clients = directory_of_silent_hosts(registered.clone());
    let found = on_a_page(&["gone", "shop", "gone", "shop", "gone"].map(entry), clients).await.unwrap();
    assert_eq!((found.len(), registered.reads()), (2, 2));
    assert!(of(&found, "shop").client().is_some());
    assert!(matches!(of(&found, "gone"), Grantee::Gone));
}

/// Its host may show the document to its users, and none to this server, while nobody takes away what it was granted.
#[tokio::test]
async fn a_client_cannot_hide_by_its_document() {
    let (clients, id) = (directory_of_empty_hosts(Arc::default()), "https://app.example/client.json");
    let found = on_a_page(&[entry(id)], clients).await.unwrap();
    assert!(matches!(of(&found, id), Grantee::Unreachable));
}

#[tokio::test(start_paused = true)]
async fn all_clients_of_a_host_are_asked_for_however_few_it_is_asked_for_at_once() {
    let asked = Arc::new(AtomicUsize::new(0));
    let clients = directory_of_slow_hosts(asked.clone());
    let of = |host: &'static str, count: usize| {
        (0..count).map(move |number| entry(&format!("https://{host}.example/{number}.json")))
    };
    let entries: Vec<_> = of("silent", 100).chain(of("app", 15)).collect();
    on_a_page(&entries, clients).await.unwrap();
    assert_eq!(
        asked.load(Ordering::SeqCst),
        15,
        "a host that does not answer keeps no other from being asked"
    );
}

#[tokio::test(start_paused = true)]
async fn hosts_that_do_not_answer_are_waited_for_together_and_not_for_long() {
    let registered = Arc::new(FakeClients::default());
    registered.put(fake::client("shop"));
    let clients = directory_of_silent_hosts(registered);
    let silent = |number: usize| format!("https://app.example/{}.json", number % 40);
    let entries: Vec<_> = (0..100).map(|number| entry(&silent(number))).chain([entry("shop")]).collect();
    let began = Instant::now();
    let found = on_a_page(&entries, clients).await.unwrap();
    assert!(began.elapsed() < 2 * PATIENCE, "{:?}", began.elapsed());
    assert!(of(&found, "shop").client().is_some());
    assert!((0..40).all(|number| matches!(of(&found, &silent(number)), Grantee::Unreachable)));
}

/// Clients whose documents are at one host, more than that is asked for at once.
fn of_an_app() -> Vec<ConsentEntry> {
    (0..15).map(|number| entry(&format!("https://app.example/{number}.json"))).collect()
}

#[tokio::test(start_paused = true)]
async fn what_a_page_does_not_wait_for_is_asked_for_behind_it() {
    let asked = Arc::new(AtomicUsize::new(0));
    let (clients, late) = (Arc::new(directory_of_slow_hosts(asked.clone())), LateDocuments::default());
    let (began, alice) = (Instant::now(), subject("alice"));
    look((&clients, &late), (&alice, began + Duration::from_millis(50)), &of_an_app()).await;
    assert!(began.elapsed() < Duration::from_millis(100), "{:?}", began.elapsed());
    assert_eq!(asked.load(Ordering::SeqCst), 4, "of a host at once");
    sleep(LOOKS).await;
    assert_eq!(asked.load(Ordering::SeqCst), 15);
}

#[tokio::test(start_paused = true)]
async fn documents_are_asked_for_behind_pages_of_so_many_subjects_at_once_and_not_for_long() {
    let (clients, late) = (Arc::new(directory_of_silent_hosts(Arc::default())), LateDocuments::default());
    for number in 0..2 * SUBJECTS {
        let entries = [entry(&format!("https://host-{number}.example/client.json"))];
        let (somebody, now) = (subject(&format!("user-{number}")), Instant::now());
        look((&clients, &late), (&somebody, now), &entries).await;
    }
    assert_eq!(late.subjects(), SUBJECTS);
    sleep(2 * LATE).await;
    assert_eq!(late.subjects(), 0);
}

/// Eight pages whose hosts never answer, more of them than are asked at once.
#[tokio::test(start_paused = true)]
async fn nobody_keeps_the_documents_of_others_from_being_asked_for() {
    let asked = Arc::new(AtomicUsize::new(0));
    let (clients, late) = (Arc::new(directory_of_slow_hosts(asked.clone())), LateDocuments::default());
    let (alice, bob) = (subject("alice"), subject("bob"));
    for page in 0..8 {
        let silent = |number| entry(&format!("https://host-{page}-{number}.silent.example/client.json"));
        let entries: Vec<_> = (0..8).map(silent).collect();
        look((&clients, &late), (&alice, Instant::now()), &entries).await;
        sleep(Duration::from_millis(1)).await;
    }
    look((&clients, &late), (&bob, Instant::now()), &of_an_app()).await;
    sleep(LOOKS).await;
    assert_eq!(asked.load(Ordering::SeqCst), 15);
}

#[tokio::test(start_paused = true)]
async fn documents_are_asked_for_behind_all_pages_of_one_view_at_once() {
    let (clients, late) = (Arc::new(directory_of_silent_hosts(Arc::default())), LateDocuments::default());
    let (alice, until) = (subject("alice"), Instant::now());
    let page = |number| [entry(&format!("https://host-{number}.example/client.json"))];
    for number in 0..3 {
        look((&clients, &late), (&alice, until), &page(number)).await;
    }
    let another = until + Duration::from_millis(1);
    look((&clients, &late), (&alice, another), &page(3)).await;
    assert_eq!((late.subjects(), late.pages(&alice)), (1, 3), "the next view finds them at hand");
    sleep(2 * LATE).await;
    look((&clients, &late), (&alice, another), &page(3)).await;
    assert_eq!(late.pages(&alice), 1);
}
