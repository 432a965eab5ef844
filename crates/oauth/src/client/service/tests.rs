use async_trait::async_trait;
use parking_lot::Mutex;
use url::Url;

use super::*;
use crate::client::fake::FakeClients;
use crate::client::model::SecretsEnd;
use crate::client::profile::{ClientSecurity, SecurityProfile};
use crate::client::repository::ClientFilter;
use crate::keys::{ACCESS_TOKEN_SET, ID_TOKEN_SET, KeyError, REQUEST_OBJECT_SET};
use crate::sector::SectorNotFetched;
use sluice_crypto::digest::MacKey;
use sluice_crypto::hash_pool::{HashPool, HashPoolConfig};
use sluice_crypto::jwe::KeyManagement;
use sluice_crypto::jwk::SigningAlgorithm;
use sluice_crypto::secret_hash::FastHashKeys;
use sluice_primitives::{GrantId, ManualClock, NetworkId, SeededRng};
use sluice_token::Facts;

mod changes;
mod kept_secrets;

struct Given {
    repo: Arc<FakeClients>,
    service: ClientService,
    revocations: Arc<RevocationSet>,
    directory: Arc<ClientDirectory>,
    clock: Arc<ManualClock>,
    made: Arc<AskedKeys>,
    sectors: Arc<OneSector>,
}

/// Which keys were asked for.
#[derive(Default)]
struct AskedKeys(Mutex<Vec<(String, String)>>);

#[async_trait]
impl SigningKeys for AskedKeys {
    async fn ensure(&self, set: &str, algorithm: SigningAlgorithm) -> Result<(), KeyError> {
        self.0.lock().push((set.to_owned(), algorithm.to_string()));
        Ok(())
    }

    async fn ensure_for_request_objects(&self, algorithm: KeyManagement) -> Result<(), KeyError> {
        self.0.lock().push((REQUEST_OBJECT_SET.to_owned(), algorithm.as_str().to_owned()));
        Ok(())
    }
}

/// One document for all sectors, and how often it was read.
#[derive(Default)]
struct OneSector(Mutex<(Option<String>, usize)>);

#[async_trait]
impl SectorSource for OneSector {
    async fn document(&self, _: &Url) -> Result<Vec<u8>, SectorNotFetched> {
        let mut sector = self.0.lock();
        sector.1 += 1;
        sector.0.clone().map(String::into_bytes).ok_or_else(|| SectorNotFetched("nobody is there".to_owned()))
    }
}

fn sealer() -> Arc<Sealer> {
    Arc::new(Sealer::new(NetworkId::from_bytes([1; 16]), &[Secret::new(b"secret".to_vec())]))
}

fn given() -> Given {
    let (made, sectors) = (Arc::new(AskedKeys::default()), Arc::new(OneSector::default()));
    let repo = Arc::new(FakeClients::default());
    let directory = Arc::new(ClientDirectory::new(repo.clone(), 100));
    let (revocations, rng) = (Arc::new(RevocationSet::default()), Arc::new(SeededRng::new(1)));
    let clock = Arc::new(ManualClock::at(Timestamp::from_secs(1_000_000)));
    let keys = FastHashKeys::new((7, MacKey::new(b"key")), Vec::new());
    let pool = Arc::new(HashPool::start(&HashPoolConfig::default()).unwrap());
    let service = ClientService::new(ClientServiceParts {
        repo: repo.clone(),
        directory: directory.clone(),
        revocations: revocations.clone(),
        secrets: ClientSecrets::new(keys, pool, rng.clone()),
        sealer: sealer(),
        at_rest: sealer(),
        keys: made.clone(),
        sectors: sectors.clone(),
        clock: clock.clone(),
        rng,
        rules: RegistrationRules::default(),
        marker_lifetime: Lifetime::hours(1),
    });
    Given { repo, service, revocations, directory, clock, made, sectors }
}

fn asking(id: &str) -> ClientMetadata {
    ClientMetadata { client_id: id.to_owned(), ..ClientMetadata::default() }
}

fn chosen(secret: &str) -> Secret<String> {
    Secret::new(secret.to_owned())
}

