//! Consent.

use std::sync::Arc;

use axum::http::StatusCode;
use serde_json::{Map, Value, json};
use sluice_oauth::client::{AccessTokenStrategy, Client, ClientRepository};
use sluice_oauth::config::{EmailClaim, PreferredUsername};
use sluice_oauth::flow::{Consent, Decision, Request};
use sluice_protocol::Subject;
use sluice_store_contract::given;
use sluice_testkit::Captured;
use url::Url;

use super::people::mailed_code;
use super::world::{ALICE, Answer, World, form};

impl World {
    async fn decided(&self, answer: &Answer) -> Decision<Consent> {
        self.flows.open_consent_verifier(&answer.sent_with("consent_verifier")).await.unwrap().answer
    }

    async fn consented(&self, answer: &Answer) -> Consent {
        match self.decided(answer).await {
            Decision::Accepted(consent) => consent,
            Decision::Rejected(rejection) => panic!("{rejection:?}"),
        }
    }

    async fn alice(&self) -> Subject {
        self.register_alice().await.to_string().parse().unwrap()
    }

    /// Alice, who calls herself so and has read her mail.
    async fn verified_as(&self, username: &str) -> Subject {
        let alice = self.register(ALICE, username).await;
        let code = mailed_code(self.mail.read().await.first().unwrap());
        let csrf = self.get("/ui/verification").await.field("csrf");
        self.post("/ui/verification", &[("csrf", &csrf), ("email", ALICE), ("code", &code)]).await;
        alice.to_string().parse().unwrap()
    }

    /// What the client is told about this person who allows these scopes.
    async fn told(&self, subject: &Subject, scopes: &[&str]) -> Map<String, Value> {
        let page = self.at_consent(subject.clone(), None, false).await;
        let ticked: Vec<_> = scopes.iter().map(|scope| ("grant_scope", *scope)).collect();
        let answer = self.fill_in(&page, &[&ticked[..], &[("decision", "accept")]].concat()).await;
        self.consented(&answer).await.id_token
    }
}

#[tokio::test]
async fn the_page_says_who_asks_for_what_and_as_whom() {
    let world = World::new().await;
    let page = world.at_consent(world.alice().await, None, false).await;
    let shown = world.get(&page).await;
    assert_eq!(shown.status, StatusCode::OK);
    for part in [
        "&#60;b&#62;Shop",
        ALICE,
        "See your email address",
        "<strong><bdi>127.0.0.1</bdi>",
        "<code>api</code>",
    ] {
        assert!(shown.body.contains(part), "{part}: {}", shown.body);
    }
}

#[tokio::test]
async fn what_a_person_decides_is_told() {
    let world = World::new().await;
    let (log, _guard) = Captured::begin();
    let alice = world.alice().await;
    let page = world.at_consent(alice.clone(), None, false).await;
    for decision in ["accept", "reject"] {
        world.fill_in(&page, &[("decision", decision)]).await;
    }
    let elsewhere: Subject = "alice@example.com".parse().unwrap();
    let page = world.at_consent(elsewhere, None, false).await;
    world.fill_in(&page, &[("decision", "reject")]).await;
    let lines = log.lines("sluice_audit: consent");
    let told: Vec<_> =
        lines.iter().filter_map(|line| line.split_once("sluice_audit: ")).map(|(_, told)| told).collect();
    let whose = format!("identity.id={alice} client.id={}", world.request().client);
    assert_eq!(told, [format!("consent given {whose}"), format!("consent denied {whose}")]);
}

#[tokio::test]
async fn of_a_client_that_describes_itself_the_host_is_shown_for_a_device_too() {
    let world = World::new().await;
    let mut request = Request { client: world.described_client().await, ..world.request() };
    request.details.device = true;
    let page = world.at_consent_of(request, (world.alice().await, None), false).await;
    let shown = world.get(&page).await.body;
    assert!(shown.contains("it comes from <strong><bdi>app.example</bdi>"), "{shown}");
    assert!(!shown.contains("you return to"), "{shown}");
}

