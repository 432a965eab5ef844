//! What a verdict costs the database: nothing, whoever asks for it and whatever the token looks like.

use reqwest::StatusCode;

use super::{Routes, Seen, guarded};
use crate::application::Application;
use crate::process::Site;
use crate::statements::account::{Account, Sent};

const TIMES: u64 = 10;

/// A server that issues tokens of this kind, its gateway, and its answers to another proxy.
async fn verdicts_send_no_statement(strategy: &str) {
    let (routes, account) = (Routes::fresh().await, Account::open().await);
    let mut site = guarded(Site::on(account.dsn().to_owned()), &routes);
    site.set(&[("strategies.access_token", strategy)]);
    let server = site.start().await;
    let application = Application::register(&[&server]).await;
    let tokens = application.redeem(&application.log_in("alice").await.unwrap()).await.unwrap();
    assert_eq!(tokens.access.matches('.').count() == 2, strategy == "jwt", "{}", tokens.access);
    let gateway = Seen::of(&server);
    let own = gateway.http.get(gateway.url.join("/orders/7").unwrap());
    let of_another = gateway
        .http
        .get(server.listeners["decisions"].join("/oauth/forward_auth").unwrap())
        .header("X-Forwarded-Method", "GET")
        .header("X-Forwarded-Host", "api.test")
        .header("X-Forwarded-Uri", "/orders/7");
    for request in [own, of_another] {
        for (token, status) in
            [(tokens.access.as_str(), StatusCode::OK), ("nobody", StatusCode::UNAUTHORIZED)]
        {
            let ask = async || {
                let request = request.try_clone().unwrap().bearer_auth(token);
                assert_eq!(request.send().await.unwrap().status(), status);
            };
            ask().await;
            assert_eq!(account.of(ask, TIMES).await, Sent::NONE, "{status}: {}", account.told());
        }
    }
    server.kill().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn verdicts_about_opaque_tokens_send_no_statement() {
    verdicts_send_no_statement("opaque").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn verdicts_about_jwts_send_no_statement() {
    verdicts_send_no_statement("jwt").await;
}
