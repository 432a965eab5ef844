//! A later import follows what was changed, deleted or withdrawn at Hydra since, and touches nothing that was made here. [`super::whole`]: what it
//! does with a database that is not whole.

use reqwest::Method;
use serde_json::json;
use sluice_testkit::{
    Authorize, Backend, PrivateCluster, TestClient, TestSluice, accept_consent, accept_login,
};

use super::tokens::OF_ALICE;
use super::{HYDRA_SECRET, Site, application, counts, skips, summary};
use crate::both_stores::on_both_stores;
use crate::legs::consent_request;

on_both_stores!(
    a_client_that_was_changed_there_is_followed,
    a_client_that_was_changed_on_both_sides_stays_as_it_is_here,
    a_client_that_was_deleted_there_is_deleted,
    a_client_that_was_registered_anew_there_has_nothing_of_the_one_before,
    a_client_that_was_deleted_or_made_here_stays_so,
    what_belonged_to_a_client_that_was_deleted_here_does_not_come_back_and_is_not_refused,
    a_trust_that_ended_there_ends,
    a_trust_that_is_here_without_a_mark_is_followed,
    a_consent_that_was_withdrawn_there_is_forgotten,
    a_consent_that_was_given_here_is_not_forgotten,
    a_consent_that_is_refused_takes_that_alone_with_it_whose_place_it_was_to_take,
    a_key_that_was_deleted_there_is_deleted,
    a_key_that_took_the_place_of_one_here_stays,
    sets_of_keys_that_applications_made_are_told_until_they_are_here,
    another_hydra_takes_nothing_away,
    what_cannot_be_stored_stands_in_the_way_of_nothing_else,
);

impl Site {
    /// Changes what Hydra has.
    pub(super) async fn at_hydra(&self, sql: &str) {
        PrivateCluster::shared().await.execute(self.hydra.name(), sql).await;
    }

    /// Imports one part again: how much was imported, present and refused, and how much has ended.
    pub(super) fn again(&self, part: &str) -> ([u64; 3], u64) {
        let again = summary(&self.import(HYDRA_SECRET, &["--only", part]));
        (counts(&again, part), again[part]["ended"].as_u64().unwrap())
    }
}

pub(super) async fn gone(sluice: &TestSluice, path: &str) -> bool {
    sluice.ask(Method::GET, path, None).await.status() == 404
}

async fn a_client_that_was_changed_there_is_followed(backend: Backend) {
    let site = Site::new(backend).await;
    site.import(HYDRA_SECRET, &[]);
    // With the secret of another one; by a clock that shows less than before, as where Hydra was moved to the west.
    site.at_hydra(
        "UPDATE hydra_client SET updated_at = '2024-11-27 19:00:00', redirect_uris = '[\"https://web.example.com/cb\", \"https://web.example.com/new\"]',
             client_secret = (SELECT c.client_secret FROM hydra_client AS c WHERE c.id = 'post') WHERE id = 'web'",
    )
    .await;
    assert_eq!(site.again("clients"), ([1, 3, 1], 0));
    assert_eq!(site.again("clients"), ([0, 4, 1], 0));
    let sluice = site.serves().await;
    let web = sluice.ask_json(Method::GET, "/admin/clients/web", None, 200).await;
    assert_eq!(
        web["redirect_uris"],
        json!(["https://web.example.com/cb", "https://web.example.com/new"]),
        "{web}"
    );
    assert_eq!(web["created_at"], "2024-11-28T01:09:29Z", "{web}");
    let machine = [("grant_type", "client_credentials"), ("scope", "photos")];
    let with = |secret| application(&sluice, ("web", Some(secret)), "client_secret_basic");
    with("web-secret-0123456").token(&machine).await.refused_with("invalid_client");
    with("post-secret-ABCDEF").token(&machine).await.ok();
    let web = application(&sluice, ("web", Some("post-secret-ABCDEF")), "client_secret_basic");
    web.refresh(OF_ALICE).await.ok();
    assert!(skips(&sluice, &web, ("alice", "openid photos")).await);
    sluice.node.stop().await;
}

