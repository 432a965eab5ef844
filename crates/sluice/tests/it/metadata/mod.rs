//! The metadata of the server says what is true and nothing else (OpenID Connect Discovery §3, RFC 8414 §2): each entry is
//! compared with what the server does.

mod answers;
mod authentication;
pub(crate) mod binding;
mod endpoints;
mod known;
mod logout;
mod requests;
mod settings;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde_json::{Map, Value};
use sluice_crypto::jwk::SigningAlgorithm;
use sluice_testkit::{Backend, ISSUER, TestSluice};
use tokio::sync::OnceCell;

use crate::client_id_metadata_document::Host;
use crate::requests::Signer;

/// A key of clients for each algorithm, by all its names.
static SIGNERS: LazyLock<BTreeMap<&str, Signer>> = LazyLock::new(|| {
    let named = |algorithm: SigningAlgorithm| {
        let names = [Some(algorithm.as_str()), algorithm.other_name()];
        names.into_iter().flatten().map(move |name| (name, Signer::new(algorithm)))
    };
    SigningAlgorithm::ALL.into_iter().flat_map(named).collect()
});

/// A server, and what it says about itself.
struct Server {
    sluice: TestSluice,
    said: Map<String, Value>,
    /// What a client is told that registered an algorithm for its answers, by algorithm.
    signed: OnceCell<BTreeMap<String, answers::Told>>,
    /// The same for how answers are encrypted, as it came.
    encrypted: OnceCell<Vec<answers::Told>>,
    /// Whose documents the server trusts to be there.
    host: Option<Host>,
}

impl Server {
    async fn with(settings: &[(&str, &str)]) -> Self {
        Self::of(TestSluice::with(Backend::Sqlite, settings).await, None).await
    }

    async fn of(sluice: TestSluice, host: Option<Host>) -> Self {
        let said = document(&sluice, "/.well-known/openid-configuration").await;
        Self { sluice, said, signed: OnceCell::new(), encrypted: OnceCell::new(), host }
    }

    /// The names in a list; each is there once.
    #[track_caller]
    fn names(&self, entry: &str) -> Vec<&str> {
        let list = self.said[entry].as_array().unwrap_or_else(|| panic!("{entry} is no list"));
        let names: Vec<_> = list.iter().map(|name| name.as_str().unwrap()).collect();
        let each: std::collections::BTreeSet<_> = names.iter().collect();
        assert_eq!(each.len(), names.len(), "{entry}: {names:?}");
        assert!(!names.is_empty(), "RFC 8414 §3.2: {entry} would not be there");
        names
    }

    fn flag(&self, entry: &str) -> bool {
        self.said[entry].as_bool().unwrap_or_else(|| panic!("{entry} is neither true nor false"))
    }

    /// The path of an endpoint of this server.
    fn path(&self, entry: &str) -> &str {
        let address = self.said[entry].as_str().unwrap();
        address.strip_prefix(ISSUER.trim_end_matches('/')).unwrap_or_else(|| panic!("{entry}: {address}"))
    }

    /// Compares an entry with what the server does.
    async fn compare(&self, entry: &str) {
        match entry {
            "issuer" => assert_eq!(self.said[entry], ISSUER, "what `iss` is in all these tests"),
            "authorization_endpoint"
            | "token_endpoint"
            | "pushed_authorization_request_endpoint"
            | "device_authorization_endpoint"
            | "jwks_uri"
            | "userinfo_endpoint"
            | "introspection_endpoint"
            | "revocation_endpoint"
            | "end_session_endpoint"
            | "registration_endpoint" => endpoints::check(self, entry).await,
            "token_endpoint_auth_methods_supported"
            | "revocation_endpoint_auth_methods_supported"
            | "introspection_endpoint_auth_methods_supported" => authentication::methods(self, entry).await,
            "token_endpoint_auth_signing_alg_values_supported"
            | "revocation_endpoint_auth_signing_alg_values_supported"
            | "introspection_endpoint_auth_signing_alg_values_supported" => {
                authentication::algorithms(self, entry).await;
            }
            "dpop_signing_alg_values_supported" => binding::proofs(self, entry).await,
            "tls_client_certificate_bound_access_tokens" => binding::certificates(self, entry).await,
            "mtls_endpoint_aliases" => binding::aliases(self, entry).await,
            _ => self.compare_flow(entry).await,
        }
    }

    /// Compares what is said about flows.
    async fn compare_flow(&self, entry: &str) {
        match entry {
            "scopes_supported" => known::scopes(self, entry).await,
            "claims_supported" => known::claims(self, entry).await,
            "claims_parameter_supported" => known::claims_parameter(self, entry).await,
            "subject_types_supported" => known::subject_types(self, entry).await,
            "client_id_metadata_document_supported" => known::documents(self, entry).await,
            "response_types_supported" => requests::response_types(self, entry).await,
            "response_modes_supported" => requests::response_modes(self, entry).await,
            "grant_types_supported" => requests::grant_types(self, entry).await,
            "authorization_details_types_supported" => requests::details_types(self, entry).await,
            "prompt_values_supported" => requests::prompts(self, entry).await,
            "code_challenge_methods_supported" => requests::challenge_methods(self, entry).await,
            "request_parameter_supported" => requests::objects(self, entry).await,
            "request_uri_parameter_supported" | "require_request_uri_registration" => {
                requests::references(self, entry).await;
            }
            "require_pushed_authorization_requests" => requests::must_push(self, entry).await,
            "require_signed_request_object" => requests::must_sign(self, entry).await,
            "request_object_signing_alg_values_supported" => requests::signing(self, entry).await,
            "request_object_encryption_alg_values_supported"
            | "request_object_encryption_enc_values_supported" => requests::encryption(self, entry).await,
            "authorization_response_iss_parameter_supported" => answers::issuer(self, entry).await,
            "backchannel_logout_supported" | "backchannel_logout_session_supported" => {
                logout::back(self, entry).await;
            }
            "frontchannel_logout_supported" | "frontchannel_logout_session_supported" => {
                logout::front(self, entry).await;
            }
            _ => self.compare_answer(entry).await,
        }
    }

    /// Compares what is said about answers that are signed or encrypted.
    async fn compare_answer(&self, entry: &str) {
        let of = |ending| entry.strip_suffix(ending).filter(|kind| answers::KINDS.contains(kind));
        if let Some(kind) = of("_signing_alg_values_supported").or(of("_signed_response_alg")) {
            answers::signing(self, entry, kind).await;
        } else if let Some(kind) = of("_encryption_alg_values_supported") {
            answers::encryption(self, entry, (kind, "alg")).await;
        } else if let Some(kind) = of("_encryption_enc_values_supported") {
            answers::encryption(self, entry, (kind, "enc")).await;
        } else {
            panic!("`{entry}` is announced, and nothing here compares it with what the server does");
        }
    }
}

async fn document(sluice: &TestSluice, path: &str) -> Map<String, Value> {
    let page = sluice.browser().visit(path).await;
    assert_eq!(page.status, 200, "{path}: {}", page.body);
    serde_json::from_str(&page.body).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn each_entry_is_what_the_server_does() {
    let server = Server::with(&[]).await;
    for entry in server.said.keys() {
        server.compare(entry).await;
    }
    server.sluice.node.stop().await;
}

/// OpenID Connect Discovery §4, RFC 8414 §3.
#[tokio::test(flavor = "multi_thread")]
async fn both_places_have_the_same_document() {
    let server = Server::with(&[]).await;
    let other = document(&server.sluice, "/.well-known/oauth-authorization-server").await;
    assert_eq!(other, server.said);
    server.sluice.node.stop().await;
}
