//! The certificates of the listeners: kept current, shown in the metrics, warned about while little is left of them.

use std::sync::Arc;
use std::time::Duration;

use sluice_net::{CertificateValidity, TlsAcceptorHandle};
use sluice_primitives::{Clock, Lifetime, Timestamp};
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::warn;

use crate::observability::Metrics;

/// How often a certificate file is looked at.
pub(super) const RELOAD_EVERY: Duration = Duration::from_secs(5);
/// How long before its end a certificate is warned about, or a quarter of its life if that is less: who renews by itself has done so.
const WARN_BEFORE: Lifetime = Lifetime::hours(14 * 24);
/// How often.
const WARN_EVERY: Duration = Duration::from_hours(24);

/// What listeners are served with.
#[derive(Clone, Copy)]
pub(crate) struct Serving<'a> {
    pub(crate) metrics: &'a Metrics,
    pub(crate) clock: &'a Arc<dyn Clock>,
    pub(crate) tasks: &'a TaskTracker,
    pub(crate) shutdown: &'a CancellationToken,
}

impl Serving<'_> {
    /// Looks after the certificates of a listener until the end.
    pub(super) fn look_after(&self, tls: &TlsAcceptorHandle, listener: &'static str) {
        let (shown, labels) = (tls.clone(), vec![("listener", listener.to_owned())]);
        self.metrics.register_gauge(
            "sluice_tls_certificate_expiry_timestamp_seconds",
            "When the certificate of a listener expires, or the first of its chain that does",
            labels.clone(),
            move || expiry(shown.validity().iter()),
        );
        if tls.has_folder() {
            let shown = tls.clone();
            self.metrics.register_gauge(
                "sluice_tls_further_certificates_expiry_timestamp_seconds",
                "When the first of the further certificates expires that a listener shows by name",
                labels,
                move || expiry(shown.further_validities().iter()),
            );
        }
        let (clock, shutdown) = (Arc::clone(self.clock), self.shutdown.clone());
        self.tasks.spawn(tls.clone().reload_when_changed(listener, RELOAD_EVERY, clock, shutdown));
        let (tls, clock, shutdown) = (tls.clone(), Arc::clone(self.clock), self.shutdown.clone());
        self.tasks.spawn(async move {
            let mut days = interval(WARN_EVERY);
            days.set_missed_tick_behavior(MissedTickBehavior::Delay);
            while shutdown.run_until_cancelled(days.tick()).await.is_some() {
                warn_if_due(&tls, listener, clock.now());
            }
        });
    }
}

fn warn_if_due(tls: &TlsAcceptorHandle, listener: &'static str, now: Timestamp) {
    for validity in tls.validity().iter().chain(tls.further_validities().iter()) {
        let source = &validity.source;
        let expiry = jiff::Timestamp::from_second(validity.not_after.as_secs()).unwrap_or_default();
        match left(validity, now) {
            Left::Enough => {}
            Left::Days(days) => warn!(listener, source, %expiry, days, "the TLS certificate expires soon"),
            Left::Nothing => warn!(listener, source, %expiry, "the TLS certificate has expired"),
        }
    }
}

/// What is left of the life of a certificate.
#[derive(Debug, PartialEq, Eq)]
enum Left {
    Enough,
    /// So many whole days.
    Days(i64),
    Nothing,
}

fn left(validity: &CertificateValidity, now: Timestamp) -> Left {
    let left = validity.not_after.since(now);
    let life = validity.not_after.since(validity.not_before);
    if left == Lifetime::ZERO {
        Left::Nothing
    } else if left < WARN_BEFORE && left.as_millis() < life.as_millis() / 4 {
        Left::Days(left.as_secs() / Lifetime::hours(24).as_secs())
    } else {
        Left::Enough
    }
}

/// When the first of them expires; no number if there are none.
fn expiry<'a>(of: impl Iterator<Item = &'a CertificateValidity>) -> f64 {
    of.map(|validity| validity.not_after).min().map_or(f64::NAN, seconds)
}

