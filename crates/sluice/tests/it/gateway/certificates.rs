//! Tokens that are bound to a certificate (RFC 8705 §3): shown to the gateway itself, or to a proxy before or beside it.

use reqwest::{Client, StatusCode};
use serde_json::{Value, json};
use sluice_net::{SelfSigned, self_signed};
use sluice_primitives::{Clock, SystemClock};
use sluice_testkit::Backend;
use url::Url;

use super::{Routes, site};
use crate::answer::{Answer, http, http_with};
use crate::process::{Process, Site};
use crate::rfc8705::Shown;

/// A site whose authorization server binds tokens to certificates.
async fn binding(routes: &Routes) -> Site {
    let mut site = site(Backend::Sqlite, routes).await;
    site.set(&[("oauth2.mtls.header", "Client-Cert"), ("oauth2.mtls.header_from", "127.0.0.0/8")]);
    site
}

/// An access token that is bound to this certificate.
async fn bound_to(server: &Process, shown: &Shown) -> String {
    let metadata = json!({
        "grant_types": ["client_credentials"],
        "token_endpoint_auth_method": "client_secret_post",
        "tls_client_certificate_bound_access_tokens": true,
    });
    let made = http().post(server.admin.join("/admin/clients").unwrap()).json(&metadata);
    let made: Value = made.send().await.unwrap().json().await.unwrap();
    let form = [
        ("grant_type", "client_credentials"),
        ("client_id", made["client_id"].as_str().unwrap()),
        ("client_secret", made["client_secret"].as_str().unwrap()),
    ];
    let asked = http().post(server.public.join("/oauth2/token").unwrap()).form(&form);
    let tokens = Answer::to(asked.header("client-cert", shown.client_cert())).await.ok();
    tokens["access_token"].as_str().unwrap().to_owned()
}

/// What is answered to whom: the right certificate, none, another one.
const EXPECTED: [u16; 3] = [200, 401, 401];

/// A client that shows this certificate.
fn showing(shown: Option<&Shown>, own: &SelfSigned) -> Client {
    let own = reqwest::Certificate::from_pem(own.certificate.as_bytes()).unwrap();
    http_with(|builder| {
        let builder = builder.tls_certs_only([own]);
        match shown {
            Some(shown) => builder.identity(shown.identity()),
            None => builder,
        }
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bound_token_passes_the_gateway_with_its_certificate_alone() {
    let routes = Routes::fresh().await;
    let own = self_signed(&["127.0.0.1".to_owned()], SystemClock.now()).unwrap();
    let (cert, key) = (routes.directory.path().join("cert.pem"), routes.directory.path().join("key.pem"));
    std::fs::write(&key, own.private_key.expose()).unwrap();
    std::fs::write(&cert, &own.certificate).unwrap();
    let mut site = binding(&routes).await;
    site.set(&[
        ("serve.gateway.tls.enabled", "true"),
        ("serve.gateway.tls.cert.path", cert.to_str().unwrap()),
        ("serve.gateway.tls.key.path", key.to_str().unwrap()),
        ("serve.gateway.mtls.enabled", "true"),
    ]);
    let server = site.start().await;
    let (shown, other) = (Shown::self_signed(), Shown::self_signed());
    let token = bound_to(&server, &shown).await;
    let mut url = server.listeners["gateway"].join("/orders/7").unwrap();
    url.set_scheme("https").unwrap();
    for (certificate, status) in [Some(&shown), None, Some(&other)].into_iter().zip(EXPECTED) {
        let request = showing(certificate, &own).get(url.clone()).bearer_auth(&token);
        assert_eq!(request.send().await.unwrap().status().as_u16(), status);
    }
    server.kill().await;
}

/// Asks with a certificate as a proxy passes it on.
async fn passing_on(certificate: Option<&Shown>, url: &Url, token: &str) -> StatusCode {
    let request = http().get(url.clone()).bearer_auth(token);
    let request = request
        .header("x-forwarded-method", "GET")
        .header("x-forwarded-host", "api.test")
        .header("x-forwarded-uri", "/orders/7");
    let request = match certificate {
        Some(shown) => request.header("client-cert", shown.client_cert()),
        None => request,
    };
    request.send().await.unwrap().status()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_counts_from_a_proxy_that_is_believed() {
    let routes = Routes::fresh().await;
    for (believed, expected) in [("127.0.0.0/8", EXPECTED), ("10.0.0.0/8", [401; 3])] {
        let mut site = binding(&routes).await;
        site.set(&[
            ("serve.gateway.mtls.header", "Client-Cert"),
            ("serve.gateway.mtls.header_from", believed),
            ("serve.decisions.mtls.header", "Client-Cert"),
            ("serve.decisions.mtls.header_from", believed),
        ]);
        let server = site.start().await;
        let (shown, other) = (Shown::self_signed(), Shown::self_signed());
        let token = bound_to(&server, &shown).await;
        for (listener, path) in [
            ("gateway", "/orders/7"),
            ("decisions", "/oauth/forward_auth"),
            ("decisions", "/oauth/token_validation"),
        ] {
            let url = server.listeners[listener].join(path).unwrap();
            for (certificate, status) in [Some(&shown), None, Some(&other)].into_iter().zip(expected) {
                let answered = passing_on(certificate, &url, &token).await;
                assert_eq!(answered.as_u16(), status, "{path} from {believed}");
            }
        }
        server.kill().await;
    }
}
