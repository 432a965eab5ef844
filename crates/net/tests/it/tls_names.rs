//! Several certificates at one port, each for its names.

use std::fs;
use std::path::Path;
use std::time::Duration;

use sluice_net::{Limits, PemSource, Reload, SelfSigned, TlsAcceptorHandle, TlsError, self_signed};
use sluice_testkit::Captured;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use crate::given::*;
use crate::tls::{certificate, handshake, handshake_with, router};

fn for_names(names: &[&str]) -> SelfSigned {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    self_signed(&names, now()).unwrap()
}

/// Writes a certificate and its key under these names.
fn lay_down(folder: &Path, names: (&str, &str), certificate: &SelfSigned) {
    let (chain, key) = (folder.join(names.0), folder.join(names.1));
    fs::create_dir_all(chain.parent().unwrap()).unwrap();
    fs::write(chain, &certificate.certificate).unwrap();
    fs::write(key, certificate.private_key.expose()).unwrap();
}

fn load(first: &SelfSigned, folder: &TempDir) -> Result<TlsAcceptorHandle, sluice_net::AcceptorError> {
    let chain = PemSource::Text(sluice_primitives::Secret::new(first.certificate.clone()));
    let key = PemSource::Text(first.private_key.clone());
    TlsAcceptorHandle::load_with_folder(chain, key, folder.path().to_owned())
}

async fn running(tls: &TlsAcceptorHandle) -> Running {
    running_tls(tls.clone(), router(), Limits::default()).await
}

#[tokio::test]
async fn each_name_is_shown_its_certificate_and_all_others_the_first() {
    let folder = tempfile::tempdir().unwrap();
    let first = certificate();
    let shop = for_names(&["shop.example.com", "Mixed.example.com"]);
    let wide = for_names(&["*.example.org", "shop.example.com"]);
    let api = for_names(&["api.example.org"]);
    lay_down(folder.path(), ("a.crt", "a.key"), &shop);
    lay_down(folder.path(), ("example.org/fullchain.pem", "example.org/privkey.pem"), &wide);
    lay_down(folder.path(), ("secret/tls.crt", "secret/tls.key"), &api);
    let server = running(&load(&first, &folder).unwrap()).await;
    for (host, shown) in [
        ("localhost", &first),
        ("127.0.0.1", &first),
        ("shop.example.com", &shop),
        ("mixed.example.com", &shop),
        ("any.example.org", &wide),
        ("api.example.org", &api),
    ] {
        assert!(handshake_with(&server, host, shown, &[]).await.is_ok(), "{host}");
    }
    for (host, shown) in [("example.org", &first), ("a.b.example.org", &first), ("api.example.org", &wide)] {
        assert!(handshake_with(&server, host, shown, &[]).await.is_err(), "{host}");
    }
}

#[tokio::test]
async fn what_is_no_certificate_in_the_folder_is_passed_over() {
    let folder = tempfile::tempdir().unwrap();
    let (first, hidden) = (certificate(), for_names(&["hidden.example.com"]));
    lay_down(folder.path(), (".a.crt", ".a.key"), &hidden);
    lay_down(folder.path(), ("..data/tls.crt", "..data/tls.key"), &hidden);
    for (name, text) in [("ca.crt", "of whoever issued it"), ("README", "about this folder")] {
        fs::write(folder.path().join(name), text).unwrap();
    }
    fs::create_dir(folder.path().join("empty")).unwrap();
    let tls = load(&first, &folder).unwrap();
    assert_eq!(tls.certificates().len(), 1);
    assert!(handshake(&running(&tls).await, &first, &[]).await.is_ok());
}

#[test]
fn a_certificate_of_the_folder_that_nobody_could_be_shown_is_refused_by_the_name_of_its_file() {
    let first = certificate();
    let shop = for_names(&["shop.example.com"]);
    let refused = |lay: &dyn Fn(&Path)| {
        let folder = tempfile::tempdir().unwrap();
        lay(folder.path());
        let refused = load(&first, &folder).unwrap_err();
        refused.to_string().replace(&folder.path().display().to_string(), "")
    };
    let lonely = |name: &'static str| move |folder: &Path| fs::write(folder.join(name), "").unwrap();
    assert_eq!(refused(&lonely("a.crt")), "/a.key cannot be read");
    assert_eq!(refused(&lonely("a.key")), "/a.crt cannot be read");
    let without_key = |folder: &Path| {
        fs::create_dir(folder.join("b")).unwrap();
        fs::write(folder.join("b/fullchain.pem"), &shop.certificate).unwrap();
    };
    assert_eq!(refused(&without_key), "/b/privkey.pem cannot be read");
    let of_another = |folder: &Path| {
        lay_down(folder, ("a.crt", "a.key"), &shop);
        fs::write(folder.join("a.key"), first.private_key.expose()).unwrap();
    };
    assert_eq!(refused(&of_another), "/a.crt and /a.key: certificate and key cannot be used");
    let of_an_address = |folder: &Path| lay_down(folder, ("a.crt", "a.key"), &for_names(&["127.0.0.1"]));
    assert_eq!(
        refused(&of_an_address),
        "/a.crt: the certificate is for no DNS name, so nobody would be shown it"
    );
    let empty = tempfile::tempdir().unwrap();
    let chain = PemSource::Text(sluice_primitives::Secret::new(first.certificate.clone()));
    let gone = empty.path().join("gone");
    let refused =
        TlsAcceptorHandle::load_with_folder(chain, PemSource::Text(first.private_key.clone()), gone);
    assert!(matches!(refused.unwrap_err().error(), TlsError::Unreadable { .. }));
}

#[tokio::test]
async fn a_certificate_that_is_laid_down_later_is_shown_and_told() {
    let folder = tempfile::tempdir().unwrap();
    let (first, shop) = (certificate(), for_names(&["shop.example.com"]));
    let tls = load(&first, &folder).unwrap();
    let server = running(&tls).await;
    assert!(handshake_with(&server, "shop.example.com", &shop, &[]).await.is_err());
    let (log, _guard) = Captured::begin();
    let end = CancellationToken::new();
    let watching =
        tokio::spawn(tls.clone().reload_when_changed("gateway", Duration::from_millis(10), end.clone()));
    lay_down(folder.path(), ("shop.crt", "shop.key"), &shop);
    let told = logged(&log, "a further TLS certificate is shown by name", 1).await;
    assert!(told[0].contains("shop.crt") && told[0].contains("shop.example.com"), "{told:?}");
    assert!(handshake_with(&server, "shop.example.com", &shop, &[]).await.is_ok());
    end.cancel();
    in_time(watching).await.unwrap();
    fs::remove_file(folder.path().join("shop.crt")).unwrap();
    assert!(tls.reload().is_err(), "a key without its certificate is half a certificate");
    fs::remove_file(folder.path().join("shop.key")).unwrap();
    assert_eq!(tls.reload().unwrap(), Reload::Replaced);
    assert!(handshake_with(&server, "shop.example.com", &shop, &[]).await.is_err());
}
