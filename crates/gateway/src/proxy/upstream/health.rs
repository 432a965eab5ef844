//! How a server is doing: what requests and probes say of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use http::HeaderValue;
use tokio::time::Instant;
use tracing::{info, warn};

use super::config::{PassiveHealth, ServerConfig, UpstreamConfig};
use super::probe::Ailment;

/// How often it is said again that a server cannot be reached, or that its answers break off.
const TOLD_EVERY: Duration = Duration::from_mins(1);
/// The longest time a server is left alone, as a multiple of the configured time.
const MOST_DOUBLINGS: u32 = 4;

/// One server, as all cores see it.
#[derive(Debug)]
pub(in crate::proxy) struct Server {
    /// What is configured.
    pub(super) config: ServerConfig,
    /// Whose it is, for the log.
    upstream: Arc<str>,
    /// `host:port`, IPv6 in brackets.
    pub(super) label: Arc<str>,
    /// `Host`, where the client's is not kept.
    pub(super) host: HeaderValue,
    /// Connections being made for requests.
    pub(super) connecting: AtomicUsize,
    /// Failures of requests in a row.
    failures: AtomicU32,
    /// Answers in a row that broke off. That their heads were good says nothing of them.
    breaches: AtomicU32,
    /// How often in a row it was left alone.
    ejections: AtomicU32,
    /// Until when it is left alone: milliseconds after `epoch`; 0: it is not.
    ejected_until: AtomicU64,
    /// Whether probes found it ill.
    ill: AtomicBool,
    /// When it was last said that it cannot be reached: milliseconds after `epoch`, and one more; 0: never.
    told_at: AtomicU64,
    /// The same of answers that broke off.
    breach_told_at: AtomicU64,
    /// The same of requests that failed on a connection.
    failure_told_at: AtomicU64,
    /// Whether it was said last that it cannot be reached.
    is_out: AtomicBool,
    epoch: Instant,
}

impl Server {
    pub(super) fn new(config: ServerConfig, upstream: Arc<str>) -> Self {
        let host = if config.host.contains(':') { format!("[{}]", config.host) } else { config.host.clone() };
        let label: Arc<str> = format!("{host}:{}", config.port).into();
        let default_port = if config.tls { 443 } else { 80 };
        let authority = if config.port == default_port { host.as_str() } else { &*label };
        Self {
            host: HeaderValue::from_str(authority).unwrap_or_else(|_| HeaderValue::from_static("invalid")),
            upstream,
            label,
            config,
            connecting: AtomicUsize::new(0),
            failures: AtomicU32::new(0),
            breaches: AtomicU32::new(0),
            ejections: AtomicU32::new(0),
            ejected_until: AtomicU64::new(0),
            ill: AtomicBool::new(false),
            told_at: AtomicU64::new(0),
            breach_told_at: AtomicU64::new(0),
            failure_told_at: AtomicU64::new(0),
            is_out: AtomicBool::new(false),
            epoch: Instant::now(),
        }
    }

    /// The same, with what was known of it as `former`, before its upstream was described anew, as far as that still has it judged so. What
    /// requests to the former upstream bring to light later speaks of that alone.
    pub(super) fn after(self, former: &Self, upstream: &UpstreamConfig) -> Self {
        let number = |of: &AtomicU32| AtomicU32::new(of.load(Ordering::Relaxed));
        let moment = |of: &AtomicU64| AtomicU64::new(of.load(Ordering::Relaxed));
        let fact = |of: &AtomicBool| AtomicBool::new(of.load(Ordering::Relaxed));
        let (told_at, breach_told_at) = (moment(&former.told_at), moment(&former.breach_told_at));
        let failure_told_at = moment(&former.failure_told_at);
        let (is_out, epoch) = (fact(&former.is_out), former.epoch);
        let mut server = Self { told_at, breach_told_at, failure_told_at, is_out, epoch, ..self };
        if upstream.passive_health.is_some() {
            server.failures = number(&former.failures);
            server.breaches = number(&former.breaches);
            server.ejections = number(&former.ejections);
            server.ejected_until = moment(&former.ejected_until);
        }
        if upstream.active_health.is_some() {
            server.ill = fact(&former.ill);
        }
        server
    }

    /// Whether it is the one that `config` describes, whatever its share.
    pub(super) fn is_at(&self, config: &ServerConfig) -> bool {
        let ServerConfig { host, port, tls, weight: _ } = &self.config;
        (host, port, tls) == (&config.host, &config.port, &config.tls)
    }