#[expect(clippy::cast_precision_loss, reason = "whole seconds until the year 9999 are exact")]
fn seconds(moment: Timestamp) -> f64 {
    moment.as_secs() as f64
}

#[cfg(test)]
mod tests {
    use sluice_net::{PemSource, self_signed};
    use sluice_primitives::Secret;
    use sluice_testkit::Captured;

    use super::*;

    const NOW: Timestamp = Timestamp::from_secs(1_750_000_000);

    /// What is left of a life of so many days that ends so many hours from now.
    fn of_a_life(days: u32, hours: u32) -> Left {
        let not_after = NOW + Lifetime::hours(hours);
        let not_before = not_after - Lifetime::hours(24 * days);
        left(&CertificateValidity { source: "a.crt".to_owned(), not_before, not_after }, NOW)
    }

    #[test]
    fn a_certificate_is_warned_about_in_its_last_two_weeks_and_after_its_end() {
        assert_eq!((of_a_life(397, 24 * 397), of_a_life(90, 24 * 14)), (Left::Enough, Left::Enough));
        assert_eq!((of_a_life(90, 24 * 14 - 1), of_a_life(90, 23)), (Left::Days(13), Left::Days(0)));
        assert_eq!(of_a_life(90, 0), Left::Nothing);
    }

    #[test]
    fn one_that_lives_for_days_is_warned_about_in_the_last_quarter() {
        assert_eq!((of_a_life(6, 36), of_a_life(6, 35)), (Left::Enough, Left::Days(1)));
    }

    #[test]
    fn the_end_is_that_of_the_certificate_in_force() {
        let tls = self_signed(&["localhost".to_owned()], NOW).unwrap().acceptor().unwrap();
        let not_before = NOW - Lifetime::hours(1);
        let not_after = not_before + Lifetime::hours(397 * 24);
        let validity = CertificateValidity { source: "cert".to_owned(), not_before, not_after };
        assert_eq!(expiry(tls.validity().iter()).to_bits(), seconds(not_after).to_bits());
        assert_eq!(tls.validity(), Some(validity));
        assert!(expiry(tls.further_validities().iter()).is_nan());
    }

    #[test]
    fn of_each_certificate_that_expires_soon_the_file_is_told() {
        let (log, _guard) = Captured::begin();
        let folder = tempfile::tempdir().unwrap();
        let days = |days: u32| NOW - Lifetime::hours(24 * days);
        for (file, host, made) in
            [("old", "a.test", days(390)), ("new", "b.test", NOW), ("passed-over", "a.test", days(395))]
        {
            let certificate = self_signed(&[host.to_owned()], made).unwrap();
            std::fs::write(folder.path().join(file).with_extension("crt"), certificate.certificate).unwrap();
            let key = certificate.private_key.expose();
            std::fs::write(folder.path().join(file).with_extension("key"), key).unwrap();
        }
        let first = self_signed(&["localhost".to_owned()], NOW).unwrap();
        let (chain, key) = (Secret::new(first.certificate.clone()), first.private_key.clone());
        let (chain, key) = (PemSource::Text(chain), PemSource::Text(key));
        let tls = TlsAcceptorHandle::load_with_folder(chain, key, folder.path().to_owned(), NOW).unwrap();
        warn_if_due(&tls, "public", NOW);
        let told = log.lines("the TLS certificate expires soon");
        assert_eq!(told.len(), 1, "that which nobody is shown may expire: {told:?}");
        assert!(told[0].contains("old.crt") && told[0].contains("days=6"), "{told:?}");
        let first_to_expire = days(390) - Lifetime::hours(1) + Lifetime::hours(397 * 24);
        let told = expiry(tls.further_validities().iter());
        assert_eq!(told.to_bits(), seconds(first_to_expire).to_bits());
        assert!(tls.has_folder());
    }
}