#[tokio::test]
async fn a_client_that_names_nothing_gets_an_id_and_a_secret() {
    let given = given();
    let made = given.service.create(ClientMetadata::default()).await.unwrap();
    assert_eq!(uuid::Uuid::parse_str(made.client.id.as_str()).unwrap().get_version_num(), 4);
    assert_eq!(made.secret.unwrap().expose().len(), 43);
    assert!(made.client.secret_hashes[0].starts_with("$sluice$"));
    assert_eq!(*given.service.get(&made.client.id).await.unwrap(), *made.client);
}

#[tokio::test]
async fn a_chosen_secret_is_hashed_slowly_and_told_once() {
    let given = given();
    let made = given
        .service
        .create(ClientMetadata { client_secret: Some(chosen("s3cret")), ..asking("app") })
        .await
        .unwrap();
    assert_eq!(made.secret.unwrap().expose(), "s3cret");
    assert!(made.client.secret_hashes[0].starts_with("$argon2id$"));
}

/// With a key, so that it may have any method.
fn by(method: &str) -> ClientMetadata {
    ClientMetadata {
        token_endpoint_auth_method: method.to_owned(),
        jwks_uri: "https://app.example/jwks".to_owned(),
        ..asking("app")
    }
}

#[tokio::test]
async fn a_public_client_is_given_no_secret() {
    let given = given();
    let made = given.service.create(by("none")).await.unwrap();
    assert!(made.secret.is_none() && made.client.secret_hashes.is_empty());
    let refused = given.service.rotate_secret(&made.client.id).await.unwrap_err();
    assert!(matches!(refused, ClientServiceError::Invalid(_)));
    for method in ["none", "private_key_jwt"] {
        let changed = given.service.replace(&made.client.id, by(method)).await.unwrap();
        assert!(changed.secret.is_none() && changed.client.secret_hashes.is_empty(), "{method}");
    }
    let confidential = given.service.replace(&made.client.id, asking("app")).await.unwrap();
    assert!(confidential.secret.is_some(), "one that needs a secret from now on is given one");
}

#[tokio::test]
async fn a_client_with_a_key_is_given_a_secret_by_an_administrator_only() {
    let given = given();
    let made = given.service.create(by("private_key_jwt")).await.unwrap();
    assert_eq!(made.secret.as_ref().unwrap().expose().len(), 43);
    assert_eq!(made.client.secret_hashes.len(), 1);
    assert!(made.client.security.sealed_secret.is_none());
    // If it leaks before anybody uses it, it is taken away like any other.
    let rotated = given.service.rotate_secret(&made.client.id).await.unwrap();
    let forgotten = given.service.forget_rotated_secrets(&made.client.id).await.unwrap();
    assert_eq!((rotated.client.secret_hashes.len(), forgotten.secret_hashes.len()), (2, 1));
    let itself = ClientMetadata { client_id: "itself".to_owned(), ..by("private_key_jwt") };
    let itself = given.service.create_by_itself(itself, Trust::Anybody).await.unwrap();
    assert!(itself.secret.is_none() && itself.client.secret_hashes.is_empty());
    // The day it needs one, it has the one that was told last.
    let basic = given.service.replace(&made.client.id, asking("app")).await.unwrap();
    assert!(basic.secret.is_none());
    for (secret, has) in [(rotated.secret, true), (made.secret, false)] {
        assert_eq!(given.service.has_secret(&basic.client, &secret.unwrap()).await.unwrap(), has);
    }
}

#[tokio::test]
async fn a_chosen_secret_is_kept_whatever_the_method() {
    let given = given();
    for (method, told) in [("none", false), ("private_key_jwt", true)] {
        let with = |secret: &str| ClientMetadata {
            client_id: method.to_owned(),
            client_secret: Some(chosen(secret)),
            ..by(method)
        };
        let made = given.service.create(with("s3cret")).await.unwrap();
        assert_eq!(made.secret.is_some(), told, "{method}");
        assert!(given.service.has_secret(&made.client, &chosen("s3cret")).await.unwrap(), "{method}");
        let changed = given.service.replace(&made.client.id, with("another")).await.unwrap();
        assert_eq!(changed.secret.unwrap().expose(), "another");
        assert_eq!(changed.client.secret_hashes.len(), 1);
        let basic = given.service.replace(&made.client.id, asking(method)).await.unwrap();
        assert!(basic.secret.is_none(), "{method}");
        assert!(given.service.has_secret(&basic.client, &chosen("another")).await.unwrap(), "{method}");
    }
}

