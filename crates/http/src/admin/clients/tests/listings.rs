//! Listings that are kept.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use sluice_commit::StoreError;
use sluice_oauth::client::registration::register;
use sluice_oauth::client::{Client, ClientMetadata, Replacement};
use sluice_oauth::grant::Insertion;
use tokio::sync::Semaphore;

use super::*;

/// A store that counts the pages read and the counts, hands out what it read when there is a permit, and counts clients unless it is busy.
struct Watched {
    store: MemoryStore,
    pages: AtomicUsize,
    counts: AtomicUsize,
    is_busy: AtomicBool,
    gate: Semaphore,
}

#[async_trait]
impl ClientRepository for Watched {
    async fn insert(&self, client: &Client) -> Result<Insertion, StoreError> {
        self.store.insert(client).await
    }

    async fn find(&self, id: &ClientId) -> Result<Option<Client>, StoreError> {
        ClientRepository::find(&self.store, id).await
    }

    async fn replace(&self, client: &Client) -> Result<Replacement, StoreError> {
        ClientRepository::replace(&self.store, client).await
    }

    async fn delete(&self, id: &ClientId, now: Timestamp, until: Timestamp) -> Result<bool, StoreError> {
        ClientRepository::delete(&self.store, id, now, until).await
    }

    async fn revoke_grants(&self, id: &ClientId, now: Timestamp, until: Timestamp) -> Result<(), StoreError> {
        ClientRepository::revoke_grants(&self.store, id, now, until).await
    }

    async fn list(&self, filter: &ClientFilter) -> Result<Vec<Client>, StoreError> {
        let read = ClientRepository::list(&self.store, filter).await;
        self.pages.fetch_add(1, Ordering::SeqCst);
        self.gate.acquire().await.map_err(StoreError::fault)?.forget();
        read
    }

    async fn count(&self) -> Result<u64, StoreError> {
        self.counts.fetch_add(1, Ordering::SeqCst);
        if self.is_busy.load(Ordering::SeqCst) {
            return Err(StoreError::Busy);
        }
        ClientRepository::count(&self.store).await
    }
}

struct Given {
    store: Arc<Watched>,
    admin: Router,
    directory: Arc<ClientDirectory>,
}

impl Given {
    /// With these clients, all of which `me` owns.
    async fn with(ids: &[&str]) -> Self {
        let (pages, counts) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let gate = Semaphore::new(Semaphore::MAX_PERMITS);
        let store =
            Arc::new(Watched { store: MemoryStore::default(), pages, counts, is_busy: false.into(), gate });
        let (admin, directory) = admin_on(store.clone());
        let given = Self { store, admin, directory };
        for id in ids {
            given.ask("POST", PATH, &json!({"client_id": id, "owner": "me"}).to_string()).await;
        }
        given
    }

    async fn ask(&self, method: &str, path: &str, body: &str) -> Answer {
        ask(&self.admin, method, path, body).await
    }

    async fn list(&self, query: &str) -> Answer {
        self.ask("GET", &format!("{PATH}{query}"), "").await
    }

    /// What a field of all listed clients is.
    async fn listed(&self, query: &str, field: &str) -> Vec<String> {
        texts(&self.list(query).await, field)
    }

    fn pages(&self) -> usize {
        self.store.pages.load(Ordering::SeqCst)
    }
}

fn texts(answer: &Answer, field: &str) -> Vec<String> {
    let clients = answer.json.as_array().unwrap();
    clients.iter().map(|client| client[field].as_str().unwrap().to_owned()).collect()
}

/// The query of the next page.
fn next(answer: &Answer) -> String {
    let link = header(answer, LINK).split(",<").nth(1).unwrap();
    link.strip_prefix(PATH).unwrap().strip_suffix(">; rel=\"next\"").unwrap().to_owned()
}

#[tokio::test]
async fn a_page_is_read_once_and_answered_as_it_was() {
    let given = Given::with(&["a", "b", "c"]).await;
    let first = given.list("?page_size=2").await;
    for _ in 0..3 {
        let again = given.list("?page_size=2").await;
        assert_eq!((again.status, &again.json, &again.headers), (200, &first.json, &first.headers));
    }
    // What asks for the same in other words is the same question.
    given.list("?client_name=&page_size=7&page_size=2").await;
    for page in ["0", "1"] {
        let asked = format!("?page_size=2&page_token={page}");
        assert_eq!(given.list(&asked).await.json, first.json, "{page}");
    }
    assert_eq!(given.pages(), 1);
    let all = given.list("").await;
    assert_eq!(given.list("?page_size=250").await.json, all.json);
    assert_eq!(given.list("?page_size=many").await.headers, all.headers);
    assert_eq!(given.pages(), 2);
}