#[tokio::test]
async fn of_a_client_that_registered_itself_it_is_shown_where_it_leads_and_no_page_of_others() {
    let world = World::new().await;
    let (own, others) = ("https://shop.example/terms", "https://bank.example/privacy");
    let client = world.stranger(others, own).await;
    let led_to = |uri: &str| {
        let redirect_uri = uri.parse().unwrap();
        Request { client: client.clone(), redirect_uri, ..world.request() }
    };
    let mut of_device = led_to("https://shop.example/callback");
    of_device.details.device = true;
    for (request, said) in [
        (
            led_to("https://shop.example/callback"),
            ", and takes you to <strong><bdi>shop.example</bdi></strong>.",
        ),
        (led_to("editor://bank.example/cb"), ", and takes you to <strong><bdi>editor:</bdi></strong>."),
        (of_device, "."),
    ] {
        let page = world.at_consent_of(request, ("somebody".parse().unwrap(), None), false).await;
        let shown = world.get(&page).await.body;
        let said = format!("Whatever it calls itself: it registered itself{said}</p>");
        assert!(shown.contains(&said), "{said}: {shown}");
        assert!(shown.contains(own) && !shown.contains(others), "{shown}");
    }
    let page = world.at_consent("somebody".parse().unwrap(), None, false).await;
    assert!(!world.get(&page).await.body.contains("registered itself"), "an administrator registered it");
}

/// A redirect URI at the host of others costs a client nothing: nobody has to be sent there.
#[tokio::test]
async fn a_client_that_registered_itself_has_links_at_the_one_host_that_it_leads_to() {
    let policy = "https://bank.example/privacy";
    for (redirect_uris, is_link) in [
        ("https://bank.example/callback", true),
        ("https://bank.example/callback https://bank.example:8443/other com.example.bank:/cb", true),
        ("https://evil.example/cb https://bank.example/callback", false),
        ("https://bank.example/callback http://127.0.0.1/cb", false),
        ("com.example.bank:/cb", false),
    ] {
        let world = World::new().await;
        let stranger = Client {
            redirect_uris: redirect_uris.split(' ').map(|uri| uri.parse().unwrap()).collect(),
            policy_uri: policy.to_owned(),
            registered_itself: true,
            ..given::client("stranger", "")
        };
        world.store.insert(&stranger).await.unwrap();
        let request = Request { client: stranger.id, ..world.request() };
        let page = world.at_consent_of(request, ("somebody".parse().unwrap(), None), false).await;
        let shown = world.get(&page).await.body;
        assert!(shown.contains("it registered itself"), "{shown}");
        assert_eq!(shown.contains(policy), is_link, "{redirect_uris}: {shown}");
    }
}

#[tokio::test]
async fn whoever_is_not_the_person_who_is_asked_begins_the_same_request_with_another_account() {
    let world = World::new().await;
    let ask = async |request: Request| {
        let page = world.at_consent_of(request, ("somebody".parse().unwrap(), None), false).await;
        world.get(&page).await
    };
    let shown = ask(Request { login_hint: Some(ALICE.to_owned()), ..world.request() }).await;
    let anew: Url = shown.after("Not you? <a href=\"").parse().unwrap();
    let asked =
        |name: &str| anew.query_pairs().find(|(own, _)| own == name).map(|(_, value)| value.into_owned());
    assert_eq!((anew.path(), asked("prompt").as_deref()), ("/oauth2/auth", Some("login select_account")));
    assert_eq!((asked("state").as_deref(), asked("login_hint")), (Some("state-of-the-client"), None));
    let (cookie, _) = world.signed_in(world.register_alice().await).await;
    let anew = Request { prompt: asked("prompt").unwrap().parse().unwrap(), ..world.request() };
    let login = world.shown_to(anew, &cookie).await;
    assert_eq!(login.status, StatusCode::OK, "{}", login.body);
    assert!(!login.body.contains(ALICE) && !login.body.contains("Confirm that it is you"), "{}", login.body);
    let (mut pushed, mut of_device) = (world.request(), world.request());
    (pushed.details.pushed, of_device.details.device) = (true, true);
    let wanted = Request { hinted_subject: Some("somebody".parse().unwrap()), ..world.request() };
    for request in [pushed, of_device, wanted] {
        let shown = ask(request).await;
        assert_eq!(shown.status, StatusCode::OK);
        assert!(!shown.body.contains("Not you?"), "{}", shown.body);
    }
}

