//! What becomes of secrets when their client changes, and which are kept sealed.

use sluice_crypto::Purpose;
use sluice_crypto::secret_hash::hash_generated;

use super::*;

#[tokio::test]
async fn secrets_wait_while_the_method_does_not_use_them() {
    let given = given();
    let made = given.service.create(asking("app")).await.unwrap().client;
    let rotated = given.service.rotate_secret(&made.id).await.unwrap().client;
    let methods = ["none", "private_key_jwt", "none", "client_secret_post", "client_secret_basic"];
    for method in methods {
        let changed = given.service.replace(&made.id, by(method)).await.unwrap();
        assert_eq!(changed.client.auth_method.as_str(), method);
        assert!(changed.secret.is_none(), "{method}");
        assert_eq!(changed.client.secret_hashes, rotated.secret_hashes[..1], "{method}");
    }
}

#[tokio::test]
async fn a_secret_that_waited_counts_if_it_holds_and_can_be_checked() {
    let given = given();
    let made = given.service.create(by("none")).await.unwrap().client;
    let (_, known) = given.service.0.secrets.generate();
    let slow = given.service.0.secrets.hash_chosen(&chosen("s3cret")).await.unwrap();
    let other_key = FastHashKeys::new((8, MacKey::new(b"gone")), Vec::new());
    let gone = hash_generated(&other_key, &chosen("told"));
    let end = |at, newer| Some(SecretsEnd { at: Timestamp::from_secs(at), newer });
    for (waiting, ends, kept, still_ends) in [
        (vec![&known], None, vec![&known], None),
        (vec![&gone, &slow, &known], None, vec![&slow, &known], None),
        (vec![&known, &slow], end(1, 1), vec![&known], None),
        (vec![&gone, &slow], end(2_000_000, 1), vec![&slow], end(2_000_000, 0)),
        (vec![&gone], None, vec![], None),
        (vec![&known, &slow], end(1, 0), vec![], None),
        (vec![&gone, &known], end(1, 1), vec![], None),
    ] {
        let secret_hashes = waiting.into_iter().cloned().collect();
        given.repo.put(Client { secret_hashes, secrets_end: ends, ..(*made).clone() });
        let basic = given.service.replace(&made.id, asking("app")).await.unwrap();
        assert_eq!((basic.secret.is_some(), basic.client.secrets_end), (kept.is_empty(), still_ends));
        match basic.secret {
            Some(secret) => assert!(given.service.has_secret(&basic.client, &secret).await.unwrap()),
            None => assert_eq!(basic.client.secret_hashes.iter().collect::<Vec<_>>(), kept),
        }
    }
}

#[tokio::test]
async fn a_client_that_changes_itself_takes_no_old_secret_to_another_kind_of_method() {
    let given = given();
    let made = given.service.create(asking("app")).await.unwrap().client;
    let changed = async |method: &str| {
        given.service.patch_by_itself(&made.id, Trust::Anybody, |_| Ok(by(method))).await.unwrap()
    };
    assert_eq!(changed("client_secret_post").await.client.secret_hashes, made.secret_hashes);
    let keyed = changed("private_key_jwt").await;
    assert!(keyed.secret.is_none() && keyed.client.secret_hashes.is_empty());
    assert!(changed("client_secret_basic").await.secret.is_some(), "it is told a new one");
    // What it was given by an administrator stays where it is of no use, and is of none when it would be.
    let with_secret = ClientMetadata { client_secret: Some(chosen("another")), ..by("private_key_jwt") };
    let keyed = given.service.replace(&made.id, with_secret).await.unwrap().client;
    assert_eq!(changed("private_key_jwt").await.client.secret_hashes, keyed.secret_hashes);
    let basic = changed("client_secret_basic").await;
    assert!(basic.secret.is_some());
    assert!(!given.service.has_secret(&basic.client, &chosen("another")).await.unwrap());
}

#[tokio::test]
async fn a_secret_is_sealed_only_while_it_signs_and_never_an_old_one() {
    let given = given();
    let made = given.service.create(signing_with_its_secret("app")).await.unwrap();
    let keyed = given.service.replace(&made.client.id, by("private_key_jwt")).await.unwrap();
    assert!(keyed.secret.is_none() && keyed.client.security.sealed_secret.is_none());
    assert_eq!(keyed.client.secret_hashes, made.client.secret_hashes);
    let signing = given.service.replace(&made.client.id, signing_with_its_secret("app")).await.unwrap();
    assert_eq!(kept_secret(&signing.client).unwrap(), *signing.secret.unwrap().expose());
    assert_eq!(signing.client.secret_hashes.len(), 1, "the former one cannot be checked");
    let with_secret = ClientMetadata { client_secret: Some(chosen("another")), ..by("private_key_jwt") };
    let keyed = given.service.replace(&made.client.id, with_secret).await.unwrap().client;
    assert!(keyed.security.sealed_secret.is_none());
    let signing = given.service.replace(&made.client.id, signing_with_its_secret("app")).await.unwrap();
    assert_eq!(kept_secret(&signing.client).unwrap(), *signing.secret.unwrap().expose());
}