async fn a_client_that_was_changed_on_both_sides_stays_as_it_is_here(backend: Backend) {
    let site = Site::new(backend).await;
    site.import(HYDRA_SECRET, &[]);
    let sluice = site.serves().await;
    let changed = json!([{"op": "replace", "path": "/client_name", "value": "Changed here"}]);
    sluice.ask_json(Method::PATCH, "/admin/clients/web", Some(&changed), 200).await;
    let ended = site.import(HYDRA_SECRET, &["--only", "clients"]);
    assert!(!ended.stderr.contains("client web"), "there is nothing to tell: {}", ended.stderr);
    // Whatever the clock there says.
    site.at_hydra(
        "UPDATE hydra_client SET updated_at = '2099-12-02', client_name = 'There' WHERE id = 'web'",
    )
    .await;
    for _ in 0..2 {
        let ended = site.import(HYDRA_SECRET, &["--only", "clients"]);
        assert_eq!(counts(&summary(&ended), "clients"), [0, 4, 1]);
        let told = "warning: client web: it was changed here, and at Hydra since it was imported";
        assert!(ended.stderr.contains(told), "{}", ended.stderr);
    }
    let web = sluice.ask_json(Method::GET, "/admin/clients/web", None, 200).await;
    assert_eq!(web["client_name"], "Changed here");
    sluice.node.stop().await;
}

async fn a_client_that_was_deleted_there_is_deleted(backend: Backend) {
    let site = Site::new(backend).await;
    site.import(HYDRA_SECRET, &[]);
    site.at_hydra("DELETE FROM hydra_client WHERE id = 'web'").await;
    let ended = site.import(HYDRA_SECRET, &["--only", "clients"]);
    let again = summary(&ended);
    assert_eq!((counts(&again, "clients"), again["clients"]["ended"].as_u64()), ([0, 3, 1], Some(1)));
    let told = "client web: it is not at Hydra any more, and was taken away here";
    assert!(ended.stderr.contains(told), "{}", ended.stderr);
    let line = "sluice_audit: client deleted by an import client.id=web\n";
    assert!(ended.stderr.contains(line), "{}", ended.stderr);
    assert_eq!(site.again("clients"), ([0, 3, 1], 0));
    let sluice = site.serves().await;
    assert!(gone(&sluice, "/admin/clients/web").await && !gone(&sluice, "/admin/clients/spa").await);
    assert!(!sluice.is_active(OF_ALICE).await, "as if an administrator had deleted it");
    sluice.node.stop().await;
}

/// Its tokens have ended there; what it was granted here ends, too.
async fn a_client_that_was_registered_anew_there_has_nothing_of_the_one_before(backend: Backend) {
    let site = Site::new(backend).await;
    site.import(HYDRA_SECRET, &[]);
    site.at_hydra(
        "UPDATE hydra_client SET created_at = '2024-12-01', updated_at = '2024-12-01' WHERE id = 'web'",
    )
    .await;
    let sluice = site.serves().await;
    assert!(sluice.is_active(OF_ALICE).await);
    sluice.node.stop().await;
    assert_eq!(site.again("clients"), ([1, 3, 1], 0));
    assert_eq!(site.again("clients"), ([0, 4, 1], 0));
    let sluice = site.serves().await;
    let web = sluice.ask_json(Method::GET, "/admin/clients/web", None, 200).await;
    assert_eq!(web["created_at"], "2024-11-30T23:59:59Z", "{web}");
    assert!(!sluice.is_active(OF_ALICE).await);
    sluice.node.stop().await;
}

