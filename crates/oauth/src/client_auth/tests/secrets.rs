use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;
use sluice_crypto::hash_pool::{PoolBusy, unheard};
use sluice_crypto::secret_hash::hash_generated;
use sluice_protocol::{ErrorCode, Parameters};
use url::form_urlencoded;

use super::*;
use crate::client::{ClientSecurity, SecurityProfile, document};

/// What bcrypt makes of `U*U`.
const IMPORTED: &str = "$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW";

fn asking() -> ClientMetadata {
    ClientMetadata::default()
}

impl Given {
    /// With this after `app:` in the header.
    async fn in_header(&self, sent: &str) -> Result<Arc<Client>, ClientAuthError> {
        let header = format!("Basic {}", STANDARD.encode(format!("app:{sent}")));
        let presented = Presented::read(Some(&header), &Parameters::parse(b"", 4096, &[]).unwrap()).unwrap();
        self.authenticator.authenticate(presented, &Caller::default(), NOW).await
    }

    async fn hash_of(&self, chosen: &str) -> String {
        self.secrets.hash_chosen(&Secret::new(chosen.to_owned())).await.unwrap()
    }
}

#[tokio::test]
async fn a_generated_secret_is_checked_without_the_pool() {
    let given = given();
    let (secret, hash) = given.secrets.generate();
    given.client(asking(), vec![hash]);
    assert_eq!(given.basic(secret.expose()).await.unwrap().id.as_str(), "app");
    assert!(matches!(given.basic("wrong").await, Err(ClientAuthError::WrongSecret)));
    assert_eq!(given.hashes(), 0);
}

#[tokio::test]
async fn a_secret_proves_nothing_while_a_method_of_another_kind_is_registered() {
    let given = given();
    let (secret, hash) = given.secrets.generate();
    let client = given.client(asking(), vec![hash]);
    let shown: &[_] = &[AuthMethod::ClientSecretBasic, AuthMethod::ClientSecretPost];
    for (profile, proving) in [
        (SecurityProfile::None, shown),
        (SecurityProfile::Fapi2, &shown[..1]),
        (SecurityProfile::Fapi2MessageSigning, &shown[..1]),
    ] {
        let security = ClientSecurity { profile, ..client.security.clone() };
        for auth_method in AuthMethod::ALL {
            given.repo.put(Client { auth_method, security: security.clone(), ..client.clone() });
            given.directory.forget(&client.id);
            match given.basic(secret.expose()).await {
                Ok(_) => assert!(proving.contains(&auth_method), "{profile:?} {auth_method:?}"),
                Err(ClientAuthError::MethodNotRegistered { presented, registered }) => {
                    assert_eq!((presented, registered), (AuthMethod::ClientSecretBasic, auth_method));
                    assert!(!proving.contains(&auth_method), "{profile:?} {auth_method:?}");
                }
                Err(other) => panic!("{profile:?} {auth_method:?}: {other:?}"),
            }
        }
    }
}

#[tokio::test]
async fn a_chosen_secret_is_hashed_slowly_once() {
    let given = Arc::new(given());
    let hash = given.secrets.hash_chosen(&Secret::new("s3cret".to_owned())).await.unwrap();
    let client = given.client(asking(), vec![hash]);
    let at_once: Vec<_> = (0..16)
        .map(|_| {
            let given = given.clone();
            tokio::spawn(async move { given.basic("s3cret").await.is_ok() })
        })
        .collect();
    for one in at_once {
        assert!(one.await.unwrap());
    }
    assert!(given.basic("s3cret").await.is_ok());
    given.repo.put(Client { revision: client.revision + 1, ..client.clone() });
    given.directory.forget(&client.id);
    assert!(given.basic("s3cret").await.is_ok());
    // To make the hash, to check it, and to check it anew for the changed client.
    assert_eq!(given.hashes(), 3);
}