fn signing_with_its_secret(id: &str) -> ClientMetadata {
    ClientMetadata { token_endpoint_auth_method: "client_secret_jwt".to_owned(), ..asking(id) }
}

/// The secret that is kept sealed.
fn kept_secret(client: &Client) -> Option<String> {
    let sealed = client.security.sealed_secret.as_deref()?;
    String::from_utf8(sealer().open(Purpose::ClientSecret, sealed).unwrap()).ok()
}

#[tokio::test]
async fn a_secret_that_signs_is_kept_sealed_and_no_other() {
    let given = given();
    let made = given.service.create(signing_with_its_secret("app")).await.unwrap();
    assert_eq!(kept_secret(&made.client).unwrap(), *made.secret.unwrap().expose());
    let rotated = given.service.rotate_secret(&made.client.id).await.unwrap();
    let newest = rotated.secret.unwrap();
    assert_eq!(kept_secret(&rotated.client).as_deref(), Some(newest.expose().as_str()));
    let renamed = ClientMetadata { client_name: "new".to_owned(), ..signing_with_its_secret("app") };
    let renamed = given.service.replace(&made.client.id, renamed).await.unwrap();
    assert!(renamed.secret.is_none());
    assert_eq!(kept_secret(&renamed.client).as_deref(), Some(newest.expose().as_str()));
    let basic = given.service.replace(&made.client.id, asking("app")).await.unwrap().client;
    assert!(basic.security.sealed_secret.is_none() && !basic.secret_hashes.is_empty());
    let signing_again = given.service.replace(&made.client.id, signing_with_its_secret("app")).await.unwrap();
    assert_eq!(kept_secret(&signing_again.client).unwrap(), *signing_again.secret.unwrap().expose());
}

/// As an HMAC algorithm wants it (RFC 7518 §3.2).
#[tokio::test]
async fn a_secret_that_signs_is_as_long_as_any_algorithm_wants() {
    let given = given();
    let by = |id: &str, alg: &str| ClientMetadata {
        token_endpoint_auth_signing_alg: alg.to_owned(),
        ..signing_with_its_secret(id)
    };
    for (id, alg) in [("any", ""), ("short", "HS256"), ("long", "HS384"), ("longest", "HS512")] {
        let made = given.service.create(by(id, alg)).await.unwrap();
        assert_eq!(made.secret.unwrap().expose().len(), 86, "{alg}");
        let rotated = given.service.rotate_secret(&made.client.id).await.unwrap();
        let secret = rotated.secret.unwrap();
        assert_eq!(secret.expose().len(), 86, "{alg}");
        assert!(given.service.has_secret(&rotated.client, &secret).await.unwrap(), "{alg}");
    }
    let basic = given.service.create(asking("basic")).await.unwrap().client;
    let rotated = given.service.rotate_secret(&basic.id).await.unwrap();
    assert_eq!(rotated.secret.unwrap().expose().len(), 43, "what is only sent is as long as before");
}

#[tokio::test]
async fn a_secret_that_is_too_short_for_another_algorithm_is_replaced() {
    let given = given();
    let by = |alg: &str| ClientMetadata {
        token_endpoint_auth_signing_alg: alg.to_owned(),
        ..signing_with_its_secret("app")
    };
    let secret = "x".repeat(48);
    let made = ClientMetadata { client_secret: Some(chosen(&secret)), ..by("HS256") };
    let id = given.service.create(made).await.unwrap().client.id.clone();
    for alg in ["HS384", "HS384", ""] {
        let kept = given.service.replace(&id, by(alg)).await.unwrap();
        assert!(kept.secret.is_none(), "{alg}");
        assert_eq!(kept_secret(&kept.client).as_deref(), Some(secret.as_str()), "{alg}");
    }
    let changed = given.service.replace(&id, by("HS512")).await.unwrap();
    assert_eq!(changed.secret.as_ref().unwrap().expose().len(), 86);
    assert_eq!(kept_secret(&changed.client).unwrap(), *changed.secret.unwrap().expose());
    assert_eq!(changed.client.secret_hashes.len(), 1);
    assert!(given.service.replace(&id, by("HS512")).await.unwrap().secret.is_none());
}

#[tokio::test]
async fn a_sealed_secret_that_is_sent_is_not_believed() {
    let given = given();
    let security =
        ClientSecurity { sealed_secret: Some("of somebody else".to_owned()), ..ClientSecurity::default() };
    let made = given.service.create(ClientMetadata { security, ..asking("app") }).await.unwrap();
    assert!(made.client.security.sealed_secret.is_none());
}
