//! What a Hydra kept that began as version 1, or still is one. `hydra_1.sql`: its keys.

use reqwest::Method;
use serde_json::json;
use sluice_crypto::jwk::Jwk;
use sluice_crypto::jws::SigningKey;
use sluice_testkit::{Authorize, Backend};

use super::{HYDRA_SECRET, Site, counts, summary};
use crate::both_stores::on_both_stores;

on_both_stores!(
    keys_of_version_1_come_along_under_both_of_their_names,
    a_database_of_version_1_is_told_apart
);

const KEYS: &str = include_str!("hydra_1.sql");
/// The names of one key and of its public part.
const PRIVATE: &str = "private:c9a5b5f0-52d4-4d38-8f1f-6e0c2f3a1b77";
const PUBLIC: &str = "public:c9a5b5f0-52d4-4d38-8f1f-6e0c2f3a1b77";

async fn keys_of_version_1_come_along_under_both_of_their_names(backend: Backend) {
    let site = Site::new(backend).await;
    site.at_hydra(KEYS).await;
    let import = site.import(HYDRA_SECRET, &["--only", "keys"]);
    assert_eq!(counts(&summary(&import), "keys"), [3, 0, 1], "{}", import.stderr);
    assert!(import.stderr.contains("public:of-nobody: the key has no member `d`"), "{}", import.stderr);
    assert_eq!(site.again("keys"), ([0, 3, 1], 0));
    let sluice = site.serves().await;
    let set = sluice.ask_json(Method::GET, "/admin/keys/hydra.openid.id-token", None, 200).await;
    let private = set["keys"].as_array().unwrap().iter().find(|key| key["kid"] == PRIVATE).unwrap();
    assert!(["dp", "dq", "qi"].iter().all(|member| private[member].is_string()), "it is stored whole");
    let jwks = sluice.browser().visit("/.well-known/jwks.json").await;
    assert!([PRIVATE, PUBLIC].iter().all(|kid| jwks.body.contains(kid)), "{}", jwks.body);
    // As version 1 signed its id tokens.
    let jwk: Jwk = serde_json::from_value(private.clone()).unwrap();
    let signer = SigningKey::from_jwk(&Jwk { kid: Some(PUBLIC.to_owned()), ..jwk }).unwrap();
    let said = json!({"iss": "http://sluice.test/", "sub": "alice", "aud": ["web"], "exp": 1_700_000_000});
    let hint = signer.sign(None, said.to_string().as_bytes()).unwrap();
    let client = sluice.client(&json!({})).await;
    let with = Authorize { more: &[("id_token_hint", hint.as_str())], ..Authorize::default() };
    let challenge = sluice.browser().begin(&client, &with).await;
    let path = format!("/admin/oauth2/auth/requests/login?login_challenge={challenge}");
    let login = sluice.ask_json(Method::GET, &path, None, 200).await;
    assert_eq!(login["oidc_context"]["id_token_hint_claims"]["sub"], "alice", "{login}");
    sluice.node.stop().await;
}

async fn a_database_of_version_1_is_told_apart(backend: Backend) {
    let site = Site::new(backend).await;
    site.at_hydra("DROP TABLE networks").await;
    let import = site.import(HYDRA_SECRET, &[]);
    let is_told =
        import.stderr.contains("this is the database of an Ory Hydra 1.x: let one of version 2 migrate");
    assert!(!import.success && is_told, "{}", import.stderr);
    site.at_hydra("DROP TABLE hydra_client").await;
    let import = site.import(HYDRA_SECRET, &[]);
    let is_told = import.stderr.contains("this is not the database of an Ory Hydra 2.x");
    assert!(!import.success && is_told, "{}", import.stderr);
}