#[tokio::test]
async fn an_imported_hash_is_accepted() {
    let given = given();
    given.client(asking(), vec![IMPORTED.to_owned()]);
    assert!(given.basic("U*U").await.is_ok());
    assert!(matches!(given.basic("wrong").await, Err(ClientAuthError::WrongSecret)));
}

#[tokio::test]
async fn guesses_cost_a_bounded_number_of_hashes_and_do_not_lock_out_a_remembered_secret() {
    let given = given();
    let hash = given.secrets.hash_chosen(&Secret::new("s3cret".to_owned())).await.unwrap();
    given.client(asking(), vec![hash]);
    assert!(given.basic("s3cret").await.is_ok());
    for _ in 0..20 {
        assert!(matches!(given.basic("the same guess").await, Err(ClientAuthError::WrongSecret)));
    }
    let mut refused = 0;
    for guess in 0..30 {
        match given.basic(&format!("guess {guess}")).await {
            Err(ClientAuthError::WrongSecret) => {}
            Err(ClientAuthError::TooManyFailures) => refused += 1,
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(refused, 21);
    assert!(given.basic("s3cret").await.is_ok());
    // To make the hash, to check it, and ten guesses.
    assert_eq!(given.hashes(), 12);
}

#[tokio::test]
async fn who_leaves_before_the_hash_is_begun_has_not_guessed_and_costs_no_hash() {
    let given = given();
    given.client(asking(), vec![IMPORTED.to_owned()]);
    for number in 0..100 {
        let guess = format!("guess {number}");
        let mut leaving = std::pin::pin!(given.basic(&guess));
        let left = std::future::poll_fn(|context| unheard(|| leaving.as_mut().poll(context))).await;
        assert!(matches!(&left, Err(ClientAuthError::HashPool(PoolBusy::Unheard))), "{guess}");
        assert!(left.is_err_and(|why| why.is_unheard()), "nobody is told");
    }
    assert!(given.basic("U*U").await.is_ok());
    assert_eq!(given.hashes(), 1);
}

#[tokio::test]
async fn strangers_who_guess_do_not_keep_out_a_client_that_this_node_has_not_seen() {
    let given = given();
    let hash = given.secrets.hash_chosen(&Secret::new("s3cret".to_owned())).await.unwrap();
    given.client(asking(), vec![hash]);
    let (stranger, own) = (Some([198, 51, 100, 1].into()), Some([192, 0, 2, 1].into()));
    for guess in 0..100 {
        assert!(given.basic_from(&format!("guess {guess}"), stranger).await.is_err());
    }
    assert!(given.basic_from("s3cret", own).await.is_ok());
    // To make the hash, ten guesses, and to check it.
    assert_eq!(given.hashes(), 12);
}

#[tokio::test]
async fn a_secret_that_comes_again_has_its_turn_however_many_are_guessed_beside_it() {
    let given = given();
    let hash = given.secrets.hash_chosen(&Secret::new("s3cret".to_owned())).await.unwrap();
    given.client(asking(), vec![hash]);
    // All of one network, as behind one proxy.
    for guess in 0..100 {
        assert!(given.basic(&format!("guess {guess}")).await.is_err());
    }
    assert!(matches!(given.basic("s3cret").await, Err(ClientAuthError::TooManyFailures)));
    for guess in 100..200 {
        assert!(given.basic(&format!("guess {guess}")).await.is_err());
    }
    assert!(given.basic("s3cret").await.is_ok());
    for _ in 0..20 {
        assert!(matches!(given.basic("guess 50").await, Err(ClientAuthError::WrongSecret)));
    }
    for guess in 60..100 {
        let refused = given.basic(&format!("guess {guess}")).await;
        assert!(matches!(refused, Err(ClientAuthError::TooManyFailures)), "{guess}");
    }
    // To make the hash, ten guesses, to check it, and of the guesses that come again the one that had its turn.
    assert_eq!(given.hashes(), 13);
}

#[tokio::test]
async fn one_site_of_ipv6_does_not_keep_a_client_out() {
    let given = given();
    let hash = given.secrets.hash_chosen(&Secret::new("s3cret".to_owned())).await.unwrap();
    given.client(asking(), vec![hash]);
    for network in 0..64 {
        let stranger = Some(format!("2001:db8:1:{network:x}::1").parse().unwrap());
        for guess in 0..2 {
            assert!(given.basic_from(&format!("guess {network} {guess}"), stranger).await.is_err());
        }
    }
    assert!(given.basic_from("s3cret", Some("2001:db8:2::1".parse().unwrap())).await.is_ok());
    // To make the hash, ten guesses, and to check it.
    assert_eq!(given.hashes(), 12);
}

#[tokio::test]
async fn rotated_secrets_are_accepted_whatever_their_hash() {
    let given = given();
    let slow = given.secrets.hash_chosen(&Secret::new("chosen".to_owned())).await.unwrap();
    let ((new, new_hash), (old, old_hash)) = (given.secrets.generate(), given.secrets.generate());
    given.client(asking(), vec![new_hash, old_hash, slow]);
    for secret in [new.expose(), old.expose(), "chosen"] {
        assert!(given.basic(secret).await.is_ok());
    }
    assert!(matches!(given.basic("wrong").await, Err(ClientAuthError::WrongSecret)));
}

/// The keys with these ids: the first hashes.
fn keys(ids: &[u8]) -> FastHashKeys {
    let mut keys = ids.iter().map(|id| (*id, MacKey::new(&[*id; 32])));
    FastHashKeys::new(keys.next().unwrap(), keys.collect())
}

fn stored(given: &Given) -> Client {
    given.repo.rows.lock()["app"].clone()
}

#[tokio::test]
async fn a_secret_whose_key_is_gone_is_wrong_and_keeps_no_other_from_being_right() {
    let before = given_on(Arc::default(), keys(&[1]));
    let (old, old_hash) = before.secrets.generate();
    let after = given_on(before.repo.clone(), keys(&[2]));
    // Both draw the same numbers.
    let [_, (new, new_hash)] = [after.secrets.generate(), after.secrets.generate()];
    let slow = after.secrets.hash_chosen(&Secret::new("chosen".to_owned())).await.unwrap();
    for hashes in [[&new_hash, &old_hash, &slow], [&old_hash, &slow, &new_hash]] {
        let hashes: Vec<_> = hashes.into_iter().cloned().collect();
        after.client(asking(), hashes.clone());
        assert!(after.basic(new.expose()).await.is_ok());
        assert!(after.basic("chosen").await.is_ok());
        let refused = after.basic(old.expose()).await.unwrap_err();
        assert!(matches!(refused, ClientAuthError::WrongSecret), "{refused}");
        assert_eq!(stored(&after).secret_hashes, hashes);
    }
    after.client(asking(), vec![old_hash]);
    assert_eq!(after.basic(old.expose()).await.unwrap_err().code(), ErrorCode::InvalidClient);
}

#[tokio::test]
async fn a_secret_that_comes_along_is_kept_by_the_first_key() {
    let before = given_on(Arc::default(), keys(&[1]));
    let ((current, current_hash), (rotated, rotated_hash)) =
        (before.secrets.generate(), before.secrets.generate());
    let client = before.client(asking(), vec![current_hash.clone(), rotated_hash]);
    let between = given_on(before.repo.clone(), keys(&[2, 1]));
    assert!(between.basic("wrong").await.is_err());
    assert_eq!(stored(&between), client);
    for _ in 0..2 {
        assert!(between.basic(rotated.expose()).await.is_ok());
    }
    let kept = stored(&between);
    assert_eq!((kept.revision, &kept.secret_hashes[0]), (client.revision + 1, &current_hash));
    let after = given_on(before.repo.clone(), keys(&[2]));
    assert!(after.basic(rotated.expose()).await.is_ok());
    assert!(matches!(after.basic(current.expose()).await, Err(ClientAuthError::WrongSecret)));
}

#[tokio::test]
async fn a_hash_that_cannot_be_read_keeps_no_other_from_being_right() {
    let given = given();
    let (secret, hash) = given.secrets.generate();
    given.client(asking(), vec!["nonsense".to_owned(), hash]);
    assert!(given.basic(secret.expose()).await.is_ok());
    assert!(matches!(given.basic("wrong").await, Err(ClientAuthError::SecretHash(_))));
}

#[tokio::test]
async fn a_secret_that_an_earlier_version_let_end_is_refused_from_then_on() {
    let given = given();
    let (fast, fast_hash) = given.secrets.generate();
    let slow_hash = given.secrets.hash_chosen(&Secret::new("s3cret".to_owned())).await.unwrap();
    let (now, secrets) = (NOW.as_secs(), [fast.expose().as_str(), "s3cret"]);
    for (ends, newer, held) in [(1, 0, 0), (now, 0, 0), (now, 1, 1), (1, 2, 2), (now + 1, 0, 2), (0, 0, 2)] {
        let text = json!({
            "secret_hashes": [fast_hash, slow_hash], "secret_expires_at": ends, "newer_secrets": newer,
        });
        let client = document::decode(("app", 1, "", ""), (NOW, NOW), &text.to_string()).unwrap();
        given.repo.put(client.clone());
        given.directory.forget(&client.id);
        for (place, secret) in secrets.into_iter().enumerate() {
            let answer = given.basic(secret).await;
            assert_eq!(answer.is_ok(), place < held, "{ends} {newer} {place}");
            let code = answer.map_or_else(|refused| refused.code(), |_| ErrorCode::InvalidClient);
            assert_eq!(code, ErrorCode::InvalidClient);
        }
    }
}

#[tokio::test]
async fn a_secret_may_come_in_header_or_form_where_either_is_registered() {
    let given = given();
    let (secret, hash) = given.secrets.generate();
    let (id, secret) = ("app".parse::<ClientId>().unwrap(), secret);
    let ways = || {
        let (client, as_sent) = (id.clone(), None);
        [
            ("client_secret_basic", Presented::Basic { client, secret: secret.clone(), as_sent }),
            ("client_secret_post", Presented::Post { client: id.clone(), secret: secret.clone() }),
            ("none", Presented::Public { client: id.clone() }),
        ]
    };
    for registered in ["client_secret_basic", "client_secret_post", "none"] {
        let metadata = ClientMetadata { token_endpoint_auth_method: registered.to_owned(), ..asking() };
        given.client(metadata, vec![hash.clone()]);
        for (way, presented) in ways() {
            let answer = given.authenticator.authenticate(presented, &Caller::default(), NOW).await;
            let shows_secret = |method: &str| method.starts_with("client_secret_");
            let is_alike = shows_secret(way) && shows_secret(registered);
            assert_eq!(answer.is_ok(), way == registered || is_alike, "{registered} by {way}");
        }
    }
}

/// As `openssl rand -base64` makes them, and sent by those who do not encode what goes into the header.
#[tokio::test]
async fn a_secret_may_stand_in_the_header_as_it_is() {
    let given = given();
    for secret in
        ["Zm9v+YmFy/0123456789012345678=", "p%41ssword of an application", "%fd no text once decoded"]
    {
        given.client(asking(), vec![given.hash_of(secret).await]);
        let encoded: String = form_urlencoded::byte_serialize(secret.as_bytes()).collect();
        for (sent, is_right) in
            [(secret, true), (&*encoded, true), ("Zm9v YmFy", false), ("Zm9v+YmFy", false)]
        {
            let answer = given.in_header(sent).await;
            assert_eq!(answer.is_ok(), is_right, "{secret} sent as {sent}");
            let is_wrong = matches!(answer, Err(ClientAuthError::WrongSecret));
            assert_eq!(is_wrong, !is_right, "{secret} sent as {sent}");
        }
    }
}

#[tokio::test]
async fn a_right_secret_that_stands_in_the_header_as_it_is_costs_no_guess() {
    let given = given();
    let client = given.client(asking(), vec![given.hash_of("Zm9v+YmFy").await]);
    // A node has not seen it yet after each change.
    for change in 1..=20 {
        given.repo.put(Client { revision: client.revision + change, ..client.clone() });
        given.directory.forget(&client.id);
        assert!(given.in_header("Zm9v+YmFy").await.is_ok(), "{change}");
    }
    assert!(matches!(given.in_header("wr+ng").await, Err(ClientAuthError::WrongSecret)));
    // To make the hash, to check it twenty times, and one guess.
    assert_eq!(given.hashes(), 22);
}

#[tokio::test]
async fn a_secret_that_stands_in_the_header_as_it_is_has_its_turn_beside_guesses() {
    let given = given();
    given.client(asking(), vec![given.hash_of("Zm9v+YmFy").await]);
    for guess in 0..100 {
        assert!(given.in_header(&format!("guess+{guess}")).await.is_err());
    }
    assert!(matches!(given.in_header("Zm9v+YmFy").await, Err(ClientAuthError::TooManyFailures)));
    for _ in 0..3 {
        assert!(given.in_header("Zm9v+YmFy").await.is_ok());
    }
    // To make the hash, five guesses, which cost two each, and to check it.
    assert_eq!(given.hashes(), 7);
}

#[tokio::test]
async fn a_secret_that_stands_in_the_header_as_it_is_is_right_beside_a_hash_that_cannot_be_read() {
    let given = given();
    given.client(asking(), vec!["nonsense".to_owned(), given.hash_of("Zm9v+YmFy").await]);
    assert!(given.in_header("Zm9v+YmFy").await.is_ok());
    assert!(matches!(given.in_header("wr+ng").await, Err(ClientAuthError::SecretHash(_))));
}

#[tokio::test]
async fn a_secret_that_is_a_generated_one_only_as_it_was_sent_is_kept_by_the_first_key() {
    let before = given_on(Arc::default(), keys(&[1]));
    let secret = Secret::new("generated+elsewhere".to_owned());
    before.client(asking(), vec![hash_generated(&keys(&[1]), &secret)]);
    let between = given_on(before.repo.clone(), keys(&[2, 1]));
    assert!(between.in_header(secret.expose()).await.is_ok());
    let after = given_on(before.repo.clone(), keys(&[2]));
    assert!(after.in_header(secret.expose()).await.is_ok());
}

#[tokio::test]
async fn those_who_bring_each_guess_twice_take_no_turn_of_another_network() {
    let given = given();
    given.client(asking(), vec![IMPORTED.to_owned()]);
    let own = Some([192, 0, 2, 1].into());
    for network in 0..8_u8 {
        for guess in 0..10 {
            let stranger = Some([198, 51, 100, network].into());
            assert!(given.basic_from(&format!("guess {network} {guess}"), stranger).await.is_err());
        }
    }
    assert!(matches!(given.basic_from("U*U", own).await, Err(ClientAuthError::TooManyFailures)));
    for guess in 0..20 {
        let stranger = Some([198, 51, 100, 0].into());
        for _ in 0..2 {
            assert!(given.basic_from(&format!("twice {guess}"), stranger).await.is_err());
        }
    }
    assert!(given.basic_from("U*U", own).await.is_ok());
    // Eighty guesses, the one that came twice and had its turn, and to check the right one.
    assert_eq!(given.hashes(), 82);
}

#[tokio::test]
async fn an_unknown_client_looks_like_a_wrong_secret() {
    let given = given();
    let unknown = given.basic("x").await.unwrap_err().code();
    let (_, hash) = given.secrets.generate();
    given.client(asking(), vec![hash]);
    assert_eq!(given.basic("x").await.unwrap_err().code(), unknown);
    assert_eq!(unknown, ErrorCode::InvalidClient);
}

#[tokio::test]
async fn a_confidential_client_without_a_hash_never_authenticates() {
    let given = given();
    given.client(asking(), Vec::new());
    assert!(matches!(given.basic("").await, Err(ClientAuthError::WrongSecret)));
}
