//! RFC 9449, section by section: tokens are of use only to who holds the key that they are bound to.

use serde_json::{Value, json};
use sluice_primitives::{Clock, Lifetime};
use sluice_testkit::{Authorize, Backend, TestClient, TestSluice};

use crate::answer::{Answer, http};
use crate::both_stores::on_both_stores;
use crate::keyed::{
    Key, MACHINE, changed, code_from, part, proof_claims, redemption, send, userinfo, userinfo_claims,
};
use crate::legs::token;

on_both_stores! {
    a_proof_binds_the_tokens_to_its_key,
    a_proof_works_once_at_all_nodes,
    a_proof_is_not_spent_on_a_code_that_is_none,
    a_pushed_request_takes_a_proof_once_and_writes_nothing_for_a_public_client,
    a_refresh_token_of_a_public_client_is_bound_to_the_key,
    a_code_is_redeemed_with_the_key_that_was_announced,
}

const TOKEN: &str = "/oauth2/token";
const PAR: &str = "/oauth2/par";

async fn public_client(sluice: &TestSluice) -> TestClient {
    let changes = json!({"token_endpoint_auth_method": "none",
                         "grant_types": ["authorization_code", "refresh_token"]});
    sluice.client(&changes).await
}

/// Asks the token endpoint as a public client, or one with its secret in the form, with this proof.
async fn asks(sluice: &TestSluice, client: &TestClient, form: &[(&str, &str)], proof: &str) -> Answer {
    let mut form = form.to_vec();
    form.push(("client_id", &client.id));
    form.extend(client.secret.as_deref().map(|secret| ("client_secret", secret)));
    send(sluice, TOKEN, &[("dpop", proof)], &form).await
}

async fn machine(sluice: &TestSluice, changes: &Value) -> TestClient {
    sluice.client(&changed(json!({"token_endpoint_auth_method": "client_secret_post"}), changes)).await
}

/// The tokens of a new login, bound to this key.
async fn bound_tokens(sluice: &TestSluice, client: &TestClient, key: &Key) -> Value {
    let code = code_from(sluice, &client.authorize_url(&Authorize::default())).await;
    asks(sluice, client, &redemption(client, &code), &key.proof(sluice, TOKEN)).await.ok()
}

async fn a_proof_binds_the_tokens_to_its_key(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let (client, key) = (public_client(&sluice).await, Key::new());
    let tokens = bound_tokens(&sluice, &client, &key).await;
    assert_eq!(tokens["token_type"], "DPoP");
    let access_token = token(&tokens, "access_token");
    let said = sluice.introspect(access_token).await;
    assert_eq!((&said["cnf"]["jkt"], &said["token_type"]), (&json!(key.thumbprint()), &json!("DPoP")));
    let proof = key.userinfo_proof(&sluice, access_token);
    assert_eq!(userinfo(&sluice, &format!("DPoP {access_token}"), &[&proof]).await.ok()["sub"], "alice");
    // A JWT says so itself (§6.1).
    let client = machine(&sluice, &json!({"access_token_strategy": "jwt"})).await;
    let answer = asks(&sluice, &client, MACHINE, &key.proof(&sluice, TOKEN)).await.ok();
    let payload = crate::jwt::claims(token(&answer, "access_token"));
    assert_eq!(payload["cnf"], json!({"jkt": key.thumbprint()}));
    sluice.node.stop().await;
}

async fn a_proof_works_once_at_all_nodes(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let node = sluice.second_node().await;
    let (client, key) = (machine(&sluice, &json!({})).await, Key::new());
    let claims = proof_claims(&sluice, "POST", TOKEN);
    asks(&sluice, &client, MACHINE, &key.proof_of(&claims)).await.ok();
    for node in [&sluice, &node] {
        // Another signature over the same `jti` is the same proof.
        let again = asks(node, &client, MACHINE, &key.proof_of(&claims)).await;
        again.refused_with(400, "invalid_dpop_proof");
    }
    // The `jti` of one key is nothing to another.
    asks(&node, &client, MACHINE, &Key::new().proof_of(&claims)).await.ok();
    node.node.stop().await;
    sluice.node.stop().await;
}