#[tokio::test]
async fn an_id_is_given_once() {
    let given = given();
    given.service.create(asking("app")).await.unwrap();
    assert!(matches!(given.service.create(asking("app")).await, Err(ClientServiceError::Taken)));
    let refused = given.service.create(asking("no\nid")).await.unwrap_err();
    assert!(refused.to_string().contains("client_id"));
}

#[tokio::test]
async fn replacing_keeps_secrets_and_birthday_and_ignores_another_id() {
    let given = given();
    let made = given.service.create(asking("app")).await.unwrap().client;
    given.clock.advance(Lifetime::hours(1));
    let renamed = ClientMetadata { client_name: "new".to_owned(), ..asking("other") };
    let changed = given.service.replace(&made.id, renamed).await.unwrap();
    assert!(changed.secret.is_none());
    let changed = changed.client;
    assert_eq!((changed.name.as_str(), changed.revision), ("new", made.revision + 1));
    assert_eq!((&changed.id, &changed.secret_hashes), (&made.id, &made.secret_hashes));
    assert!(changed.created_at == made.created_at && changed.updated_at > made.updated_at);
    assert_eq!(*given.service.get(&made.id).await.unwrap(), *changed);
}

#[tokio::test]
async fn a_rotated_secret_stays_until_it_is_forgotten() {
    let given = given();
    let made = given.service.create(asking("app")).await.unwrap().client;
    let rotated = given.service.rotate_secret(&made.id).await.unwrap();
    assert!(rotated.secret.is_some());
    assert_eq!(rotated.client.secret_hashes.len(), 2);
    assert_eq!(rotated.client.secret_hashes[1], made.secret_hashes[0]);
    for _ in 0..10 {
        given.service.rotate_secret(&made.id).await.unwrap();
    }
    assert_eq!(
        given.service.get(&made.id).await.unwrap().secret_hashes.len(),
        6,
        "five rotated ones are kept"
    );
    let forgotten = given.service.forget_rotated_secrets(&made.id).await.unwrap();
    assert_eq!(forgotten.secret_hashes.len(), 1);
}

#[tokio::test]
async fn a_new_chosen_secret_takes_the_place_of_all_others() {
    let given = given();
    let made = given.service.create(asking("app")).await.unwrap().client;
    given.service.rotate_secret(&made.id).await.unwrap();
    let with_secret = ClientMetadata { client_secret: Some(chosen("another")), ..asking("app") };
    let changed = given.service.replace(&made.id, with_secret).await.unwrap();
    assert_eq!(changed.secret.unwrap().expose(), "another");
    assert_eq!(changed.client.secret_hashes.len(), 1);
}

#[tokio::test]
async fn an_end_of_secrets_outlives_every_change_but_a_new_secret_and_is_none_of_that() {
    let given = given();
    let made = given.service.create(asking("app")).await.unwrap().client;
    let ended = Some(SecretsEnd { at: Timestamp::from_secs(1), newer: 0 });
    given.repo.put(Client { secrets_end: ended, ..(*made).clone() });
    given.directory.forget(&made.id);
    let renamed = ClientMetadata { client_name: "new".to_owned(), ..asking("app") };
    assert_eq!(given.service.replace(&made.id, renamed).await.unwrap().client.secrets_end, ended);
    let with_lifespans = given.service.set_lifespans(&made.id, Lifespans::default()).await.unwrap();
    assert_eq!(with_lifespans.secrets_end, ended);
    let rotated = given.service.rotate_secret(&made.id).await.unwrap().client;
    assert_eq!(rotated.secret_hashes_at(given.clock.now()), &rotated.secret_hashes[..1]);
    assert_eq!(rotated.secret_hashes_at(Timestamp::from_secs(0)).len(), 2);
    let again = given.service.replace(&made.id, asking("app")).await.unwrap().client;
    assert_eq!(again.secrets_end, rotated.secrets_end);
    let with_secret = ClientMetadata { client_secret: Some(chosen("another")), ..asking("app") };
    assert_eq!(given.service.replace(&made.id, with_secret).await.unwrap().client.secrets_end, None);
}

