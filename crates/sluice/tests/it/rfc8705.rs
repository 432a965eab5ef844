//! RFC 8705, section by section: clients that show a certificate, to the listener itself or to a proxy before it.

use std::path::Path;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use rcgen::{
    BasicConstraints, Certificate, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, SanType,
    date_time_ymd,
};
use reqwest::Identity;
use serde_json::{Value, json};
use sluice_crypto::certificate::ClientCertificate;
use sluice_crypto::digest::sha256;
use sluice_net::{SelfSigned, self_signed};
use sluice_primitives::{Clock, SystemClock};
use sluice_testkit::{Authorize, Backend, TestClient, TestSluice};

use crate::answer::{Answer, http, http_with};
use crate::both_stores::on_both_stores;
use crate::keyed::{Key, MACHINE, changed, code_from, redemption, send};
use crate::legs::token;

on_both_stores!(tokens_are_bound_to_the_certificate);

/// A certificate of a client and its key.
pub(crate) struct Shown {
    certificate: Certificate,
    key: KeyPair,
}

impl Shown {
    fn parameters(name: &str) -> CertificateParams {
        let mut parameters = CertificateParams::new(Vec::new()).unwrap();
        parameters.distinguished_name.push(DnType::CommonName, name);
        parameters
    }

    pub(crate) fn self_signed() -> Self {
        let key = KeyPair::generate().unwrap();
        Self { certificate: Self::parameters("client").self_signed(&key).unwrap(), key }
    }

    fn by(authority: &CertifiedIssuer<'_, KeyPair>, parameters: &CertificateParams) -> Self {
        let key = KeyPair::generate().unwrap();
        Self { certificate: parameters.signed_by(&key, authority).unwrap(), key }
    }

    pub(crate) fn thumbprint(&self) -> String {
        URL_SAFE_NO_PAD.encode(sha256(self.certificate.der()))
    }

    pub(crate) fn jwk(&self) -> Value {
        let jwk = ClientCertificate::from_der(self.certificate.der()).unwrap().to_jwk().unwrap();
        serde_json::to_value(jwk).unwrap()
    }

    pub(crate) fn identity(&self) -> Identity {
        let pem = format!("{}{}", self.key.serialize_pem(), self.certificate.pem());
        Identity::from_pem(pem.as_bytes()).unwrap()
    }

    /// As RFC 9440 §2.2 writes it.
    pub(crate) fn client_cert(&self) -> String {
        format!(":{}:", STANDARD.encode(self.certificate.der()))
    }
}

fn authority(name: &str) -> CertifiedIssuer<'static, KeyPair> {
    let mut parameters = Shown::parameters(name);
    parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(parameters, KeyPair::generate().unwrap()).unwrap()
}

/// A server whose public listener asks for certificates.
struct Asking {
    sluice: TestSluice,
    own: SelfSigned,
}

impl Asking {
    async fn on(backend: Backend, directory: &Path, more: &[(&str, &str)]) -> Self {
        let own = self_signed(&["127.0.0.1".to_owned()], SystemClock.now()).unwrap();
        let (cert, key) = (directory.join("cert.pem"), directory.join("key.pem"));
        std::fs::write(&key, own.private_key.expose()).unwrap();
        std::fs::write(&cert, &own.certificate).unwrap();
        let mut settings = vec![
            ("serve.public.tls.enabled", "true"),
            ("serve.public.tls.cert.path", cert.to_str().unwrap()),
            ("serve.public.tls.key.path", key.to_str().unwrap()),
            ("serve.public.tls.allow_termination_from", "127.0.0.0/8"),
            ("oauth2.mtls.enabled", "true"),
        ];
        settings.extend_from_slice(more);
        Self { sluice: TestSluice::with(backend, &settings).await, own }
    }

    fn http(&self, shown: Option<&Shown>) -> reqwest::Client {
        let own = reqwest::Certificate::from_pem(self.own.certificate.as_bytes()).unwrap();
        http_with(|builder| {
            let builder = builder.tls_certs_only([own]);
            match shown {
                Some(shown) => builder.identity(shown.identity()),
                None => builder,
            }
        })
    }

