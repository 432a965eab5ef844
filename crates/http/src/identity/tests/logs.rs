//! What the log says of it all: no password, no token, no code, no address.

use serde_json::{Value, json};
use sluice_testkit::Captured;

use super::world::{ALICE, PASSWORD, World, code, token};

#[tokio::test]
async fn the_log_of_a_whole_life_tells_no_secret_and_no_address() {
    // Given
    let (log, _guard) = Captured::everything();
    let world = World::new().await;
    let mut secrets =
        vec![PASSWORD.to_owned(), ALICE.to_owned(), "alice@".to_owned(), "mistyped horse".to_owned()];
    // When
    world.register(ALICE).await;
    world.register(ALICE).await;
    let mail = world.mails().await.remove(0);
    secrets.extend([code(&mail), token(&mail)]);
    world.post("/auth/verification/confirm", json!({"token": token(&mail)})).await;
    world.log_in("mistyped horse").await;
    let tokens = world.log_in(PASSWORD).await.tokens();
    secrets.extend([tokens.access.clone(), tokens.refresh.clone()]);
    let (secret, enrolled) = world.enrol_app(&tokens).await;
    secrets.extend([secret.base32(), enrolled.json["recovery_codes"][0].as_str().unwrap().to_owned()]);
    let asked = world.log_in(PASSWORD).await;
    let ticket = asked.json["login_ticket"].as_str().unwrap().to_owned();
    let proof = json!({"login_ticket": ticket, "recovery_code": enrolled.json["recovery_codes"][0]});
    let stronger = world.post("/auth/login/factor", proof).await.tokens();
    secrets.extend([stronger.access.clone(), stronger.refresh.clone()]);
    secrets.push(ticket);
    world.post("/auth/refresh", json!({"refresh_token": tokens.refresh})).await;
    world.post("/auth/recovery", json!({"email": ALICE})).await;
    world.post("/auth/register", json!({"email": 7, "password": "mistyped horse"})).await;
    world.ask("DELETE", "/auth/me", &stronger.access, json!({"password": PASSWORD})).await;
    world.ask("GET", "/auth/me", &tokens.access, Value::Null).await;
    world.ask("GET", "/auth/me", "v4.public.forged", Value::Null).await;
    secrets.push("forged".to_owned());
    // Then
    let said = log.text();
    for sentence in ["person registered", "login refused", "signed in", "factor enrolled", "account deleted"]
    {
        assert!(said.contains(sentence), "{sentence}: {said}");
    }
    let reason = "reason=not an access token of this API, or signed with a secret that is not known here";
    assert_eq!(log.lines(reason).len(), 1, "{said}");
    let registered = said.lines().find(|line| line.contains("person registered")).unwrap();
    assert!(
        registered.contains("client.network=192.0.2.1") && registered.contains("identity.id="),
        "{registered}"
    );
    for secret in secrets {
        assert!(!said.contains(&secret), "{secret}: {said}");
    }
}
