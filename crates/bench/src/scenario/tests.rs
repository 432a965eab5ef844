//! That a server whose answers are wrong is not measured: it would be a fast one.

use std::collections::HashSet;
use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::*;
use crate::driver::Endpoints;
use crate::target::GATEWAY_PATH;

/// What a server does that is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    Nothing,
    /// One token for everybody.
    OneToken,
    EmptyToken,
    /// Beside the token.
    Error,
    OneClient,
    AnotherClient,
    RevokesNothing,
    /// Of a token that does not work it says that something else does.
    OnlyInside,
    EverythingIsActive,
    TokensOfAnother,
    /// At its gateway.
    LetsEverybodyThrough,
    /// The same, of all who say that they have a token.
    LetsAnyTokenThrough,
    LetsNobodyThrough,
    /// To what is done later.
    LetsEverybodyThroughLater,
    Fails,
    /// Strangers, as what puts a login page before an application does. Nothing is wrong with that.
    LeadsToLogin,
    /// Strangers are told that nothing is there. Nothing is wrong with that either.
    Hides,
    /// What is asked for is not there.
    NoSuchRoute,
}

/// A server with Hydra's API, as far as it is asked here.
struct Hydra {
    fault: Fault,
    issued: Mutex<usize>,
    revoked: Mutex<HashSet<String>>,
}

impl Hydra {
    fn answer(&self, path: &str, token: Option<&str>, body: &str) -> (u16, Value) {
        if path == GATEWAY_PATH {
            return (self.lets_through(token), json!({}));
        }
        let number = {
            let mut issued = self.issued.lock().unwrap();
            *issued += 1;
            *issued
        };
        let token = body.rsplit_once("token=").map_or("", |(_, token)| token).to_owned();
        match path {
            "/admin/clients" => (201, json!({ "client_id": self.unless(Fault::OneClient, "c", number) })),
            "/oauth2/token" => (200, self.tokens(number)),
            "/admin/oauth2/introspect" => (200, self.introspection(&token)),
            "/oauth2/revoke" => {
                self.revoked.lock().unwrap().insert(token);
                (200, json!({}))
            }
            _ if self.fault == Fault::AnotherClient => (200, json!({ "client_id": "c0" })),
            _ => (200, json!({ "client_id": path.rsplit('/').next() })),
        }
    }

    /// The status that its gateway answers.
    fn lets_through(&self, token: Option<&str>) -> u16 {
        match (self.fault, token) {
            (Fault::LetsEverybodyThrough, _) | (Fault::LetsAnyTokenThrough, Some(_)) => 200,
            (Fault::LetsEverybodyThroughLater, _) => 202,
            (Fault::Fails, _) => 500,
            (Fault::NoSuchRoute, _) => 404,
            (Fault::LetsNobodyThrough, Some(_)) => 403,
            (_, Some(token)) if token.starts_with("Bearer t") => 200,
            (Fault::LeadsToLogin, _) => 302,
            (Fault::Hides, _) => 404,
            (_, Some(_)) => 403,
            (_, None) => 401,
        }
    }

    /// Another each time, unless that is what is wrong.
    fn unless(&self, fault: Fault, kind: &str, number: usize) -> String {
        format!("{kind}{}", if self.fault == fault { 0 } else { number })
    }

    fn tokens(&self, number: usize) -> Value {
        match self.fault {
            Fault::EmptyToken => json!({ "access_token": "" }),
            Fault::Error => json!({ "access_token": "t1", "error": "server_error" }),
            _ => json!({ "access_token": self.unless(Fault::OneToken, "t", number) }),
        }
    }

    fn introspection(&self, token: &str) -> Value {
        let is_revoked = self.fault != Fault::RevokesNothing && self.revoked.lock().unwrap().contains(token);
        let works = token.starts_with('t') && !is_revoked;
        match self.fault {
            Fault::OnlyInside => json!({ "ext": { "active": true }, "active": false }),
            Fault::EverythingIsActive => json!({ "active": true }),
            Fault::TokensOfAnother => json!({ "active": works, "client_id": "somebody-else" }),
            _ => json!({ "active": works }),
        }
    }
}

async fn served(fault: Fault) -> Target {
    let hydra = Arc::new(Hydra { fault, issued: Mutex::default(), revoked: Mutex::default() });
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url: url::Url = format!("http://{}/", listener.local_addr().unwrap()).parse().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let hydra = Arc::clone(&hydra);
            let service = service_fn(move |request| answered(Arc::clone(&hydra), request));
            tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
        }
    });
    let mut target = Target::at(url);
    let endpoints = Endpoints::clone(&target.endpoints);
    target.endpoints = Arc::new(Endpoints { gateway: Some(endpoints.public.clone()), ..endpoints });
    target
}

