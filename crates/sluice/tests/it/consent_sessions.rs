//! What the list of consents says: decisions as long as they are remembered, and what else lives; and how each of them ends.

use reqwest::Method;
use serde_json::{Value, json};
use sluice_primitives::Lifetime;
use sluice_testkit::{Authorize, Backend, TestClient, TestSluice, accept_consent, accept_login};

use crate::both_stores::on_both_stores;
use crate::legs::{change_client, consent_challenge, consent_request, delete, token};

on_both_stores! {
    a_remembered_decision_is_listed_until_it_ends,
    a_decision_without_end_is_listed_for_ever,
    a_decision_that_has_ended_is_deleted,
    what_was_asked_for_is_listed_beside_what_was_granted,
    logins_that_skipped_consent_are_not_listed,
    a_page_that_is_skipped_renews_no_decision,
    clients_that_need_no_consent_are_listed,
    a_client_that_begins_to_need_consent_has_none,
    what_was_skipped_ends_with_its_decision,
    a_decision_that_is_withdrawn_while_its_page_is_skipped_counts_no_more,
    a_decision_is_revoked_by_its_id_with_or_without_its_grant,
    a_decision_is_revoked_by_the_id_of_its_request_when_its_tokens_are_gone,
    an_id_of_a_decision_revokes_no_later_one,
    a_query_that_does_not_say_one_thing_revokes_nothing,
    a_list_goes_on_from_decisions_to_grants,
    the_consents_of_a_session_are_listed_without_their_tokens_too,
}

const CONSENTS: &str = "/admin/oauth2/auth/sessions/consent";

/// What came of a login of `alice` with consent.
struct Consented {
    /// What the consent page was told.
    request: Value,
    tokens: Value,
}

impl Consented {
    /// In a browser of its own.
    async fn new(sluice: &TestSluice, client: &TestClient, changes: &Value) -> Self {
        let mut browser = sluice.browser();
        let challenge = consent_challenge(sluice, client, &mut browser, "alice").await;
        let request = consent_request(sluice, &challenge).await;
        let verifier = accept_consent(sluice, &challenge, changes).await;
        let tokens = client.redeem(&browser.visit(&verifier).await.expect("code")).await.ok();
        Self { request, tokens }
    }

    async fn is_active(&self, sluice: &TestSluice) -> bool {
        sluice.is_active(token(&self.tokens, "access_token")).await
    }
}

fn remembered() -> Value {
    json!({"remember": true, "remember_for": 0})
}

/// A client whose grants end with their access tokens, after an hour.
async fn without_refresh(sluice: &TestSluice) -> TestClient {
    sluice.client(&json!({"grant_types": ["authorization_code"]})).await
}

async fn is_skipped(sluice: &TestSluice, client: &TestClient) -> bool {
    let challenge = consent_challenge(sluice, client, &mut sluice.browser(), "alice").await;
    consent_request(sluice, &challenge).await["skip"] == json!(true)
}

async fn listed(sluice: &TestSluice, more: &str) -> Vec<Value> {
    let path = format!("{CONSENTS}?subject=alice{more}");
    let listed = sluice.ask_json(Method::GET, &path, None, 200).await;
    listed.as_array().unwrap().clone()
}

fn id(consent: &Value) -> &str {
    consent["consent_request_id"].as_str().unwrap()
}

async fn revoke(sluice: &TestSluice, what: &str) {
    sluice.advance(Lifetime::secs(1));
    delete(sluice, &format!("{CONSENTS}?{what}")).await;
    sluice.advance(Lifetime::secs(1));
}

/// Until nothing is left of tokens and grants.
async fn let_tokens_end(sluice: &TestSluice) {
    sluice.advance(Lifetime::minutes(119));
    sluice.node.tidy().await.unwrap();
}

