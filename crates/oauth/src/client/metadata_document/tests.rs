use std::collections::VecDeque;

use async_trait::async_trait;
use parking_lot::Mutex;
use serde_json::{Value, json};
use sluice_crypto::jwe::KeyManagement;
use sluice_crypto::jwk::SigningAlgorithm;
use sluice_net::FetchPlace;
use sluice_primitives::ManualClock;

use super::*;
use crate::client::fake::{self, FakeClients};
use crate::client::{AuthMethod, ClientDirectory, ClientMetadata, RequestDefaults};
use crate::keys::KeyError;
use crate::sector::SectorNotFetched;

const ID: &str = "https://app.example/client.json";
/// A host that never answers, nor do those below it.
const SILENT: &str = "silent.example";

/// Hands out answers, the last one again and again, and counts.
#[derive(Default)]
struct Host {
    answers: Mutex<VecDeque<Result<FetchedDocument, DocumentError>>>,
    asked: Mutex<usize>,
    /// What sector identifier documents say, and how often they were asked for.
    sector: Mutex<(Option<&'static str>, usize)>,
}

#[async_trait]
impl DocumentSource for Host {
    async fn document(&self, url: &Url) -> Result<FetchedDocument, DocumentError> {
        *self.asked.lock() += 1;
        if url.host_str().is_some_and(|host| host.ends_with(SILENT)) {
            std::future::pending::<()>().await;
        }
        tokio::task::yield_now().await;
        let mut answers = self.answers.lock();
        if answers.len() > 1 { answers.pop_front().unwrap() } else { answers.front().cloned().unwrap() }
    }
}

#[async_trait]
impl SectorSource for Host {
    async fn document(&self, _: &Url) -> Result<Vec<u8>, SectorNotFetched> {
        let mut sector = self.sector.lock();
        sector.1 += 1;
        let text = sector.0.ok_or_else(|| SectorNotFetched("nobody is there".to_owned()))?;
        Ok(text.as_bytes().to_vec())
    }
}

#[async_trait]
impl SigningKeys for Host {
    async fn ensure(&self, _: &str, _: SigningAlgorithm) -> Result<(), KeyError> {
        Ok(())
    }

    async fn ensure_for_request_objects(&self, _: KeyManagement) -> Result<(), KeyError> {
        Ok(())
    }
}

struct Given {
    host: Arc<Host>,
    documents: Arc<MetadataDocuments>,
    clock: Arc<ManualClock>,
}

impl Given {
    fn asked(&self) -> usize {
        *self.host.asked.lock()
    }