async fn answered(
    hydra: Arc<Hydra>,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let path = request.uri().path().to_owned();
    let token = request.headers().get("authorization").map(|token| token.to_str().unwrap().to_owned());
    let body = request.into_body().collect().await.unwrap().to_bytes();
    let (status, json) = hydra.answer(&path, token.as_deref(), std::str::from_utf8(&body).unwrap());
    let body = Full::new(Bytes::from(json.to_string()));
    Ok(Response::builder().status(status).body(body).unwrap())
}

/// How the preparation ends at a server of that kind, and then the first operation; the first failure of both.
async fn measured(kind: &Kind, fault: Fault) -> Result<(), String> {
    let target = served(fault).await;
    let mut scenario = kind.scenario(&Dialect::Hydra).unwrap();
    scenario.prepare(&target, 2).await.map_err(|failure| failure.to_string())?;
    let mut agent = Agent::new(0, Arc::clone(&target.endpoints), None);
    scenario.operate(&mut agent, 0).await.map_err(|failure| failure.to_string())
}

fn kinds() -> [Kind; 6] {
    [
        Kind::ClientCredentials(ClientCredentialsOptions::default()),
        Kind::Introspect(IntrospectOptions::default()),
        Kind::Revoke(ClientCredentialsOptions::default()),
        Kind::GetClient,
        Kind::CreateClient,
        Kind::Gateway(GatewayOptions::default()),
    ]
}

#[tokio::test]
async fn a_server_that_does_what_it_should_is_measured() {
    for kind in kinds() {
        assert_eq!(measured(&kind, Fault::Nothing).await, Ok(()), "{}", kind.name());
    }
}

#[tokio::test]
async fn a_gateway_may_send_strangers_away_as_it_likes() {
    let gateway = Kind::Gateway(GatewayOptions::default());
    for fault in [Fault::LeadsToLogin, Fault::Hides] {
        assert_eq!(measured(&gateway, fault).await, Ok(()), "{fault:?}");
    }
}

#[tokio::test]
async fn a_server_whose_answers_are_wrong_is_not_measured() {
    let [issue, introspect, revoke, get_client, create_client, gateway] = kinds();
    let faults = [
        (&issue, Fault::OneToken, "the same access token twice"),
        (&issue, Fault::EmptyToken, "token: access_token is missing"),
        (&issue, Fault::Error, "said server_error"),
        (&introspect, Fault::OnlyInside, "a token that was just issued is not active"),
        (&introspect, Fault::TokensOfAnother, "a token is told to be another client's"),
        (&introspect, Fault::EverythingIsActive, "a token that nobody issued is active"),
        (&revoke, Fault::RevokesNothing, "the server revokes nothing"),
        (&revoke, Fault::OnlyInside, "that it has just issued that it is not active"),
        (&get_client, Fault::AnotherClient, "the client that was asked for is missing"),
        (&create_client, Fault::OneClient, "the same client twice"),
        (&gateway, Fault::LetsEverybodyThrough, "lets everybody through, also who has no token"),
        (&gateway, Fault::LetsAnyTokenThrough, "lets everybody through, also who has a token that nobody"),
        (&gateway, Fault::LetsEverybodyThroughLater, "lets everybody through, also who has no token"),
        (&gateway, Fault::Fails, "gateway: status 500"),
        (&gateway, Fault::LetsNobodyThrough, "gateway: status 403"),
        (&gateway, Fault::NoSuchRoute, "gateway: status 404"),
    ];
    for (kind, fault, why) in faults {
        let told = measured(kind, fault).await.unwrap_err();
        assert!(told.contains(why), "{fault:?}: {told}");
    }
}

#[tokio::test]
async fn a_proxy_that_checks_nothing_is_measured_where_that_is_said() {
    let unchecked = Kind::Gateway(GatewayOptions { unchecked: true, ..GatewayOptions::default() });
    assert_eq!(measured(&unchecked, Fault::LetsEverybodyThrough).await, Ok(()));
}

#[tokio::test]
async fn what_keeps_a_preparation_from_its_end_is_told_with_the_place_and_a_run_counts_it_in_short() {
    let target = served(Fault::EmptyToken).await;
    let mut scenario = Kind::CreateClient.scenario(&Dialect::Hydra).unwrap();
    scenario.prepare(&target, 1).await.unwrap();
    let mut issuing = kinds()[0].scenario(&Dialect::Hydra).unwrap();
    let told = issuing.prepare(&target, 1).await.unwrap_err().to_string();
    let host = &target.endpoints.public.host;
    assert_eq!(told, format!("token: access_token is missing (http://{host}/oauth2/token)"));
    let gone = Target::at("http://127.0.0.1:9/".parse().unwrap());
    let told = issuing.prepare(&gone, 1).await.unwrap_err().to_string();
    assert_eq!(told, "connection: connection refused (http://127.0.0.1:9/admin/clients)");
    let mut agent = Agent::new(0, Arc::clone(&gone.endpoints), None);
    let told = scenario.operate(&mut agent, 0).await.unwrap_err().to_string();
    assert_eq!(told, "connection: connection refused");
}
