//! What the audit trail tells of clients.

use sluice_oauth::client::{ClientMetadata, Trust};
use sluice_testkit::Captured;

use super::*;

/// The sentences and fields of the audit trail, in order.
fn trail(log: &Captured) -> Vec<String> {
    let text = log.text();
    text.lines()
        .filter_map(|line| line.split_once(" sluice_audit: "))
        .map(|(_, told)| told.to_owned())
        .collect()
}

#[tokio::test]
async fn what_administrators_do_with_a_client_is_told_without_its_secrets() {
    let (log, _guard) = Captured::everything();
    let (service, _) = service_on(Arc::new(MemoryStore::default()));
    let admin = admin_of(Arc::clone(&service));
    let mut secrets = vec!["chosen-by-hand".to_owned()];
    for (method, path, body) in [
        ("POST", "", r#"{"client_id":"app"}"#),
        ("PUT", "/app", r#"{"client_name":"new"}"#),
        ("PATCH", "/app", r#"[{"op":"replace","path":"/client_secret","value":"chosen-by-hand"}]"#),
        ("PUT", "/app/lifespans", "{}"),
        ("POST", "/app/secrets/rotate", ""),
        ("DELETE", "/app/secrets/rotate", ""),
    ] {
        let answer = ask(&admin, method, &format!("{PATH}{path}"), body).await;
        assert!(answer.status < 300, "{method} {path}");
        secrets.extend(answer.json["client_secret"].as_str().map(str::to_owned));
    }
    service.revoke_tokens(&"app".parse().unwrap()).await.unwrap();
    assert_eq!(ask(&admin, "DELETE", &format!("{PATH}/app"), "").await.status, 204);
    let expected = [
        "client registered by an administrator client.id=app",
        "client changed by an administrator client.id=app new_secret=false",
        "client changed by an administrator client.id=app new_secret=true",
        "client changed by an administrator client.id=app new_secret=false",
        "secret of a client rotated by an administrator client.id=app",
        "rotated secrets of a client taken away by an administrator client.id=app",
        "tokens of a client revoked by an administrator client.id=app",
        "client deleted by an administrator client.id=app",
    ];
    assert_eq!(trail(&log), expected);
    let said = log.text();
    assert_eq!(secrets.len(), 4, "one was chosen, and told once more; two were made");
    for secret in secrets {
        assert!(!said.contains(&secret), "{secret}: {said}");
    }
}

/// Of an installation where no page of another origin may call.
#[tokio::test]
async fn origins_that_have_no_effect_are_told_once() {
    let named = r#"{"allowed_cors_origins":["https://a.example"]}"#;
    let changed = r#"[{"op":"add","path":"/allowed_cors_origins/-","value":"https://a.example"}]"#;
    for (origins_count, method, path, body, told) in
        [(true, "POST", "", named, 0), (false, "POST", "", named, 1), (false, "PATCH", "/app", changed, 1)]
    {
        let (log, _guard) = Captured::everything();
        let rules = RegistrationRules { origins_count, ..RegistrationRules::default() };
        let admin = admin_of(service_by(rules, Arc::new(MemoryStore::default())).0);
        assert_eq!(ask(&admin, "POST", PATH, r#"{"client_id":"app"}"#).await.status, 201);
        let count = || log.text().matches("have no effect while serve.public.cors.enabled is false").count();
        assert_eq!(count(), 0, "of a client without origins");
        for _ in 0..2 {
            let answer = ask(&admin, method, &format!("{PATH}{path}"), body).await;
            assert!(answer.status < 300, "{method}: {}", answer.json);
        }
        assert_eq!(count(), told, "{method} {origins_count}");
    }
}

#[tokio::test]
async fn what_is_refused_is_not_told() {
    let (log, _guard) = Captured::everything();
    let admin = admin();
    for (method, path, body, status) in [
        ("POST", "", r#"{"redirect_uris":["/x"]}"#, 400),
        ("PUT", "/none", "{}", 404),
        ("PUT", "/none/lifespans", "{}", 404),
        ("POST", "/none/secrets/rotate", "", 404),
        ("DELETE", "/none/secrets/rotate", "", 404),
        ("DELETE", "/none", "", 404),
    ] {
        assert_eq!(
            ask(&admin, method, &format!("{PATH}{path}"), body).await.status,
            status,
            "{method} {path}"
        );
    }
    assert_eq!(trail(&log), Vec::<String>::new());
}

#[tokio::test]
async fn what_a_client_does_with_itself_is_told_as_such() {
    let (log, _guard) = Captured::everything();
    let (service, _) = service_on(Arc::new(MemoryStore::default()));
    let metadata = ClientMetadata { client_id: "app".to_owned(), ..ClientMetadata::default() };
    let id = service.create_by_itself(metadata.clone(), Trust::Anybody).await.unwrap().client.id.clone();
    service.patch_by_itself(&id, Trust::Anybody, |_| Ok(metadata.clone())).await.unwrap();
    service.delete_by_itself(&id).await.unwrap();
    let expected = [
        "client registered itself client.id=app",
        "client changed itself client.id=app new_secret=false",
        "client deleted itself client.id=app",
    ];
    assert_eq!(trail(&log), expected);
}
