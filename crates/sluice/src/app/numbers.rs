//! What the metrics show of the services.

use std::sync::Arc;
use std::time::Duration;

use sluice_crypto::Purpose;
use sluice_identity::hardening::HardeningMetrics;
use sluice_identity::mail::MailMetrics;
use sluice_oauth::OAuthMetrics;
use sluice_oauth::logout::DeliveryMetrics;
use sluice_primitives::{Clock, Lifetime};
use sluice_store_postgres::ConnectionCount;

use super::people::People;
use super::stores::Stores;
use crate::observability::Metrics;

/// Reads one of the numbers.
type ReadDeliveries = fn(&DeliveryMetrics) -> u64;

/// Shows how back-channel logout notices get on.
pub(super) fn show_deliveries(metrics: &Metrics, deliveries: &Arc<DeliveryMetrics>) {
    let states: [(&str, ReadDeliveries); 2] =
        [("waiting", DeliveryMetrics::waiting), ("dead", DeliveryMetrics::dead)];
    for (state, read) in states {
        let (labels, deliveries) = (vec![("state", state.to_owned())], Arc::clone(deliveries));
        metrics.register_gauge(
            "sluice_logout_outbox",
            "Back-channel logout notices in the outbox",
            labels,
            move || f64::from(u32::try_from(read(&deliveries)).unwrap_or(u32::MAX)),
        );
    }
    let outcomes: [(&str, ReadDeliveries); 2] =
        [("delivered", |all| all.delivered.get()), ("failed", |all| all.failed.get())];
    for (outcome, read) in outcomes {
        let (labels, deliveries) = (vec![("outcome", outcome.to_owned())], Arc::clone(deliveries));
        metrics.register_counter(
            "sluice_logout_deliveries_total",
            "Tries to deliver back-channel logout notices",
            labels,
            move || read(&deliveries),
        );
    }
}

/// Reads one of the counters.
type ReadCounter = fn(&OAuthMetrics) -> u64;

