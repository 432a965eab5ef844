//! The end of a session: asked for by a client, confirmed by the user, told to all who took part.

mod again;
pub(crate) mod channels;
mod device;
mod initiated;
mod outbox;

use reqwest::Method;
use serde_json::Value;
use sluice_testkit::{Authorize, Browser, Page, TestClient, TestSluice, redirect_to};

/// Logs in as this login says; the tokens.
pub(crate) async fn log_in(
    sluice: &TestSluice,
    client: &TestClient,
    browser: &mut Browser,
    login: &Value,
) -> Value {
    let page = browser.log_in_with(sluice, client, &Authorize::default(), login).await;
    client.redeem(&page.expect("code")).await.ok()
}

/// Asks for a logout with these parameters.
pub(crate) async fn ask(browser: &mut Browser, parameters: &[(&str, &str)]) -> Page {
    let query = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(parameters).finish();
    browser.visit(&format!("/oauth2/sessions/logout?{query}")).await
}

/// Confirms a logout as the logout page does; where the browser goes next.
pub(crate) async fn confirm(sluice: &TestSluice, challenge: &str) -> String {
    let path = format!("/admin/oauth2/auth/requests/logout/accept?logout_challenge={challenge}");
    redirect_to(&sluice.ask_json(Method::PUT, &path, None, 200).await)
}

/// Asks for a logout and confirms it.
pub(crate) async fn log_out(sluice: &TestSluice, browser: &mut Browser, parameters: &[(&str, &str)]) -> Page {
    let challenge = ask(browser, parameters).await.expect("logout_challenge");
    let verifier = confirm(sluice, &challenge).await;
    browser.visit(&verifier).await
}