    fn url(&self, path: &str) -> url::Url {
        let mut url = self.sluice.public.join(path).unwrap();
        url.set_scheme("https").unwrap();
        url
    }

    /// Sends a form, showing this certificate.
    async fn send(&self, shown: Option<&Shown>, path: &str, form: &[(&str, &str)]) -> Answer {
        Answer::to(self.http(shown).post(self.url(path)).form(form)).await
    }

    async fn token(&self, shown: Option<&Shown>, client: &TestClient, form: &[(&str, &str)]) -> Answer {
        self.send(shown, "/oauth2/token", &[form, &[("client_id", client.id.as_str())]].concat()).await
    }

    async fn userinfo(&self, shown: Option<&Shown>, access_token: &str) -> Answer {
        Answer::to(self.http(shown).get(self.url("/userinfo")).bearer_auth(access_token)).await
    }

    /// A code, by way of a proxy that ended TLS: browsers are not what is asked here.
    async fn code(&self, client: &TestClient) -> String {
        let asked: url::Url = client.authorize_url(&Authorize::default()).parse().unwrap();
        let mut begin = self.url("/oauth2/auth");
        begin.set_query(asked.query());
        let mut browser = Walk { http: self.http(None), asking: self, cookies: Vec::new() };
        let challenge = browser.go(begin.as_str()).await.expect("login_challenge");
        let verifier =
            sluice_testkit::accept_login(&self.sluice, &challenge, &json!({"subject": "alice"})).await;
        let challenge = browser.go(&verifier).await.expect("consent_challenge");
        let verifier = sluice_testkit::accept_consent(&self.sluice, &challenge, &json!({})).await;
        browser.go(&verifier).await.expect("code")
    }
}

/// A browser that speaks TLS.
struct Walk<'a> {
    http: reqwest::Client,
    asking: &'a Asking,
    cookies: Vec<String>,
}

struct Step(url::Url);

impl Step {
    fn expect(&self, name: &str) -> String {
        crate::legs::parameter(self.0.as_str(), name)
    }
}

impl Walk<'_> {
    async fn go(&mut self, address: &str) -> Step {
        let asked = self.asking.url("/").join(address).unwrap();
        let mut url = self.asking.url(asked.path());
        url.set_query(asked.query());
        let request = self.http.get(url).header("cookie", self.cookies.join("; "));
        let answer = request.send().await.unwrap();
        for cookie in answer.headers().get_all("set-cookie") {
            self.cookies.push(cookie.to_str().unwrap().split(';').next().unwrap().to_owned());
        }
        let location = answer.headers()["location"].to_str().unwrap();
        Step(self.asking.url("/").join(location).unwrap())
    }
}