#[tokio::test]
async fn a_secret_that_has_ended_is_not_the_client_s_when_it_manages_itself() {
    let given = given();
    let made = given.service.create(asking("app")).await.unwrap();
    let (secret, client) = (made.secret.unwrap(), made.client);
    for (at, has) in [(2_000_000, true), (1, false)] {
        let end = Some(SecretsEnd { at: Timestamp::from_secs(at), newer: 0 });
        let stored = Client { secrets_end: end, ..(*client).clone() };
        assert_eq!(given.service.has_secret(&stored, &secret).await.unwrap(), has);
    }
}

#[tokio::test]
async fn a_change_that_comes_second_starts_again_from_the_first() {
    let given = given();
    let made = given.service.create(asking("app")).await.unwrap().client;
    let calls = std::sync::atomic::AtomicUsize::new(0);
    let changed = given.service.patch(&made.id, |stored| {
        if calls.fetch_add(1, std::sync::atomic::Ordering::SeqCst) == 0 {
            let other =
                Client { revision: stored.revision + 1, owner: "somebody".to_owned(), ..stored.clone() };
            given.repo.put(other);
        }
        Ok(ClientMetadata { client_name: "new".to_owned(), owner: stored.owner.clone(), ..asking("app") })
    });
    let changed = changed.await.unwrap().client;
    assert_eq!((changed.name.as_str(), changed.owner.as_str()), ("new", "somebody"));
    assert_eq!(changed.revision, made.revision + 2);
}

#[tokio::test]
async fn a_change_that_never_comes_first_gives_up() {
    let given = given();
    let made = given.service.create(asking("app")).await.unwrap().client;
    let changed = given.service.patch(&made.id, |stored| {
        given.repo.put(Client { revision: stored.revision + 1, ..stored.clone() });
        Ok(asking("app"))
    });
    assert!(matches!(changed.await, Err(ClientServiceError::Contended)));
}

#[tokio::test]
async fn lifespans_are_set_and_nothing_else() {
    let given = given();
    let made = given.service.create(asking("app")).await.unwrap().client;
    let mut lifespans = Lifespans::default();
    lifespans.authorization_code.access_token = Some(Lifetime::minutes(5));
    let changed = given.service.set_lifespans(&made.id, lifespans).await.unwrap();
    assert_eq!(changed.lifespans, lifespans);
    assert_eq!(changed.secret_hashes, made.secret_hashes);
    lifespans.refresh_token.access_token = Some(Lifetime::FOREVER);
    assert!(given.service.set_lifespans(&made.id, lifespans).await.is_err());
}

#[tokio::test]
async fn a_deleted_client_is_revoked_and_forgotten_at_once() {
    let given = given();
    let made = given.service.create(asking("app")).await.unwrap().client;
    given.service.get(&made.id).await.unwrap();
    let mut lifespans = Lifespans::default();
    lifespans.client_credentials.access_token = Some(Lifetime::hours(5));
    given.service.set_lifespans(&made.id, lifespans).await.unwrap();
    given.service.delete(&made.id).await.unwrap();
    assert!(given.directory.find(&made.id).await.unwrap().is_none());
    assert_eq!(given.revocations.len(), 1);
    let expires_at = given.clock.now() + Lifetime::hours(5);
    assert_eq!(*given.repo.deleted.lock(), [(made.id.clone(), expires_at)], "its longest token is outlived");
    assert!(matches!(given.service.delete(&made.id).await, Err(ClientServiceError::NotFound)));
}

async fn list(given: &Given, asked: ListClients) -> Result<ClientPage, ClientServiceError> {
    given.service.page(&given.service.page_asked(asked)?).await
}