async fn a_client_that_was_deleted_or_made_here_stays_so(backend: Backend) {
    let site = Site::new(backend).await;
    site.import(HYDRA_SECRET, &[]);
    let sluice = site.serves().await;
    for id in ["rich", "post"] {
        sluice.ask_json(Method::DELETE, &format!("/admin/clients/{id}"), None, 204).await;
    }
    let made = json!({"client_id": "post", "client_name": "Made here"});
    sluice.ask_json(Method::POST, "/admin/clients", Some(&made), 201).await;
    assert_eq!(site.again("clients"), ([0, 4, 1], 0));
    site.at_hydra("UPDATE hydra_client SET updated_at = '2099-01-01' WHERE id = 'post'").await;
    let ended = site.import(HYDRA_SECRET, &["--only", "clients"]);
    assert_eq!(counts(&summary(&ended), "clients"), [0, 4, 1]);
    let told = "warning: client post: another client has this id here; it was not touched";
    assert!(ended.stderr.contains(told) && !ended.stderr.contains("client rich"), "{}", ended.stderr);
    site.at_hydra("DELETE FROM hydra_client WHERE id = 'post'").await;
    assert_eq!(site.again("clients"), ([0, 3, 1], 0));
    sluice.node.stop().await;
    let sluice = site.serves().await;
    assert!(gone(&sluice, "/admin/clients/rich").await);
    let post = sluice.ask_json(Method::GET, "/admin/clients/post", None, 200).await;
    assert_eq!(post["client_name"], "Made here");
    sluice.node.stop().await;
}

/// Nor is what it was granted there since.
async fn what_belonged_to_a_client_that_was_deleted_here_does_not_come_back_and_is_not_refused(
    backend: Backend,
) {
    let site = Site::new(backend).await;
    site.import(HYDRA_SECRET, &[]);
    let sluice = site.serves().await;
    sluice.ask_json(Method::DELETE, "/admin/clients/web", None, 204).await;
    site.at_hydra(
        "INSERT INTO hydra_oauth2_refresh
         SELECT (jsonb_populate_record(r, jsonb_build_object(
             'signature', rtrim(translate(encode(sha256('new'), 'base64'), '+/', '-_'), '='), 'request_id', md5('new')
         ))).*
         FROM hydra_oauth2_refresh AS r WHERE r.subject = 'alice' AND r.active",
    )
    .await;
    for _ in 0..2 {
        let ended = site.import(HYDRA_SECRET, &["--only", "consents", "--only", "tokens"]);
        assert!(ended.success, "{}", ended.stderr);
        let again = summary(&ended);
        assert_eq!((counts(&again, "consents"), counts(&again, "tokens")), ([0, 1, 0], [0, 3, 0]));
    }
    assert!(gone(&sluice, "/admin/clients/web").await && !sluice.is_active(OF_ALICE).await);
    sluice.node.stop().await;
}

async fn a_trust_that_ended_there_ends(backend: Backend) {
    let site = Site::new(backend).await;
    site.import(HYDRA_SECRET, &[]);
    // The same trust, made anew.
    site.at_hydra(
        "UPDATE hydra_oauth2_trusted_jwt_bearer_issuer SET id = '11111111-1111-4111-8111-111111111111'",
    )
    .await;
    let ended = site.import(HYDRA_SECRET, &["--only", "issuers"]);
    let again = summary(&ended);
    assert_eq!((counts(&again, "issuers"), again["issuers"]["ended"].as_u64()), ([1, 0, 0], Some(1)));
    for line in [
        "sluice_audit: trust in an issuer ended by an import trust.id=8b55a320-dc5d-44a2-ba35-25bf795cd63c\n",
        "sluice_audit: issuer imported trust.id=11111111-1111-4111-8111-111111111111 ",
    ] {
        assert!(ended.stderr.contains(line), "{}", ended.stderr);
    }
    let sluice = site.serves().await;
    let path = |id: &str| format!("/admin/trust/grants/jwt-bearer/issuers/{id}");
    let (old, new) =
        (path("8b55a320-dc5d-44a2-ba35-25bf795cd63c"), path("11111111-1111-4111-8111-111111111111"));
    assert!(gone(&sluice, &old).await && !gone(&sluice, &new).await);
    site.at_hydra("DELETE FROM hydra_oauth2_trusted_jwt_bearer_issuer").await;
    assert_eq!(site.again("issuers"), ([0, 0, 0], 1));
    assert!(gone(&sluice, &new).await);
    sluice.node.stop().await;
}