async fn tokens_are_bound_to_the_certificate(backend: Backend) {
    let directory = tempfile::tempdir().unwrap();
    let asking = Asking::on(backend, directory.path(), &[]).await;
    let (shown, other) = (Shown::self_signed(), Shown::self_signed());
    let client = json!({"token_endpoint_auth_method": "none",
                        "grant_types": ["authorization_code", "refresh_token"],
                        "tls_client_certificate_bound_access_tokens": true});
    let client = asking.sluice.client(&client).await;
    let code = asking.code(&client).await;
    let form = redemption(&client, &code);
    asking.token(None, &client, &form).await.refused_with(400, "invalid_request");
    let tokens = asking.token(Some(&shown), &client, &form).await.ok();
    assert_eq!(tokens["token_type"], "bearer", "§3: the token needs no type of its own");
    let access_token = token(&tokens, "access_token");
    let said = asking.sluice.introspect(access_token).await;
    assert_eq!(said["cnf"], json!({"x5t#S256": shown.thumbprint()}), "§3.2");
    asking.userinfo(Some(&shown), access_token).await.ok();
    for wrong in [None, Some(&other)] {
        let answer = asking.userinfo(wrong, access_token).await;
        answer.refused_with(401, "invalid_token");
        assert!(answer.body.contains("is bound to a certificate"), "{}", answer.body);
    }
    // §7.1: the refresh token of a public client is bound as well.
    let refresh = [("grant_type", "refresh_token"), ("refresh_token", token(&tokens, "refresh_token"))];
    let before = asking.sluice.written().grant_updates;
    asking.token(Some(&other), &client, &refresh).await.refused_with(400, "invalid_grant");
    assert_eq!(asking.sluice.written().grant_updates, before);
    let fresh = asking.token(Some(&shown), &client, &refresh).await.ok();
    asking.userinfo(Some(&shown), token(&fresh, "access_token")).await.ok();
    asking.sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_self_signed_certificate_is_known_by_its_key() {
    let directory = tempfile::tempdir().unwrap();
    let asking = Asking::on(Backend::Sqlite, directory.path(), &[]).await;
    let (shown, other) = (Shown::self_signed(), Shown::self_signed());
    let by_key = changed(shown.jwk(), &json!({"x5c": null, "x5t#S256": null}));
    for jwk in [by_key, shown.jwk()] {
        let metadata = json!({"token_endpoint_auth_method": "self_signed_tls_client_auth",
                              "jwks": {"keys": [other_kind(), jwk]}});
        let client = asking.sluice.client(&metadata).await;
        let tokens = asking.token(Some(&shown), &client, MACHINE).await.ok();
        let said = asking.sluice.introspect(token(&tokens, "access_token")).await;
        assert_eq!(said.get("cnf"), None, "the client did not ask for bound tokens");
        for wrong in [None, Some(&other)] {
            asking.token(wrong, &client, MACHINE).await.refused_with(401, "invalid_client");
        }
        // The certificate is the method: a secret besides is another.
        let both = [MACHINE, &[("client_secret", "a-secret-of-some-length")]].concat();
        asking.token(Some(&shown), &client, &both).await.refused_with(401, "invalid_client");
        // The same at the other endpoints for clients.
        let revoke = [("client_id", client.id.as_str()), ("token", token(&tokens, "access_token"))];
        asking.send(None, "/oauth2/revoke", &revoke).await.refused_with(401, "invalid_client");
        assert_eq!(asking.send(Some(&shown), "/oauth2/revoke", &revoke).await.status, 200);
    }
    let mut expired = Shown::parameters("client");
    expired.not_after = date_time_ymd(2020, 1, 1);
    let expired =
        Shown { certificate: expired.self_signed(&shown.key).unwrap(), key: KeyPair::generate().unwrap() };
    let metadata = json!({"token_endpoint_auth_method": "self_signed_tls_client_auth",
                          "jwks": {"keys": [changed(expired.jwk(), &json!({"x5c": null, "x5t#S256": null}))]}});
    let client = asking.sluice.client(&metadata).await;
    asking.token(Some(&shown), &client, MACHINE).await.ok();
    let expired = Shown { key: shown.key, ..expired };
    asking.token(Some(&expired), &client, MACHINE).await.refused_with(401, "invalid_client");
    asking.sluice.node.stop().await;
}

/// A key that no certificate of these tests has.
fn other_kind() -> Value {
    json!({"kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo", "kid": "another"})
}

#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_of_an_authority_is_known_by_its_name() {
    let directory = tempfile::tempdir().unwrap();
    let (known, foreign) = (authority("Known"), authority("Foreign"));
    let anchors = directory.path().join("anchors.pem");
    std::fs::write(&anchors, known.pem()).unwrap();
    let anchors = [("oauth2.mtls.trust_anchors", anchors.to_str().unwrap())];
    let asking = Asking::on(Backend::Sqlite, directory.path(), &anchors).await;
    let mut named = Shown::parameters("client");
    named.distinguished_name.push(DnType::OrganizationName, "Example");
    named.subject_alt_names = vec![
        SanType::DnsName("client.example".try_into().unwrap()),
        SanType::URI("https://client.example/id".try_into().unwrap()),
        SanType::IpAddress("192.0.2.1".parse().unwrap()),
        SanType::Rfc822Name("ops@client.example".try_into().unwrap()),
    ];
    let good = Shown::by(&known, &named);
    let nameless = Shown::by(&known, &Shown::parameters("other"));
    let untrusted = Shown::by(&foreign, &named);
    let own_key = KeyPair::generate().unwrap();
    let itself = Shown { certificate: named.self_signed(&own_key).unwrap(), key: own_key };
    let mut old = named.clone();
    old.not_after = date_time_ymd(2020, 1, 1);
    let expired = Shown::by(&known, &old);
    for (member, name, another) in [
        ("subject_dn", "O=Example,CN=client", "O=Example,CN=clients"),
        ("san_dns", "CLIENT.example", "example"),
        ("san_uri", "https://client.example/id", "https://client.example/"),
        ("san_ip", "192.0.2.1", "192.0.2.2"),
        ("san_email", "ops@CLIENT.example", "Ops@client.example"),
    ] {
        let member = format!("tls_client_auth_{member}");
        let client = |name: &str| json!({"token_endpoint_auth_method": "tls_client_auth", &member: name});
        let wrong = asking.sluice.client(&client(another)).await;
        asking.token(Some(&good), &wrong, MACHINE).await.refused_with(401, "invalid_client");
        let client = asking.sluice.client(&client(name)).await;
        let answer = asking.token(Some(&good), &client, MACHINE).await;
        assert_eq!(answer.status, 200, "{member}: {}", answer.body);
        for shown in [&nameless, &untrusted, &itself, &expired] {
            asking.token(Some(shown), &client, MACHINE).await.refused_with(401, "invalid_client");
        }
        asking.token(None, &client, MACHINE).await.refused_with(401, "invalid_client");
    }
    asking.sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_proxy_passes_certificates_on_and_is_known_by_its_address() {
    let from = |network| [("oauth2.mtls.header", "Client-Cert"), ("oauth2.mtls.header_from", network)];
    let behind = TestSluice::with(Backend::Sqlite, &from("127.0.0.0/8")).await;
    let open = TestSluice::with(Backend::Sqlite, &from("10.0.0.0/8")).await;
    let shown = Shown::self_signed();
    let metadata = json!({"token_endpoint_auth_method": "self_signed_tls_client_auth",
                          "tls_client_certificate_bound_access_tokens": true,
                          "jwks": {"keys": [shown.jwk()]}});
    let asked = async |sluice: &TestSluice, headers: &[(&'static str, String)]| {
        let client = sluice.client(&metadata).await;
        let headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let form = [MACHINE, &[("client_id", client.id.as_str())]].concat();
        send(sluice, "/oauth2/token", &headers, &form).await
    };
    let header = || ("client-cert", shown.client_cert());
    let tokens = asked(&behind, &[header()]).await.ok();
    let said = behind.introspect(token(&tokens, "access_token")).await;
    assert_eq!(said["cnf"], json!({"x5t#S256": shown.thumbprint()}));
    asked(&behind, &[]).await.refused_with(401, "invalid_client");
    asked(&behind, &[("client-cert", ":AAAA:".to_owned())]).await.refused_with(401, "invalid_client");
    asked(&behind, &[header(), header()]).await.refused_with(401, "invalid_client");
    asked(&behind, &[("x-client-cert", shown.client_cert())]).await.refused_with(401, "invalid_client");
    asked(&open, &[header()]).await.refused_with(401, "invalid_client");
    behind.node.stop().await;
    open.node.stop().await;
}

/// §2.1: many proxies pass on what they did not verify.
#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_a_proxy_passes_on_counts_only_if_somebody_vouches_for_it() {
    let directory = tempfile::tempdir().unwrap();
    let known = authority("Known");
    let anchors = directory.path().join("anchors.pem");
    std::fs::write(&anchors, known.pem()).unwrap();
    let (good, forged) = (Shown::by(&known, &Shown::parameters("client")), Shown::self_signed());
    let proxy = [("oauth2.mtls.header", "Client-Cert"), ("oauth2.mtls.header_from", "127.0.0.0/8")];
    for (more, good_counts, forged_counts) in [
        (None, false, false),
        (Some(("oauth2.mtls.trust_anchors", anchors.to_str().unwrap())), true, false),
        (Some(("oauth2.mtls.proxy_verifies", "true")), true, true),
    ] {
        let settings: Vec<_> = proxy.into_iter().chain(more).collect();
        let sluice = TestSluice::with(Backend::Sqlite, &settings).await;
        let named = json!({"token_endpoint_auth_method": "tls_client_auth",
                           "tls_client_auth_subject_dn": "CN=client"});
        let client = sluice.client(&named).await;
        let form = [MACHINE, &[("client_id", client.id.as_str())]].concat();
        for (shown, counts) in [(&good, good_counts), (&forged, forged_counts)] {
            let value = shown.client_cert();
            let headers = [("client-cert", value.as_str())];
            let answer = send(&sluice, "/oauth2/token", &headers, &form).await;
            assert_eq!(answer.status, if counts { 200 } else { 401 }, "{more:?}: {}", answer.body);
        }
        sluice.node.stop().await;
    }
}

/// §2.1: an authority whose key has leaked is taken out of the file.
#[tokio::test(flavor = "multi_thread")]
async fn an_authority_that_left_the_file_vouches_for_nobody_any_more() {
    let directory = tempfile::tempdir().unwrap();
    let (left, stayed) = (authority("Left"), authority("Stayed"));
    let file = directory.path().join("anchors.pem");
    std::fs::write(&file, [left.pem(), stayed.pem()].concat()).unwrap();
    let settings = [
        ("oauth2.mtls.header", "Client-Cert"),
        ("oauth2.mtls.header_from", "127.0.0.0/8"),
        ("oauth2.mtls.trust_anchors", file.to_str().unwrap()),
    ];
    let sluice = TestSluice::with(Backend::Sqlite, &settings).await;
    let metadata =
        json!({"token_endpoint_auth_method": "tls_client_auth", "tls_client_auth_subject_dn": "CN=client"});
    let client = sluice.client(&metadata).await;
    let form = [MACHINE, &[("client_id", client.id.as_str())]].concat();
    let status = async |shown: &Shown| {
        let value = shown.client_cert();
        send(&sluice, "/oauth2/token", &[("client-cert", value.as_str())], &form).await.status
    };
    let of = |authority| Shown::by(authority, &Shown::parameters("client"));
    let (of_left, of_stayed) = (of(&left), of(&stayed));
    assert_eq!((status(&of_left).await, status(&of_stayed).await), (200, 200));
    std::fs::write(&file, stayed.pem()).unwrap();
    let until = std::time::Instant::now() + Duration::from_secs(30);
    while status(&of_left).await != 401 {
        assert!(std::time::Instant::now() < until, "it still vouches");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(status(&of_stayed).await, 200);
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn discovery_names_certificates_where_they_reach_this_server() {
    let metadata = async |settings: &[(&str, &str)]| {
        let sluice = TestSluice::with(Backend::Sqlite, settings).await;
        let url = sluice.public.join("/.well-known/oauth-authorization-server").unwrap();
        let metadata = Answer::to(http().get(url)).await.ok();
        sluice.node.stop().await;
        metadata
    };
    let methods = |metadata: &Value| {
        let methods = metadata["token_endpoint_auth_methods_supported"].to_string();
        (methods.contains("\"tls_client_auth\""), methods.contains("\"self_signed_tls_client_auth\""))
    };
    let without = metadata(&[]).await;
    assert_eq!(methods(&without), (false, false));
    assert_eq!(without["tls_client_certificate_bound_access_tokens"], false);
    assert_eq!(without.get("mtls_endpoint_aliases"), None);
    let proxy = [
        ("oauth2.mtls.header", "Client-Cert"),
        ("oauth2.mtls.header_from", "10.0.0.0/8"),
        ("oauth2.mtls.endpoint_aliases_url", "https://mtls.sluice.test"),
    ];
    let with = metadata(&proxy).await;
    assert_eq!(methods(&with), (false, true), "nobody vouches for names");
    let verifying = metadata(&[&proxy[..], &[("oauth2.mtls.proxy_verifies", "true")]].concat()).await;
    assert_eq!(methods(&verifying), (true, true));
    assert_eq!(with["tls_client_certificate_bound_access_tokens"], true);
    let aliases = &with["mtls_endpoint_aliases"];
    assert_eq!(aliases["token_endpoint"], "https://mtls.sluice.test/oauth2/token");
    for (name, alias) in aliases.as_object().unwrap() {
        assert!(
            with[name].is_string() && alias.as_str().unwrap().starts_with("https://mtls.sluice.test/"),
            "{name}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_code_of_another_way_in_is_bound_all_the_same() {
    let from = [("oauth2.mtls.header", "Client-Cert"), ("oauth2.mtls.header_from", "127.0.0.0/8")];
    let sluice = TestSluice::with(Backend::Sqlite, &from).await;
    let shown = Shown::self_signed();
    let metadata = json!({"token_endpoint_auth_method": "client_secret_post",
                          "tls_client_certificate_bound_access_tokens": true});
    let client = sluice.client(&metadata).await;
    let code = code_from(&sluice, &client.authorize_url(&Authorize::default())).await;
    client.redeem(&code).await.refused_with("invalid_request");
    let secret = client.secret.clone().unwrap();
    let credentials = [("client_id", client.id.as_str()), ("client_secret", &secret)];
    let value = shown.client_cert();
    let form = [redemption(&client, &code).as_slice(), &credentials].concat();
    let tokens = send(&sluice, "/oauth2/token", &[("client-cert", value.as_str())], &form).await.ok();
    let access_token = token(&tokens, "access_token");
    assert_eq!(client.userinfo(access_token).await.0, 401);
    let request = http().get(sluice.public.join("/userinfo").unwrap()).bearer_auth(access_token);
    Answer::to(request.header("client-cert", value)).await.ok();
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_code_that_is_bound_to_a_proof_yields_tokens_that_are_bound_to_the_certificate() {
    let from = [("oauth2.mtls.header", "Client-Cert"), ("oauth2.mtls.header_from", "127.0.0.0/8")];
    let sluice = TestSluice::with(Backend::Sqlite, &from).await;
    let (shown, key) = (Shown::self_signed(), Key::new());
    let metadata = json!({"token_endpoint_auth_method": "none",
                          "tls_client_certificate_bound_access_tokens": true});
    let client = sluice.client(&metadata).await;
    let thumbprint = key.thumbprint();
    let more = [("dpop_jkt", thumbprint.as_str())];
    let with = Authorize { more: &more, ..Authorize::default() };
    let code = code_from(&sluice, &client.authorize_url(&with)).await;
    let id = [("client_id", client.id.as_str())];
    let form = [redemption(&client, &code).as_slice(), &id].concat();
    let certificate = shown.client_cert();
    let none = [("client-cert", certificate.as_str())];
    send(&sluice, "/oauth2/token", &none, &form).await.refused_with(400, "invalid_grant");
    let proofs = [Key::new(), key].map(|key| key.proof(&sluice, "/oauth2/token"));
    let [other, own] = proofs.each_ref().map(|proof| [none[0], ("dpop", proof.as_str())]);
    send(&sluice, "/oauth2/token", &other, &form).await.refused_with(400, "invalid_grant");
    let tokens = send(&sluice, "/oauth2/token", &own, &form).await.ok();
    let said = sluice.introspect(token(&tokens, "access_token")).await;
    assert_eq!(said["cnf"], json!({"x5t#S256": shown.thumbprint()}));
    sluice.node.stop().await;
}
