//! TLS at the public listener, and proxies that end it before.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use reqwest::tls::TlsInfo;
use reqwest::{StatusCode, Version};
use serde_json::json;
use sluice_crypto::certificate::ClientCertificate;
use sluice_net::{SelfSigned, self_signed};
use sluice_primitives::{Clock, Lifetime, SystemClock};
use sluice_testkit::{Authorize, Backend, TestSluice};
use url::Url;

use crate::answer::{Answer, http_with};
use crate::process::Site;
use crate::program::run;

const AT_MOST: Duration = Duration::from_mins(1);

fn certificate() -> SelfSigned {
    self_signed(&["127.0.0.1".to_owned()], SystemClock.now()).unwrap()
}

/// Puts a certificate into the files of a listener.
fn install(directory: &Path, certificate: &SelfSigned) {
    fs::write(directory.join("key.pem"), certificate.private_key.expose()).unwrap();
    fs::write(directory.join("cert.pem"), &certificate.certificate).unwrap();
}

async fn over_tls(directory: &Path, more: &[(&str, &str)]) -> (TestSluice, Url) {
    let (cert, key) = (directory.join("cert.pem"), directory.join("key.pem"));
    let mut settings = vec![
        ("serve.public.tls.enabled", "true"),
        ("serve.public.tls.cert.path", cert.to_str().unwrap()),
        ("serve.public.tls.key.path", key.to_str().unwrap()),
    ];
    settings.extend_from_slice(more);
    let sluice = TestSluice::with(Backend::Sqlite, &settings).await;
    let mut url = sluice.public.clone();
    url.set_scheme("https").unwrap();
    (sluice, url)
}

