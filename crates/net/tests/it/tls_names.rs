//! Several certificates at one port, each for its names.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rustls::HandshakeKind;
use sluice_net::{Limits, PemSource, Reload, SelfSigned, TlsAcceptorHandle, TlsError, self_signed};
use sluice_primitives::{Lifetime, Timestamp};
use sluice_testkit::Captured;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use crate::given::*;
use crate::tls::{certificate, client, connect_with, handshake, handshake_with, router};

fn for_names(names: &[&str]) -> SelfSigned {
    made_at(now(), names)
}

fn made_at(moment: Timestamp, names: &[&str]) -> SelfSigned {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    self_signed(&names, moment).unwrap()
}

/// A moment so many days ago.
fn days_ago(days: u32) -> Timestamp {
    now() - Lifetime::hours(24 * days)
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
    TlsAcceptorHandle::load_with_folder(chain, key, folder.path().to_owned(), now())
}

async fn running(tls: &TlsAcceptorHandle) -> Running {
    running_tls(tls.clone(), router(), Limits::default()).await
}

#[tokio::test]
async fn each_name_is_shown_its_certificate_and_all_others_the_first() {
    let folder = tempfile::tempdir().unwrap();
    let first = certificate();
    // Of two that expire together the earlier is shown.
    let moment = now();
    let shop = made_at(moment, &["shop.example.com", "Mixed.example.com"]);
    let wide = made_at(moment, &["*.example.org", "shop.example.com"]);
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
    // As fsck puts there what it found.
    lay_down(folder.path(), ("lost+found/tls.crt", "lost+found/tls.key"), &hidden);
    symlink("gone", folder.path().join("left")).unwrap();
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
        TlsAcceptorHandle::load_with_folder(chain, PemSource::Text(first.private_key.clone()), gone, now());
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
    let watching = tokio::spawn(tls.clone().reload_when_changed(
        "gateway",
        Duration::from_millis(10),
        clock(),
        end.clone(),
    ));
    lay_down(folder.path(), ("shop.crt", "shop.key"), &shop);
    let told = logged(&log, "a further TLS certificate is shown by name", 1).await;
    assert!(told[0].contains("shop.crt") && told[0].contains("shop.example.com"), "{told:?}");
    assert!(handshake_with(&server, "shop.example.com", &shop, &[]).await.is_ok());
    end.cancel();
    in_time(watching).await.unwrap();
    fs::remove_file(folder.path().join("shop.crt")).unwrap();
    assert!(tls.reload(now()).is_err(), "a key without its certificate is half a certificate");
    fs::remove_file(folder.path().join("shop.key")).unwrap();
    assert_eq!(tls.reload(now()).unwrap(), Reload::Replaced);
    assert!(handshake_with(&server, "shop.example.com", &shop, &[]).await.is_err());
}

/// certbot leaves the old one where it was when a certificate gets another folder.
#[tokio::test]
async fn of_certificates_for_one_name_that_is_shown_which_expires_last() {
    let folder = tempfile::tempdir().unwrap();
    let first = made_at(days_ago(2), &["localhost", "shop.example.com"]);
    let stale = made_at(days_ago(1), &["shop.example.com", "old.example.com"]);
    let fresh = made_at(now(), &["shop.example.com"]);
    let staler = made_at(days_ago(3), &["localhost"]);
    lay_down(folder.path(), ("a/fullchain.pem", "a/privkey.pem"), &stale);
    lay_down(folder.path(), ("a-0001/fullchain.pem", "a-0001/privkey.pem"), &fresh);
    lay_down(folder.path(), ("z.crt", "z.key"), &staler);
    let tls = load(&first, &folder).unwrap();
    let server = running(&tls).await;
    let shown = [("localhost", &first), ("shop.example.com", &fresh), ("old.example.com", &stale)];
    for (host, shown) in shown {
        assert!(handshake_with(&server, host, shown, &[]).await.is_ok(), "{host}");
    }
    let (log, _guard) = Captured::begin();
    let end = CancellationToken::new();
    end.cancel();
    in_time(tls.clone().reload_when_changed("public", Duration::from_secs(1), clock(), end)).await;
    let told = log.lines("a further TLS certificate is shown by name");
    assert_eq!(told.len(), 2, "of one that nobody is shown it is not said: {told:?}");
    assert!(told[0].contains("a/fullchain.pem") && !told[0].contains("shop.example.com"), "{told:?}");
    assert!(told[1].contains("a-0001/fullchain.pem") && told[1].contains("shop.example.com"), "{told:?}");
    let doubles = log.lines("two TLS certificates are for the same name");
    assert_eq!(doubles.len(), 3, "{doubles:?}");
    for (passed_over, name) in
        [("\"cert\"", "shop.example.com"), ("a/fullchain.pem", "shop.example.com"), ("z.crt", "localhost")]
    {
        let is_told = |line: &String| {
            let (_, what) = line.split_once("passed_over=").unwrap();
            what.contains(passed_over) && line.contains(&format!("names=\"{name}\""))
        };
        assert!(doubles.iter().any(is_told), "{passed_over}: {doubles:?}");
    }
    let sources: Vec<_> = tls.further_validities().iter().map(|further| further.source.clone()).collect();
    assert_eq!(sources.len(), 2, "{sources:?}");
}

