//! Changes at the same time, of what earlier versions took, and by a client that somebody vouches for.

use std::time::Duration;

use futures_util::future::join_all;

use super::*;

/// Each time that several read the client, one comes first.
#[tokio::test]
async fn many_changes_at_once_all_come_to_pass() {
    let given = given();
    let made = given.service.create(asking("app")).await.unwrap().client;
    given.repo.gate.forget_permits(usize::MAX >> 3);
    let (service, id) = (&given.service, &made.id);
    let changes = (0..16).map(|place: usize| {
        service.patch(id, move |stored| {
            let mut contacts = stored.contacts.clone();
            contacts.push(place.to_string());
            Ok(ClientMetadata { contacts, ..asking("app") })
        })
    });
    // Counted before anybody asks: who is polled first is not said.
    let mut reads = given.repo.reads();
    let let_on = async {
        for _ in 0..30_000 {
            tokio::time::sleep(Duration::from_millis(1)).await;
            let waiting = given.repo.reads() - reads;
            given.repo.gate.add_permits(waiting);
            reads += waiting;
        }
    };
    let changed = tokio::select! {
        changed = join_all(changes) => changed,
        () = let_on => Vec::new(),
    };
    assert_eq!(changed.iter().filter(|changed| changed.is_ok()).count(), 16);
    let mut contacts = given.repo.rows.lock()["app"].contacts.clone();
    contacts.sort_unstable_by_key(|place| place.parse::<usize>().unwrap());
    assert_eq!(contacts, (0..16).map(|place| place.to_string()).collect::<Vec<_>>());
}

/// Earlier versions took them: what is changed beside them is not refused for their sake.
#[tokio::test]
async fn malformed_keys_are_refused_but_for_those_that_the_client_has() {
    let given = given();
    let with = |x: &str| ClientMetadata {
        token_endpoint_auth_method: "private_key_jwt".to_owned(),
        jwks: Some(
            serde_json::from_str(&format!(r#"{{"keys":[{{"kty":"OKP","crv":"Ed25519","x":"{x}"}}]}}"#))
                .unwrap(),
        ),
        ..asking("app")
    };
    let good = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo";
    let is_refused = |result: Result<Registered, ClientServiceError>| {
        result.is_err_and(|why| why.to_string() == "Invalid JSON web key in set.")
    };
    for malformed in ["!!!", "AA", &format!("{good}=")] {
        assert!(is_refused(given.service.create(with(malformed)).await), "{malformed}");
    }
    let made = given.service.create(with(good)).await.unwrap().client;
    assert!(is_refused(given.service.replace(&made.id, with("AA")).await));
    given.repo.put(Client { jwks: with("AA").jwks, ..(*made).clone() });
    let named = ClientMetadata { client_name: "new".to_owned(), ..with("AA") };
    assert_eq!(given.service.replace(&made.id, named).await.unwrap().client.name, "new");
    assert!(is_refused(given.service.replace(&made.id, with("AQ")).await));
    given.service.replace(&made.id, with(good)).await.unwrap();
}

/// Whoever comes too late is sent there.
#[tokio::test]
async fn who_says_that_logins_begin_elsewhere_is_nobodys_word() {
    let given = given();
    let beginning = |uri: &str| {
        let mut metadata = asking("app");
        metadata.defaults.initiate_login_uri = Some(uri.to_owned());
        metadata
    };
    let made = given.service.create_by_itself(beginning("https://app.example/login"), Trust::Invited).await;
    let id = made.unwrap().client.id.clone();
    for (uri, is_stranger) in [("https://app.example/login", false), ("https://evil.example/login", true)] {
        let changed = given.service.patch_by_itself(&id, Trust::Anybody, |_| Ok(beginning(uri))).await;
        assert_eq!(changed.unwrap().client.registered_itself, is_stranger, "{uri}");
    }
}