    async fn find(&self) -> Option<Arc<Client>> {
        self.documents.find(&id()).await.ok().flatten()
    }
}

fn less(span: Lifetime, by: Lifetime) -> Lifetime {
    Lifetime::secs(u32::try_from((span.as_millis() - by.as_millis()) / 1_000).unwrap())
}

fn id() -> ClientId {
    ID.parse().unwrap()
}

/// All places, taken by others.
fn all_of(places: &FetchPlaces) -> Vec<FetchPlace> {
    (0..).map_while(|other| places.take(&format!("{other}.example"))).collect()
}

#[expect(clippy::unnecessary_wraps, reason = "what a source answers")]
fn answer(changes: &Value) -> Result<FetchedDocument, DocumentError> {
    let mut document =
        json!({"client_id": ID, "client_name": "App", "redirect_uris": ["https://app.example/cb"]});
    for (name, value) in changes.as_object().unwrap() {
        document[name] = value.clone();
    }
    Ok(FetchedDocument { body: document.to_string().into_bytes(), max_age: None })
}

/// The members that the tests need.
fn read(json: &[u8]) -> Result<ClientMetadata, String> {
    let document: Value = serde_json::from_slice(json).map_err(|why| why.to_string())?;
    let text = |name: &str| document[name].as_str().unwrap_or_default().to_owned();
    let list = |name: &str| {
        let values = document[name].as_array().cloned().unwrap_or_default();
        values.iter().filter_map(Value::as_str).map(str::to_owned).collect()
    };
    Ok(ClientMetadata {
        client_name: text("client_name"),
        scope: text("scope"),
        token_endpoint_auth_method: text("token_endpoint_auth_method"),
        redirect_uris: list("redirect_uris"),
        sector_identifier_uri: text("sector_identifier_uri"),
        grant_types: list("grant_types"),
        skip_consent: document["skip_consent"] == true,
        defaults: RequestDefaults {
            initiate_login_uri: document["initiate_login_uri"].as_str().map(str::to_owned),
            ..RequestDefaults::default()
        },
        ..ClientMetadata::default()
    })
}

fn given(answers: impl IntoIterator<Item = Result<FetchedDocument, DocumentError>>) -> Given {
    given_with(answers, MetadataDocumentPolicy { enabled: true, allowed_hosts: Vec::new() })
}

fn given_with(
    answers: impl IntoIterator<Item = Result<FetchedDocument, DocumentError>>,
    policy: MetadataDocumentPolicy,
) -> Given {
    let host = Arc::new(Host { answers: Mutex::new(answers.into_iter().collect()), ..Host::default() });
    let clock = Arc::new(ManualClock::at(Timestamp::from_secs(1_000_000)));
    let documents = MetadataDocuments::new(MetadataDocumentParts {
        policy,
        rules: RegistrationRules::default(),
        default_scope: "openid offline_access".to_owned(),
        default_audience: vec!["https://api.example".to_owned()],
        source: host.clone(),
        sectors: host.clone(),
        keys: host.clone(),
        read,
        clock: clock.clone(),
    });
    Given { host, documents: Arc::new(documents), clock }
}

#[tokio::test]
async fn a_document_describes_a_public_client() {
    let given = given([answer(&json!({"scope": "openid admin"}))]);
    let client = given.find().await.unwrap();
    assert_eq!((client.id.as_str(), client.name.as_str()), (ID, "App"));
    assert_eq!((client.auth_method, client.scope.as_str()), (AuthMethod::None, "openid"));
    assert!(!client.skip_consent && client.secret_hashes.is_empty());
    assert_eq!(client.audience.as_slice(), ["https://api.example"]);
    // Whatever is configured: nothing tells the client of another algorithm than the usual one.
    assert_eq!(client.id_token_signed_response_alg.as_deref(), Some("RS256"));
}

#[tokio::test]
async fn a_document_says_where_logins_begin_at_its_own_host_alone() {
    for (uri, is_its) in [("https://app.example/login", true), ("https://evil.example/login", false)] {
        let client = given([answer(&json!({"initiate_login_uri": uri}))]).find().await.unwrap();
        assert_eq!(client.begins_logins_at().is_some(), is_its, "{uri}");
    }
}

#[tokio::test]
async fn a_document_that_asks_for_more_than_anybody_may_have_describes_no_client() {
    for changes in [
        json!({"client_id": "https://app.example/other.json"}),
        json!({"client_id": null}),
        json!({"client_secret": "s3cret-s3cret"}),
        json!({"client_secret_expires_at": 0}),
        json!({"token_endpoint_auth_method": "client_secret_basic"}),
        json!({"token_endpoint_auth_method": "client_secret_jwt"}),
        json!({"token_endpoint_auth_method": "private_key_jwt"}),
        json!({"redirect_uris": []}),
        json!({"skip_consent": true}),
        json!({"grant_types": ["client_credentials"]}),
    ] {
        assert!(given([answer(&changes)]).find().await.is_none(), "{changes}");
    }
    let list = FetchedDocument { body: b"[]".to_vec(), max_age: None };
    assert!(given([Ok(list)]).find().await.is_none());
}

#[tokio::test]
async fn a_document_is_kept_for_as_long_as_its_host_says_within_bounds() {
    let lives = |max_age| {
        let answer = answer(&json!({})).map(|document| FetchedDocument { max_age, ..document });
        given([answer])
    };
    for (max_age, kept) in [
        (None, USUAL),
        (Some(Lifetime::secs(0)), SHORTEST),
        (Some(Lifetime::minutes(30)), Lifetime::minutes(30)),
        (Some(Lifetime::hours(1_000)), LONGEST),
    ] {
        let given = lives(max_age);
        given.find().await.unwrap();
        given.clock.advance(less(kept, Lifetime::secs(1)));
        assert!(given.find().await.is_some() && given.documents.known(&id()).is_some());
        assert_eq!(given.asked(), 1);
        given.clock.advance(Lifetime::secs(1));
        assert!(given.documents.known(&id()).is_none());
        given.find().await.unwrap();
        assert_eq!(given.asked(), 2);
    }
}

#[tokio::test]
async fn a_changed_document_is_another_revision_and_the_same_one_is_not() {
    let given = given([answer(&json!({})), answer(&json!({})), answer(&json!({"client_name": "Changed"}))]);
    let first = given.find().await.unwrap().revision;
    given.clock.advance(USUAL);
    assert_eq!(given.find().await.unwrap().revision, first);
    given.clock.advance(USUAL);
    assert_ne!(given.find().await.unwrap().revision, first);
}

#[tokio::test]
async fn an_old_document_serves_while_its_host_does_not_answer_and_no_longer_than_a_day() {
    let gone = || Err(DocumentError::Unreachable("it took too long".to_owned()));
    let given = given([answer(&json!({})), gone()]);
    given.find().await.unwrap();
    given.clock.advance(USUAL);
    assert!(given.find().await.is_some());
    given.clock.advance(less(LONGEST, USUAL));
    assert!(given.find().await.is_none());
}

#[tokio::test]
async fn what_came_by_a_clock_that_was_ahead_is_fetched_again_once_it_is_right() {
    let gone = || Err(DocumentError::Unreachable("it took too long".to_owned()));
    let given = given([answer(&json!({})), gone(), gone(), answer(&json!({"client_name": "Changed"}))]);
    let start = given.clock.now();
    given.find().await.unwrap();
    given.clock.advance(Lifetime::hours(12));
    assert!(given.find().await.is_some() && given.asked() == 2, "the old one serves on");
    given.clock.set(start);
    assert!(given.documents.known(&id()).is_none());
    for _ in 0..2 {
        assert!(given.find().await.is_some() && given.asked() == 3);
    }
    given.clock.advance(AFTER_FAILURE);
    assert!(given.find().await.is_some_and(|client| client.name == "Changed"));
    given.clock.advance(Lifetime::hours(12));
    given.find().await.unwrap();
    given.clock.set(start);
    given.find().await.unwrap();
    assert_eq!(given.asked(), 6);
}

#[tokio::test]
async fn a_document_that_is_gone_ends_its_client() {
    let given = given([answer(&json!({})), Err(DocumentError::Status(404))]);
    given.find().await.unwrap();
    given.clock.advance(USUAL);
    assert!(given.find().await.is_none());
}

/// Whoever is told that there is no such client gives it up.
#[tokio::test]
async fn a_document_that_cannot_be_had_now_is_not_one_that_is_not_there() {
    let gone = DocumentError::Unreachable("it took too long".to_owned());
    let given = given([Err(gone), Err(DocumentError::Status(404)), answer(&json!({}))]);
    assert!(given.documents.find(&id()).await.is_err_and(|why| StoreError::from(why).is_temporary()));
    assert!(given.documents.find(&id()).await.unwrap().is_none());
    assert!(given.documents.find(&id()).await.unwrap().is_some());

    let given = self::given([answer(&json!({}))]);
    let busy = all_of(&given.documents.first);
    assert!(given.documents.find(&id()).await.is_err_and(|why| StoreError::from(why).is_temporary()));
    drop(busy);
    assert!(given.documents.find(&id()).await.unwrap().is_some());
}

/// Who goes on without a client goes on while there may be one.
#[tokio::test]
async fn a_client_whose_document_cannot_be_had_is_none_to_those_who_do_not_wait() {
    let gone = DocumentError::Unreachable("it took too long".to_owned());
    let given = given([Err(gone), answer(&json!({}))]);
    let repo = Arc::new(FakeClients::default());
    let directory = ClientDirectory::new(repo, 10).with_documents(Arc::clone(&given.documents));
    assert!(directory.find_if_known(&id()).await.unwrap().is_none());
    assert!(directory.find_if_known(&id()).await.unwrap().is_some());
}

/// Who must not wait for a host takes what was read here, and a registered client.
#[tokio::test]
async fn no_host_is_asked_for_what_is_at_hand() {
    let given = given([answer(&json!({}))]);
    let repo = Arc::new(FakeClients::default());
    let directory = ClientDirectory::new(repo.clone(), 10).with_documents(Arc::clone(&given.documents));
    assert!(directory.find_at_hand(&id()).await.unwrap().is_none());
    assert_eq!(given.asked(), 0);
    given.find().await.unwrap();
    given.clock.advance(USUAL);
    assert!(directory.find_at_hand(&id()).await.unwrap().is_some(), "an old one serves");
    given.clock.advance(less(LONGEST, USUAL));
    assert!(directory.find_at_hand(&id()).await.unwrap().is_none());
    assert_eq!(given.asked(), 1);
    repo.put(fake::client(ID));
    assert!(directory.find_at_hand(&id()).await.unwrap().is_some());
}

#[tokio::test]
async fn a_failure_is_not_kept_but_a_host_is_not_flooded_either() {
    let given = given([Err(DocumentError::Status(404)), answer(&json!({}))]);
    assert!(given.find().await.is_none());
    assert!(given.find().await.is_some());

    let given = self::given([Err(DocumentError::Status(404))]);
    for _ in 0..100 {
        assert!(given.find().await.is_none());
    }
    assert_eq!(given.asked(), 30);
}

/// §8: whoever names other documents of a host takes nobody's client away.
#[tokio::test]
async fn a_known_document_is_renewed_however_often_its_host_is_asked_for_others() {
    let given = given([answer(&json!({})), Err(DocumentError::Status(404)), answer(&json!({}))]);
    let first = given.find().await.unwrap();
    given.clock.advance(USUAL);
    let others = |i| format!("https://app.example/{i}.json").parse().unwrap();
    for i in 0..100 {
        drop(given.documents.find(&others(i)).await);
    }
    assert!(given.documents.find(&others(1_000)).await.is_err());
    let asked = given.asked();
    assert!(asked < 100, "the host is not to be asked more");
    assert_eq!(given.find().await.unwrap().revision, first.revision);
    assert_eq!(given.asked(), asked + 1);
}

#[tokio::test]
async fn a_known_document_is_renewed_while_too_many_others_are_fetched() {
    let given = given([answer(&json!({}))]);
    given.find().await.unwrap();
    given.clock.advance(USUAL);
    let _busy = all_of(&given.documents.first);
    given.find().await.unwrap();
    assert_eq!(given.asked(), 2);
}

/// How many of these ids, asked for at once, are still asked for; and that another host is asked all the same.
async fn held_by(ids: impl Iterator<Item = String>) -> usize {
    let given = given([answer(&json!({}))]);
    let ask = |id: String| {
        let documents = Arc::clone(&given.documents);
        Box::pin(async move { documents.find(&id.parse().unwrap()).await })
    };
    let mut waiting: Vec<_> = ids.map(ask).collect();
    let mut held = 0;
    for one in &mut waiting {
        held += usize::from(at_once(one).await.is_none());
    }
    assert!(given.find().await.is_some(), "another host is asked");
    held
}

/// Ports cost nothing to whoever has a host.
#[tokio::test]
async fn a_host_that_does_not_answer_takes_few_places_on_whatever_port() {
    let held = held_by((1..=100).map(|port| format!("https://{SILENT}:{port}/client.json"))).await;
    assert_eq!(held, OF_A_HOST);
}

/// Nor do names to whoever has a domain.
#[tokio::test]
async fn a_domain_whose_hosts_do_not_answer_leaves_places_to_others() {
    let held = held_by((1..=100).map(|name| format!("https://r{name}.{SILENT}/client.json"))).await;
    assert_eq!(held, FIRST_AT_ONCE / 2);
}

const SECTOR: &str = "https://sector.example/uris.json";

/// Whoever has many hosts makes no requests of this server a flood for another one.
#[tokio::test]
async fn the_host_of_a_sector_is_asked_as_seldom_as_that_of_a_document() {
    let named = |number: usize| format!("https://app-{number}.example/client.json");
    let document = |number| answer(&json!({"client_id": named(number), "sector_identifier_uri": SECTOR}));
    let given = given((0..100).map(document));
    for number in 0..100 {
        assert!(given.documents.find(&named(number).parse().unwrap()).await.is_err());
    }
    assert_eq!((given.asked(), given.host.sector.lock().1), (100, 30));
}

/// §8, of sectors.
#[tokio::test]
async fn a_known_document_is_renewed_however_often_the_host_of_its_sector_is_asked_for_others() {
    let given = given([answer(&json!({"sector_identifier_uri": SECTOR}))]);
    given.host.sector.lock().0 = Some(r#"["https://app.example/cb"]"#);
    given.find().await.unwrap();
    given.clock.advance(USUAL);
    let now = given.clock.now();
    while given.documents.hosts.allows("sector.example", now) {}
    given.find().await.unwrap();
    assert_eq!((given.asked(), given.host.sector.lock().1), (2, 2));
    given.clock.advance(USUAL);
    given.host.sector.lock().0 = Some("[]");
    assert!(given.find().await.is_none(), "it names the redirect URI no more");
}

#[tokio::test]
async fn a_host_is_asked_no_more_often_on_many_ports() {
    let given = given([Err(DocumentError::Status(404))]);
    for port in 1..=100 {
        drop(given.documents.find(&format!("https://app.example:{port}/client.json").parse().unwrap()).await);
    }
    assert_eq!(given.asked(), 30);
}

#[tokio::test]
async fn an_old_document_serves_while_too_much_is_being_fetched() {
    let given = given([answer(&json!({}))]);
    given.find().await.unwrap();
    given.clock.advance(USUAL);
    let busy = (all_of(&given.documents.first), all_of(&given.documents.anew));
    assert!(given.find().await.is_some());
    assert_eq!(given.asked(), 1);
    given.clock.advance(less(LONGEST, USUAL));
    assert!(given.find().await.is_none());
    drop(busy);
    assert!(given.find().await.is_some());
}

#[tokio::test]
async fn who_asks_and_goes_away_does_not_take_an_old_document_along() {
    let gone = Err(DocumentError::Unreachable("it took too long".to_owned()));
    let given = given([answer(&json!({})), gone]);
    given.find().await.unwrap();
    given.clock.advance(USUAL);
    let asked = Box::pin(given.find());
    // Polled once, up to the host's answer.
    assert!(at_once(asked).await.is_none());
    assert!(given.find().await.is_some());
}

#[tokio::test]
async fn documents_that_nobody_asks_for_any_more_do_not_keep_new_ones_from_serving_on() {
    let gone = Err(DocumentError::Unreachable("it took too long".to_owned()));
    let given = given([answer(&json!({})), gone]);
    let now = given.clock.now();
    let client = Arc::new(fake::client("other"));
    let other = Arc::new(Kept { client, tried_at: now, fetched_at: now, good_until: now });
    let add = |number: usize| {
        let id = format!("https://{number}.example/client.json").parse().unwrap();
        given.documents.last.insert(id, Arc::clone(&other));
    };
    (0..2 * CAPACITY).for_each(add);
    assert!(given.find().await.is_some());
    (2 * CAPACITY..2 * CAPACITY + 1_000).for_each(add);
    given.clock.advance(USUAL);
    assert!(given.find().await.is_some());
}

/// What a future answers at once; it is dropped if that is nothing.
async fn at_once<F: Future + Unpin>(mut asked: F) -> Option<F::Output> {
    std::future::poll_fn(|context| match std::pin::Pin::new(&mut asked).poll(context) {
        std::task::Poll::Ready(answer) => std::task::Poll::Ready(Some(answer)),
        std::task::Poll::Pending => std::task::Poll::Ready(None),
    })
    .await
}

#[tokio::test]
async fn those_who_ask_at_once_share_one_fetch() {
    let given = given([answer(&json!({}))]);
    let asked: Vec<_> = (0..32)
        .map(|_| {
            let documents = Arc::clone(&given.documents);
            tokio::spawn(async move { documents.find(&id()).await.unwrap().is_some() })
        })
        .collect();
    for found in asked {
        assert!(found.await.unwrap());
    }
    assert_eq!(given.asked(), 1);
}

#[tokio::test]
async fn documents_of_other_hosts_than_the_configured_are_not_fetched() {
    let policy = MetadataDocumentPolicy { enabled: true, allowed_hosts: vec!["other.example".to_owned()] };
    let given = given_with([answer(&json!({}))], policy);
    assert!(given.find().await.is_none());
    assert_eq!(given.asked(), 0);
}

#[tokio::test]
async fn a_registered_client_comes_before_a_document() {
    let given = given([answer(&json!({}))]);
    let repo = Arc::new(FakeClients::default());
    let directory = ClientDirectory::new(repo.clone(), 10).with_documents(Arc::clone(&given.documents));
    assert_eq!(directory.find(&id()).await.unwrap().unwrap().name, "App");
    assert!(directory.registered(&id()).await.unwrap().is_none());

    repo.put(Client { name: "registered".to_owned(), ..fake::client(ID) });
    directory.forget(&id());
    assert_eq!(directory.find(&id()).await.unwrap().unwrap().name, "registered");
}

/// The store has come to another server, which may lack what the former was told last.
#[tokio::test]
async fn what_the_store_may_have_lost_is_forgotten_and_no_document_is() {
    let given = given([answer(&json!({}))]);
    let (repo, other) = (Arc::new(FakeClients::default()), fake::client("shop"));
    let directory = ClientDirectory::new(repo.clone(), 10).with_documents(Arc::clone(&given.documents));
    repo.put(other.clone());
    for known in [&id(), &other.id] {
        assert!(directory.find(known).await.unwrap().is_some());
    }
    let generation = directory.generation();
    directory.forget_registered();
    assert_ne!(directory.generation(), generation);
    assert!(directory.is_empty());
    assert!(directory.find(&id()).await.unwrap().is_some());
    assert_eq!(given.asked(), 1);
    directory.forget_all();
    assert!(directory.find(&id()).await.unwrap().is_some());
    assert_eq!(given.asked(), 2, "all of it");
}