#[tokio::test]
async fn pages_follow_each_other_by_sealed_tokens() {
    let given = given();
    for number in 0..5 {
        let owner = if number % 2 == 0 { "even" } else { "odd" }.to_owned();
        given.service.create(ClientMetadata { owner, ..asking(&format!("app-{number}")) }).await.unwrap();
    }
    let mut asked = ListClients { page_size: Some(2), ..ListClients::default() };
    let mut seen = Vec::new();
    loop {
        let page = list(&given, asked.clone()).await.unwrap();
        seen.extend(page.clients.iter().map(|client| client.id.to_string()));
        asked.page_token = page.next;
        if asked.page_token.is_none() {
            break;
        }
    }
    assert_eq!(seen, ["app-0", "app-1", "app-2", "app-3", "app-4"]);
    let even = ListClients { owner: Some("even".to_owned()), ..ListClients::default() };
    assert_eq!(list(&given, even).await.unwrap().clients.len(), 3);
    for first in ["0", "1"] {
        let asked = ListClients { page_token: Some(first.to_owned()), ..ListClients::default() };
        assert_eq!(given.service.page_asked(asked).unwrap().after, None, "{first}");
    }
    let all = given.service.page_asked(ListClients::default()).unwrap();
    let others = [
        ClientFilter { limit: 2, ..all.clone() },
        ClientFilter { owner: Some("even".to_owned()), ..all.clone() },
        ClientFilter { name: Some("nobody".to_owned()), ..all.clone() },
        ClientFilter { after: Some("app-3".parse().unwrap()), ..all.clone() },
    ];
    for asked in others.iter().chain([&all]) {
        let page = given.service.page(asked).await.unwrap();
        assert_eq!(given.service.total(asked, &page).await, Some(5), "{asked:?}");
    }
    let made_up = ListClients { page_token: Some("app-1".to_owned()), ..ListClients::default() };
    assert!(matches!(list(&given, made_up).await, Err(ClientServiceError::PageToken)));
}

#[tokio::test]
async fn the_same_page_is_asked_for_whatever_its_token_looks_like() {
    let given = given();
    for id in ["a", "b"] {
        given.service.create(asking(id)).await.unwrap();
    }
    let first =
        given.service.page_asked(ListClients { page_size: Some(1), ..ListClients::default() }).unwrap();
    let tokens = [given.service.page(&first).await.unwrap(), given.service.page(&first).await.unwrap()]
        .map(|page| page.next.unwrap());
    assert_ne!(tokens[0], tokens[1]);
    let [one, other] = tokens.map(|token| {
        let asked = ListClients { page_token: Some(token), page_size: Some(9999), ..ListClients::default() };
        given.service.page_asked(asked).unwrap()
    });
    assert_eq!(one, other);
    assert_eq!((one.after.unwrap().as_str(), one.limit), ("a", 1000));
    assert_eq!(given.service.page_asked(ListClients::default()).unwrap().limit, 250);
}

#[tokio::test]
async fn the_generation_grows_with_every_change_and_with_nothing_else() {
    let given = given();
    let mut last = given.service.generation();
    let mut grew = |what: &str, expected: bool| {
        let now = given.service.generation();
        assert_eq!(now > last, expected, "{what}");
        last = now;
    };
    let id = given.service.create(asking("app")).await.unwrap().client.id.clone();
    grew("created", true);
    given.service.get(&id).await.unwrap();
    assert!(given.service.create(asking("app")).await.is_err());
    list(&given, ListClients::default()).await.unwrap();
    grew("looked at", false);
    given.service.replace(&id, asking("app")).await.unwrap();
    grew("replaced", true);
    given.service.set_lifespans(&id, Lifespans::default()).await.unwrap();
    grew("lifespans", true);
    given.service.rotate_secret(&id).await.unwrap();
    grew("rotated", true);
    given.service.forget_rotated_secrets(&id).await.unwrap();
    grew("forgotten", true);
    given.service.delete(&id).await.unwrap();
    grew("deleted", true);
    given.directory.forget(&id);
    grew("heard of from elsewhere", true);
    given.directory.forget_all();
    grew("changes missed", true);
}