/// An administrator may have written anything there.
#[tokio::test]
async fn what_a_client_shows_is_a_link_only_where_it_is_an_address_of_the_web() {
    for (text, is_link) in [
        ("https://links.example/about", true),
        ("http://links.example/about", true),
        ("links.example", false),
        ("//links.example/about", false),
        ("file:///etc/links.example", false),
        ("javascript:links.example", false),
        ("data:image/png;base64,iVBORw0KGgo=", false),
    ] {
        let world = World::new().await;
        let request = Request { client: world.client_that_shows(text).await, ..world.request() };
        let page = world.at_consent_of(request, ("somebody".parse().unwrap(), None), false).await;
        let shown = world.get(&page).await;
        assert_eq!(shown.status, StatusCode::OK);
        assert_eq!(shown.body.contains(&format!("href=\"{text}\"")), is_link, "{text}: {}", shown.body);
        assert!(is_link || !shown.body.contains(text), "{text}: {}", shown.body);
        assert_eq!(given::client("any", "").link(text).is_some(), is_link, "what the other pages ask");
        // Whatever it is, nothing of it is loaded or run.
        let policy = shown.header("content-security-policy");
        assert!(
            policy.starts_with("default-src 'none'; style-src 'self'; img-src 'self'; base-uri"),
            "{policy}"
        );
    }
}

#[tokio::test]
async fn what_is_ticked_is_granted_and_openid_always() {
    let world = World::new().await;
    let page = world.at_consent(world.alice().await, None, false).await;
    let fields =
        [("grant_scope", "email"), ("grant_scope", "admin"), ("remember", "true"), ("decision", "accept")];
    let consent = world.consented(&world.fill_in(&page, &fields).await).await;
    assert_eq!(consent.scope.as_str(), "openid email");
    assert_eq!(consent.audience.as_slice(), ["api"]);
    assert!(consent.remember.is_some());
    assert_eq!(json!(consent.id_token), json!({ "email": ALICE, "email_verified": false }));
}

#[tokio::test]
async fn a_hundred_scopes_are_allowed_and_denied_as_a_few_are() {
    let world = World::new().await;
    let scopes: Vec<String> = (0..100).map(|number| format!("scope-{number}")).collect();
    let request = Request { scope: scopes.join(" ").parse().unwrap(), ..world.request() };
    let page = world.at_consent_of(request, ("somebody".parse().unwrap(), None), false).await;
    let ticked: Vec<_> = scopes.iter().map(|scope| ("grant_scope", scope.as_str())).collect();
    let allowed = world.fill_in(&page, &[&ticked[..], &[("decision", "accept")]].concat()).await;
    assert_eq!(world.consented(&allowed).await.scope.as_str(), scopes.join(" "));
    let denied = world.fill_in(&page, &[&ticked[..], &[("decision", "reject")]].concat()).await;
    assert!(matches!(world.decided(&denied).await, Decision::Rejected(_)));
}

#[tokio::test]
async fn what_a_person_has_said_and_proved_is_told_by_scope() {
    let world = World::new().await;
    let subject = world.verified_as("Alice").await;
    let page = world.at_consent(subject, None, false).await;
    let shown = world.get(&page).await.body;
    assert!(shown.contains("<bdi>Alice</bdi>") && shown.contains(ALICE), "{shown}");
    let now = world.now().as_secs();
    let profile = json!({ "name": "Alice", "preferred_username": "Alice", "updated_at": now });
    let email = json!({ "email": ALICE, "email_verified": true });
    for (scope, told) in [("profile", profile), ("email", email)] {
        let fields = [("grant_scope", scope), ("decision", "accept")];
        let consent = world.consented(&world.fill_in(&page, &fields).await).await;
        assert_eq!(json!(consent.id_token), told);
    }
}

/// Another login page may call somebody so.
#[tokio::test]
async fn another_spelling_of_the_id_of_a_person_is_somebody_else() {
    let world = World::new().await;
    let alice = world.alice().await;
    for spelling in [format!("urn:uuid:{}", alice.as_str()), alice.as_str().replace('-', "")] {
        let page = world.at_consent(spelling.parse().unwrap(), None, false).await;
        let shown = world.get(&page).await.body;
        assert!(shown.contains(&spelling) && !shown.contains(ALICE), "{shown}");
        let fields = [("grant_scope", "email"), ("grant_scope", "profile"), ("decision", "accept")];
        let consent = world.consented(&world.fill_in(&page, &fields).await).await;
        assert_eq!(json!(consent.id_token), json!({}), "{spelling}");
    }
}

