//! Who is known elsewhere is not known here: tokens of another installation, assertions of another client.

use serde_json::json;
use sluice_testkit::{Backend, TestSluice};

use super::log_out;
use crate::authorization_errors::Change::With;
use crate::authorization_errors::asked;
use crate::both_stores::on_both_stores;
use crate::keyed::{KeyedClient, MACHINE, changed, jti};
use crate::legs::{token, tokens_of};
use crate::oidc_prompt::remembered;
use crate::response::{Response, refusal};

on_both_stores! {
    what_another_installation_issued_is_worth_nothing,
    what_an_installation_with_the_same_secret_issued_is_worth_nothing,
    an_assertion_holds_for_the_client_whose_key_signed_it,
}

async fn what_another_installation_issued_is_worth_nothing(backend: Backend) {
    nothing_passes_from(&[("secrets.system", "the-system-secret-of-somebody-else")], backend).await;
}

/// A secret that was copied with a configuration file does not make one installation of two.
async fn what_an_installation_with_the_same_secret_issued_is_worth_nothing(backend: Backend) {
    nothing_passes_from(&[], backend).await;
}

/// Nothing passes from an installation with these settings, whose issuer and client have the same names as here.
async fn nothing_passes_from(settings: &[(&str, &str)], backend: Backend) {
    let (here, there) = (TestSluice::start(backend).await, TestSluice::with(backend, settings).await);
    let back = "https://app.test/goodbye";
    for strategy in ["opaque", "jwt"] {
        let metadata = json!({"access_token_strategy": strategy, "post_logout_redirect_uris": [back]});
        let client = here.client(&metadata).await;
        let same = json!({"client_id": client.id, "client_secret": client.secret});
        let twin = there.client(&changed(metadata, &same)).await;
        let own = tokens_of(&here, &client, "alice").await;
        let theirs = tokens_of(&there, &twin, "alice").await;
        let [access_token, refresh_token, id_token] =
            ["access_token", "refresh_token", "id_token"].map(|name| token(&theirs, name));
        assert_eq!(access_token.starts_with("ory_at_"), strategy == "opaque", "{access_token}");

        let (mut browser, _) = remembered(&here, &client).await;
        let before = here.written();
        for foreign in [access_token, refresh_token, id_token] {
            assert_eq!(here.introspect(foreign).await, json!({"active": false}), "{strategy}");
            assert_eq!(client.userinfo(foreign).await.0, 401, "{strategy}");
            client.refresh(foreign).await.refused_with("invalid_grant");
            assert_eq!(client.revoke(foreign).await.status, 200, "RFC 7009 §2.2");
        }
        // The key of the id token is not known here: it names nobody, and nobody goes back on the strength of it.
        let hint = [With("id_token_hint", id_token), With("prompt", "none")];
        Response::of(&browser.visit(&asked(&client, &hint)).await).refused_with("login_required");
        let hinted = [("id_token_hint", id_token), ("post_logout_redirect_uri", back)];
        let page = log_out(&mut here.browser(), &hinted).await;
        assert_eq!((page.status.as_u16(), page.location), (200, None), "{strategy}");
        assert_eq!(here.written(), before, "{strategy}");

        // Each works where it belongs.
        for (sluice, client, tokens) in [(&here, &client, &own), (&there, &twin, &theirs)] {
            assert_eq!(client.userinfo(token(tokens, "access_token")).await.0, 200);
            refusal(
                sluice,
                client,
                &[With("id_token_hint", token(tokens, "id_token")), With("prompt", "none")],
            )
            .await
            .refused_with("login_required");
            client.refresh(token(tokens, "refresh_token")).await.ok();
        }
    }
    here.node.stop().await;
    there.node.stop().await;
}

/// RFC 7523 §3, RFC 7521 §4.2: both keys even have the same name.
async fn an_assertion_holds_for_the_client_whose_key_signed_it(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let (victim, attacker) =
        (KeyedClient::on(&sluice, &json!({})).await, KeyedClient::on(&sluice, &json!({})).await);
    let victims = |changes| changed(victim.claims(&sluice), &changes);
    let (name, own) = (victim.client.id.as_str(), attacker.client.id.as_str());
    let plain = json!({"alg": "ES256", "kid": "one", "typ": "JWT"});
    let nameless = json!({"alg": "ES256"});
    let embedded = changed(plain.clone(), &json!({"jwk": attacker.own.jwk}));
    let paths = ["/oauth2/token", "/oauth2/par", "/oauth2/revoke", "/oauth2/device/auth"];
    let form = [MACHINE, &[("token", "none")]].concat();
    for path in paths {
        let forgeries = [
            ("the victim's name", attacker.own.sign(&plain, &victims(json!({})))),
            ("no name of a key", attacker.own.sign(&nameless, &victims(json!({})))),
            ("the key in the header", attacker.own.sign(&embedded, &victims(json!({})))),
            ("in the name of the victim", attacker.assertion(&sluice, &json!({"sub": name}))),
            ("said by the victim", attacker.assertion(&sluice, &json!({"iss": name}))),
            ("of two subjects", attacker.assertion(&sluice, &json!({"sub": [own, name]}))),
        ];
        for (how, forgery) in forgeries {
            let answer = victim.asserting(&sluice, (path, &form), &forgery, None).await;
            assert_eq!(
                (answer.status, &answer.json()["error"]),
                (401, &json!("invalid_client")),
                "{path}: {how}"
            );
        }
        // Whoever names the victim beside says two things.
        let named = [&form[..], &[("client_id", name)]].concat();
        let genuine = attacker.assertion(&sluice, &json!({}));
        attacker
            .asserting(&sluice, (path, &named), &genuine, None)
            .await
            .refused_with(400, "invalid_request");
    }
    // Nor can the attacker use up what the victim is going to say.
    let same = json!({"jti": jti()});
    for client in [&attacker, &victim] {
        let genuine = client.assertion(&sluice, &same);
        client.asserting(&sluice, ("/oauth2/token", MACHINE), &genuine, None).await.ok();
    }
    sluice.node.stop().await;
}
