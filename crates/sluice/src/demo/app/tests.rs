use axum::body::Body;
use axum::response::Response;
use http::header::{COOKIE, LOCATION, SET_COOKIE};
use http::{Request, StatusCode};
use http_body_util::BodyExt;
use tower::ServiceExt;
use url::Url;

use super::*;
use crate::demo::stub::Stub;

/// The application and a browser that looks at it.
struct Visit {
    router: Router,
    cookie: Option<String>,
}

impl Visit {
    async fn of(stub: &Stub) -> Self {
        Self { router: App::new(stub.party().await, Stub::parts()).router(), cookie: None }
    }

    async fn send(&mut self, request: http::request::Builder, body: String) -> Response {
        let request = match &self.cookie {
            Some(cookie) => request.header(COOKIE, cookie),
            None => request,
        };
        let response = self.router.clone().oneshot(request.body(Body::from(body)).unwrap()).await.unwrap();
        if let Some(cookie) = response.headers().get(SET_COOKIE) {
            self.cookie = Some(cookie.to_str().unwrap().split(';').next().unwrap().to_owned());
        }
        response
    }

    async fn get(&mut self, path: &str) -> Response {
        self.send(Request::get(path), String::new()).await
    }

    async fn post(&mut self, path: &str, csrf: &str) -> Response {
        let request = Request::post(path).header(CONTENT_TYPE, "application/x-www-form-urlencoded");
        self.send(request, format!("csrf={csrf}")).await
    }

    /// Goes to the server's authorization endpoint; its query.
    async fn begin(&mut self) -> std::collections::HashMap<String, String> {
        let response = self.get("/sign-in").await;
        location(&response).query_pairs().into_owned().collect()
    }

    async fn sign_in(&mut self) -> Response {
        let request = self.begin().await;
        self.get(&format!("/callback?code={}&state={}", request["nonce"], request["state"])).await
    }

    async fn home(&mut self) -> String {
        text(self.get("/").await).await
    }
}

fn location(response: &Response) -> Url {
    let location = response.headers()[LOCATION].to_str().unwrap();
    Url::parse("http://127.0.0.1:5555").unwrap().join(location).unwrap()
}

async fn text(response: Response) -> String {
    String::from_utf8(response.into_body().collect().await.unwrap().to_bytes().to_vec()).unwrap()
}

