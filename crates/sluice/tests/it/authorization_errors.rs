//! Bad authorization requests: which are shown here, because nobody else may be told, and which go to the client.

use serde_json::json;
use sluice_testkit::{Authorize, Backend, Page, TestClient, TestSluice};
use url::Url;

use crate::answer::{Answer, http};
use crate::both_stores::on_both_stores;

const STATE: &str = "a-state-of-some-length";

/// A change to an ordinary request.
#[derive(Debug, Clone)]
pub(crate) enum Change<'a> {
    Without(&'a str),
    /// Instead of what is there.
    With(&'a str, &'a str),
    /// Beside what is there.
    Twice(&'a str, &'a str),
}

use Change::{Twice, With, Without};

/// The ordinary request of a client, changed.
pub(crate) fn asked(client: &TestClient, changes: &[Change<'_>]) -> String {
    let mut url: Url = client.authorize_url(&Authorize::default()).parse().unwrap();
    let mut pairs: Vec<(String, String)> = url.query_pairs().into_owned().collect();
    for change in changes {
        match change {
            Without(name) => pairs.retain(|(own, _)| own != name),
            With(name, value) => {
                pairs.retain(|(own, _)| own != name);
                pairs.push(((*name).to_owned(), (*value).to_owned()));
            }
            Twice(name, value) => pairs.push(((*name).to_owned(), (*value).to_owned())),
        }
    }
    url.query_pairs_mut().clear().extend_pairs(pairs);
    url.into()
}

/// The request is answered by a page of this server; the browser is sent nowhere and given nothing.
async fn is_shown(sluice: &TestSluice, url: &str, status: u16) -> Page {
    let before = sluice.written();
    let page = sluice.browser().visit(url).await;
    assert_eq!(page.status.as_u16(), status, "{url}: {}", page.body);
    assert_eq!(page.location, None, "{url}");
    let header = |name: &str| page.headers.get(name).map_or("", |value| value.to_str().unwrap());
    assert_eq!(header("set-cookie"), "", "{url}");
    assert!(header("content-type").starts_with("text/html"), "{url}");
    assert!(header("content-security-policy").contains("default-src 'none'"), "{url}");
    assert_eq!(header("x-frame-options"), "DENY", "{url}");
    assert_eq!(header("cache-control"), "no-store", "{url}");
    assert!(!page.body.contains("evil"), "{url}: {}", page.body);
    assert_eq!(sluice.written(), before, "{url}");
    page
}

/// The error goes to the client's redirect URI, with `state` and `iss`, and nothing else happens.
async fn goes_to_client(sluice: &TestSluice, client: &TestClient, (error, changes): (&str, &[Change<'_>])) {
    let url = asked(client, changes);
    let before = sluice.written();
    let page = sluice.browser().visit(&url).await;
    assert_eq!(page.status.as_u16(), 302, "{url}: {}", page.body);
    let location = page.location();
    assert_eq!(&location.as_str()[..location.as_str().find('?').unwrap()], client.redirect_uri, "{url}");
    assert_eq!(page.expect("error"), error, "{url}: {location}");
    assert_eq!(page.expect("state"), STATE, "{url}");
    assert_eq!(page.expect("iss"), "http://sluice.test/", "{url}");
    assert!(page.expect("error_description").ends_with('.'), "{location}");
    assert_eq!(page.parameter("code"), None);
    assert!(!page.headers.contains_key("set-cookie"), "{url}");
    assert_eq!(sluice.written(), before, "{url}");
}

on_both_stores!(
    what_cannot_be_trusted_is_shown_here_and_writes_nothing,
    an_unregistered_redirect_uri_is_never_redirected_to,
    a_refused_request_goes_to_the_client_and_writes_nothing,
);

async fn what_cannot_be_trusted_is_shown_here_and_writes_nothing(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({})).await;
    let long = "x".repeat(17 * 1024);
    let too_long_id = "i".repeat(256);
    let too_long_state = "s".repeat(8193);
    let shown: &[(u16, &[Change<'_>])] = &[
        (400, &[Without("client_id")]),
        (400, &[With("client_id", "")]),
        (400, &[With("client_id", &too_long_id)]),
        (400, &[With("client_id", "with\nline-feed")]),
        (401, &[With("client_id", "nobody")]),
        (400, &[Twice("client_id", &client.id)]),
        (400, &[Twice("client_id", "evil")]),
        (400, &[Twice("redirect_uri", "https://evil.test/")]),
        (400, &[Twice("state", "evil")]),
        (400, &[Twice("response_type", "token")]),
        (400, &[Twice("response_mode", "query"), Twice("response_mode", "fragment")]),
        (400, &[Twice("scope", "openid"), With("redirect_uri", "https://evil.test/")]),
        (401, &[Twice("scope", "openid"), With("client_id", "nobody")]),
        (400, &[Twice("scope", "openid"), With("request", "a.b.c")]),
        (400, &[Twice("scope", "openid"), With("state", &too_long_state)]),
        (400, &[With("state", &long)]),
        (400, &[With("nobody_knows", &long)]),
    ];
    for (status, changes) in shown {
        is_shown(&sluice, &asked(&client, changes), *status).await;
    }
    is_shown(&sluice, &(asked(&client, &[]) + "&login_hint=%ff%fe"), 400).await;
    let many = (0..70).map(|n| format!("&p{n}=1")).collect::<Vec<_>>().concat();
    is_shown(&sluice, &(asked(&client, &[]) + &many), 400).await;
    is_shown(&sluice, "/oauth2/auth", 400).await;
    sluice.node.stop().await;
}

async fn an_unregistered_redirect_uri_is_never_redirected_to(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({})).await;
    for uri in TRICKS {
        is_shown(&sluice, &asked(&client, &[With("redirect_uri", uri)]), 400).await;
        // Nor with an error that would otherwise go to the client.
        let changes = [With("redirect_uri", uri), With("response_type", "token"), With("prompt", "none")];
        is_shown(&sluice, &asked(&client, &changes), 400).await;
    }
    sluice.node.stop().await;
}

async fn a_refused_request_goes_to_the_client_and_writes_nothing(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({})).await;
    for refused in REFUSED {
        goes_to_client(&sluice, &client, *refused).await;
    }
    let long = "x".repeat(1025);
    goes_to_client(&sluice, &client, ("invalid_request", &[With("nonce", &long)])).await;
    goes_to_client(&sluice, &client, ("invalid_request", &[With("login_hint", &long)])).await;
    for name in ["nonce", "login_hint", "acr_values", "ui_locales", "display"] {
        let page = sluice.browser().visit(&asked(&client, &[With(name, &long)])).await;
        let said = page.expect("error_description");
        assert!(said.contains(&format!("`{name}` is longer than 1024 bytes")), "{said}");
    }
    sluice.node.stop().await;
}

/// Near `https://app.test/callback`, and not it.
pub(crate) const TRICKS: &[&str] = &[
    "https://evil.test/callback",
    "http://app.test/callback",
    "https://user@app.test/callback",
    "https://user:pass@app.test/callback",
    "https://app.test@evil.test/callback",
    "https://app.test%40evil.test/callback",
    "https://app.test\\@evil.test/callback",
    "https://evil.test\\.app.test/callback",
    "https:\\\\app.test\\callback",
    "https://app.test:443/callback",
    "https://app.test:8443/callback",
    "https://app.test./callback",
    "https://app.test.evil.test/callback",
    "https://evilapp.test/callback",
    "https://APP.test/callback",
    "HTTPS://app.test/callback",
    "https://app.test/Callback",
    "https://app.test/callback/",
    "https://app.test/callback/../evil",
    "https://app.test/./callback",
    "https://app.test/x/../callback",
    "https://app.test/%2e%2e/callback",
    "https://app.test/%63allback",
    "https://app.test//callback",
    "https://app.test/callback?",
    "https://app.test/callback?to=evil",
    "https://app.test/callback;evil",
    "https://app.test/callback#",
    "https://app.test/callback#evil",
    "https://app.test/callback%23",
    "https://app.test/callback%0d%0aSet-Cookie:evil=1",
    "https://app.test/callback\r\nSet-Cookie: evil=1",
    "https://app.test/callback\0",
    "https://app.test\t/callback",
    " https://app.test/callback",
    "https://app.test/callback ",
    "https:/app.test/callback",
    "https:app.test/callback",
    "https:///app.test/callback",
    "//app.test/callback",
    "/callback",
    "callback",
    "https://\u{430}pp.test/callback",
    "https://xn--pp-7kc.test/callback",
    "https://app\u{3002}test/callback",
    "https://app.test/callback\u{200b}",
    "https://\u{202e}tset.ppa/callback",
    "javascript:alert('evil')",
    "data:text/html,evil",
    "null",
    "*",
];

const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

/// The error, and what is wrong.
const REFUSED: &[(&str, &[Change<'static>])] = &[
    ("invalid_request", &[Without("response_type")]),
    ("unsupported_response_type", &[With("response_type", "none")]),
    ("unsupported_response_type", &[With("response_type", "CODE")]),
    ("unsupported_response_type", &[With("response_type", "code code")]),
    ("invalid_request", &[With("response_mode", "pigeon")]),
    ("invalid_request", &[With("response_mode", "query.JWT")]),
    ("invalid_request", &[With("code_challenge_method", "plain")]),
    ("invalid_request", &[With("code_challenge_method", "s256")]),
    ("invalid_request", &[Without("code_challenge_method")]),
    ("invalid_request", &[Without("code_challenge")]),
    ("invalid_request", &[With("code_challenge", "too-short")]),
    ("invalid_request", &[With("code_challenge", "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw+cM")]),
    ("invalid_request", &[With("code_challenge", "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM=")]),
    ("invalid_scope", &[With("scope", "openid admin")]),
    ("invalid_scope", &[With("scope", "open\"id")]),
    ("invalid_scope", &[With("scope", "openid\temail")]),
    ("invalid_scope", &[With("scope", "OPENID")]),
    ("invalid_target", &[With("audience", "https://evil.test")]),
    ("invalid_target", &[With("audience", "https://api.test https://evil.test")]),
    ("invalid_target", &[With("resource", "https://api.test"), Twice("resource", "https://evil.test")]),
    ("invalid_request_object", &[With("request", "eyJhbGciOiJub25lIn0.e30.")]),
    ("request_uri_not_supported", &[With("request_uri", "https://app.test/request.jwt")]),
    ("registration_not_supported", &[With("registration", "{}")]),
    ("invalid_request", &[With("prompt", "none login")]),
    ("invalid_request", &[With("prompt", "sometimes")]),
    ("login_required", &[With("prompt", "none")]),
    ("invalid_request", &[With("max_age", "-1")]),
    ("invalid_request", &[With("max_age", "soon")]),
    ("invalid_request", &[With("max_age", "99999999999999999999")]),
    ("invalid_request", &[Twice("scope", "openid")]),
    ("invalid_request", &[Twice("nobody_knows", "1"), Twice("nobody_knows", "2")]),
    ("invalid_request", &[With("id_token_hint", "a.b.c")]),
    ("invalid_request", &[With("nonce", "a\0b")]),
    ("invalid_request", &[With("ui_locales", "de\r\nfr")]),
    ("invalid_request", &[With("code_challenge", CHALLENGE), With("login_hint", "a\u{85}b")]),
];

#[tokio::test(flavor = "multi_thread")]
async fn who_sends_a_state_that_is_too_long_to_come_back_is_sent_nowhere() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let client = sluice.client(&json!({})).await;
    // As it stands in a URL: a quotation mark is three bytes there, also where a browser has sent one, and so is a space.
    for too_long in ["s".repeat(8193), "\"".repeat(2731), " ".repeat(2731)] {
        is_shown(&sluice, &asked(&client, &[With("state", &too_long)]), 400).await;
    }
    let longest = "s".repeat(8192);
    let with = Authorize { state: &longest, ..Authorize::default() };
    let alice = json!({"subject": "alice"});
    let page = sluice.browser().log_in_with(&sluice, &client, &with, &alice).await;
    assert_eq!((page.expect("state"), page.expect("code").is_empty()), (longest, false));
    // State is opaque: what it holds comes back as it was, and breaks out of nothing.
    let state = "\"><script>&code=evil#%0d%0a\u{fc}";
    let page = sluice.browser().visit(&asked(&client, &[With("state", state), With("prompt", "none")])).await;
    assert_eq!((page.expect("state").as_str(), page.parameter("code")), (state, None));
    let with_break = asked(&client, &[With("state", "a\r\nSet-Cookie: evil=1")]);
    let page = sluice.browser().visit(&with_break).await;
    assert_eq!(page.expect("error"), "invalid_request");
    assert!(!page.headers.contains_key("set-cookie"));
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_travels_as_the_response_mode_says() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let client = sluice.client(&json!({})).await;
    let visit = |mode| {
        asked(&client, &[With("response_mode", mode), With("prompt", "none"), With("state", "\"><b>")])
    };
    let page = sluice.browser().visit(&visit("fragment")).await;
    assert_eq!(page.location().query(), None);
    let fragment = page.location().fragment().unwrap();
    assert!(fragment.starts_with("error=login_required&"), "{fragment}");
    let page = sluice.browser().visit(&visit("form_post")).await;
    assert_eq!((page.status.as_u16(), page.location), (200, None));
    assert!(page.body.contains("action=\"https://app.test/callback\""), "{}", page.body);
    assert!(page.body.contains("name=\"error\" value=\"login_required\""), "{}", page.body);
    assert!(!page.body.contains("<b>"), "{}", page.body);
    assert_eq!(page.headers["cache-control"], "no-store");
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_parameter_is_ignored() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let client = sluice.client(&json!({})).await;
    let changes = [With("nobody_knows", "x"), With("response_mode", "query"), With("claims", "{\"x\":1}")];
    sluice.browser().visit(&asked(&client, &changes)).await.expect("login_challenge");
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_gets_only_what_it_is_registered_for() {
    let sluice = TestSluice::with(Backend::Sqlite, &[("oauth2.pkce.enforced", "true")]).await;
    let machine = sluice.client(&json!({"grant_types": ["client_credentials"]})).await;
    goes_to_client(&sluice, &machine, ("unauthorized_client", &[])).await;
    let client = sluice.client(&json!({})).await;
    let without = [Without("code_challenge"), Without("code_challenge_method")];
    goes_to_client(&sluice, &client, ("invalid_request", &without)).await;
    goes_to_client(&sluice, &client, ("invalid_request", &[Without("redirect_uri")])).await;
    let two = sluice.client(&json!({"redirect_uris": ["https://app.test/1", "https://app.test/2"]})).await;
    is_shown(&sluice, &asked(&two, &[Without("redirect_uri")]), 400).await;
    let none = sluice.client(&json!({"redirect_uris": []})).await;
    is_shown(&sluice, &asked(&none, &[Without("redirect_uri")]), 400).await;
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redirect_uri_is_registered_as_it_travels_in_ascii() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    for uri in ["https://m\u{fc}nchen.test/cb", "https://app.test/r\u{fc}ck", "https://app.test/\u{202e}"] {
        let body = json!({"redirect_uris": [uri]});
        let refused = sluice.ask_json(reqwest::Method::POST, "/admin/clients", Some(&body), 400).await;
        assert_eq!(refused["error"], "invalid_redirect_uri", "{uri}");
    }
    let client = sluice.client(&json!({"redirect_uris": ["https://xn--mnchen-3ya.test/r%C3%BCck"]})).await;
    goes_to_client(&sluice, &client, ("login_required", &[With("prompt", "none")])).await;
    is_shown(&sluice, &asked(&client, &[With("redirect_uri", "https://m\u{fc}nchen.test/r\u{fc}ck")]), 400)
        .await;
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_posted_request_is_asked_for_again_with_get() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let client = sluice.client(&json!({})).await;
    let url: Url = asked(&client, &[With("state", "\u{fc} & \u{1f511}")]).parse().unwrap();
    let send = |body: String| {
        let request = http().post(sluice.public.join("/oauth2/auth").unwrap());
        Answer::to(request.header("content-type", "application/x-www-form-urlencoded").body(body))
    };
    let answer = send(url.query().unwrap().to_owned()).await;
    assert_eq!((answer.status, answer.header("set-cookie")), (303, ""));
    let again: Url = answer.header("location").parse().unwrap();
    assert_eq!(again.as_str().split('?').next(), Some("http://sluice.test/oauth2/auth"));
    assert_eq!(again.query_pairs().collect::<Vec<_>>(), url.query_pairs().collect::<Vec<_>>());
    let page = sluice.browser().visit(again.as_str()).await;
    page.expect("login_challenge");
    // A form whose author did not encode it, with a line break that must not end a header.
    let answer = send(format!("client_id={}&state=\u{fc}\r\nSet-Cookie: evil=1", client.id)).await;
    assert_eq!((answer.status, answer.header("set-cookie")), (303, ""));
    let again: Url = answer.header("location").parse().unwrap();
    let state = again.query_pairs().find(|(name, _)| name == "state").unwrap().1.into_owned();
    assert_eq!(state, "\u{fc}\r\nSet-Cookie: evil=1");
    let json =
        http().post(sluice.public.join("/oauth2/auth").unwrap()).json(&json!({"client_id": client.id}));
    assert_eq!(Answer::to(json).await.status, 400);
    let big = send(format!("client_id={}&state={}", client.id, "s".repeat(70_000))).await;
    assert_eq!((big.status, big.header("location")), (400, ""));
    // Nor is anybody sent on with a query for which the next answer is a refusal: also if it grows by what is escaped in it.
    for (state, status) in
        [("s".repeat(16_000), 303), ("s".repeat(16_384), 400), ("\u{fc}".repeat(3_000), 400)]
    {
        let answer = send(format!("client_id={}&state={state}", client.id)).await;
        assert_eq!((answer.status, answer.header("location").is_empty()), (status, status == 400));
    }
    sluice.node.stop().await;
}