/// A client that trusts this certificate and no other.
fn trusting(certificate: &SelfSigned) -> reqwest::Client {
    let certificate = reqwest::Certificate::from_pem(certificate.certificate.as_bytes()).unwrap();
    // Each request is a new connection: one that is open keeps the certificate it began with.
    http_with(|builder| builder.tls_certs_only([certificate]).tls_info(true).pool_max_idle_per_host(0))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_of_the_folder_is_shown_its_certificate_and_no_other() {
    let directory = tempfile::tempdir().unwrap();
    let first = certificate();
    install(directory.path(), &first);
    let shop = self_signed(&["shop.example.com".to_owned()], SystemClock.now()).unwrap();
    let folder = directory.path().join("more/shop.example.com");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("fullchain.pem"), &shop.certificate).unwrap();
    fs::write(folder.join("privkey.pem"), shop.private_key.expose()).unwrap();
    let more = directory.path().join("more");
    let folder_key = [("serve.public.tls.folder", more.to_str().unwrap())];
    let (sluice, url) = over_tls(directory.path(), &folder_key).await;
    assert!(
        trusting(&first).get(url.join("/health/alive").unwrap()).send().await.unwrap().status().is_success()
    );
    let address = url.socket_addrs(|| None).unwrap()[0];
    let alive = format!("https://shop.example.com:{}/health/alive", address.port());
    for (trusted, is_shown) in [(&shop, true), (&first, false)] {
        let certificate = reqwest::Certificate::from_pem(trusted.certificate.as_bytes()).unwrap();
        let client =
            http_with(|builder| builder.tls_certs_only([certificate]).resolve("shop.example.com", address));
        assert_eq!(client.get(&alive).send().await.is_ok(), is_shown);
    }
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_that_changes_on_disk_is_used_for_new_connections() {
    let directory = tempfile::tempdir().unwrap();
    let (first, second) = (certificate(), certificate());
    install(directory.path(), &first);
    let (sluice, url) = over_tls(directory.path(), &[]).await;
    let alive = url.join("/health/alive").unwrap();
    let answer = trusting(&first).get(alive.clone()).send().await.unwrap();
    assert_eq!((answer.status(), answer.version()), (StatusCode::OK, Version::HTTP_2), "h2 by ALPN");
    let shown = answer.extensions().get::<TlsInfo>().unwrap().peer_certificate().unwrap().to_vec();
    assert!(!shown.is_empty());
    let old = http_with(|builder| {
        let certificate = reqwest::Certificate::from_pem(first.certificate.as_bytes()).unwrap();
        builder.tls_certs_only([certificate]).http1_only()
    });
    assert_eq!(old.get(alive.clone()).send().await.unwrap().version(), Version::HTTP_11);
    assert!(trusting(&second).get(alive.clone()).send().await.is_err());
    install(directory.path(), &second);
    let deadline = Instant::now() + AT_MOST;
    let fresh = trusting(&second);
    while fresh.get(alive.clone()).send().await.is_err() {
        assert!(Instant::now() < deadline, "the new certificate is not used");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert!(trusting(&first).get(alive).send().await.is_err(), "the old certificate is gone");
    sluice.node.stop().await;
}

/// The second in which a certificate expires.
fn expiry(certificate: &SelfSigned) -> String {
    ClientCertificate::from_pem(&certificate.certificate).unwrap().not_after().as_secs().to_string()
}

/// The same as the metrics tell it of the public listener.
async fn expiry_shown(sluice: &TestSluice) -> Option<String> {
    const NAME: &str = "sluice_tls_certificate_expiry_timestamp_seconds{listener=\"public\"} ";
    let url = sluice.admin.join("/admin/metrics/prometheus").unwrap();
    let metrics = http_with(|builder| builder).get(url).send().await.unwrap().text().await.unwrap();
    let value = metrics.lines().find_map(|line| line.strip_prefix(NAME))?;
    Some(value.trim_end_matches(".0").to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_metrics_tell_when_the_certificate_in_force_expires() {
    let directory = tempfile::tempdir().unwrap();
    let first = certificate();
    let tomorrow = SystemClock.now() + Lifetime::hours(24);
    let second = self_signed(&["127.0.0.1".to_owned()], tomorrow).unwrap();
    install(directory.path(), &first);
    let (sluice, _) = over_tls(directory.path(), &[]).await;
    assert_eq!(expiry_shown(&sluice).await, Some(expiry(&first)));
    install(directory.path(), &second);
    let deadline = Instant::now() + AT_MOST;
    while expiry_shown(&sluice).await != Some(expiry(&second)) {
        assert!(Instant::now() < deadline, "the old certificate is shown");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    sluice.node.stop().await;
    let plain = TestSluice::start(Backend::Sqlite).await;
    assert_eq!(expiry_shown(&plain).await, None, "a listener without TLS has none");
    plain.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn cookies_are_secure_over_tls() {
    let directory = tempfile::tempdir().unwrap();
    let own = certificate();
    install(directory.path(), &own);
    let (sluice, url) = over_tls(directory.path(), &[]).await;
    let client = sluice.client(&json!({})).await;
    let asked: Url = client.authorize_url(&Authorize::default()).parse().unwrap();
    let mut begin = url.join("/oauth2/auth").unwrap();
    begin.set_query(asked.query());
    let answer = trusting(&own).get(begin).send().await.unwrap();
    let cookie = answer.headers()["set-cookie"].to_str().unwrap();
    assert!(
        cookie.starts_with("__Host-") && cookie.contains("; Secure") && !cookie.contains("Domain"),
        "{cookie}"
    );
    // Plain http is not spoken here.
    assert!(http_with(|builder| builder).get(sluice.public.join("/version").unwrap()).send().await.is_err());
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_proxy_that_ended_tls_says_so_and_is_believed_by_its_address() {
    let directory = tempfile::tempdir().unwrap();
    let own = certificate();
    install(directory.path(), &own);
    let termination = "serve.public.tls.allow_termination_from";
    let (with_tls, _) = over_tls(directory.path(), &[(termination, "127.0.0.0/8")]).await;
    let without = TestSluice::with(Backend::Sqlite, &[(termination, "127.0.0.0/8")]).await;
    let elsewhere = TestSluice::with(Backend::Sqlite, &[(termination, "10.0.0.0/8")]).await;
    let http = http_with(|builder| builder);
    let asked = async |sluice: &TestSluice, path: &str, headers: &[(&str, &str)]| {
        let request = http.get(sluice.public.join(path).unwrap());
        let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        request.send().await.unwrap().status().as_u16()
    };
    let discovery = "/.well-known/openid-configuration";
    let (https, plain) = (("x-forwarded-proto", "https"), ("x-forwarded-proto", "http"));
    for sluice in [&with_tls, &without] {
        assert_eq!(asked(sluice, discovery, &[https]).await, 200);
        assert_eq!(asked(sluice, discovery, &[plain]).await, 502);
        assert_eq!(asked(sluice, discovery, &[https, plain]).await, 502);
        assert_eq!(asked(sluice, discovery, &[]).await, 502);
    }
    for headers in [&[https][..], &[https, ("x-forwarded-for", "10.0.0.1")]] {
        assert_eq!(
            asked(&elsewhere, discovery, headers).await,
            502,
            "an address that anybody may write counts nothing"
        );
    }
    for sluice in [&with_tls, &without, &elsewhere] {
        assert_eq!(asked(sluice, "/health/alive", &[]).await, 200);
        assert_eq!(asked(sluice, "/health/ready", &[]).await, 200);
    }
    for sluice in [with_tls, without, elsewhere] {
        sluice.node.stop().await;
    }
}

/// A proxy that forgot the header, or is not in the list, turns everything away: whoever is on duty must see why.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_refused_for_plain_http_is_logged_and_counted() {
    let http = http_with(|builder| builder);
    for (network, reason) in
        [("127.0.0.0/8", "says how the proxy was asked"), ("10.0.0.0/8", "in none of the networks")]
    {
        let mut site = Site::fresh(Backend::Sqlite).await;
        site.set(&[("serve.public.tls.allow_termination_from", network)]);
        let process = site.start().await;
        let request = http.post(process.public.join("/oauth2/token").unwrap());
        let answer = Answer::to(request.header("x-request-id", "abc-1")).await;
        assert_eq!((answer.status, answer.header("x-request-id")), (502, "abc-1"));
        assert_eq!(answer.json()["error_description"], "This port is reached over TLS only.");
        process.logs(&[reason, r#""peer.address":"127.0.0.1""#, "abc-1"]).await;
        let metrics = http.get(process.admin.join("/admin/metrics/prometheus").unwrap());
        let metrics = Answer::to(metrics).await.body;
        let counted = |line: &str| line.starts_with("http_requests_total") && line.contains(r#"code="502""#);
        assert!(metrics.lines().any(counted), "{metrics}");
        process.kill().await;
    }
}

/// As in the configuration of many a Hydra behind an ingress: its login application and its Prometheus reach the admin port directly.
#[tokio::test(flavor = "multi_thread")]
async fn the_proxies_before_the_public_port_keep_nobody_from_a_plain_admin_port() {
    let common = ("serve.tls.allow_termination_from", "127.0.0.0/8");
    let own = ("serve.admin.tls.allow_termination_from", "127.0.0.0/8");
    let http = http_with(|builder| builder);
    for (settings, clients) in [(&[common][..], 200), (&[common, own], 502)] {
        let sluice = TestSluice::with(Backend::Sqlite, settings).await;
        let asked = async |url: Url| http.get(url).send().await.unwrap().status().as_u16();
        let discovery = sluice.public.join("/.well-known/openid-configuration").unwrap();
        assert_eq!(asked(discovery).await, 502);
        assert_eq!(asked(sluice.admin.join("/admin/clients").unwrap()).await, clients);
        assert_eq!(asked(sluice.admin.join("/admin/metrics/prometheus").unwrap()).await, 200);
        sluice.node.stop().await;
    }
}

/// They ask from within, and no proxy stands before them.
#[tokio::test(flavor = "multi_thread")]
async fn those_who_watch_are_answered_over_plain_http_wherever_they_ask() {
    let settings = [
        ("urls.self.issuer", "http://sluice.test/tenant/one"),
        ("serve.public.tls.allow_termination_from", "10.0.0.0/8"),
        ("serve.admin.tls.allow_termination_from", "10.0.0.0/8"),
    ];
    let sluice = TestSluice::with(Backend::Sqlite, &settings).await;
    let http = http_with(|builder| builder);
    for (listener, path, status) in [
        (&sluice.public, "/health", 200),
        (&sluice.public, "/health/alive/", 200),
        (&sluice.public, "/tenant/one/health/alive", 200),
        (&sluice.public, "/tenant/one/health/ready", 200),
        (&sluice.public, "/version", 200),
        (&sluice.public, "/tenant/one/.well-known/jwks.json", 502),
        (&sluice.admin, "/health/ready", 200),
        (&sluice.admin, "/admin/health/alive", 200),
        (&sluice.admin, "/admin/health/ready", 200),
        (&sluice.admin, "/admin/metrics/prometheus", 200),
        (&sluice.admin, "/metrics/prometheus", 200),
        (&sluice.admin, "/admin/clients", 502),
        // A key may have such a name.
        (&sluice.admin, "/admin/keys/health/ready", 502),
        (&sluice.admin, "/keys/health/ready", 502),
    ] {
        let answer = http.get(listener.join(path).unwrap()).send().await.unwrap();
        assert_eq!(answer.status().as_u16(), status, "{path}");
    }
    sluice.node.stop().await;
}

#[test]
fn a_certificate_that_cannot_be_used_is_named_at_the_start_with_its_listener() {
    let directory = tempfile::tempdir().unwrap();
    install(directory.path(), &certificate());
    let [cert, key] = ["cert.pem", "key.pem"].map(|name| directory.path().join(name));
    let encrypted = "-----BEGIN ENCRYPTED PRIVATE KEY-----\nMIHs\n-----END ENCRYPTED PRIVATE KEY-----\n";
    fs::write(&key, encrypted).unwrap();
    let environment = [
        ("DSN", "memory"),
        ("SECRETS_SYSTEM", "a-system-secret-for-this-test"),
        ("SERVE_PUBLIC_HOST", "127.0.0.1"),
        ("SERVE_PUBLIC_PORT", "0"),
        ("SERVE_ADMIN_PORT", "0"),
        ("SERVE_ADMIN_TLS_ENABLED", "true"),
        ("SERVE_ADMIN_TLS_CERT_PATH", cert.to_str().unwrap()),
        ("SERVE_ADMIN_TLS_KEY_PATH", key.to_str().unwrap()),
    ];
    let ended = run(&["serve", "all", "--dev"], &environment);
    let keys = "serve.admin.tls.cert.path and serve.admin.tls.key.path";
    let expected =
        format!("TLS of the listener admin ({keys}): {}: the private key is encrypted", key.display());
    assert!(!ended.success && ended.stderr.contains(&expected), "{}", ended.stderr);
}