#[tokio::test]
async fn an_address_is_no_name_for_a_client_that_may_not_know_it() {
    let world = World::new().await;
    let page = world.at_consent(world.alice().await, None, false).await;
    let fields = [("grant_scope", "profile"), ("decision", "accept")];
    let consent = world.consented(&world.fill_in(&page, &fields).await).await;
    assert_eq!(json!(consent.id_token), json!({ "updated_at": world.now().as_secs() }));
}

#[tokio::test]
async fn a_decision_that_is_known_grants_everything_without_a_page() {
    let world = World::new().await;
    let context = Some(json!({ "email": "of@login.example" }));
    let page = world.at_consent("somebody".parse().unwrap(), context, true).await;
    let consent = world.consented(&world.get(&page).await).await;
    assert_eq!(consent.scope.as_str(), "openid email profile offline_access");
    assert_eq!(consent.remember, None);
    let told = json!({ "email": "of@login.example", "email_verified": false });
    assert_eq!(json!(consent.id_token), told, "nobody goes by an address of which nobody knows whose it is");
}

/// Some applications keep accounts by it.
#[tokio::test]
async fn nobody_is_called_by_an_address_that_is_not_shown_to_be_theirs() {
    let (profile, both) = (&["profile"][..], &["profile", "email"][..]);
    for (username, is_verified, scopes, called) in [
        ("Alice L.", false, profile, Some("Alice L.")),
        ("", false, both, None),
        ("", true, both, Some(ALICE)),
        ("", true, profile, None),
        (ALICE, false, both, None),
        ("Alice@Example.COM", true, profile, Some(ALICE)),
        ("bob@example.com", true, profile, None),
        ("bob@example.com", true, both, Some(ALICE)),
        ("bob@example.com", false, both, None),
        ("bob\u{FF20}example.com", true, profile, None),
        ("bob\u{FE6B}example.com", true, profile, None),
        ("alice\u{FF20}example.com", true, profile, None),
        // Where nothing else is told, some call people by their `sub`.
        ("0194d1c6-5f2e-7c31-9a55-0123456789ab", true, profile, None),
        ("\u{FF10}194D1C65F2E7C319A550123456789AB", true, profile, None),
        ("0194d1c6", true, profile, Some("0194d1c6")),
    ] {
        let world = World::new().await;
        let alice = if is_verified {
            world.verified_as(username).await
        } else {
            world.register(ALICE, username).await.to_string().parse().unwrap()
        };
        let told = world.told(&alice, scopes).await;
        let said = told.get("preferred_username").and_then(Value::as_str);
        assert_eq!(said, called, "{username} {is_verified} {scopes:?}");
        let name = told.get("name").and_then(Value::as_str).unwrap_or_default();
        assert_eq!(name, username, "what people call themselves is shown");
    }
}

#[tokio::test]
async fn people_are_called_by_their_verified_address_or_by_nothing_where_it_is_configured() {
    let (profile, both) = (&["profile"][..], &["profile", "email"][..]);
    for (called_by, username, is_verified, scopes, called) in [
        (PreferredUsername::Email, "Alice", true, both, Some(ALICE)),
        (PreferredUsername::Email, "Alice", true, profile, None),
        (PreferredUsername::Email, ALICE, true, profile, None),
        (PreferredUsername::Email, "Alice", false, both, None),
        (PreferredUsername::Nothing, "Alice", true, both, None),
    ] {
        let mut world = World::new().await;
        let mut config = (*world.ui.config).clone();
        config.policies.preferred_username = called_by;
        world.ui.config = Arc::new(config);
        let alice = if is_verified {
            world.verified_as(username).await
        } else {
            world.register(ALICE, username).await.to_string().parse().unwrap()
        };
        let told = world.told(&alice, scopes).await;
        assert_eq!(told["name"], username);
        let said = told.get("preferred_username").and_then(Value::as_str);
        assert_eq!(said, called, "{called_by:?} {username} {is_verified} {scopes:?}");
    }
}