#[tokio::test]
async fn how_many_clients_there_are_is_told_whatever_is_listed_and_counted_once() {
    let given = Given::with(&["a", "b", "c"]).await;
    let total = async |query: &str| {
        let answer = given.list(query).await;
        header(&answer, http::HeaderName::from_static("x-total-count")).to_owned()
    };
    assert_eq!(total("").await, "3");
    assert_eq!(given.store.counts.load(Ordering::SeqCst), 0, "the page has them all");
    let queries = ["", "?page_size=1", "?owner=nobody", "?client_name=a", ""];
    for query in queries {
        assert_eq!(total(query).await, "3", "{query}");
    }
    assert_eq!(given.store.counts.load(Ordering::SeqCst), 1);
    given.ask("DELETE", "/admin/clients/a", "").await;
    for query in queries {
        assert_eq!(total(query).await, "2", "{query}");
    }
    assert_eq!(given.store.counts.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn a_page_is_answered_without_a_count_that_fails_and_counted_when_it_is_asked_for_again() {
    let given = Given::with(&["a", "b", "c"]).await;
    given.store.is_busy.store(true, Ordering::SeqCst);
    let total = http::HeaderName::from_static("x-total-count");
    let first = given.list("?page_size=2").await;
    assert_eq!((first.status, texts(&first, "client_id").len()), (200, 2));
    assert!(!first.headers.contains_key(&total));
    given.store.is_busy.store(false, Ordering::SeqCst);
    let again = given.list("?page_size=2").await;
    assert_eq!((header(&again, total), texts(&again, "client_id")), ("3", texts(&first, "client_id")));
}

#[tokio::test]
async fn a_page_is_known_by_its_place_not_by_the_token() {
    let given = Given::with(&["a", "b", "c"]).await;
    let one = next(&given.list("?page_size=2").await);
    given.directory.forget(&"a".parse().unwrap());
    let other = next(&given.list("?page_size=2").await);
    assert_ne!(one, other);
    assert_eq!(given.pages(), 2);
    for query in [&one, &other] {
        assert_eq!(given.listed(query, "client_id").await, ["c"]);
    }
    assert_eq!(given.pages(), 3);
    assert_eq!(given.list("?page_size=2&page_token=made-up").await.status, 400);
}

#[tokio::test]
async fn filters_and_pages_do_not_mix() {
    let given = Given::with(&["a", "b"]).await;
    given.ask("POST", PATH, r#"{"client_id":"c","client_name":"me","owner":"you"}"#).await;
    let expected: [(&str, &[&str]); 7] = [
        ("", &["a", "b", "c"]),
        ("?page_size=1", &["a"]),
        ("?owner=me", &["a", "b"]),
        ("?owner=me&page_size=1", &["a"]),
        ("?client_name=me", &["c"]),
        ("?client_name=me&owner=me", &[]),
        ("?owner=you", &["c"]),
    ];
    for _ in 0..2 {
        for (query, ids) in expected {
            assert_eq!(given.listed(query, "client_id").await, ids, "{query}");
        }
    }
    assert_eq!(given.pages(), expected.len());
}

#[tokio::test]
async fn what_changes_shows_in_the_next_listing() {
    let given = Given::with(&["a"]).await;
    let rename = |name: &str| json!({"client_name": name, "owner": "me"}).to_string();
    let patch = r#"[{"op":"replace","path":"/client_name","value":"patched"}]"#;
    let steps = [
        ("POST", PATH, r#"{"client_id":"b","client_name":"made","owner":"me"}"#.to_owned(), vec!["", "made"]),
        ("PUT", "/admin/clients/a", rename("put"), vec!["put", "made"]),
        ("PATCH", "/admin/clients/b", patch.to_owned(), vec!["put", "patched"]),
        ("DELETE", "/admin/clients/a", String::new(), vec!["patched"]),
        ("DELETE", "/admin/clients/b", String::new(), vec![]),
    ];
    assert_eq!(given.listed("", "client_name").await, [""]);
    for (method, path, body, names) in steps {
        given.ask(method, path, &body).await;
        for query in ["", "?owner=me", "", "?owner=me"] {
            assert_eq!(given.listed(query, "client_name").await, names, "{method} {path}, {query}");
        }
    }
    given.ask("POST", PATH, r#"{"client_id":"c"}"#).await;
    let lifespan = "client_credentials_grant_access_token_lifespan";
    assert!(given.list("").await.json[0][lifespan].is_null());
    given.ask("PUT", "/admin/clients/c/lifespans", &json!({lifespan: "30m"}).to_string()).await;
    assert_eq!(given.listed("", lifespan).await, ["30m0s"]);
}

#[tokio::test]
async fn what_another_node_changed_shows_when_this_one_has_heard_of_it() {
    let given = Given::with(&["a"]).await;
    assert_eq!(given.listed("", "client_id").await, ["a"]);
    let (id, rules): (ClientId, _) = ("b".parse().unwrap(), RegistrationRules::default());
    let client = register(id.clone(), ClientMetadata::default(), &rules, Timestamp::from_secs(1)).unwrap();
    given.store.insert(&client).await.unwrap();
    assert_eq!(given.listed("", "client_id").await, ["a"], "not heard of yet");
    given.directory.forget(&id);
    assert_eq!(given.listed("", "client_id").await, ["a", "b"]);
    ClientRepository::delete(&*given.store, &id, Timestamp::from_secs(2), Timestamp::from_secs(3))
        .await
        .unwrap();
    given.directory.forget_all();
    assert_eq!(given.listed("", "client_id").await, ["a"]);
}

#[tokio::test]
async fn a_page_that_was_read_before_a_change_is_not_answered_after_it() {
    let given = Arc::new(Given::with(&["a"]).await);
    given.store.gate.forget_permits(Semaphore::MAX_PERMITS);
    let slow = {
        let given = Arc::clone(&given);
        tokio::spawn(async move { given.listed("", "client_id").await })
    };
    while given.pages() == 0 {
        tokio::task::yield_now().await;
    }
    assert_eq!(given.ask("POST", PATH, r#"{"client_id":"b"}"#).await.status, 201);
    given.store.gate.add_permits(10);
    assert_eq!(slow.await.unwrap(), ["a"], "it asked before the change");
    assert_eq!(given.listed("", "client_id").await, ["a", "b"]);
    assert_eq!(given.listed("", "client_id").await, ["a", "b"]);
    assert_eq!(given.pages(), 2);
}