async fn a_trust_that_is_here_without_a_mark_is_followed(backend: Backend) {
    let site = Site::new(backend).await;
    site.import(HYDRA_SECRET, &[]);
    // Its marks are those of another network.
    site.at_hydra(
        "UPDATE networks SET id = '22222222-2222-4222-8222-222222222222';
         UPDATE hydra_jwk SET nid = '22222222-2222-4222-8222-222222222222';
         UPDATE hydra_oauth2_trusted_jwt_bearer_issuer SET nid = '22222222-2222-4222-8222-222222222222'",
    )
    .await;
    assert_eq!(site.again("issuers"), ([0, 1, 0], 0));
    site.at_hydra("DELETE FROM hydra_oauth2_trusted_jwt_bearer_issuer").await;
    assert_eq!(site.again("issuers"), ([0, 0, 0], 1));
}

/// Alice decides here about the client, to be remembered.
pub(super) async fn decide(sluice: &TestSluice, web: &TestClient) {
    let mut browser = sluice.browser();
    let with =
        Authorize { scope: "openid offline photos", more: &[("prompt", "consent")], ..Authorize::default() };
    let challenge = browser.begin(web, &with).await;
    let verifier = accept_login(sluice, &challenge, &json!({"subject": "alice"})).await;
    let challenge = browser.visit(&verifier).await.expect("consent_challenge");
    let verifier = accept_consent(sluice, &challenge, &json!({"remember": true, "remember_for": 0})).await;
    browser.visit(&verifier).await.expect("code");
}

/// Whether she need not decide that again.
pub(super) async fn skips_still(sluice: &TestSluice, web: &TestClient) -> bool {
    let mut browser = sluice.browser();
    let challenge = browser.begin(web, &Authorize { scope: "openid photos", ..Authorize::default() }).await;
    let verifier = accept_login(sluice, &challenge, &json!({"subject": "alice"})).await;
    let challenge = browser.visit(&verifier).await.expect("consent_challenge");
    consent_request(sluice, &challenge).await["skip"] == true
}

async fn a_consent_that_was_withdrawn_there_is_forgotten(backend: Backend) {
    let site = Site::new(backend).await;
    site.import(HYDRA_SECRET, &[]);
    site.at_hydra("DELETE FROM hydra_oauth2_flow WHERE subject = 'alice'").await;
    let ended = site.import(HYDRA_SECRET, &["--only", "consents"]);
    let again = summary(&ended);
    assert_eq!((counts(&again, "consents"), again["consents"]["ended"].as_u64()), ([0, 0, 0], Some(1)));
    let line = "sluice_audit: consents withdrawn by an import count=1\n";
    assert!(ended.stderr.contains(line), "{}", ended.stderr);
    assert_eq!(site.again("consents"), ([0, 0, 0], 0));
    let sluice = site.serves().await;
    let web = application(&sluice, ("web", Some("web-secret-0123456")), "client_secret_basic");
    assert!(!skips(&sluice, &web, ("alice", "openid photos")).await);
    sluice.node.stop().await;
}

async fn a_consent_that_was_given_here_is_not_forgotten(backend: Backend) {
    let site = Site::new(backend).await;
    site.import(HYDRA_SECRET, &[]);
    let sluice = site.serves().await;
    let web = application(&sluice, ("web", Some("web-secret-0123456")), "client_secret_basic");
    decide(&sluice, &web).await;
    site.at_hydra("DELETE FROM hydra_oauth2_flow WHERE subject = 'alice'").await;
    assert_eq!(site.again("consents"), ([0, 0, 0], 0));
    assert!(skips_still(&sluice, &web).await);
    sluice.node.stop().await;
}