    /// Whether requests should go there.
    pub(super) fn is_well(&self) -> bool {
        if self.is_ill() {
            return false;
        }
        let until = self.ejected_until.load(Ordering::Relaxed);
        until == 0 || self.now() >= until
    }

    /// Whether probes found it ill.
    pub(super) fn is_ill(&self) -> bool {
        self.ill.load(Ordering::Relaxed)
    }

    /// A request got an answer that says nothing against the server.
    pub(super) fn succeeded(&self) {
        self.forgive(&self.failures, &self.breaches);
    }

    /// An answer was there to its end.
    pub(super) fn completed(&self) {
        self.forgive(&self.breaches, &self.failures);
    }

    /// Forgets `those`. With none of the others either it is no longer left alone.
    fn forgive(&self, those: &AtomicU32, others: &AtomicU32) {
        if those.load(Ordering::Relaxed) == 0 {
            return;
        }
        those.store(0, Ordering::Relaxed);
        if others.load(Ordering::Relaxed) == 0 {
            self.ejections.store(0, Ordering::Relaxed);
            self.ejected_until.store(0, Ordering::Relaxed);
        }
    }

    /// A request failed there. `alone`: no other server is well, so this one goes on.
    pub(super) fn failed(&self, health: &PassiveHealth, alone: impl FnOnce() -> bool) {
        self.hold_against(&self.failures, health, alone);
    }

    /// An answer of it broke off. `alone`: as above.
    pub(super) fn broke_off(&self, health: &PassiveHealth, alone: impl FnOnce() -> bool) {
        self.hold_against(&self.breaches, health, alone);
    }

    fn hold_against(&self, those: &AtomicU32, health: &PassiveHealth, alone: impl FnOnce() -> bool) {
        let failures = those.fetch_add(1, Ordering::Relaxed).saturating_add(1);
        if failures < health.failures.get() || !self.is_well() || alone() {
            return;
        }
        let doublings = self.ejections.fetch_add(1, Ordering::Relaxed).min(MOST_DOUBLINGS);
        let pause = health.eject_for.saturating_mul(1 << doublings);
        self.ejected_until.store(self.now().saturating_add(millis(pause)).max(1), Ordering::Relaxed);
        let (upstream, server) = (&self.upstream, &self.label);
        warn!(%upstream, %server, failures, ?pause, "a server is left alone");
    }

    /// What probes found.
    pub(super) fn probed(&self, found: &Result<(), Ailment>) {
        if self.ill.swap(found.is_err(), Ordering::Relaxed) == found.is_err() {
            return;
        }
        let (upstream, server) = (&self.upstream, &self.label);
        match found {
            Ok(()) => info!(%upstream, %server, well = true, "a server's health changed"),
            Err(why) => {
                warn!(%upstream, %server, well = false, error = %why.told(), "a server's health changed");
            }
        }
    }

    /// A connection to it could not be made; whether that is to be said now, once for a crowd of requests.
    pub(super) fn is_to_be_reported(&self) -> bool {
        let is_told = self.is_due(&self.told_at);
        if is_told {
            self.is_out.store(true, Ordering::Relaxed);
        }
        is_told
    }

    /// An answer of it broke off; whether that is to be said now, once for a crowd of answers.
    pub(super) fn is_breach_to_be_reported(&self) -> bool {
        self.is_due(&self.breach_told_at)
    }

    /// A request failed on a connection to it; whether that is to be said now, once for a crowd of requests.
    pub(super) fn is_failure_to_be_reported(&self) -> bool {
        self.is_due(&self.failure_told_at)
    }

    /// Whether to say again, and here, what was last said then.
    fn is_due(&self, told_at: &AtomicU64) -> bool {
        let (last, now) = (told_at.load(Ordering::Relaxed), self.now() + 1);
        let is_due = last == 0 || now.saturating_sub(last) >= millis(TOLD_EVERY);
        let is_mine = || told_at.compare_exchange(last, now, Ordering::Relaxed, Ordering::Relaxed).is_ok();
        is_due && is_mine()
    }

    /// A connection to it was made; whether it is to be said that it can be reached again.
    pub(super) fn is_back(&self) -> bool {
        self.is_out.load(Ordering::Relaxed) && self.is_out.swap(false, Ordering::Relaxed)
    }

    fn now(&self) -> u64 {
        millis(self.epoch.elapsed())
    }
}

fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use http::StatusCode;
    use sluice_testkit::Captured;

    use super::*;

    fn server(host: &str, port: u16) -> Server {
        let config = ServerConfig { host: host.to_owned(), port, tls: false, weight: NonZeroU32::MIN };
        Server::new(config, "shop".into())
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_is_left_alone_after_failures_in_a_row_and_longer_each_time() {
        let server = server("one.example", 80);
        let health =
            PassiveHealth { failures: NonZeroU32::new(2).unwrap(), eject_for: Duration::from_secs(5) };
        server.failed(&health, || false);
        server.succeeded();
        server.failed(&health, || false);
        assert!(server.is_well(), "not in a row");
        for pause in [5, 10, 20, 40, 80, 80] {
            server.failed(&health, || false);
            tokio::time::advance(Duration::from_millis(pause * 1000 - 1)).await;
            assert!(!server.is_well(), "{pause}");
            tokio::time::advance(Duration::from_millis(1)).await;
            assert!(server.is_well(), "{pause}");
        }
        server.failed(&health, || true);
        assert!(server.is_well(), "the last one is never left alone");
    }

    #[tokio::test(start_paused = true)]
    async fn good_heads_do_not_make_up_for_answers_that_break_off_nor_good_ends_for_failures() {
        let health =
            PassiveHealth { failures: NonZeroU32::new(2).unwrap(), eject_for: Duration::from_secs(5) };
        let server = server("one.example", 80);
        for _ in 0..2 {
            server.succeeded();
            server.broke_off(&health, || false);
        }
        assert!(!server.is_well());
        server.succeeded();
        assert!(!server.is_well());
        server.completed();
        assert!(server.is_well());
        for _ in 0..2 {
            server.completed();
            server.failed(&health, || false);
        }
        server.completed();
        assert!(!server.is_well());
        server.succeeded();
        assert!(server.is_well());
    }

    #[tokio::test(start_paused = true)]
    async fn that_answers_break_off_is_said_once_a_minute() {
        let server = server("one.example", 80);
        assert_eq!([server.is_breach_to_be_reported(), server.is_breach_to_be_reported()], [true, false]);
        assert!(!server.is_back() && server.is_to_be_reported(), "it says nothing of connections");
        tokio::time::advance(TOLD_EVERY).await;
        assert!(server.is_breach_to_be_reported());
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_said_of_the_health_of_a_server_names_its_upstream() {
        let (log, _guard) = Captured::begin();
        let server = server("one.example", 80);
        let health = PassiveHealth { failures: NonZeroU32::MIN, eject_for: Duration::from_secs(5) };
        server.failed(&health, || false);
        server.probed(&Err(Ailment::Late));
        for said in ["a server is left alone", "a server's health changed"] {
            let lines = log.lines(said);
            let [line] = lines.as_slice() else { panic!("{lines:?}") };
            assert!(line.contains("upstream=shop") && line.contains("server=one.example:80"), "{line}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn that_probes_find_a_server_ill_is_a_warning_with_the_reason_and_that_it_is_well_again_none() {
        let (log, _guard) = Captured::begin();
        let server = server("one.example", 80);
        let status = || Err(Ailment::Status(StatusCode::SERVICE_UNAVAILABLE));
        for found in [Ok(()), status(), status(), Err(Ailment::Late), Ok(()), Ok(())] {
            server.probed(&found);
        }
        let lines = log.lines("a server's health changed");
        let [ill, well] = lines.as_slice() else { panic!("{lines:?}") };
        assert!(ill.contains("WARN") && ill.contains("well=false"), "{ill}");
        assert!(ill.contains("it answered with 503 Service Unavailable"), "{ill}");
        assert!(well.contains("INFO") && well.contains("well=true"), "{well}");
    }

    #[tokio::test(start_paused = true)]
    async fn that_a_server_cannot_be_reached_is_said_once_a_minute() {
        let server = server("one.example", 80);
        assert!(!server.is_back(), "it was never out");
        assert_eq!([server.is_to_be_reported(), server.is_to_be_reported()], [true, false]);
        assert_eq!([server.is_back(), server.is_back()], [true, false]);
        tokio::time::advance(TOLD_EVERY / 2).await;
        assert!(!server.is_to_be_reported() && !server.is_back(), "it comes and goes");
        tokio::time::advance(TOLD_EVERY / 2).await;
        assert!(server.is_to_be_reported() && server.is_back());
    }

    #[tokio::test]
    async fn a_server_is_named_as_hosts_are_written() {
        assert_eq!(server("one.example", 80).host, "one.example");
        assert_eq!(server("2001:db8::1", 8080).host, "[2001:db8::1]:8080");
        assert_eq!(&*server("2001:db8::1", 80).label, "[2001:db8::1]:80");
    }
}
