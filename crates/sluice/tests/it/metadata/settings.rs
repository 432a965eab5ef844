//! What a setting changes, the metadata says, and nothing else changes there.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use sluice_testkit::{Authorize, Backend};

use super::Server;
use crate::client_id_metadata_document::Host;
use crate::jwt::claims;
use crate::legs::token;
use crate::oidc_claims::{told, with_built_in_pages};
use crate::rfc7591::{ENABLED, application, register};

/// The settings, and the entries that they change.
type Changes = (&'static [(&'static str, &'static str)], &'static [&'static str]);

const CHANGES: [Changes; 9] = [
    (&[("urls.registration", "http://login.test/registration")], &["prompt_values_supported"]),
    (
        &[("oauth2.pushed_authorization_requests.required", "true")],
        &["require_pushed_authorization_requests"],
    ),
    (&[("oauth2.request_objects.require_signed", "true")], &["require_signed_request_object"]),
    (&[("oauth2.request_objects.allow_unsigned", "true")], &["request_object_signing_alg_values_supported"]),
    (&[("oauth2.request_uris.enabled", "true")], &["request_uri_parameter_supported"]),
    (&[ENABLED], &["registration_endpoint"]),
    (
        &[("webfinger.oidc_discovery.supported_authorization_details_types", "payment,account")],
        &["authorization_details_types_supported"],
    ),
    (
        &[
            ("oidc.subject_identifiers.supported_types", "public,pairwise"),
            ("oidc.subject_identifiers.pairwise.salt", "a-salt-of-some-length"),
        ],
        &["subject_types_supported"],
    ),
    (
        &[
            ("oauth2.mtls.header", "Client-Cert"),
            ("oauth2.mtls.header_from", "127.0.0.0/8"),
            ("oauth2.mtls.endpoint_aliases_url", "https://mtls.sluice.test"),
        ],
        &[
            "introspection_endpoint_auth_methods_supported",
            "mtls_endpoint_aliases",
            "revocation_endpoint_auth_methods_supported",
            "tls_client_certificate_bound_access_tokens",
            "token_endpoint_auth_methods_supported",
        ],
    ),
];

/// The entries that one server has otherwise than another.
fn differences<'a>(one: &'a Server, other: &'a Server) -> BTreeSet<&'a str> {
    let entries = one.said.keys().chain(other.said.keys()).map(String::as_str);
    entries.filter(|entry| one.said.get(*entry) != other.said.get(*entry)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_entry_that_a_setting_changes_is_what_the_server_does() {
    let usual = Server::with(&[]).await;
    for (settings, entries) in CHANGES {
        let server = Server::with(settings).await;
        assert_eq!(differences(&usual, &server), entries.iter().copied().collect(), "{settings:?}");
        for entry in entries {
            server.compare(entry).await;
        }
        server.sluice.node.stop().await;
    }
    usual.sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_endpoint_that_is_not_announced_is_not_there() {
    let server = Server::with(&[]).await;
    assert!(!server.said.contains_key("registration_endpoint"));
    assert_eq!(register(&server.sluice, None, &json!({})).await.status, 404);
    server.sluice.node.stop().await;
}

/// Clients may register at another service, whether or not they may here.
#[tokio::test(flavor = "multi_thread")]
async fn where_else_clients_register_is_announced() {
    let elsewhere = ("webfinger.oidc_discovery.client_registration_url", "https://register.test/clients");
    for (settings, status) in [(&[elsewhere][..], 404), (&[elsewhere, ENABLED][..], 201)] {
        let server = Server::with(settings).await;
        assert_eq!(server.said["registration_endpoint"], elsewhere.1);
        assert_eq!(register(&server.sluice, None, &application()).await.status, status);
        server.sluice.node.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn metadata_documents_are_announced_where_they_describe_clients() {
    let usual = Server::with(&[]).await;
    let host = Host::open().await;
    let sluice = host.sluice(Backend::Sqlite, &[]).await;
    let server = Server::of(sluice, Some(host)).await;
    let entry = "client_id_metadata_document_supported";
    assert_eq!(differences(&usual, &server), [entry].into());
    server.compare(entry).await;
    server.sluice.node.stop().await;
    usual.sluice.node.stop().await;
}

/// The built-in pages know other things than pages of which nothing is known.
#[tokio::test(flavor = "multi_thread")]
async fn what_the_built_in_pages_tell_is_announced() {
    let usual = Server::with(&[]).await;
    let server = Server::of(with_built_in_pages(Backend::Sqlite).await, None).await;
    assert_eq!(
        differences(&usual, &server),
        [
            "acr_values_supported",
            "claims_supported",
            "prompt_values_supported",
            "scopes_supported",
            "ui_locales_supported"
        ]
        .into()
    );
    let scope = "openid offline_access profile email";
    let with = Authorize { scope, more: &[("prompt", "create")], ..Authorize::default() };
    let (tokens, userinfo) = told(&server.sluice, &with).await;
    let id_token = claims(token(&tokens, "id_token"));
    let known = |claim: &str| [&id_token, &userinfo].into_iter().any(|told| told.get(claim).is_some());
    assert!(server.names("acr_values_supported").contains(&id_token["acr"].as_str().unwrap()), "{id_token}");
    assert!(server.names("claims_supported").contains(&"acr"));
    for claim in server.names("claims_supported") {
        // The code goes another way than the token.
        assert!(known(claim) || matches!(claim, "c_hash" | "s_hash"), "{claim}: {id_token} {userinfo}");
    }
    for tag in server.names("ui_locales_supported") {
        let page = server.sluice.public.join(&format!("/oauth2/auth?ui_locales={tag}")).unwrap();
        assert_eq!(reqwest::get(page).await.unwrap().headers()["content-language"], tag);
    }
    assert!(tokens["refresh_token"].is_string());
    let of_scopes = [("profile", "preferred_username"), ("email", "email")];
    let own: Vec<_> = server
        .names("scopes_supported")
        .into_iter()
        .filter(|scope| !usual.names("scopes_supported").contains(scope))
        .collect();
    assert_eq!(own, of_scopes.map(|(scope, _)| scope));
    assert!(
        of_scopes.iter().all(|(_, claim)| userinfo.get(*claim).is_some_and(Value::is_string)),
        "{userinfo}"
    );
    server.sluice.node.stop().await;
    usual.sluice.node.stop().await;
}