async fn a_consent_that_is_refused_takes_that_alone_with_it_whose_place_it_was_to_take(backend: Backend) {
    let site = Site::new(backend).await;
    site.import(HYDRA_SECRET, &[]);
    let too_long = |at: &str| {
        format!(
            "UPDATE hydra_oauth2_flow SET consent_remember = TRUE, requested_at = '{at}', consent_handled_at = '{at}',
                 granted_at_audience = to_jsonb(ARRAY[repeat('a', 1100000)]) WHERE subject = 'alice'"
        )
    };
    let withdrawn = "UPDATE hydra_oauth2_flow SET consent_remember = FALSE WHERE subject = 'alice'";
    site.at_hydra(&too_long("2024-12-02")).await;
    assert_eq!(site.again("consents"), ([0, 0, 1], 0));
    assert_eq!(site.again("consents"), ([0, 0, 1], 0), "it is told each time");
    site.at_hydra(withdrawn).await;
    assert_eq!(site.again("consents"), ([0, 0, 0], 1), "the one that was imported");
    let sluice = site.serves().await;
    let web = application(&sluice, ("web", Some("web-secret-0123456")), "client_secret_basic");
    decide(&sluice, &web).await;
    // Whatever the clock there says.
    site.at_hydra(&too_long("2099-12-02")).await;
    assert_eq!(site.again("consents"), ([0, 0, 1], 0));
    site.at_hydra(withdrawn).await;
    assert_eq!(site.again("consents"), ([0, 0, 0], 0));
    assert!(skips_still(&sluice, &web).await);
    sluice.node.stop().await;
}

async fn a_key_that_was_deleted_there_is_deleted(backend: Backend) {
    let site = Site::new(backend).await;
    site.at_hydra(
        "INSERT INTO hydra_jwk (sid, kid, keydata, created_at, pk, nid)
         SELECT 'hydra.jwt.access-token', kid, keydata, created_at, '33333333-3333-4333-8333-333333333333'::uuid, nid
         FROM hydra_jwk WHERE kid = 'hydra-es256'",
    )
    .await;
    let ended = site.import(HYDRA_SECRET, &["--only", "keys"]);
    let told = "warning: key hydra-es256: it signs for those clients only that are registered for ES256";
    assert!(ended.success && ended.stderr.contains(told), "{}", ended.stderr);
    assert_eq!(site.again("keys"), ([0, 2, 0], 0));
    site.at_hydra("DELETE FROM hydra_jwk WHERE sid = 'hydra.openid.id-token'").await;
    let ended = site.import(HYDRA_SECRET, &["--only", "keys"]);
    let again = summary(&ended);
    assert_eq!((counts(&again, "keys"), again["keys"]["ended"].as_u64()), ([0, 1, 0], Some(1)));
    let told = "key hydra.openid.id-token hydra-es256: it is not at Hydra any more";
    assert!(ended.stderr.contains(told), "{}", ended.stderr);
    let sluice = site.serves().await;
    assert!(gone(&sluice, "/admin/keys/hydra.openid.id-token/hydra-es256").await);
    assert!(!gone(&sluice, "/admin/keys/hydra.jwt.access-token/hydra-es256").await);
    sluice.node.stop().await;
}

async fn a_key_that_took_the_place_of_one_here_stays(backend: Backend) {
    let site = Site::new(backend).await;
    site.import(HYDRA_SECRET, &["--only", "keys"]);
    let sluice = site.serves().await;
    let path = "/admin/keys/hydra.openid.id-token/hydra-es256";
    let asked = json!({"alg": "ES256", "use": "sig", "kid": "hydra-es256"});
    let made = sluice.ask_json(Method::POST, "/admin/keys/scratch", Some(&asked), 201).await;
    sluice.ask_json(Method::PUT, path, Some(&made["keys"][0]), 200).await;
    sluice.node.stop().await;
    assert_eq!(site.again("keys"), ([0, 1, 0], 0));
    site.at_hydra("DELETE FROM hydra_jwk WHERE kid = 'hydra-es256'").await;
    assert_eq!(site.again("keys").1, 0);
    let sluice = site.serves().await;
    let kept = sluice.ask_json(Method::GET, path, None, 200).await;
    assert_eq!(kept["keys"][0]["x"], made["keys"][0]["x"], "{kept}");
    sluice.node.stop().await;
}