async fn what_was_asked_for_is_listed_beside_what_was_granted(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({})).await;
    let (scope, audience) = ("openid offline_access email", "https://api.test");
    let with = Authorize { scope, more: &[("audience", audience)], ..Authorize::default() };
    let granted = json!(["openid", "email"]);
    for remember in [false, true] {
        let mut browser = sluice.browser();
        let challenge = browser.begin(&client, &with).await;
        let verifier = accept_login(&sluice, &challenge, &json!({"subject": "alice"})).await;
        let challenge = browser.visit(&verifier).await.expect("consent_challenge");
        let less = json!({"grant_scope": granted, "grant_access_token_audience": [], "remember": remember});
        let verifier = accept_consent(&sluice, &challenge, &less).await;
        browser.visit(&verifier).await.expect("code");
        // Decisions come first.
        let listed = listed(&sluice, "").await;
        let (consent, about) = (&listed[0], &listed[0]["consent_request"]);
        assert_eq!(consent["remember"], remember);
        assert_eq!(
            (&consent["grant_scope"], &consent["grant_access_token_audience"]),
            (&granted, &json!([]))
        );
        assert_eq!(about["requested_scope"], json!(["openid", "offline_access", "email"]));
        assert_eq!(about["requested_access_token_audience"], json!([audience]));
    }
    sluice.node.stop().await;
}

async fn a_remembered_decision_is_listed_until_it_ends(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = without_refresh(&sluice).await;
    let for_two_hours = json!({"remember": true, "remember_for": 7200, "context": {"from": "the page"}});
    let request = Consented::new(&sluice, &client, &for_two_hours).await.request;
    let living = listed(&sluice, "").await;
    assert_eq!(living.len(), 1);
    assert_eq!(id(&living[0]), id(&request));
    let_tokens_end(&sluice).await;
    delete(&sluice, "/admin/oauth2/auth/sessions/login?subject=alice").await;
    let left = listed(&sluice, "").await;
    assert_eq!(left.len(), 1);
    let (before, consent) = (&living[0], &left[0]);
    for same in ["grant_scope", "session", "remember", "remember_for", "handled_at", "context"] {
        assert_eq!(consent[same], before[same], "{same}");
    }
    assert_eq!((&consent["remember"], &consent["remember_for"]), (&json!(true), &json!(7200)));
    let (about, before) = (&consent["consent_request"], &before["consent_request"]);
    for same in ["client", "subject", "requested_scope", "skip", "login_challenge", "login_session_id"] {
        assert_eq!(about[same], before[same], "{same}");
    }
    assert_eq!((&about["skip"], &about["login_challenge"]), (&json!(false), &request["login_challenge"]));
    assert_eq!(listed(&sluice, "").await, left, "by the same id");
    sluice.advance(Lifetime::minutes(1));
    assert!(listed(&sluice, "").await.is_empty());
    sluice.node.stop().await;
}

async fn a_decision_without_end_is_listed_for_ever(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = without_refresh(&sluice).await;
    Consented::new(&sluice, &client, &remembered()).await;
    sluice.advance(Lifetime::hours(24 * 365));
    sluice.node.tidy().await.unwrap();
    let left = listed(&sluice, "").await;
    assert_eq!((left.len(), &left[0]["remember_for"]), (1, &json!(0)));
    revoke(&sluice, &format!("subject=alice&client={}", client.id)).await;
    assert!(listed(&sluice, "").await.is_empty());
    assert!(!is_skipped(&sluice, &client).await);
    sluice.node.stop().await;
}

async fn a_decision_that_has_ended_is_deleted(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = without_refresh(&sluice).await;
    let deleted_after = async |changes: Value| {
        Consented::new(&sluice, &client, &changes).await;
        sluice.advance(Lifetime::minutes(119));
        sluice.node.tidy().await.unwrap()
    };
    let grant = deleted_after(json!({})).await;
    let for_an_hour = json!({"remember": true, "remember_for": 3600});
    assert_eq!(deleted_after(for_an_hour).await, grant + 1, "the decision goes, too");
    assert_eq!(deleted_after(remembered()).await, grant);
    sluice.node.stop().await;
}

