use super::*;
use crate::demo::stub::Stub;
use check::Failure;

async fn played(stub: &Stub) -> Result<(), Failure> {
    let parts = Stub::parts();
    let mut report = Report::begin(parts.printer.clone());
    Script::new(stub.party().await, stub.admin(), parts).play(&mut report).await
}

#[tokio::test]
async fn a_server_that_answers_as_it_must_passes_every_step() {
    played(&Stub::start().await).await.unwrap();
}

#[tokio::test]
async fn a_token_that_outlives_its_revocation_fails_the_play() {
    let stub = Stub::start().await;
    stub.change(|state| state.forgets_revocation = true);
    let failure = played(&stub).await.unwrap_err();
    let Failure::Unexpected { expected, got } = failure else { panic!("{failure}") };
    assert_eq!(expected, r#"{"active":false}"#);
    assert!(got.contains(r#""active":true"#), "{got}");
}

#[tokio::test]
async fn the_client_is_registered_once_and_updated_afterwards() {
    let stub = Stub::start().await;
    stub.party().await;
    stub.party().await;
    let registrations = stub.registrations();
    let [("created", first), ("updated", second)] = &registrations[..] else { panic!("{registrations:?}") };
    assert_eq!(first["client_id"], second["client_id"]);
    assert_eq!(first["id_token_signed_response_alg"], "ES256");
    assert_eq!(first["post_logout_redirect_uris"][0], "http://127.0.0.1:5555/signed-out");
}

#[tokio::test]
async fn the_demo_ends_with_success_when_the_play_does() {
    let stub = Stub::start().await;
    let options = crate::demo::DemoOptions { headless: true, app_port: 0 };
    let code = crate::demo::run(options, Stub::parts(), |progress| async move {
        progress.ready("server", "listening");
        Ok(stub)
    });
    assert_eq!(format!("{:?}", code.await), format!("{:?}", ExitCode::SUCCESS));
}
