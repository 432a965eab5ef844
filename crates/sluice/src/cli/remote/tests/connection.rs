use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::stub::{Stub, run};
use crate::cli::Exit;

/// What a port that speaks TLS answers to what is none: the version is not known (RFC 8446 §6).
const ALERT: [u8; 7] = [21, 3, 3, 0, 2, 2, 70];

fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(str::to_owned).collect()
}

#[tokio::test]
async fn the_admin_endpoint_gets_the_credential_of_the_environment() {
    let stub = Stub::answering(200, json!({})).await;
    let environment = [("SLUICE_ADMIN_TOKEN", "t0ken")];
    stub.run_with("sluice get client a", &environment).await;
    assert_eq!(stub.only().header("authorization"), "Bearer t0ken");
}

#[tokio::test]
async fn the_public_endpoint_does_not_get_the_credential_of_the_admin_endpoint() {
    let stub = Stub::answering(200, json!({})).await;
    let environment = [("SLUICE_ADMIN_TOKEN", "t0ken")];
    stub.run_with("sluice revoke token t --client-id c", &environment).await;
    assert_eq!(stub.only().header("authorization"), "");
}

#[tokio::test]
async fn the_endpoint_comes_from_the_environment_the_most_specific_first() {
    let stub = Stub::answering(200, json!({})).await;
    let here = format!("http://{}/prefix/", stub.address);
    let environment = [("ORY_SDK_URL", "http://127.0.0.1:1"), ("HYDRA_ADMIN_URL", here.as_str())];
    let outcome = run(words("sluice get client a"), &environment).await;
    assert_eq!(outcome.exit, Exit::Success, "{}", outcome.err);
    assert_eq!(stub.only().line, "GET /prefix/admin/clients/a");
    let environment = [("ORY_SDK_URL", here.as_str()), ("HYDRA_ADMIN_URL", "http://127.0.0.1:1")];
    run(words("sluice perform client-credentials --client-id c --client-secret s"), &environment).await;
    assert_eq!(stub.asked()[1].line, "POST /prefix/oauth2/token");
}

#[tokio::test]
async fn headers_of_the_command_line_are_sent() {
    let stub = Stub::answering(200, json!({})).await;
    let mut arguments = words("sluice get client a -H");
    arguments.extend(["X-Tenant: a, b".to_owned(), "-e".to_owned(), format!("http://{}", stub.address)]);
    run(arguments, &[]).await;
    assert_eq!(stub.only().header("x-tenant"), "a, b");
}

#[tokio::test]
async fn a_credential_of_the_command_line_goes_instead_of_that_of_the_environment() {
    let stub = Stub::answering(200, json!({})).await;
    let mut arguments = words("sluice get client a -H");
    arguments.extend([
        "authorization: Basic eDp5".to_owned(),
        "-e".to_owned(),
        format!("http://{}", stub.address),
    ]);
    run(arguments, &[("SLUICE_ADMIN_TOKEN", "t0ken")]).await;
    let sent: Vec<_> = stub.only().headers.get_all("authorization").iter().cloned().collect();
    assert_eq!(sent, ["Basic eDp5"]);
}

#[tokio::test]
async fn a_server_that_is_not_there_is_a_failure_that_names_it() {
    let outcome = run(words("sluice get client a -e http://127.0.0.1:1"), &[]).await;
    assert_eq!(outcome.exit, Exit::Failure);
    assert!(outcome.err.starts_with("error: no answer from http://127.0.0.1:1/: "), "{}", outcome.err);
}

#[tokio::test]
async fn a_plain_request_to_a_port_that_speaks_tls_is_said_to_be_one() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let read = stream.read(&mut [0; 4096]).await.unwrap();
        assert!(read > 0);
        stream.write_all(&ALERT).await.unwrap();
    });
    let outcome = run(words(&format!("sluice get client a -e http://{address}")), &[]).await;
    let expected = format!(
        "error: no answer from http://{address}/: invalid HTTP version parsed; does that port speak TLS? say https://\n"
    );
    assert_eq!((outcome.exit, outcome.err), (Exit::Failure, expected));
}

#[tokio::test]
async fn an_endpoint_that_is_none_is_a_usage_error_that_does_not_repeat_it() {
    for endpoint in ["127.0.0.1:4445", "ftp://localhost", "http://ada:hunter2@localhost"] {
        let outcome = run(words(&format!("sluice get client a -e {endpoint}")), &[]).await;
        assert_eq!(outcome.exit, Exit::Usage, "{endpoint}");
        assert!(!outcome.err.contains("hunter2"));
    }
}

#[tokio::test]
async fn an_answer_that_is_not_json_is_a_failure() {
    let outcome = Stub::answering(200, Value::Null).await.run("sluice get client a").await;
    assert_eq!(outcome.exit, Exit::Failure);
    assert!(outcome.err.contains("it is not JSON"), "{}", outcome.err);
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let outcome = Stub::answering(302, Value::Null).await.run("sluice get client a").await;
    assert_eq!(outcome.exit, Exit::Failure);
    assert!(outcome.err.contains("302 Found, without a reason"), "{}", outcome.err);
}

#[tokio::test]
async fn a_file_of_certificates_must_hold_some() {
    let stub = Stub::answering(200, json!({})).await;
    let file = tempfile::NamedTempFile::new().unwrap();
    let outcome = stub.run(&format!("sluice get client a --ca-file {}", file.path().display())).await;
    assert_eq!(outcome.exit, Exit::Failure);
    assert!(outcome.err.contains("it holds no certificate"), "{}", outcome.err);
}
