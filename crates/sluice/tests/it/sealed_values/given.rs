//! One sealed value of each kind, all of them good, and the places that take them.

use reqwest::Method;
use serde_json::{Value, json};
use sluice_testkit::{
    Authorize, Browser, Page, TestClient, TestSluice, accept_consent, accept_login, redirect_to,
};

use crate::answer::{Answer, http};

/// What a sealed value is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    LoginChallenge,
    LoginVerifier,
    ConsentChallenge,
    ConsentVerifier,
    LogoutChallenge,
    LogoutVerifier,
    Code,
    AccessToken,
    RefreshToken,
}

pub(super) const KINDS: [Kind; 9] = [
    Kind::LoginChallenge,
    Kind::LoginVerifier,
    Kind::ConsentChallenge,
    Kind::ConsentVerifier,
    Kind::LogoutChallenge,
    Kind::LogoutVerifier,
    Kind::Code,
    Kind::AccessToken,
    Kind::RefreshToken,
];

/// A good value of each kind, the browser that they belong to, and their client.
pub(super) struct Given {
    values: Vec<(Kind, String)>,
    pub(super) browser: Browser,
    pub(super) client: TestClient,
}

fn last_parameter(url: &str) -> String {
    url.rsplit_once('=').unwrap().1.to_owned()
}

impl Given {
    pub(super) async fn on(sluice: &TestSluice) -> Self {
        let client = sluice.client(&json!({})).await;
        let mut browser = sluice.browser();
        // A session first, for the logout; and tokens.
        let (ordinary, remembered) = (Authorize::default(), json!({"subject": "alice", "remember": true}));
        let landed = browser.log_in_with(sluice, &client, &ordinary, &remembered).await;
        let tokens = client.redeem(&landed.expect("code")).await.ok();
        let token = |name: &str| tokens[name].as_str().unwrap().to_owned();
        let logout_challenge = browser.visit("/oauth2/sessions/logout").await.expect("logout_challenge");
        let path = format!("/admin/oauth2/auth/requests/logout/accept?logout_challenge={logout_challenge}");
        let logout = redirect_to(&sluice.ask_json(Method::PUT, &path, None, 200).await);
        // A flow that waits for consent, and one that is through but not redeemed.
        let login_challenge = browser.begin(&client, &ordinary).await;
        let login = accept_login(sluice, &login_challenge, &json!({"subject": "alice"})).await;
        let consent_challenge = browser.visit(&login).await.expect("consent_challenge");
        let consent = accept_consent(sluice, &consent_challenge, &json!({})).await;
        let code = browser.log_in(sluice, &client, "alice").await.expect("code");
        let values = vec![
            (Kind::LoginChallenge, login_challenge),
            (Kind::LoginVerifier, last_parameter(&login)),
            (Kind::ConsentChallenge, consent_challenge),
            (Kind::ConsentVerifier, last_parameter(&consent)),
            (Kind::LogoutChallenge, logout_challenge),
            (Kind::LogoutVerifier, last_parameter(&logout)),
            (Kind::Code, code),
            (Kind::AccessToken, token("access_token")),
            (Kind::RefreshToken, token("refresh_token")),
        ];
        Self { values, browser, client }
    }

    /// The same browser and client at another node.
    pub(super) fn at(&self, node: &TestSluice) -> Self {
        Self { values: self.values.clone(), browser: self.browser.at(node), client: self.client.at(node) }
    }

    pub(super) fn value(&self, kind: Kind) -> &str {
        &self.values.iter().find(|(own, _)| *own == kind).unwrap().1
    }