/// Some applications let in whoever bears an address.
#[tokio::test]
async fn an_address_is_told_always_or_once_it_is_verified() {
    for (when, is_verified, told) in [
        (EmailClaim::Always, true, json!({ "email": ALICE, "email_verified": true })),
        (EmailClaim::Always, false, json!({ "email": ALICE, "email_verified": false })),
        (EmailClaim::Verified, true, json!({ "email": ALICE, "email_verified": true })),
        (EmailClaim::Verified, false, json!({ "email_verified": false })),
    ] {
        let mut world = World::new().await;
        let mut config = (*world.ui.config).clone();
        config.policies.email_claim = when;
        world.ui.config = Arc::new(config);
        let alice = if is_verified { world.verified_as("Alice").await } else { world.alice().await };
        assert_eq!(json!(world.told(&alice, &["email"]).await), told, "{when:?} {is_verified}");
        // Of an address that another login page hands on nobody knows here whose it is.
        let context = Some(json!({ "email": "of@login.example" }));
        let page = world.at_consent("somebody".parse().unwrap(), context, true).await;
        let consent = world.consented(&world.get(&page).await).await;
        assert_eq!(consent.id_token.contains_key("email"), when == EmailClaim::Always);
    }
}

impl World {
    /// A request for these claims one by one and no scope but `openid`.
    fn request_for_claims(&self, claims: &str) -> Request {
        let mut request = Request { scope: "openid".parse().unwrap(), ..self.request() };
        request.details.claims = Some(claims.to_owned());
        request
    }
}

