//! What the metrics show of the services.

use std::sync::Arc;

use sluice_identity::hardening::HardeningMetrics;
use sluice_identity::mail::MailMetrics;
use sluice_oauth::OAuthMetrics;
use sluice_oauth::logout::DeliveryMetrics;
use sluice_primitives::Clock;

use super::people::People;
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
}

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