/// Its name is shown that which clients take until then.
#[tokio::test]
async fn a_certificate_that_is_laid_down_early_is_shown_once_it_is_valid() {
    let folder = tempfile::tempdir().unwrap();
    let later = now() + Lifetime::hours(24 * 300);
    let (current, next) = (for_names(&["shop.example.com"]), made_at(later, &["shop.example.com"]));
    lay_down(folder.path(), ("current.crt", "current.key"), &current);
    lay_down(folder.path(), ("next.crt", "next.key"), &next);
    let tls = load(&certificate(), &folder).unwrap();
    let server = running(&tls).await;
    assert!(handshake_with(&server, "shop.example.com", &current, &[]).await.is_ok());
    let shown = || {
        let further = tls.further_validities();
        assert_eq!(further.len(), 1, "{further:?}");
        further[0].source.clone()
    };
    assert_eq!(tls.reload(later - Lifetime::hours(2)).unwrap(), Reload::Unchanged);
    assert!(shown().contains("current.crt"), "{}", shown());
    assert_eq!(tls.reload(later).unwrap(), Reload::Replaced);
    assert!(shown().contains("next.crt"), "{}", shown());
}

/// A volume may be away for a moment.
#[tokio::test]
async fn what_a_link_led_to_is_shown_on_while_that_is_away() {
    let (folder, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let shop = for_names(&["shop.example.com"]);
    let (there, aside) = (elsewhere.path().join("shop"), elsewhere.path().join("aside"));
    lay_down(&there, ("tls.crt", "tls.key"), &shop);
    symlink(&there, folder.path().join("shop")).unwrap();
    let tls = load(&certificate(), &folder).unwrap();
    let server = running(&tls).await;
    fs::rename(&there, &aside).unwrap();
    assert!(matches!(tls.reload(now()).unwrap_err().error(), TlsError::Unreadable { .. }));
    assert!(handshake_with(&server, "shop.example.com", &shop, &[]).await.is_ok());
    fs::rename(&aside, &there).unwrap();
    tls.reload(now()).unwrap();
    assert!(handshake_with(&server, "shop.example.com", &shop, &[]).await.is_ok());
}

#[tokio::test]
async fn a_wildcard_is_shown_until_the_certificate_of_a_name_is_valid() {
    let folder = tempfile::tempdir().unwrap();
    let later = now() + Lifetime::hours(24 * 300);
    let (wide, next) = (for_names(&["*.example.com"]), made_at(later, &["shop.example.com"]));
    lay_down(folder.path(), ("wide.crt", "wide.key"), &wide);
    lay_down(folder.path(), ("next.crt", "next.key"), &next);
    let tls = load(&certificate(), &folder).unwrap();
    let server = running(&tls).await;
    assert!(handshake_with(&server, "shop.example.com", &wide, &[]).await.is_ok());
    assert_eq!(tls.reload(later).unwrap(), Reload::Replaced);
    assert!(handshake_with(&server, "shop.example.com", &wide, &[]).await.is_err());
}

/// The first certificate may well lie in the folder.
#[tokio::test]
async fn the_same_certificate_in_two_places_is_none_too_many() {
    let folder = tempfile::tempdir().unwrap();
    let first = for_names(&["localhost"]);
    lay_down(folder.path(), ("a.crt", "a.key"), &first);
    let tls = load(&first, &folder).unwrap();
    let (log, _guard) = Captured::begin();
    let end = CancellationToken::new();
    end.cancel();
    in_time(tls.reload_when_changed("public", Duration::from_secs(1), clock(), end)).await;
    assert_eq!(log.lines("TLS certificate"), Vec::<String>::new());
}

#[tokio::test]
async fn a_certificate_that_is_no_good_keeps_no_other_from_its_renewal() {
    let folder = tempfile::tempdir().unwrap();
    let (first, further) = (folder.path().join("first"), folder.path().join("further"));
    let own = |host: &'static str| made_at(days_ago(1), &[host]);
    let (old, shop, blog) = (own("localhost"), own("shop.example.com"), own("blog.example.com"));
    lay_down(&first, ("a.crt", "a.key"), &old);
    lay_down(&further, ("shop.crt", "shop.key"), &shop);
    lay_down(&further, ("blog.crt", "blog.key"), &blog);
    let file = |name| PemSource::File(first.join(name));
    let tls =
        TlsAcceptorHandle::load_with_folder(file("a.crt"), file("a.key"), further.clone(), now()).unwrap();
    let server = running(&tls).await;

    let (renewed, new_blog) = (for_names(&["localhost"]), for_names(&["blog.example.com"]));
    fs::write(further.join("shop.crt"), "").unwrap();
    lay_down(&first, ("a.crt", "a.key"), &renewed);
    lay_down(&further, ("blog.crt", "blog.key"), &new_blog);
    let refused = tls.reload(now()).unwrap_err();
    assert!(matches!(refused.error(), TlsError::NoCertificate) && refused.to_string().contains("shop.crt"));
    assert_eq!(tls.reload(now()).unwrap(), Reload::Unchanged, "it is said once");
    let shown = [("localhost", &renewed), ("blog.example.com", &new_blog), ("shop.example.com", &shop)];
    for (host, shown) in shown {
        assert!(handshake_with(&server, host, shown, &[]).await.is_ok(), "{host}");
    }

    fs::write(further.join("half.key"), "").unwrap();
    assert!(tls.reload(now()).unwrap_err().to_string().contains("half.crt"));
    fs::rename(&further, folder.path().join("aside")).unwrap();
    assert!(tls.reload(now()).unwrap_err().to_string().contains("further"), "the folder itself");
    lay_down(&first, ("a.crt", "a.key"), &old);
    assert_eq!(tls.reload(now()).unwrap(), Reload::Replaced);
    for (host, shown) in [("localhost", &old), ("shop.example.com", &shop)] {
        assert!(handshake_with(&server, host, shown, &[]).await.is_ok(), "{host}");
    }

    fs::rename(folder.path().join("aside"), &further).unwrap();
    fs::remove_file(further.join("half.key")).unwrap();
    let mended = for_names(&["shop.example.com"]);
    lay_down(&further, ("shop.crt", "shop.key"), &mended);
    assert_eq!(tls.reload(now()).unwrap(), Reload::Replaced);
    assert!(handshake_with(&server, "shop.example.com", &mended, &[]).await.is_ok());
}

#[test]
fn what_cannot_be_looked_at_is_no_certificate_that_is_not_there() {
    let first = certificate();
    let refused = |link: &str, to: &str| {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join(link);
        fs::create_dir_all(link.parent().unwrap()).unwrap();
        symlink(to, link).unwrap();
        load(&first, &folder).unwrap_err().to_string().replace(&folder.path().display().to_string(), "")
    };
    assert_eq!(refused("a/fullchain.pem", "../../archive/a1.pem"), "/a/fullchain.pem cannot be read");
    assert_eq!(refused("a/tls.key", "gone"), "/a/tls.crt cannot be read");
    assert_eq!(refused("a.crt", "gone"), "/a.crt cannot be read");
    assert_eq!(refused("a.key", "gone"), "/a.crt cannot be read");
    assert_eq!(refused("a", "a"), "/a/fullchain.pem cannot be read", "a link to itself");
    assert_eq!(refused("a/fullchain.pem", "fullchain.pem"), "/a/fullchain.pem cannot be read");
}

#[tokio::test]
async fn of_many_certificates_the_number_is_told_and_later_what_is_new_and_what_is_gone() {
    const SHOWN: &str = "a further TLS certificate is shown by name";
    let folder = tempfile::tempdir().unwrap();
    let lay = |name: &str| {
        let (chain, key) = (format!("{name}.crt"), format!("{name}.key"));
        lay_down(folder.path(), (&chain, &key), &for_names(&[&format!("{name}.example.com")]));
    };
    (0..23).for_each(|number| lay(&format!("a{number}")));
    let tls = load(&certificate(), &folder).unwrap();
    let (log, _guard) = Captured::begin();
    let end = CancellationToken::new();
    let watching =
        tokio::spawn(tls.reload_when_changed("public", Duration::from_millis(5), clock(), end.clone()));
    let more = logged(&log, "more further TLS certificates are shown by name", 1).await;
    assert!(more[0].contains("certificates=3"), "{more:?}");
    assert_eq!(log.lines(SHOWN).len(), 20);
    lay("new");
    let told = logged(&log, SHOWN, 21).await;
    assert!(told[20].contains("new.example.com"), "{told:?}");
    fs::remove_file(folder.path().join("new.key")).unwrap();
    fs::remove_file(folder.path().join("new.crt")).unwrap();
    let gone = logged(&log, "a further TLS certificate is shown no longer", 1).await;
    assert!(gone[0].contains("new.crt"), "{gone:?}");
    assert_eq!(log.lines(SHOWN).len(), 21, "of those that stay it is not said again");
    end.cancel();
    in_time(watching).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn what_is_no_good_is_said_again_the_next_day() {
    const NO_GOOD: &str = "a further TLS certificate is no good, and is not shown";
    let folder = tempfile::tempdir().unwrap();
    let tls = load(&certificate(), &folder).unwrap();
    let (log, _guard) = Captured::begin();
    let end = CancellationToken::new();
    let hour = Duration::from_hours(1);
    fs::write(folder.path().join("half.key"), "").unwrap();
    let watching = tokio::spawn(tls.reload_when_changed("public", hour, clock(), end.clone()));
    for (hours, times) in [(20, 1), (8, 2), (24, 3)] {
        for _ in 0..hours {
            tokio::time::sleep(hour).await;
        }
        let said = log.lines(NO_GOOD);
        assert_eq!(said.len(), times, "{said:?}");
        assert!(said.iter().all(|line| line.contains("half.crt") && line.contains("listener=\"public\"")));
    }
    end.cancel();
    watching.await.unwrap();
}

#[tokio::test]
async fn a_session_is_resumed_after_another_certificate_was_renewed() {
    let folder = tempfile::tempdir().unwrap();
    let first = certificate();
    let tls = load(&first, &folder).unwrap();
    let server = running(&tls).await;
    let client = Arc::new(client(&first));
    let mut kinds = Vec::new();
    for _ in 0..2 {
        let mut stream = connect_with(&client, server.connect().await, "localhost").await.unwrap();
        say(&mut stream, GET).await;
        assert!(answer_until(&mut stream, "tls: true").await.ends_with("tls: true"));
        kinds.push(stream.get_ref().1.handshake_kind());
        lay_down(folder.path(), ("shop.crt", "shop.key"), &for_names(&["shop.example.com"]));
        assert_eq!(tls.reload(now()).unwrap(), Reload::Replaced);
    }
    assert_eq!(kinds, [Some(HandshakeKind::Full), Some(HandshakeKind::Resumed)]);
}