#[tokio::test]
async fn claims_that_are_asked_for_one_by_one_are_shown_and_can_be_unticked() {
    let world = World::new().await;
    let alice = world.alice().await;
    let request =
        world.request_for_claims(r#"{"userinfo":{"email":null},"id_token":{"preferred_username":null}}"#);
    let page = world.at_consent_of(request, (alice, None), false).await;
    let shown = world.get(&page).await.body;
    assert!(
        shown.contains("See your email address") && shown.contains("See your name and profile"),
        "{shown}"
    );
    let ticked = [("grant_scope", "email"), ("decision", "accept")];
    let consent = world.consented(&world.fill_in(&page, &ticked).await).await;
    assert_eq!(consent.scope.as_str(), "openid", "a claim grants no scope");
    assert_eq!(json!(consent.id_token), json!({ "email": ALICE, "email_verified": false }));
    let consent = world.consented(&world.fill_in(&page, &[("decision", "accept")]).await).await;
    assert!(consent.id_token.is_empty());
}

#[tokio::test]
async fn a_claim_that_nobody_was_asked_about_is_not_told_by_a_decision_that_is_known() {
    let world = World::new().await;
    let context = Some(json!({ "email": "of@login.example" }));
    let request = world.request_for_claims(r#"{"userinfo":{"email":{"essential":true}}}"#);
    let page = world.at_consent_of(request, ("somebody".parse().unwrap(), context), true).await;
    assert!(world.consented(&world.get(&page).await).await.id_token.is_empty());
}

#[tokio::test]
async fn what_is_asked_for_in_detail_is_shown_and_no_more_is_granted() {
    let world = World::new().await;
    let details = json!([{"type": "payment<i>", "instructedAmount": {"currency": "EUR", "amount": "123.50"},
                          "creditor": "<script>Bob"}]);
    let mut request = Request { client: world.client_that_details("payment<i>").await, ..world.request() };
    request.details.authorization_details = Some(details.to_string());
    let page = world.at_consent_of(request, ("somebody".parse().unwrap(), None), false).await;
    let shown = world.get(&page).await.body;
    for part in ["payment&#60;i&#62;", "instructedAmount", "EUR", "123.50", "creditor", "&#60;script&#62;Bob"]
    {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert!(!shown.contains("<i>") && !shown.contains("<script>Bob"), "{shown}");
    let consent = world.consented(&world.fill_in(&page, &[("decision", "accept")]).await).await;
    assert_eq!(consent.authorization_details, None, "what was asked for, which the request carries");
    let plain = world.at_consent("somebody".parse().unwrap(), None, false).await;
    assert!(!world.get(&plain).await.body.contains("In particular"));
    let consent = world.consented(&world.fill_in(&plain, &[("decision", "accept")]).await).await;
    assert_eq!(consent.authorization_details, None);
}

/// What nobody here can do anything about.
#[tokio::test]
async fn details_that_cannot_be_granted_are_told_to_the_client() {
    for (registered, length, is_granted) in
        [("payment", 10, true), ("payment", 5000, false), ("other", 10, false)]
    {
        let world = World::new().await;
        let client = Client {
            authorization_details_types: vec![registered.to_owned()],
            access_token_strategy: Some(AccessTokenStrategy::Jwt),
            ..given::client("detailing", "")
        };
        world.store.insert(&client).await.unwrap();
        let mut request = Request { client: client.id, ..world.request() };
        let details = json!([{"type": "payment", "text": "x".repeat(length)}]);
        request.details.authorization_details = Some(details.to_string());
        for skip in [false, true] {
            let page = world.at_consent_of(request.clone(), ("somebody".parse().unwrap(), None), skip).await;
            let answer = if skip {
                world.get(&page).await
            } else {
                world.fill_in(&page, &[("decision", "accept")]).await
            };
            match world.decided(&answer).await {
                Decision::Accepted(_) => assert!(is_granted, "{registered} {length} {skip}"),
                Decision::Rejected(rejection) => {
                    assert_eq!(
                        (rejection.error.as_str(), is_granted),
                        ("invalid_authorization_details", false)
                    );
                }
            }
        }
    }
}

#[tokio::test]
async fn a_page_before_an_application_that_the_browser_opens_can_be_closed_or_started_again() {
    let world = World::new().await;
    for (uri, is_device, opens) in [
        ("com.example.app:/cb", false, true),
        ("com.example.app:/cb", true, false),
        ("https://app.example/cb", false, false),
    ] {
        let mut request = Request { redirect_uri: uri.parse().unwrap(), ..world.request() };
        request.details.device = is_device;
        let page = world.at_consent_of(request, ("somebody".parse().unwrap(), None), false).await;
        for decision in ["accept", "reject"] {
            let shown = world.fill_in(&page, &[("decision", decision)]).await;
            assert!(!shown.sent_with("consent_verifier").is_empty());
            let begins = shown.body.contains("href=\"https://id.example/oauth2/auth?client_id=shop");
            let goes_on = shown.body.contains("oauth2/auth?consent_verifier=");
            let says = shown.body.contains("Your application opens.");
            assert_eq!((says, begins, goes_on), (opens, opens, !opens), "{uri} {is_device}: {}", shown.body);
        }
    }
}

#[tokio::test]
async fn a_subject_that_is_no_identity_has_no_claims() {
    let world = World::new().await;
    let page = world.at_consent("somebody".parse().unwrap(), None, false).await;
    assert!(world.get(&page).await.body.contains("somebody"));
    let fields = [("grant_scope", "email"), ("decision", "accept")];
    let consent = world.consented(&world.fill_in(&page, &fields).await).await;
    assert!(consent.id_token.is_empty());
}

/// The Enter key in a field presses the first button of its form.
#[tokio::test]
async fn the_enter_key_decides_nothing() {
    let world = World::new().await;
    let page = world.at_consent("somebody".parse().unwrap(), None, false).await;
    let shown = world.get(&page).await;
    let first = shown.body.split_once("<button ").unwrap().1.split_once('>').unwrap().0;
    let is_hidden = "class=\"visually-hidden\" type=\"submit\" formmethod=\"dialog\" tabindex=\"-1\" aria-hidden=\"true\"";
    assert_eq!(first, is_hidden);
}

#[tokio::test]
async fn a_refusal_is_told_to_the_client() {
    let world = World::new().await;
    let page = world.at_consent("somebody".parse().unwrap(), None, false).await;
    let Decision::Rejected(rejection) =
        world.decided(&world.fill_in(&page, &[("decision", "reject")]).await).await
    else {
        panic!("it was refused");
    };
    assert_eq!(rejection.error, "access_denied");
}

#[tokio::test]
async fn without_a_decision_or_the_token_nothing_is_decided() {
    let world = World::new().await;
    let page = world.at_consent("somebody".parse().unwrap(), None, false).await;
    let undecided = world.fill_in(&page, &[("grant_scope", "email")]).await;
    assert_eq!(undecided.status, StatusCode::UNPROCESSABLE_ENTITY);
    let challenge = page.split_once('=').unwrap().1;
    let forged =
        world.send(form("/ui/consent", &[("consent_challenge", challenge), ("decision", "accept")])).await;
    assert_eq!(forged.status, StatusCode::BAD_REQUEST);
}