/// Those of trusted issuers come along with them, and are not told of.
async fn sets_of_keys_that_applications_made_are_told_until_they_are_here(backend: Backend) {
    let site = Site::new(backend).await;
    let told = "warning: key sets that are not taken over: ";
    let ended = site.import(HYDRA_SECRET, &["--only", "keys"]);
    assert!(ended.success && !ended.stderr.contains(told), "{}", ended.stderr);
    site.at_hydra(
        "INSERT INTO hydra_jwk (sid, kid, keydata, created_at, pk, nid)
         SELECT s.sid, k.kid, k.keydata, k.created_at, s.pk::uuid, k.nid
         FROM hydra_jwk AS k
         CROSS JOIN (VALUES
             ('mine', '33333333-3333-4333-8333-333333333333'), ('billing', '44444444-4444-4444-8444-444444444444')
         ) AS s (sid, pk)
         WHERE k.kid = 'hydra-es256'",
    )
    .await;
    let ended = site.import(HYDRA_SECRET, &["--only", "keys"]);
    assert_eq!(counts(&summary(&ended), "keys"), [0, 1, 0]);
    assert!(ended.success && ended.stderr.contains(&format!("{told}billing, mine; ")), "{}", ended.stderr);
    let sluice = site.serves().await;
    let asked = json!({"alg": "ES256", "use": "sig", "kid": "k1"});
    sluice.ask_json(Method::POST, "/admin/keys/mine", Some(&asked), 201).await;
    let ended = site.import(HYDRA_SECRET, &["--only", "keys"]);
    assert!(ended.stderr.contains(&format!("{told}billing; ")), "{}", ended.stderr);
    site.at_hydra(
        "INSERT INTO hydra_jwk (sid, kid, keydata, created_at, pk, nid)
         SELECT 'set-' || n, k.kid, k.keydata, k.created_at, md5('s' || n)::uuid, k.nid
         FROM hydra_jwk AS k CROSS JOIN generate_series(1, 100) AS n WHERE k.sid = 'billing'",
    )
    .await;
    let ended = site.import(HYDRA_SECRET, &["--only", "keys"]);
    assert!(ended.success && ended.stderr.contains(", and more; "), "{}", ended.stderr);
    sluice.node.stop().await;
}

async fn another_hydra_takes_nothing_away(backend: Backend) {
    let site = Site::new(backend).await;
    site.import(HYDRA_SECRET, &[]);
    site.at_hydra("UPDATE networks SET id = '22222222-2222-4222-8222-222222222222'").await;
    for part in ["keys", "clients", "issuers", "consents", "tokens"] {
        assert_eq!(site.again(part), ([0, 0, 0], 0), "{part}");
    }
    site.at_hydra("DELETE FROM networks").await;
    let ended = site.import(HYDRA_SECRET, &[]);
    assert!(!ended.success && ended.stderr.contains("has no network"), "{}", ended.stderr);
    let sluice = site.serves().await;
    assert!(sluice.is_active(OF_ALICE).await && !gone(&sluice, "/admin/clients/web").await);
    sluice.node.stop().await;
}

async fn what_cannot_be_stored_stands_in_the_way_of_nothing_else(backend: Backend) {
    let site = Site::new(backend).await;
    site.at_hydra(
        "UPDATE hydra_oauth2_refresh SET granted_audience = repeat('a', 1100000) WHERE subject = 'alice';
         UPDATE hydra_oauth2_flow SET granted_at_audience = to_jsonb(ARRAY[repeat('a', 1100000)]) WHERE subject = 'alice';
         UPDATE hydra_oauth2_flow SET consent_remember = TRUE WHERE subject = 'carol'",
    )
    .await;
    let ended = site.import(HYDRA_SECRET, &[]);
    let imported = summary(&ended);
    assert_eq!((counts(&imported, "consents"), counts(&imported, "tokens")), ([1, 0, 1], [1, 0, 1]));
    for told in ["token d64fcbec-c322-4c44-b433-b838669a087b: ", "consent 68aac63e34b14a738ca440164d70fc64: "]
    {
        assert!(!ended.success && ended.stderr.contains(told), "{}", ended.stderr);
    }
    assert!(ended.stderr.len() < 10_000, "and not the value itself");
    let ended = site.import(HYDRA_SECRET, &[]);
    let again = summary(&ended);
    assert_eq!((counts(&again, "consents"), counts(&again, "tokens")), ([0, 1, 1], [0, 1, 1]));
    assert!(ended.stderr.contains("consent 68aac63e34b14a738ca440164d70fc64: "), "{}", ended.stderr);
}