fn csrf_in(html: &str) -> &str {
    html.split_once(r#"name="csrf" value=""#).unwrap().1.split_once('"').unwrap().0
}

#[tokio::test]
async fn signing_in_asks_for_a_code_with_pkce_state_and_nonce() {
    let mut visit = Visit::of(&Stub::start().await).await;
    let request = visit.begin().await;
    assert_eq!(request["response_type"], "code");
    assert_eq!(request["code_challenge_method"], "S256");
    assert_eq!(request["redirect_uri"], "http://127.0.0.1:5555/callback");
    assert!(
        request["state"].len() == 43 && request["nonce"].len() == 43 && request["code_challenge"].len() == 43
    );
}

#[tokio::test]
async fn who_comes_back_with_a_code_sees_who_they_are_under_a_new_session() {
    let mut visit = Visit::of(&Stub::start().await).await;
    assert!(visit.home().await.contains("Sign in with Sluice"));
    let request = visit.begin().await;
    let before = visit.cookie.clone();
    let response =
        visit.get(&format!("/callback?code={}&state={}", request["nonce"], request["state"])).await;
    assert_eq!(location(&response).path(), "/");
    assert_ne!(visit.cookie, before);
    let home = visit.home().await;
    for part in ["person-1", "access-1", "refresh-1", "ES256", "in 60 minutes", "offline_access"] {
        assert!(home.contains(part), "{part} is not in {home}");
    }
}

#[tokio::test]
async fn an_answer_that_nobody_asked_for_signs_nobody_in() {
    let mut visit = Visit::of(&Stub::start().await).await;
    let request = visit.begin().await;
    let forged = visit.get(&format!("/callback?code={}&state=forged", request["nonce"])).await;
    assert_eq!(forged.status(), StatusCode::BAD_REQUEST);
    let elsewhere =
        format!("/callback?code={}&state={}&iss=https://evil.example", request["nonce"], request["state"]);
    assert_eq!(visit.get(&elsewhere).await.status(), StatusCode::BAD_REQUEST);
    assert!(visit.home().await.contains("Sign in with Sluice"));
}

#[tokio::test]
async fn two_tabs_come_back_one_after_the_other() {
    let mut visit = Visit::of(&Stub::start().await).await;
    let tabs = [visit.begin().await, visit.begin().await];
    for tab in tabs.iter().rev() {
        let response = visit.get(&format!("/callback?code={}&state={}", tab["nonce"], tab["state"])).await;
        assert_eq!(location(&response).path(), "/");
    }
}

#[tokio::test]
async fn a_state_comes_back_once() {
    let mut visit = Visit::of(&Stub::start().await).await;
    let request = visit.begin().await;
    let callback = format!("/callback?error=access_denied&state={}", request["state"]);
    let refused = visit.get(&callback).await;
    assert_eq!(refused.status(), StatusCode::FORBIDDEN);
    assert!(text(refused).await.contains("access_denied"));
    assert_eq!(visit.get(&callback).await.status(), StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn an_id_token_for_another_sign_in_is_refused() {
    let mut visit = Visit::of(&Stub::start().await).await;
    let request = visit.begin().await;
    let response = visit.get(&format!("/callback?code=another-nonce&state={}", request["state"])).await;
    assert_eq!(response.status(), StatusCode::BAD_GATEWAY);
    assert!(text(response).await.contains("nonce"));
}

#[tokio::test]
async fn the_servers_refusal_is_shown_in_its_words() {
    let mut visit = Visit::of(&Stub::start().await).await;
    let request = visit.begin().await;
    let page = text(visit.get(&format!("/callback?code=spent&state={}", request["state"])).await).await;
    assert!(page.contains("invalid_grant") && page.contains("The code was used."), "{page}");
}

#[tokio::test]
async fn refreshing_shows_the_new_tokens_and_needs_the_forms_secret() {
    let mut visit = Visit::of(&Stub::start().await).await;
    visit.sign_in().await;
    assert_eq!(visit.post("/refresh", "guessed").await.status(), StatusCode::BAD_REQUEST);
    let home = visit.home().await;
    assert_eq!(visit.post("/refresh", csrf_in(&home)).await.status(), StatusCode::SEE_OTHER);
    assert!(visit.home().await.contains("refresh-2"));
}

#[tokio::test]
async fn signing_out_forgets_the_user_and_goes_on_to_the_server() {
    let mut visit = Visit::of(&Stub::start().await).await;
    visit.sign_in().await;
    let home = visit.home().await;
    let response = visit.post("/sign-out", csrf_in(&home)).await;
    let to_server = location(&response);
    assert_eq!(to_server.path(), "/logout");
    let query: std::collections::HashMap<String, String> = to_server.query_pairs().into_owned().collect();
    assert!(query["id_token_hint"].split('.').count() == 3);
    assert_eq!(query["post_logout_redirect_uri"], "http://127.0.0.1:5555/signed-out");
    assert!(visit.home().await.contains("Sign in with Sluice"));
    assert!(text(visit.get("/signed-out").await).await.contains("You are signed out."));
}

#[tokio::test]
async fn pages_with_tokens_are_not_kept_and_run_no_script() {
    let mut visit = Visit::of(&Stub::start().await).await;
    let response = visit.get("/").await;
    assert_eq!(response.headers()[CACHE_CONTROL], "no-store");
    let policy = response.headers()[CONTENT_SECURITY_POLICY].to_str().unwrap();
    let start = "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self' http://127.0.0.1:";
    assert!(policy.starts_with(start), "{policy}");
    assert!(
        visit.home().await.contains(r#"<link rel="icon" href="/icon.svg""#),
        "no browser looks for another"
    );
    assert_eq!(visit.get("/icon.svg").await.headers()[CONTENT_TYPE], "image/svg+xml");
    assert_eq!(visit.get("/style.css").await.headers()[CONTENT_TYPE], "text/css; charset=utf-8");
}
