//! The legs of a flow that many tests walk alike, up to where they differ.

use reqwest::Method;
use serde_json::{Value, json};
use sluice_testkit::{Authorize, Browser, TestClient, TestSluice, accept_consent, accept_login, redirect_to};
use url::Url;

/// A parameter of an address.
pub(crate) fn parameter(url: &str, name: &str) -> String {
    let url = Url::parse(url).unwrap();
    let found = url.query_pairs().find(|(own, _)| own == name).map(|(_, value)| value.into_owned());
    found.unwrap_or_else(|| panic!("no `{name}` in {url}"))
}

/// What a login page is told of a flow that begins now.
pub(crate) async fn login_request(
    sluice: &TestSluice,
    client: &TestClient,
    browser: &mut Browser,
    with: &Authorize<'_>,
) -> Value {
    let challenge = browser.begin(client, with).await;
    let path = format!("/admin/oauth2/auth/requests/login?login_challenge={challenge}");
    sluice.ask_json(Method::GET, &path, None, 200).await
}

/// What a consent page is told.
pub(crate) async fn consent_request(sluice: &TestSluice, challenge: &str) -> Value {
    let path = format!("/admin/oauth2/auth/requests/consent?consent_challenge={challenge}");
    sluice.ask_json(Method::GET, &path, None, 200).await
}

/// Where the login page sends the browser after `subject` logged in; not visited yet.
pub(crate) async fn login_verifier(
    sluice: &TestSluice,
    client: &TestClient,
    browser: &mut Browser,
    subject: &str,
) -> String {
    let challenge = browser.begin(client, &Authorize::default()).await;
    accept_login(sluice, &challenge, &json!({"subject": subject})).await
}

/// The consent challenge of a flow in which `subject` logged in.
pub(crate) async fn consent_challenge(
    sluice: &TestSluice,
    client: &TestClient,
    browser: &mut Browser,
    subject: &str,
) -> String {
    let verifier = login_verifier(sluice, client, browser, subject).await;
    browser.visit(&verifier).await.expect("consent_challenge")
}

/// Where the consent page sends the browser after `subject` consented; not visited yet.
pub(crate) async fn consent_verifier(
    sluice: &TestSluice,
    client: &TestClient,
    browser: &mut Browser,
    subject: &str,
) -> String {
    let challenge = consent_challenge(sluice, client, browser, subject).await;
    accept_consent(sluice, &challenge, &json!({})).await
}

/// Where the consent page sends the browser whose user refused; not visited yet.
pub(crate) async fn reject_consent(sluice: &TestSluice, challenge: &str) -> String {
    let path = format!("/admin/oauth2/auth/requests/consent/reject?consent_challenge={challenge}");
    redirect_to(&sluice.ask_json(Method::PUT, &path, Some(&json!({})), 200).await)
}

/// The tokens of a new login of `subject`, in a browser of its own.
pub(crate) async fn tokens_of(sluice: &TestSluice, client: &TestClient, subject: &str) -> Value {
    let page = sluice.browser().log_in(sluice, client, subject).await;
    client.redeem(&page.expect("code")).await.ok()
}

/// Whom the access token of a new login is for that asks for a resource (RFC 8707).
pub(crate) async fn audience_for(sluice: &TestSluice, client: &TestClient, resource: &str) -> Value {
    let with = Authorize { more: &[("resource", resource)], ..Authorize::default() };
    let page = sluice.browser().log_in_with(sluice, client, &with, &json!({"subject": "alice"})).await;
    let tokens = client.redeem(&page.expect("code")).await.ok();
    sluice.introspect(token(&tokens, "access_token")).await["aud"].clone()
}

/// A token of a token response.
pub(crate) fn token<'a>(tokens: &'a Value, name: &str) -> &'a str {
    tokens[name].as_str().unwrap_or_else(|| panic!("no `{name}` in {tokens}"))
}

/// Changes a client by a JSON patch that replaces one field.
pub(crate) async fn change_client(sluice: &TestSluice, client: &TestClient, field: &str, value: Value) {
    let patch = json!([{"op": "replace", "path": format!("/{field}"), "value": value}]);
    sluice.ask_json(Method::PATCH, &format!("/admin/clients/{}", client.id), Some(&patch), 200).await;
}

/// Sends a `DELETE` to the admin API.
pub(crate) async fn delete(sluice: &TestSluice, path: &str) {
    sluice.ask_json(Method::DELETE, path, None, 204).await;
}
