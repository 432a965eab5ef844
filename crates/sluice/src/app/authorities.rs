//! Who vouches for the certificates of clients (`oauth2.mtls.trust_anchors`): the authorities in force, replaced when their file changes.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use sluice_crypto::certificate::TrustAnchors;
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::certificates::RELOAD_EVERY;
use super::stores::StartError;

/// The authorities of a file.
#[derive(Debug)]
pub(crate) struct Authorities {
    path: PathBuf,
    in_force: Arc<ArcSwap<TrustAnchors>>,
    seen: Mutex<Seen>,
}

/// What was seen of the file last: one that is no good is tried, and complained about, once.
#[derive(Debug)]
struct Seen {
    /// In force or not.
    tried: String,
    is_unreadable: bool,
}

impl Authorities {
    /// Those in `pem`, which was read from the file at `path`.
    ///
    /// # Errors
    /// [`StartError::Setting`] if there are none, or one cannot be read.
    pub(crate) fn new(path: PathBuf, pem: String) -> Result<Self, StartError> {
        let anchors = TrustAnchors::from_pem(&pem).map_err(|error| StartError::Setting {
            key: "oauth2.mtls.trust_anchors",
            reason: error.to_string(),
        })?;
        let in_force = Arc::new(ArcSwap::from_pointee(anchors));
        Ok(Self { path, in_force, seen: Mutex::new(Seen { tried: pem, is_unreadable: false }) })
    }

    /// Those in force, now and later.
    pub(crate) fn in_force(&self) -> Arc<ArcSwap<TrustAnchors>> {
        Arc::clone(&self.in_force)
    }

    /// Looks at the file, as often as at those of listeners' certificates, until `shutdown`.
    pub(crate) async fn follow(self: Arc<Self>, shutdown: CancellationToken) {
        let mut ticks = interval(RELOAD_EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        while shutdown.run_until_cancelled(ticks.tick()).await.is_some() {
            let authorities = Arc::clone(&self);
            // It fails if the runtime ends only.
            let _ = tokio::task::spawn_blocking(move || authorities.look()).await;
        }
    }

    /// Looks at the file; the old authorities stay in force if the new ones are no good.
    fn look(&self) {
        const NO_GOOD: &str = "the new authorities of clients are no good, the old ones stay in force";
        let (read, path) = (fs::read_to_string(&self.path), self.path.display());
        let mut seen = self.seen.lock();
        let was_unreadable = std::mem::replace(&mut seen.is_unreadable, read.is_err());
        let pem = match read {
            Ok(pem) if pem == seen.tried => return,
            Ok(pem) => pem,
            Err(_) if was_unreadable => return,
            Err(error) => return warn!(%path, %error, "{NO_GOOD}"),
        };
        match TrustAnchors::from_pem(&pem) {
            Ok(anchors) => {
                self.in_force.store(Arc::new(anchors));
                info!(%path, "the authorities of clients were replaced");
            }
            Err(error) => warn!(%path, %error, "{NO_GOOD}"),
        }
        seen.tried = pem;
    }
}

#[cfg(test)]
mod tests {
    use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
    use sluice_testkit::Captured;

    use super::*;

    /// 2030-01-01.
    const NOW: i64 = 1_893_456_000;

    struct Authority(CertifiedIssuer<'static, KeyPair>);

    impl Authority {
        fn new() -> Self {
            let mut parameters = CertificateParams::new(Vec::new()).unwrap();
            parameters.distinguished_name.push(DnType::CommonName, "Authority");
            parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
            Self(CertifiedIssuer::self_signed(parameters, KeyPair::generate().unwrap()).unwrap())
        }

        /// Whether a certificate that it issues counts.
        fn counts(&self, authorities: &Authorities) -> bool {
            let parameters = CertificateParams::new(Vec::new()).unwrap();
            let leaf = parameters.signed_by(&KeyPair::generate().unwrap(), &self.0).unwrap();
            authorities.in_force().load().verify(leaf.der(), &[], NOW).is_ok()
        }
    }

    #[test]
    fn an_authority_that_left_the_file_is_trusted_no_more_and_one_that_came_is() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("anchors.pem");
        let (log, _guard) = Captured::begin();
        let (left, stayed, came) = (Authority::new(), Authority::new(), Authority::new());
        let both = [left.0.pem(), stayed.0.pem()].concat();
        fs::write(&path, &both).unwrap();
        let authorities = Authorities::new(path.clone(), both).unwrap();
        let counting = || [&left, &stayed, &came].map(|authority| authority.counts(&authorities));
        authorities.look();
        assert_eq!((counting(), log.text()), ([true, true, false], String::new()));
        fs::write(&path, [stayed.0.pem(), came.0.pem()].concat()).unwrap();
        authorities.look();
        authorities.look();
        assert_eq!(counting(), [false, true, true]);
        assert_eq!(log.lines("the authorities of clients were replaced").len(), 1, "{}", log.text());
    }

    #[test]
    fn a_file_of_no_use_leaves_the_old_authorities_in_force_and_is_complained_about_once() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("anchors.pem");
        let (log, _guard) = Captured::begin();
        let (old, new) = (Authority::new(), Authority::new());
        let authorities = Authorities::new(path.clone(), old.0.pem()).unwrap();
        for (times, pem) in [(1, None), (2, Some("")), (3, Some("no PEM")), (4, None)] {
            match pem {
                Some(pem) => fs::write(&path, pem).unwrap(),
                None => {
                    let _ = fs::remove_file(&path);
                }
            }
            authorities.look();
            authorities.look();
            assert_eq!(log.lines("the old ones stay in force").len(), times, "{}", log.text());
            assert!(old.counts(&authorities) && log.text().contains("anchors.pem"));
        }
        fs::write(&path, new.0.pem()).unwrap();
        authorities.look();
        assert!(new.counts(&authorities) && !old.counts(&authorities));
    }
}