#[tokio::test]
async fn keys_are_made_of_the_algorithms_that_a_client_wants() {
    let given = given();
    let mut wanting = ClientMetadata {
        id_token_signed_response_alg: "EdDSA".to_owned(),
        userinfo_signed_response_alg: "ES384".to_owned(),
        ..asking("app")
    };
    wanting.formats.access_token_signing_alg = Some("PS512".to_owned());
    wanting.formats.request_object_encryption =
        Some(crate::client::Encryption { alg: "ECDH-ES".to_owned(), enc: "A256GCM".to_owned() });
    given.service.create(wanting).await.unwrap();
    let expected = [
        (ID_TOKEN_SET, "EdDSA"),
        (ID_TOKEN_SET, "ES384"),
        (ACCESS_TOKEN_SET, "PS512"),
        (REQUEST_OBJECT_SET, "ECDH-ES"),
    ];
    let expected = expected.map(|(set, algorithm)| (set.to_owned(), algorithm.to_owned()));
    assert_eq!(*given.made.0.lock(), expected);
}

#[tokio::test]
async fn a_fapi_client_signs_nothing_with_what_the_profile_forbids() {
    let given = given();
    let security = ClientSecurity {
        profile: SecurityProfile::Fapi2,
        dpop_bound_access_tokens: true,
        ..ClientSecurity::default()
    };
    let fapi = ClientMetadata {
        token_endpoint_auth_method: "private_key_jwt".to_owned(),
        jwks_uri: "https://app.example/jwks".to_owned(),
        security,
        ..asking("app")
    };
    let made = given.service.create(fapi).await.unwrap().client;
    assert_eq!(made.id_token_signed_response_alg.as_deref(), Some("PS256"));
    let expected = [ID_TOKEN_SET, ACCESS_TOKEN_SET].map(|set| (set.to_owned(), "PS256".to_owned()));
    assert_eq!(*given.made.0.lock(), expected);
}

#[tokio::test]
async fn a_sector_has_the_last_word_about_redirect_uris() {
    let given = given();
    let of_sector = |uris: &[&str]| ClientMetadata {
        redirect_uris: uris.iter().map(|uri| (*uri).to_owned()).collect(),
        sector_identifier_uri: "https://sector.example/uris.json".to_owned(),
        ..asking("app")
    };
    let (one, other) = ("https://a.example/cb", "https://b.example/cb");
    let refused = async |document: Option<&str>, uris: &[&str]| {
        given.sectors.0.lock().0 = document.map(str::to_owned);
        match given.service.create(of_sector(uris)).await.unwrap_err() {
            ClientServiceError::Invalid(RegistrationError::Sector(why)) => why.to_string(),
            other => panic!("{other:?}"),
        }
    };
    assert!(refused(None, &[one]).await.contains("nobody is there"));
    assert!(refused(Some("{}"), &[one]).await.contains("JSON array"));
    let listed = format!("[\"{one}\"]");
    assert!(refused(Some(&listed), &[one, other]).await.contains(other));
    let made = given.service.create(of_sector(&[one])).await.unwrap().client;
    // Whoever changes something else need not be listed again.
    let asked = given.sectors.0.lock().1;
    given.sectors.0.lock().0 = None;
    let renamed = ClientMetadata { client_name: "new".to_owned(), ..of_sector(&[one]) };
    given.service.replace(&made.id, renamed).await.unwrap();
    assert_eq!(given.sectors.0.lock().1, asked);
    assert!(given.service.replace(&made.id, of_sector(&[other])).await.is_err());
}

/// What a client is granted by a node that has not heard of its deletion, now.
fn is_over(given: &Given, client: &Client, consented_at: Timestamp) -> bool {
    let (grant, authenticated_at) = (GrantId::from_bytes([9; 16]), consented_at);
    let (subject, session) = (None, None);
    given.revocations.covers_grant(&Facts {
        grant,
        client: &client.id,
        subject,
        session,
        authenticated_at,
        consented_at,
    })
}