/// Anybody can make proofs, and speak for a public client: what is written has to be earned.
async fn a_proof_is_not_spent_on_a_code_that_is_none(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let (client, key) = (public_client(&sluice).await, Key::new());
    let code = code_from(&sluice, &client.authorize_url(&Authorize::default())).await;
    let proof = key.proof(&sluice, TOKEN);
    let refresh = [("grant_type", "refresh_token"), ("refresh_token", "made-up")];
    let wrong = [redemption(&client, "made-up"), redemption(&client, &code[1..]), refresh.to_vec()];
    for form in &wrong {
        asks(&sluice, &client, form, &proof).await.refused_with(400, "invalid_grant");
    }
    let tokens = asks(&sluice, &client, &redemption(&client, &code), &proof).await.ok();
    // And now it is.
    let form = [("grant_type", "refresh_token"), ("refresh_token", token(&tokens, "refresh_token"))];
    asks(&sluice, &client, &form, &proof).await.refused_with(400, "invalid_dpop_proof");
    asks(&sluice, &client, &form, &key.proof(&sluice, TOKEN)).await.ok();
    sluice.node.stop().await;
}

/// §10.1: of one that anybody can send, no row is kept.
async fn a_pushed_request_takes_a_proof_once_and_writes_nothing_for_a_public_client(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let (client, key) = (public_client(&sluice).await, Key::new());
    let asked: url::Url = client.authorize_url(&Authorize::default()).parse().unwrap();
    let pairs: Vec<_> = asked.query_pairs().collect();
    let form: Vec<_> = pairs.iter().map(|(name, value)| (name.as_ref(), value.as_ref())).collect();
    let before = sluice.written();
    let proof = key.proof(&sluice, PAR);
    let pushed = send(&sluice, PAR, &[("dpop", proof.as_str())], &form).await;
    assert_eq!(pushed.status, 201, "{}", pushed.body);
    let again = send(&sluice, PAR, &[("dpop", proof.as_str())], &form).await;
    again.refused_with(400, "invalid_dpop_proof");
    assert_eq!(sluice.written(), before);
    sluice.node.stop().await;
}

async fn a_refresh_token_of_a_public_client_is_bound_to_the_key(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let (client, key) = (public_client(&sluice).await, Key::new());
    let tokens = bound_tokens(&sluice, &client, &key).await;
    let refresh_token = token(&tokens, "refresh_token");
    assert_eq!(sluice.introspect(refresh_token).await["cnf"]["jkt"], key.thumbprint());
    let form = [("grant_type", "refresh_token"), ("refresh_token", refresh_token)];
    let before = sluice.written().grant_updates;
    client.refresh(refresh_token).await.refused_with("invalid_grant");
    let stolen = asks(&sluice, &client, &form, &Key::new().proof(&sluice, TOKEN)).await;
    stolen.refused_with(400, "invalid_grant");
    assert_eq!(sluice.written().grant_updates, before, "a thief uses nothing up");
    let fresh = asks(&sluice, &client, &form, &key.proof(&sluice, TOKEN)).await.ok();
    assert_eq!(sluice.introspect(token(&fresh, "access_token")).await["cnf"]["jkt"], key.thumbprint());
    // A retry within the window is answered again, to the same key.
    asks(&sluice, &client, &form, &key.proof(&sluice, TOKEN)).await.ok();
    sluice.node.stop().await;
}