async fn logins_that_skipped_consent_are_not_listed(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({})).await;
    let first = Consented::new(&sluice, &client, &remembered()).await;
    for _ in 0..2 {
        sluice.advance(Lifetime::secs(1));
        let again = Consented::new(&sluice, &client, &json!({})).await;
        assert_eq!(again.request["skip"], true);
    }
    let all = listed(&sluice, "").await;
    assert_eq!(all.len(), 1);
    assert_eq!(id(&all[0]), id(&first.request));
    let other = sluice.client(&json!({})).await;
    for _ in 0..2 {
        Consented::new(&sluice, &other, &json!({})).await;
    }
    assert_eq!(listed(&sluice, "").await.len(), 3, "what was asked for is listed each time");
    sluice.node.stop().await;
}

/// However often it says that it is to be remembered.
async fn a_page_that_is_skipped_renews_no_decision(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({})).await;
    let for_an_hour = json!({"remember": true, "remember_for": 3600});
    let first = Consented::new(&sluice, &client, &for_an_hour).await;
    sluice.advance(Lifetime::minutes(59));
    let again = Consented::new(&sluice, &client, &for_an_hour).await;
    assert_eq!(again.request["skip"], true);
    let all = listed(&sluice, "").await;
    assert_eq!((all.len(), id(&all[0])), (1, id(&first.request)));
    sluice.advance(Lifetime::minutes(1));
    assert!(!is_skipped(&sluice, &client).await, "an hour after the decision");
    sluice.node.stop().await;
}

async fn clients_that_need_no_consent_are_listed(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({"skip_consent": true})).await;
    for changes in [json!({}), remembered()] {
        let login = Consented::new(&sluice, &client, &changes).await;
        assert_eq!(login.request["skip"], true);
        let all = listed(&sluice, "").await;
        assert_eq!((all.len(), id(&all[0])), (1, id(&login.request)), "{changes}");
        assert_eq!(all[0]["remember"], !changes["remember"].is_null());
        revoke(&sluice, &format!("consent_request_id={}", id(&all[0]))).await;
        assert!(!login.is_active(&sluice).await, "{changes}");
        assert!(listed(&sluice, "").await.is_empty(), "{changes}");
    }
    sluice.node.stop().await;
}

async fn a_client_that_begins_to_need_consent_has_none(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({"skip_consent": true})).await;
    let login = Consented::new(&sluice, &client, &remembered()).await;
    assert_eq!(login.request["skip"], true);
    change_client(&sluice, &client, "skip_consent", json!(false)).await;
    assert!(!is_skipped(&sluice, &client).await, "nobody has consented");
    assert_eq!(listed(&sluice, "").await.len(), 1, "what was granted before");
    assert!(login.is_active(&sluice).await);
    sluice.node.stop().await;
}

async fn what_was_skipped_ends_with_its_decision(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({})).await;
    for by_client in [true, false] {
        let asked = Consented::new(&sluice, &client, &remembered()).await;
        sluice.advance(Lifetime::secs(1));
        let skipped = Consented::new(&sluice, &client, &json!({})).await;
        assert_eq!((&asked.request["skip"], &skipped.request["skip"]), (&json!(false), &json!(true)));
        let what = if by_client {
            format!("subject=alice&client={}", client.id)
        } else {
            format!("consent_request_id={}", id(&asked.request))
        };
        revoke(&sluice, &what).await;
        assert!(!asked.is_active(&sluice).await && !skipped.is_active(&sluice).await, "{what}");
        assert!(listed(&sluice, "").await.is_empty(), "{what}");
    }
    // One login that skipped it ends alone.
    let asked = Consented::new(&sluice, &client, &remembered()).await;
    sluice.advance(Lifetime::secs(1));
    let skipped = Consented::new(&sluice, &client, &json!({})).await;
    revoke(&sluice, &format!("consent_request_id={}", id(&skipped.request))).await;
    assert!(asked.is_active(&sluice).await && !skipped.is_active(&sluice).await);
    assert_eq!(listed(&sluice, "").await.len(), 1);
    sluice.node.stop().await;
}