#[tokio::test]
async fn what_a_client_is_granted_while_it_goes_ends_and_nothing_of_one_that_is_registered_anew() {
    let given = given();
    let former = given.service.create(asking("shop")).await.unwrap().client;
    given.service.delete(&former.id).await.unwrap();
    given.clock.advance(Lifetime::secs(1));
    let late = given.clock.now();
    assert!(!is_over(&given, &former, late));
    given.service.end_late(&former, late).await.unwrap();
    assert!(is_over(&given, &former, late));
    given.clock.advance(Lifetime::secs(1));
    let later = given.clock.now();
    given.clock.advance(Lifetime::secs(1));
    let present = given.service.create(asking("shop")).await.unwrap().client;
    given.service.end_late(&present, given.clock.now()).await.unwrap();
    assert!(!is_over(&given, &former, later), "it only changed");
    given.clock.advance(Lifetime::secs(1));
    given.service.end_late(&former, given.clock.now()).await.unwrap();
    assert!(is_over(&given, &former, later));
    assert!(!is_over(&given, &present, present.created_at));
}

#[tokio::test]
async fn the_tokens_of_a_client_that_is_gone_are_revoked_by_its_id() {
    let given = given();
    let former = given.service.create(asking("shop")).await.unwrap().client;
    given.service.delete(&former.id).await.unwrap();
    given.clock.advance(Lifetime::secs(1));
    let late = given.clock.now();
    given.service.revoke_tokens(&former.id).await.unwrap();
    assert!(is_over(&given, &former, late));
}

#[tokio::test]
async fn who_registered_itself_is_nobodys_word_until_an_administrator_changes_it() {
    let given = given();
    let named = |name: &str| ClientMetadata { client_name: name.to_owned(), ..asking("app") };
    let made = given.service.create_by_itself(named("Shop"), Trust::Anybody).await.unwrap();
    let id = &made.client.id;
    let by_itself = async |name: &str| {
        let changed = given.service.patch_by_itself(id, Trust::Anybody, |_| Ok(named(name))).await;
        changed.unwrap().client.registered_itself
    };
    assert!(made.client.registered_itself && by_itself("Shop").await);
    let known = given.service.replace(id, named("Shop")).await.unwrap();
    assert!(!known.client.registered_itself && !by_itself("Shop").await);
    assert!(by_itself("Your bank").await, "nobody has seen that name");
    let vouched_for = given.service.patch_by_itself(id, Trust::Invited, |_| Ok(named("Shop"))).await.unwrap();
    assert!(!vouched_for.client.registered_itself && !by_itself("Shop").await);
    let invited = ClientMetadata { client_id: "invited".to_owned(), ..named("Shop") };
    let invited = given.service.create_by_itself(invited, Trust::Invited).await.unwrap();
    assert!(!invited.client.registered_itself);
    assert!(!given.service.create(asking("known")).await.unwrap().client.registered_itself);
    let for_devices = |_: &Client| {
        let device_code = GrantType::DeviceCode.as_str().to_owned();
        Ok(ClientMetadata {
            grant_types: vec![device_code],
            client_id: "invited".to_owned(),
            ..named("Shop")
        })
    };
    let changed = given.service.patch_by_itself(&invited.client.id, Trust::Anybody, for_devices).await;
    assert!(changed.unwrap().client.registered_itself, "the page for devices leads to no redirect URI");
}

/// Some libraries read none of the keys where one is for ECDH-ES.
#[tokio::test]
async fn a_key_that_request_objects_are_encrypted_to_is_made_for_nobody_who_registers_himself() {
    let given = given();
    let encrypting = |id: &str| {
        let mut encrypting = asking(id);
        encrypting.formats.request_object_encryption =
            Some(crate::client::Encryption { alg: "ECDH-ES".to_owned(), enc: "A256GCM".to_owned() });
        encrypting
    };
    given.service.create_by_itself(encrypting("app"), Trust::Anybody).await.unwrap();
    assert!(given.made.0.lock().is_empty());
    given.service.create_by_itself(encrypting("invited"), Trust::Invited).await.unwrap();
    assert_eq!(given.made.0.lock().len(), 1);
}
