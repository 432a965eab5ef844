//! Hashes that other programs made: they open the account once, and are Argon2id afterwards.

use reqwest::Method;
use serde_json::json;
use sluice_crypto::credential::CredentialState;
use sluice_testkit::Backend;

use super::people::{ALICE, ANOTHER, Api, PASSWORD, node};
use super::records::{credential, kept};
use crate::both_stores::on_both_stores;

on_both_stores! {
    an_imported_hash_opens_the_account_and_is_hardened_by_that,
    what_is_no_hash_is_not_imported,
}

/// Made of [`PASSWORD`] by other programs (`crates/crypto/tests/it/foreign_vectors.rs`).
const HASHES: &[(&str, &str)] = &[
    ("bcrypt", "$2b$05$f5Wln.c9p1tJ/BOosudp1uoOWFqgwCkFgK8NE3cdQZzAWfgiyskVe"),
    (
        "argon2id",
        "$argon2id$v=19$m=256,t=2,p=2$c2FsdHNhbHRzYWx0c2FsdA$hxPLLiBpfa57qgxuWv9vyCQmEygKFVJ60hWMl7OF4Jo",
    ),
    (
        "argon2i",
        "$argon2i$v=19$m=256,t=2,p=2$c2FsdHNhbHRzYWx0c2FsdA$MbzA8GVF4EA/MgwlSaIMQCode2dyS6f4Ok6PSniQoZ0",
    ),
    ("pbkdf2-sha1", "$pbkdf2-sha1$i=1000,l=20$//79c2FsdHNhbHQ$UQ+bUnkZXT6LQ3JfDFeNFhhbtGY"),
    (
        "pbkdf2-sha256",
        "$pbkdf2-sha256$1000$KuWc07oXQkgJwfh/732vVQ$u3gMeLvFoIwT0wIZKhevRGwaMjfbBc5IwcWthfPDY70",
    ),
    (
        "pbkdf2-sha512",
        "$pbkdf2-sha512$1000$gdB6770XAiBkrPV.rxWiFA$NMZ7ASdEAzT/P/Y3Jq5kePlq5fuY6WVPxQS4jxQVUKHwr3XvgwsCjWt/4nfQy/3Q.y2cPadk01IdJSznlxSCTg",
    ),
    ("django", "pbkdf2_sha256$1000$bAyrqANsSNHo$MyThamXU1NLOD8r4f98MckDthi7yGnoJev65MsY3qCI="),
    ("scrypt", "$scrypt$ln=10,r=8,p=2$TmFDbE5hQ2xOYUNsTmFDbA$PBoLIcHtSExnac5B2trmL1iOiXA485U1nREeNRBXyr8"),
    (
        "firebase",
        "$firescrypt$ln=10,r=8,p=1$ZmlyZXNhbHQhIQ==$Rww1ffGmH4IZlhgs1eYsYfywvbMHRVJa39twjZBs591KiM10Cytkm51fMAmG7TH9W/ICJEK5LD2At3fCzjr8mQ==$Bw==$Y4Rm1IrOwHkNbGRbpYKDwwIwGfdYnuH064sQpr/VEsQPvNO81wCGlZ4JUpRPVqG8jyO2V7RXu9594m+irfIR/A==",
    ),
    ("ssha", "{SSHA}VpcFh24qF4B3cK4o3y9MwPgGGxYAAXNhbHQ="),
    ("sha256-crypt", "$5$.UbLwziWOzmY77tk$h252bp3kXqBaAbnJ.n8KHdjEwoWfwIyi6w86cQYod/3"),
    (
        "sha512-crypt",
        "$6$iWD02NnYgLw.TxAi$HHNbgPKpC2aCPYVNX45REqZqkJDtEGQO/7I0x/Wb91v1fQODdhK4mIJUPduqwKSHUK.nX3PzEF.SVSYo/M9L0/",
    ),
    ("md5-crypt", "$1$2JTxqUDL$Mi7TQz5E1tCp2s1OUM47K0"),
    ("phpass", "$H$BNAVfa1aIqsG.80iaUi3MeqgPvsbMV1"),
    ("drupal", "$S$DZs5FK7XIakUyl6aHYwvw85Fvd4TEcZ7gjwLw/N8TJtb/zSSi3JP"),
    ("wordpress", "$wp$2y$05$Sn7/2zMJtMGK9XHKFL6ujuDGuwnfbvE80F88pmqDanzcwYwNmPLOK"),
    ("hmac", "$hmac-sha1$MjYxNmIwMjY4Yjk5NzhhNjIxMzEwMjQzNzI5ZWI4YWYxNmY4ZDUxNw==$a2V5IQ=="),
];
async fn an_imported_hash_opens_the_account_and_is_hardened_by_that(backend: Backend) {
    let sluice = node(backend, &[]).await;
    let api = Api::of(&sluice);
    for (scheme, hash) in HASHES {
        let email = format!("{scheme}@example.com");
        let body = json!({"email": email, "password_hash": hash});
        let made = sluice.ask_json(Method::POST, "/admin/identities", Some(&body), 201).await;
        assert!(!made.to_string().contains(&hash[8..]), "{made}");
        let id = made["id"].as_str().unwrap();
        let stored = credential(&sluice, id).await;
        assert_eq!(kept(&sluice, id).await, (CredentialState::Foreign, None), "{scheme}");
        assert!(!stored.contains(&hash[8..]), "sealed at rest");
        api.log_in(&email, ANOTHER).await.is_problem(401, "invalid_credentials");
        assert_eq!(credential(&sluice, id).await, stored, "a wrong password changes nothing");
        assert_eq!(api.log_in(&email, PASSWORD).await.status, 200, "{scheme}");
        let hardened = credential(&sluice, id).await;
        assert_eq!(kept(&sluice, id).await, (CredentialState::Hardened, Some((64, 1))), "{scheme}");
        assert_eq!(api.log_in(&email, PASSWORD).await.status, 200, "{scheme}, hardened");
        assert_eq!(credential(&sluice, id).await, hardened, "once");
        api.log_in(&email, ANOTHER).await.is_problem(401, "invalid_credentials");
    }
    sluice.node.stop().await;
}

async fn what_is_no_hash_is_not_imported(backend: Backend) {
    let sluice = node(backend, &[]).await;
    for hash in [
        "",
        "plain text",
        "$2b$05$short",
        "$argon2id$v=19$m=4294967295,t=1,p=1$c2FsdHNhbHQ$aGFzaA",
        "p1$x",
        "h1$x",
    ] {
        let body = json!({"email": ALICE, "password_hash": hash});
        let refused = sluice.ask_json(Method::POST, "/admin/identities", Some(&body), 400).await;
        assert!(refused["error"].is_string() && refused["error_description"].is_string(), "{refused}");
        assert!(hash.is_empty() || !refused.to_string().contains(hash), "{refused}");
    }
    Api::of(&sluice).register(ALICE).await;
    sluice.node.stop().await;
}