/// Nobody was asked, and whoever was asked before has said no meanwhile.
async fn a_decision_that_is_withdrawn_while_its_page_is_skipped_counts_no_more(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({})).await;
    Consented::new(&sluice, &client, &remembered()).await;
    let mut browser = sluice.browser();
    let challenge = consent_challenge(&sluice, &client, &mut browser, "alice").await;
    assert_eq!(consent_request(&sluice, &challenge).await["skip"], true);
    let verifier = accept_consent(&sluice, &challenge, &json!({})).await;
    revoke(&sluice, &format!("subject=alice&client={}", client.id)).await;
    let challenge = browser.visit(&verifier).await.expect("consent_challenge");
    assert_eq!(consent_request(&sluice, &challenge).await["skip"], false, "they are asked after all");
    let verifier = accept_consent(&sluice, &challenge, &json!({})).await;
    let tokens = client.redeem(&browser.visit(&verifier).await.expect("code")).await.ok();
    assert!(sluice.is_active(token(&tokens, "access_token")).await);
    assert_eq!(listed(&sluice, "").await.len(), 1);
    sluice.node.stop().await;
}

async fn a_decision_is_revoked_by_its_id_with_or_without_its_grant(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let (client, other) = (without_refresh(&sluice).await, without_refresh(&sluice).await);
    for lives in [true, false] {
        for each in [&client, &other] {
            Consented::new(&sluice, each, &remembered()).await;
        }
        if !lives {
            let_tokens_end(&sluice).await;
        }
        let all = listed(&sluice, "").await;
        assert_eq!(all.len(), 2);
        let is_of = |client: &TestClient, consent: &Value| {
            consent["consent_request"]["client"]["client_id"] == client.id.as_str()
        };
        let one = all.iter().find(|consent| is_of(&client, consent)).unwrap();
        revoke(&sluice, &format!("consent_request_id={}", id(one))).await;
        let left = listed(&sluice, "").await;
        assert!(left.len() == 1 && is_of(&other, &left[0]), "{left:?}");
        assert!(!is_skipped(&sluice, &client).await && is_skipped(&sluice, &other).await);
        revoke(&sluice, "subject=alice&all=true").await;
    }
    delete(&sluice, &format!("{CONSENTS}?consent_request_id=x")).await;
    sluice.node.stop().await;
}

/// A page may have kept what it was told.
async fn a_decision_is_revoked_by_the_id_of_its_request_when_its_tokens_are_gone(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = without_refresh(&sluice).await;
    let request = Consented::new(&sluice, &client, &remembered()).await.request;
    let_tokens_end(&sluice).await;
    assert!(is_skipped(&sluice, &client).await);
    let by_request = format!("consent_request_id={}", id(&request));
    revoke(&sluice, &by_request).await;
    assert!(!is_skipped(&sluice, &client).await);
    let later = Consented::new(&sluice, &client, &remembered()).await;
    revoke(&sluice, &by_request).await;
    assert!(later.is_active(&sluice).await && is_skipped(&sluice, &client).await, "another decision");
    sluice.node.stop().await;
}

async fn an_id_of_a_decision_revokes_no_later_one(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = without_refresh(&sluice).await;
    Consented::new(&sluice, &client, &remembered()).await;
    let_tokens_end(&sluice).await;
    let old = listed(&sluice, "").await;
    revoke(&sluice, "subject=alice&all=true").await;
    let later = Consented::new(&sluice, &client, &remembered()).await;
    revoke(&sluice, &format!("consent_request_id={}", id(&old[0]))).await;
    assert!(later.is_active(&sluice).await);
    assert_eq!(listed(&sluice, "").await.len(), 1);
    sluice.node.stop().await;
}