    /// Presents a value wherever this kind is taken; it is refused, and nothing is written.
    pub(super) async fn is_refused(&self, sluice: &TestSluice, kind: Kind, value: &str) {
        let before = sluice.written();
        match kind {
            Kind::LoginChallenge => self.page_gets(sluice, "login", value, 404).await,
            Kind::ConsentChallenge => self.page_gets(sluice, "consent", value, 404).await,
            Kind::LogoutChallenge => self.page_gets(sluice, "logout", value, 404).await,
            Kind::LoginVerifier | Kind::ConsentVerifier | Kind::LogoutVerifier => {
                shown(&self.comes_back(kind, value).await, 400, value);
            }
            Kind::Code => self.client.redeem(value).await.refused_with("invalid_grant"),
            Kind::RefreshToken => self.client.refresh(value).await.refused_with("invalid_grant"),
            Kind::AccessToken => {
                let url = sluice.public.join("/userinfo").unwrap();
                let answer = Answer::to(http().get(url).bearer_auth(value)).await;
                assert_eq!(
                    (answer.status, &answer.json()["error"]),
                    (401, &json!("invalid_token")),
                    "{value}"
                );
                let challenge = answer.header("www-authenticate");
                assert!(
                    challenge.starts_with("Bearer ") && challenge.contains("invalid_token"),
                    "{challenge}"
                );
            }
        }
        assert_eq!(sluice.written(), before, "{kind:?} {value}");
    }

    /// Introspection says nothing of the value, and revoking it is no error and does nothing.
    pub(super) async fn means_nothing(&self, sluice: &TestSluice, value: &str) {
        let before = sluice.written();
        assert_eq!(sluice.introspect(value).await, json!({"active": false}), "{value}");
        assert_eq!(self.client.revoke(value).await.status, 200, "{value}");
        assert_eq!(sluice.written(), before, "{value}");
    }

    /// What a login, consent or logout page is told about a challenge, whatever it asks; the last answer.
    pub(super) async fn page_gets(&self, sluice: &TestSluice, page: &str, challenge: &str, status: u16) {
        let path =
            |verb: &str| format!("/admin/oauth2/auth/requests/{page}{verb}?{page}_challenge={challenge}");
        let accept = json!({"subject": "mallory", "grant_scope": ["openid"]});
        // Pages follow the way out of a flow that is over.
        let said = if status == 410 && page != "logout" { 200 } else { status };
        let asked = [
            sluice.ask_json(Method::GET, &path(""), None, status).await,
            sluice.ask_json(Method::PUT, &path("/accept"), Some(&accept), said).await,
            sluice.ask_json(Method::PUT, &path("/reject"), Some(&json!({})), said).await,
        ];
        for answer in asked {
            match status {
                410 => assert!(
                    answer["redirect_to"].as_str().unwrap().starts_with("http://sluice.test/"),
                    "{answer}"
                ),
                _ => assert!(answer["error"].is_string() && answer.get("redirect_to").is_none(), "{answer}"),
            }
        }
    }

    /// The browser comes back with a verifier.
    pub(super) async fn comes_back(&self, kind: Kind, verifier: &str) -> Page {
        let path = match kind {
            Kind::LoginVerifier => "/oauth2/auth?login_verifier",
            Kind::ConsentVerifier => "/oauth2/auth?consent_verifier",
            Kind::LogoutVerifier => "/oauth2/sessions/logout?logout_verifier",
            _ => panic!("{kind:?} is no verifier"),
        };
        let encoded: String = url::form_urlencoded::byte_serialize(verifier.as_bytes()).collect();
        self.browser.clone().visit(&format!("{path}={encoded}")).await
    }

    /// After all that was done with their likes, the good values are good.
    pub(super) async fn still_holds(&self, sluice: &TestSluice) {
        assert!(sluice.is_active(self.value(Kind::AccessToken)).await);
        self.client.refresh(self.value(Kind::RefreshToken)).await.ok();
        self.client.redeem(self.value(Kind::Code)).await.ok();
        self.comes_back(Kind::ConsentVerifier, self.value(Kind::ConsentVerifier)).await.expect("code");
        let ended = self.comes_back(Kind::LogoutVerifier, self.value(Kind::LogoutVerifier)).await;
        assert!(ended.headers.contains_key("set-cookie"), "{}", ended.body);
    }
}

/// An error page, which sends the browser nowhere.
pub(super) fn shown(page: &Page, status: u16, why: &str) {
    assert_eq!(page.status.as_u16(), status, "{why}: {}", page.body);
    assert!(page.location.is_none(), "{why}");
    assert!(!page.headers.contains_key("set-cookie"), "{why}");
}

/// The JSON of an admin answer.
pub(super) async fn admin(sluice: &TestSluice, path: &str, status: u16) -> Value {
    sluice.ask_json(Method::GET, path, None, status).await
}