async fn a_code_is_redeemed_with_the_key_that_was_announced(backend: Backend) {
    let sluice = TestSluice::start(backend).await;
    let (client, key) = (public_client(&sluice).await, Key::new());
    let thumbprint = key.thumbprint();
    let more = [("dpop_jkt", thumbprint.as_str())];
    let with = Authorize { more: &more, ..Authorize::default() };
    let code = code_from(&sluice, &client.authorize_url(&with)).await;
    let form = redemption(&client, &code);
    client.redeem(&code).await.refused_with("invalid_grant");
    let other = asks(&sluice, &client, &form, &Key::new().proof(&sluice, TOKEN)).await;
    other.refused_with(400, "invalid_grant");
    // Nobody has used the code up.
    let tokens = asks(&sluice, &client, &form, &key.proof(&sluice, TOKEN)).await.ok();
    assert_eq!(tokens["token_type"], "DPoP");
    sluice.node.stop().await;
}

/// Proofs of which none holds, for a request with this method and path. Each breaks one rule of §4.2 or §4.3.
fn broken_proofs(sluice: &TestSluice, key: &Key, good: &Value) -> Vec<(&'static str, String)> {
    let header = key.proof_header();
    let private = changed(key.jwk.clone(), &json!({"d": "AAAA"}));
    let now = sluice.clock.now().as_secs();
    let with_header = |changes: Value| {
        key.sign(
            &changed(header.clone(), &changes),
            &changed(good.clone(), &json!({"jti": crate::keyed::jti()})),
        )
    };
    let with_claims = |changes: Value| {
        key.proof_of(&changed(changed(good.clone(), &json!({"jti": crate::keyed::jti()})), &changes))
    };
    let signed = with_claims(json!({}));
    vec![
        ("no JWT", "nonsense".to_owned()),
        ("no type", with_header(json!({"typ": null}))),
        ("another type", with_header(json!({"typ": "JWT"}))),
        ("no algorithm", with_header(json!({"alg": null}))),
        ("a symmetric algorithm", with_header(json!({"alg": "HS256"}))),
        ("an algorithm of another key", with_header(json!({"alg": "PS256"}))),
        ("an algorithm that is not listed", with_header(json!({"alg": "RS256"}))),
        ("no key", with_header(json!({"jwk": null}))),
        ("a private key", with_header(json!({"jwk": private}))),
        ("a symmetric key", with_header(json!({"jwk": {"kty": "oct", "k": "AAAA"}}))),
        ("another key", with_header(json!({"jwk": Key::new().jwk}))),
        ("a critical extension", with_header(json!({"crit": ["x"], "x": 1}))),
        (
            "not signed",
            format!("{}.{}.", part(&changed(header.clone(), &json!({"alg": "none"}))), part(good)),
        ),
        ("a cut signature", signed[..signed.len() - 4].to_owned()),
        ("no jti", with_claims(json!({"jti": null}))),
        ("an empty jti", with_claims(json!({"jti": ""}))),
        ("a long jti", with_claims(json!({"jti": "j".repeat(513)}))),
        ("no htm", with_claims(json!({"htm": null}))),
        ("another method", with_claims(json!({"htm": "PUT"}))),
        ("a method in other letters", with_claims(json!({"htm": "post"}))),
        ("no htu", with_claims(json!({"htu": null}))),
        ("another path", with_claims(json!({"htu": "http://sluice.test/oauth2/revoke"}))),
        ("another host", with_claims(json!({"htu": "http://sluice.test.evil/oauth2/token"}))),
        ("another scheme", with_claims(json!({"htu": "https://sluice.test/oauth2/token"}))),
        ("no iat", with_claims(json!({"iat": null}))),
        ("an iat that is no number", with_claims(json!({"iat": "now"}))),
        ("an hour old", with_claims(json!({"iat": now - 3600}))),
        ("an hour ahead", with_claims(json!({"iat": now + 3600}))),
        ("more than fifteen seconds ahead", with_claims(json!({"iat": now + 16}))),
        ("expired", with_claims(json!({"exp": now}))),
        ("not yet", with_claims(json!({"nbf": now + 3600}))),
        ("too long", with_claims(json!({"padding": "x".repeat(9_000)}))),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn each_check_of_section_4_3_is_made_at_the_token_endpoint() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let (client, key) = (machine(&sluice, &json!({})).await, Key::new());
    let before = sluice.written();
    let good = proof_claims(&sluice, "POST", TOKEN);
    for (broken, proof) in broken_proofs(&sluice, &key, &good) {
        let answer = asks(&sluice, &client, MACHINE, &proof).await;
        assert_eq!(answer.json()["error"], "invalid_dpop_proof", "{broken}");
        answer.refused_with(400, "invalid_dpop_proof");
    }
    let (one, other) = (key.proof(&sluice, TOKEN), key.proof(&sluice, TOKEN));
    let secret = client.secret.clone().unwrap();
    let form = [MACHINE, &[("client_id", &client.id), ("client_secret", &secret)]].concat();
    let two = send(&sluice, TOKEN, &[("dpop", one.as_str()), ("dpop", other.as_str())], &form).await;
    two.refused_with(400, "invalid_dpop_proof");
    assert_eq!(sluice.written(), before);
    asks(&sluice, &client, MACHINE, &key.proof_of(&good)).await.ok();
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn each_check_of_section_4_3_is_made_at_userinfo() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let (client, key) = (public_client(&sluice).await, Key::new());
    let tokens = bound_tokens(&sluice, &client, &key).await;
    let access_token = token(&tokens, "access_token");
    let dpop = format!("DPoP {access_token}");
    let good = userinfo_claims(&sluice, access_token);
    let mut broken = broken_proofs(&sluice, &key, &good);
    for (what, ath) in
        [("no ath", json!(null)), ("another ath", json!("fUHyO2r2Z3DZ53EsNrWBb0xWXoaNy59IiKCAqksmQEo"))]
    {
        broken.push((
            what,
            key.proof_of(&changed(userinfo_claims(&sluice, access_token), &json!({"ath": ath}))),
        ));
    }
    for (broken, proof) in broken {
        let answer = userinfo(&sluice, &dpop, &[&proof]).await;
        assert_eq!(
            (answer.status, answer.json()["error"].as_str()),
            (401, Some("invalid_dpop_proof")),
            "{broken}"
        );
        let challenge = answer.header("www-authenticate");
        assert!(
            challenge.starts_with("DPoP ") && challenge.contains("error=\"invalid_dpop_proof\""),
            "{challenge}"
        );
        assert!(challenge.contains("algs=\"ES256 EdDSA PS256"), "{challenge}");
    }
    let proof = key.proof_of(&good);
    userinfo(&sluice, &dpop, &[&proof, &key.userinfo_proof(&sluice, access_token)])
        .await
        .refused_with(401, "invalid_dpop_proof");
    userinfo(&sluice, &dpop, &[]).await.refused_with(401, "invalid_dpop_proof");
    userinfo(&sluice, &dpop, &[&proof]).await.ok();
    userinfo(&sluice, &dpop, &[&proof]).await.refused_with(401, "invalid_dpop_proof");
    // The key of another is the key of another, and what it proves is not remembered.
    let other = Key::new().userinfo_proof(&sluice, access_token);
    for _ in 0..2 {
        userinfo(&sluice, &dpop, &[&other]).await.refused_with(401, "invalid_token");
    }
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bound_token_is_no_bearer_token_and_the_other_way_round() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let (client, key) = (public_client(&sluice).await, Key::new());
    let tokens = bound_tokens(&sluice, &client, &key).await;
    let access_token = token(&tokens, "access_token");
    let proof = key.userinfo_proof(&sluice, access_token);
    // §7.2: whether or not there is a proof.
    for proofs in [&[][..], &[proof.as_str()]] {
        let answer = userinfo(&sluice, &format!("Bearer {access_token}"), proofs).await;
        answer.refused_with(401, "invalid_token");
        let all: Vec<_> = answer.headers.get_all("www-authenticate").iter().collect();
        assert!(all.iter().any(|one| one.to_str().unwrap().starts_with("DPoP ")), "{all:?}");
        let sentence = "The access token is bound to a key: present it with a proof (DPoP).";
        assert_eq!(answer.json()["error_description"], sentence);
        assert!(all.iter().any(|one| one.to_str().unwrap().contains(sentence)), "{all:?}");
    }
    let in_form =
        http().post(sluice.public.join("/userinfo").unwrap()).form(&[("access_token", access_token)]);
    Answer::to(in_form).await.refused_with(401, "invalid_token");
    let unbound = crate::legs::tokens_of(&sluice, &client, "alice").await;
    let access_token = token(&unbound, "access_token");
    let proof = key.userinfo_proof(&sluice, access_token);
    userinfo(&sluice, &format!("DPoP {access_token}"), &[&proof]).await.refused_with(401, "invalid_token");
    userinfo(&sluice, &format!("Bearer {access_token}"), &[]).await.ok();
    // §7.1: the name of the scheme has no case.
    let tokens = bound_tokens(&sluice, &client, &key).await;
    let access_token = token(&tokens, "access_token");
    for scheme in ["dpop", "DPOP", "DPoP"] {
        let proof = key.userinfo_proof(&sluice, access_token);
        userinfo(&sluice, &format!("{scheme} {access_token}"), &[&proof]).await.ok();
    }
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_and_a_time_may_be_written_in_several_ways() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let (client, key) = (machine(&sluice, &json!({})).await, Key::new());
    let now = sluice.clock.now().as_secs();
    for changes in [
        json!({"htu": "HTTP://SLUICE.TEST:80/oauth2/token"}),
        json!({"htu": "http://sluice.test/oauth2/%74oken?query=1#fragment"}),
        json!({"htu": "http://sluice.test/x/../oauth2/./token"}),
        json!({"iat": now - 10}),
        json!({"iat": now + 10}),
        json!({"iat": now + 15}),
        json!({"iat": now - 59}),
        json!({"nbf": now, "exp": now + 300}),
        json!({"unknown": {"claim": true}}),
    ] {
        let proof = key.proof_of(&changed(proof_claims(&sluice, "POST", TOKEN), &changes));
        let answer = asks(&sluice, &client, MACHINE, &proof).await;
        assert_eq!(answer.status, 200, "{changes}: {}", answer.body);
    }
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_must_bind_is_refused_without_a_proof() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let client = machine(&sluice, &json!({"dpop_bound_access_tokens": true})).await;
    client.token(MACHINE).await.refused_with("invalid_request");
    let tokens = asks(&sluice, &client, MACHINE, &Key::new().proof(&sluice, TOKEN)).await.ok();
    assert_eq!(tokens["token_type"], "DPoP");
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_confidential_client_may_change_its_key_when_it_refreshes() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let (client, key, next) = (machine(&sluice, &json!({})).await, Key::new(), Key::new());
    let tokens = bound_tokens(&sluice, &client, &key).await;
    let form = [("grant_type", "refresh_token"), ("refresh_token", token(&tokens, "refresh_token"))];
    let fresh = asks(&sluice, &client, &form, &next.proof(&sluice, TOKEN)).await.ok();
    assert_eq!(sluice.introspect(token(&fresh, "access_token")).await["cnf"]["jkt"], next.thumbprint());
    // Within the window the same request is answered again, and one for another key is another request.
    asks(&sluice, &client, &form, &next.proof(&sluice, TOKEN)).await.ok();
    asks(&sluice, &client, &form, &key.proof(&sluice, TOKEN)).await.refused_with(400, "invalid_grant");
    assert!(sluice.is_active(token(&fresh, "access_token")).await, "nothing was revoked");
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn where_nonces_are_asked_for_each_proof_has_one_that_is_good() {
    let nonces = [("oauth2.dpop.nonce_required", "true"), ("oauth2.dpop.nonce_lifetime", "2m")];
    let sluice = TestSluice::with(Backend::Sqlite, &nonces).await;
    let elsewhere =
        TestSluice::with(Backend::Sqlite, &[nonces[0], ("secrets.system", "another-system-secret")]).await;
    let (client, key) = (public_client(&sluice).await, Key::new());
    let code = code_from(&sluice, &client.authorize_url(&Authorize::default())).await;
    let form = redemption(&client, &code);
    let with =
        |nonce: Value| key.proof_of(&changed(proof_claims(&sluice, "POST", TOKEN), &json!({"nonce": nonce})));
    let first = asks(&sluice, &client, &form, &with(json!(null))).await;
    first.refused_with(400, "use_dpop_nonce");
    let nonce = first.header("dpop-nonce").to_owned();
    assert!(nonce.len() > 20);
    let other = asks(&elsewhere, &client, &form, &with(json!(null))).await.header("dpop-nonce").to_owned();
    for bad in [json!(""), json!("made-up"), json!(other), json!(format!("{nonce}A"))] {
        asks(&sluice, &client, &form, &with(bad)).await.refused_with(400, "use_dpop_nonce");
    }
    sluice.advance(Lifetime::secs(121));
    let late = key.proof_of(&changed(proof_claims(&sluice, "POST", TOKEN), &json!({"nonce": nonce})));
    let late = asks(&sluice, &client, &form, &late).await;
    late.refused_with(400, "use_dpop_nonce");
    // The code has not been used up, but it is old by now.
    let nonce = late.header("dpop-nonce").to_owned();
    let code = code_from(&sluice, &client.authorize_url(&Authorize::default())).await;
    let good = key.proof_of(&changed(proof_claims(&sluice, "POST", TOKEN), &json!({"nonce": nonce})));
    let tokens = asks(&sluice, &client, &redemption(&client, &code), &good).await;
    let next = tokens.header("dpop-nonce").to_owned();
    assert!(!next.is_empty(), "§8.2: an answer brings the next nonce");
    // §9: the same at a resource.
    let tokens = tokens.ok();
    let access_token = token(&tokens, "access_token");
    let dpop = format!("DPoP {access_token}");
    let refused = userinfo(&sluice, &dpop, &[&key.userinfo_proof(&sluice, access_token)]).await;
    refused.refused_with(401, "use_dpop_nonce");
    assert!(refused.header("www-authenticate").contains("error=\"use_dpop_nonce\""));
    let nonce = refused.header("dpop-nonce").to_owned();
    let claims = changed(userinfo_claims(&sluice, access_token), &json!({"nonce": nonce}));
    let answer = userinfo(&sluice, &dpop, &[&key.proof_of(&claims)]).await;
    assert!(!answer.header("dpop-nonce").is_empty());
    answer.ok();
    elsewhere.node.stop().await;
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn scripts_of_a_page_may_send_proofs_and_read_nonces() {
    let cors =
        [("serve.public.cors.enabled", "true"), ("serve.public.cors.allowed_origins", "https://app.test")];
    let sluice = TestSluice::with(Backend::Sqlite, &cors).await;
    let url = sluice.public.join(TOKEN).unwrap();
    let preflight = http()
        .request(reqwest::Method::OPTIONS, url.clone())
        .header("origin", "https://app.test")
        .header("access-control-request-method", "POST")
        .header("access-control-request-headers", "dpop");
    let preflight = Answer::to(preflight).await;
    assert!(preflight.header("access-control-allow-headers").contains("DPoP"));
    let answer = Answer::to(http().post(url).header("origin", "https://app.test").form(MACHINE)).await;
    let readable = answer.header("access-control-expose-headers");
    assert!(readable.contains("DPoP-Nonce") && readable.contains("WWW-Authenticate"), "{readable}");
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn discovery_lists_the_algorithms_of_proofs() {
    let sluice = TestSluice::start(Backend::Sqlite).await;
    let url = sluice.public.join("/.well-known/oauth-authorization-server").unwrap();
    let metadata = Answer::to(http().get(url)).await.ok();
    let listed = ["ES256", "EdDSA", "PS256", "ES384", "ES512", "PS384", "PS512", "Ed25519"];
    assert_eq!(metadata["dpop_signing_alg_values_supported"], json!(listed));
    sluice.node.stop().await;
}