async fn a_query_that_does_not_say_one_thing_revokes_nothing(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = sluice.client(&json!({})).await;
    let consented = Consented::new(&sluice, &client, &remembered()).await;
    let (of, request) = (&client.id, id(&consented.request));
    for query in [
        String::new(),
        "subject=alice".to_owned(),
        "subject=alice&all=yes".to_owned(),
        "all=true".to_owned(),
        format!("client={of}"),
        format!("client={of}&all=true"),
        format!("subject=alice&client={of}&all=true"),
        format!("consent_request_id={request}&subject=alice"),
        format!("consent_request_id={request}&client={of}"),
        format!("consent_request_id={request}&all=true"),
        format!("consent_request_id={request}&subject=alice&client={of}"),
    ] {
        let refused = sluice.ask_json(Method::DELETE, &format!("{CONSENTS}?{query}"), None, 400).await;
        let why = refused["error_description"].as_str().unwrap();
        assert_eq!(refused["error"], "invalid_request", "{query}");
        assert!(why.ends_with(" Invalid combination of query parameters."), "{query}: {why}");
    }
    assert!(consented.is_active(&sluice).await);
    assert_eq!(listed(&sluice, "").await.len(), 1);
    revoke(&sluice, &format!("subject=alice&client={of}&all=false")).await;
    assert!(!consented.is_active(&sluice).await);
    sluice.node.stop().await;
}

/// The ids of all pages of this size.
async fn all_pages(sluice: &TestSluice, size: usize) -> Vec<String> {
    let mut path = format!("{CONSENTS}?subject=alice&page_size={size}");
    let mut seen = Vec::new();
    loop {
        let answer = sluice.ask(Method::GET, &path, None).await;
        assert_eq!(answer.status().as_u16(), 200);
        let links = answer.headers()["link"].to_str().unwrap().to_owned();
        let page: Vec<Value> = answer.json().await.unwrap();
        assert!((1..=size).contains(&page.len()), "{page:?}");
        seen.extend(page.iter().map(|consent| id(consent).to_owned()));
        let Some((_, next)) = links.split_once(',') else { break };
        assert_eq!(page.len(), size);
        path = next.split_once('>').unwrap().0.trim_start_matches('<').to_owned();
    }
    seen
}

async fn a_list_goes_on_from_decisions_to_grants(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    for number in 0..3 {
        let client = sluice.client(&json!({"client_id": format!("app-{number}")})).await;
        Consented::new(&sluice, &client, &remembered()).await;
        sluice.advance(Lifetime::secs(1));
    }
    let client = sluice.client(&json!({})).await;
    let mut newest_first = Vec::new();
    for _ in 0..2 {
        let request = Consented::new(&sluice, &client, &json!({})).await.request;
        newest_first.insert(0, id(&request).to_owned());
        sluice.advance(Lifetime::secs(1));
    }
    let whole = all_pages(&sluice, 9).await;
    assert_eq!(whole.len(), 5);
    assert_eq!(whole[3..], newest_first);
    for size in 1..=5 {
        assert_eq!(all_pages(&sluice, size).await, whole, "{size}");
    }
    sluice.node.stop().await;
}

async fn the_consents_of_a_session_are_listed_without_their_tokens_too(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let client = without_refresh(&sluice).await;
    let request = Consented::new(&sluice, &client, &remembered()).await.request;
    let other = sluice.client(&json!({})).await;
    let further = Consented::new(&sluice, &other, &json!({})).await.request;
    let session =
        |request: &Value| format!("&login_session_id={}", request["login_session_id"].as_str().unwrap());
    for _ in 0..2 {
        let own = listed(&sluice, &session(&request)).await;
        assert_eq!(own.len(), 1);
        assert_eq!(own[0]["consent_request"]["login_challenge"], request["login_challenge"]);
        let own = listed(&sluice, &session(&further)).await;
        assert_eq!(own.iter().map(id).collect::<Vec<_>>(), [id(&further)]);
        let_tokens_end(&sluice).await;
    }
    sluice.node.stop().await;
}
