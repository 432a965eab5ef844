//! Browsers that sign in to applications: people know their own by device and network, and of whom nobody is shown it nothing is kept.

use reqwest::Method;
use serde_json::{Value, json};
use sluice_primitives::Lifetime;
use sluice_testkit::{Authorize, Backend, Browser, TestSluice};

use super::people::{ALICE, Api, PASSWORD, node};
use super::subject::{PAGES, typed};
use crate::both_stores::on_both_stores;
use crate::disclosure::Witness;
use crate::logout::channels::Ear;
use crate::rfc8628::{DEVICE_CODE, begin, poll};

on_both_stores! {
    people_know_their_browsers_by_device_and_network,
    of_users_whom_another_page_logs_in_neither_is_kept,
    a_device_is_not_where_its_code_was_approved,
}

const BEHIND_A_PROXY: (&str, &str) = ("serve.trusted_proxies", "127.0.0.0/8");
const FIREFOX: &str = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0";

/// A browser that calls itself so, at this address.
fn browser(sluice: &TestSluice, user_agent: &str, address: &str) -> Browser {
    sluice.browser().saying("user-agent", user_agent).saying("x-forwarded-for", address)
}

/// Device and network of each browser that this person is signed in to applications by, the newest first.
async fn browsers(sluice: &TestSluice, person: &str) -> Vec<Value> {
    let path = format!("/admin/identities/{person}/sessions");
    let listed = sluice.ask_json(Method::GET, &path, None, 200).await;
    let browsers = listed.as_array().unwrap().iter().filter(|session| session["kind"] == "browser");
    browsers.map(|session| json!([session["device"], session["network"]])).collect()
}

async fn people_know_their_browsers_by_device_and_network(backend: Backend) {
    let sluice = node(backend, &[&PAGES[..], &[BEHIND_A_PROXY]].concat()).await;
    let alice = Api::of(&sluice).register(ALICE).await;
    let client = sluice.client(&json!({"skip_consent": true})).await;
    let long = "x".repeat(300);
    let mut own = Witness::of(browser(&sluice, FIREFOX, "192.0.2.7"));
    let mut other = Witness::of(browser(&sluice, &long, "2001:db8:1:2:3:4:5:6"));
    let mut untold = Witness::of(sluice.browser().saying("x-forwarded-for", "unknown"));
    for witness in [&mut own, &mut other, &mut untold] {
        typed(witness, &client, &Authorize::default(), PASSWORD).await.expect("code");
        sluice.advance(Lifetime::secs(1));
    }
    let expected =
        [json!(["", "0.0.0.0"]), json!([long[..256], "2001:db8:1:2::"]), json!([FIREFOX, "192.0.2.7"])];
    assert_eq!(browsers(&sluice, &alice).await, expected);
    let login = own.browser.visit("/ui/account/login").await;
    own.submit(&login, &[("email", ALICE), ("password", PASSWORD)]).await;
    let page = own.browser.visit("/ui/account/sessions").await.body;
    let (_, list) = page.split_once("<h2 id=\"browsers\">").unwrap_or_else(|| panic!("{page}"));
    for shown in ["<bdi>Firefox on Linux</bdi>", "From 192.0.2.7.", "From 2001:db8:1:2::.", "Unknown device"]
    {
        assert!(list.contains(shown), "{shown}: {list}");
    }
    sluice.node.stop().await;
}

async fn of_users_whom_another_page_logs_in_neither_is_kept(backend: Backend) {
    let sluice = node(backend, &[BEHIND_A_PROXY]).await;
    let alice = Api::of(&sluice).register(ALICE).await;
    let client = sluice.client(&json!({})).await;
    let login = json!({"subject": alice, "remember": true});
    let mut browser = browser(&sluice, FIREFOX, "192.0.2.7");
    browser.log_in_with(&sluice, &client, &Authorize::default(), &login).await.expect("code");
    assert_eq!(browsers(&sluice, &alice).await, [json!([null, null])]);
    sluice.node.stop().await;
}

/// It has a session of its own, if its client wants to hear of the end.
async fn a_device_is_not_where_its_code_was_approved(backend: Backend) {
    let sluice = node(backend, &[&PAGES[..], &[BEHIND_A_PROXY]].concat()).await;
    let alice = Api::of(&sluice).register(ALICE).await;
    let ear = Ear::open(Vec::new()).await;
    let television = json!({
        "token_endpoint_auth_method": "none",
        "redirect_uris": [],
        "grant_types": [DEVICE_CODE, "refresh_token"],
        "backchannel_logout_uri": ear.uri,
    });
    let television = sluice.client(&television).await;
    let code = begin(&television).await;
    let mut witness = Witness::of(browser(&sluice, FIREFOX, "192.0.2.7"));
    let begun = witness.browser.visit(code["verification_uri_complete"].as_str().unwrap()).await;
    let asked = witness.land(begun).await;
    let login = witness.submit(&asked, &[("decision", "accept")]).await;
    let consent = witness.submit(&login, &[("email", ALICE), ("password", PASSWORD)]).await;
    witness.submit(&consent, &[("decision", "accept")]).await;
    poll(&television, &code).await.ok();
    let listed = browsers(&sluice, &alice).await;
    assert_eq!(listed.len(), 2, "{listed:?}");
    for expected in [json!([FIREFOX, "192.0.2.7"]), json!([null, null])] {
        assert!(listed.contains(&expected), "{listed:?}");
    }
    sluice.node.stop().await;
}