/// Counts how far flows come.
pub(super) fn count_flows(metrics: &Metrics, flows: &Arc<OAuthMetrics>) {
    let steps: [(&'static str, ReadCounter); 12] = [
        ("begun", |flows| flows.begun.get()),
        ("logged_in", |flows| flows.logged_in.get()),
        ("granted", |flows| flows.granted.get()),
        ("redeemed", |flows| flows.redeemed.get()),
        ("refreshed", |flows| flows.refreshed.get()),
        ("client_credentials", |flows| flows.client_credentials.get()),
        ("assertions", |flows| flows.assertions.get()),
        ("exchanged", |flows| flows.exchanged.get()),
        ("hook_refusals", |flows| flows.hook_refusals.get()),
        ("hook_failures", |flows| flows.hook_failures.get()),
        ("shown_errors", |flows| flows.shown_errors.get()),
        ("redirected_errors", |flows| flows.redirected_errors.get()),
    ];
    for (step, read) in steps {
        let flows = Arc::clone(flows);
        metrics.register_flow_step(step, move || read(&flows));
    }
}

/// Counts what clients are refused.
pub(super) fn count_refusals(metrics: &Metrics, flows: &Arc<OAuthMetrics>) {
    let flows = Arc::clone(flows);
    metrics.register_counters("sluice_refusals_total", "Requests of clients that were refused", move || {
        let counted = flows.refusals.counted().into_iter();
        let labelled = counted.map(|(endpoint, error, count)| {
            (vec![("endpoint", endpoint.as_str().to_owned()), ("error", error.to_owned())], count)
        });
        labelled.collect()
    });
}

/// Counts values that name a key which is not configured here, of all purposes that `counted` has a number for: from 0 on, so that
/// the first is seen to be one more.
pub(super) fn count_unknown_keys(
    metrics: &Metrics,
    counted: impl Fn(Purpose) -> Option<u64> + Send + Sync + 'static,
) {
    metrics.register_counters(
        "sluice_values_of_unknown_key_total",
        "Sealed values that name a key which is not configured here",
        move || {
            let known = Purpose::all().filter_map(|purpose| Some((purpose, counted(purpose)?)));
            known.map(|(purpose, count)| (vec![("purpose", purpose.as_str().to_owned())], count)).collect()
        },
    );
}

/// Shows how passwords and mails get on.
pub(super) fn show_people(metrics: &Metrics, people: &People, clock: &Arc<dyn Clock>) {
    show_hardening(metrics, &people.hardening.metrics, clock);
    if let Some(delivery) = &people.delivery {
        show_mails(metrics, &delivery.metrics);
    }
    let rules = Arc::clone(&people.rules);
    metrics.register_counter(
        "sluice_breached_list_unanswered_total",
        "Passwords that were let through because the list of breached ones was out of reach",
        Vec::new(),
        move || rules.unanswered_total(),
    );
    let hasher = Arc::clone(&people.accounts.hasher);
    metrics.register_counter(
        "sluice_credentials_unreadable_total",
        "Logins that were refused because the stored credential cannot be read",
        Vec::new(),
        move || hasher.unreadable_total(),
    );
}

/// Reads one of the numbers.
type ReadHardening = fn(&HardeningMetrics) -> u64;

/// Shows the backlog of hardening and how fast it drains.
pub(crate) fn show_hardening(metrics: &Metrics, hardening: &Arc<HardeningMetrics>, clock: &Arc<dyn Clock>) {
    let states: [(&str, ReadHardening); 3] = [
        ("waiting", HardeningMetrics::waiting),
        ("leased", HardeningMetrics::leased),
        ("dead", HardeningMetrics::dead),
    ];
    for (state, read) in states {
        let (labels, hardening) = (vec![("state", state.to_owned())], Arc::clone(hardening));
        metrics.register_gauge(
            "sluice_hardening_backlog",
            "Credentials that wait to be hardened, that this process has in hand, and that were given up",
            labels,
            move || gauge(read(&hardening)),
        );
    }
    let outcomes: [(&str, ReadHardening); 4] = [
        ("hardened", HardeningMetrics::hardened_total),
        ("superseded", HardeningMetrics::superseded_total),
        ("given_up", HardeningMetrics::given_up_total),
        ("left_alone", HardeningMetrics::left_alone_total),
    ];
    for (outcome, read) in outcomes {
        let (labels, hardening) = (vec![("outcome", outcome.to_owned())], Arc::clone(hardening));
        metrics.register_counter(
            "sluice_hardening_total",
            "Credentials that were taken to be hardened, by what became of them",
            labels,
            move || read(&hardening),
        );
    }
    let (oldest, now) = (Arc::clone(hardening), Arc::clone(clock));
    metrics.register_gauge_fn(
        "sluice_hardening_oldest_seconds",
        "How long the oldest credential waits to be hardened",
        move || oldest.oldest_age(now.now()).as_duration().as_secs_f64(),
    );
    let (rate, now) = (Arc::clone(hardening), Arc::clone(clock));
    metrics.register_gauge_fn(
        "sluice_hardening_drain_rate",
        "Credentials hardened per second, over the last minute",
        move || rate.drain_rate(now.now()),
    );
    let counted = Arc::clone(hardening);
    metrics.register_gauge_fn(
        "sluice_hardening_count_age_seconds",
        "How long ago it was counted what waits to be hardened",
        move || counted.count_age().map_or(f64::INFINITY, |age| age.as_secs_f64()),
    );
}

/// Shows what time it is by the clock of this machine: beside that of who asks, it shows a clock that is wrong.
pub(crate) fn show_time(metrics: &Metrics, clock: &Arc<dyn Clock>) {
    let clock = Arc::clone(clock);
    metrics.register_gauge_fn("sluice_time_seconds", "The time of day, since the Unix epoch", move || {
        Duration::from_millis(clock.now().as_millis().unsigned_abs()).as_secs_f64()
    });
}

/// Shows the connections to PostgreSQL, where that is the database.
pub(crate) fn show_connections(metrics: &Metrics, stores: &Stores) {
    let Stores::Postgres(store) = stores else { return };
    let states: [(&str, ReadConnections); 2] = [("busy", |count| count.busy), ("idle", |count| count.idle)];
    for (state, read) in states {
        let (labels, store) = (vec![("state", state.to_owned())], Arc::clone(store));
        metrics.register_gauge(
            "sluice_database_connections",
            "Connections to PostgreSQL that are open",
            labels,
            move || gauge(u64::try_from(read(&store.connections())).unwrap_or(u64::MAX)),
        );
    }
    let limit = gauge(u64::try_from(store.connections().limit).unwrap_or(u64::MAX));
    metrics.register_gauge_fn(
        "sluice_database_connections_limit",
        "Connections to PostgreSQL that there may be",
        move || limit,
    );
    let store = Arc::clone(store);
    metrics.register_counter(
        "sluice_database_connections_failed_total",
        "Attempts to open a connection to PostgreSQL that came to nothing",
        Vec::new(),
        move || store.connections().failed_total,
    );
}

/// How long ago the feed was heard, in seconds; without end if never.
pub(super) fn feed_age(age: Lifetime) -> f64 {
    if age.is_forever() { f64::INFINITY } else { age.as_duration().as_secs_f64() }
}

/// Reads one of the numbers.
type ReadConnections = fn(&ConnectionCount) -> usize;

/// Reads one of the numbers.
type ReadMails = fn(&MailMetrics) -> u64;

fn show_mails(metrics: &Metrics, mails: &Arc<MailMetrics>) {
    let states: [(&str, ReadMails); 2] = [("waiting", MailMetrics::waiting), ("dead", MailMetrics::dead)];
    for (state, read) in states {
        let (labels, mails) = (vec![("state", state.to_owned())], Arc::clone(mails));
        metrics
            .register_gauge("sluice_mail_outbox", "Mails in the outbox", labels, move || gauge(read(&mails)));
    }
    let outcomes: [(&str, ReadMails); 2] =
        [("sent", MailMetrics::sent_total), ("failed", MailMetrics::failed_total)];
    for (outcome, read) in outcomes {
        let (labels, mails) = (vec![("outcome", outcome.to_owned())], Arc::clone(mails));
        metrics.register_counter("sluice_mail_deliveries_total", "Tries to send mails", labels, move || {
            read(&mails)
        });
    }
}

fn gauge(number: u64) -> f64 {
    f64::from(u32::try_from(number).unwrap_or(u32::MAX))
}
