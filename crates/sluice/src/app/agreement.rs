//! Agreement: whether nodes that share a database have alike what must be alike on all of them. Each says what it has, once a minute, and what it
//! finds of others that serve; where it differs, half of the logins fail, or tokens of one node are unknown on another. The database says so
//! because nothing else knows all nodes (ADR 34).

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::time::Duration;

use sluice_commit::{StoreError, chain};
use sluice_crypto::{SystemSecret, fingerprint};
use sluice_oauth::serving_node::{Difference, ServingNode, SharedSettings};
use sluice_primitives::{Clock, Lifetime, NetworkId, NodeId, Rng, Timestamp};
use tokio::time::timeout;
use tracing::{error, info, warn};

use super::outage::Outage;
use super::secrets::KeyMaterial;
use super::stores::Repositories;
use crate::config::{Settings, SubjectType};
use crate::observability::Metrics;

/// Where the kernel tells the name of the machine, or of the container.
const HOST: &str = "/proc/sys/kernel/hostname";
/// The longest name of a machine that is told, in characters.
const LONGEST_HOST: usize = 255;
/// Since when a node counts as gone that has not said that it goes. It says each minute that it serves; and clocks differ.
const GONE_AFTER: Lifetime = Lifetime::minutes(3);
/// Where it differs between nodes at once, people get past it on one of them. What was made under another one is as good as ever.
const FACTORS_REQUIRED: &str = "identity.factors.required";
/// For how long it is remembered. The last one of all is, until another has come.
const REMEMBERED: Lifetime = Lifetime::hours(1);
/// Of so many nodes it is read what they say.
const MOST: u32 = 1_000;
/// So many of them are named in a line.
const NAMED: usize = 5;
/// How often it is said again that nodes differ, or that it cannot be found out.
const TOLD_EVERY: Duration = Duration::from_mins(10);
/// How long a node that stops tries to say so: it counts as gone without that, only later.
const PATIENCE: Duration = Duration::from_secs(1);

/// What a node says of itself, and what it finds of others.
pub(crate) struct Agreement {
    store: Arc<dyn Repositories>,
    clock: Arc<dyn Clock>,
    node: NodeId,
    host: String,
    settings: SharedSettings,
    /// From how many nodes that serve each setting differs.
    differing: BTreeMap<String, AtomicU32>,
    /// Whether it was looked for what served before.
    has_looked: AtomicBool,
    is_noted: AtomicBool,
    /// What is said while nodes differ.
    told: Outage,
    /// What is said while they cannot be asked.
    unanswered: Outage,
}

impl Agreement {
    /// How often a node says that it serves.
    pub(crate) const EVERY: Duration = Duration::from_mins(1);

    /// Of a node with these settings, which has said nothing yet.
    pub(crate) fn new(
        store: Arc<dyn Repositories>,
        settings: SharedSettings,
        (clock, rng): (Arc<dyn Clock>, &dyn Rng),
    ) -> Self {
        Self {
            store,
            node: NodeId::generate(clock.now(), rng),
            clock,
            host: host(),
            differing: settings.names().map(|name| (name.to_owned(), AtomicU32::default())).collect(),
            settings,
            has_looked: AtomicBool::new(false),
            is_noted: AtomicBool::new(false),
            told: Outage::told_every(TOLD_EVERY),
            unanswered: Outage::told_every(TOLD_EVERY),
        }
    }

    /// Compares, and says that this node serves. Whatever comes of it, the node goes on: it cannot know which of two is wrong, and rows may be of
    /// nodes that are no more.
    pub(crate) async fn round(&self) {
        match self.compare_and_note().await {
            Ok(()) if self.unanswered.is_over() => {
                info!("what other nodes say of their settings is read again");
            }
            Ok(()) => {}
            Err(error) => {
                if let Some(times) = self.unanswered.failed() {
                    let error = chain(&error);
                    warn!(error, times, "it cannot be found out whether other nodes have the same settings");
                }
            }
        }
    }

    /// Says that this node does not serve any more, so that one that is started with other settings does not take it for one that does.
    pub(crate) async fn leave(&self) {
        if self.is_noted.load(Relaxed) {
            // Who is not heard counts as gone, too.
            let _ = timeout(PATIENCE, self.note(false, self.clock.now())).await;
        }
    }

    /// Shows from how many nodes each setting differs.
    pub(crate) fn show(self: &Arc<Self>, metrics: &Metrics) {
        for setting in self.differing.keys() {
            let (agreement, name) = (Arc::clone(self), setting.clone());
            metrics.register_gauge(
                "sluice_nodes_that_differ",
                "Other nodes on this database that differ in a setting which must be alike on all",
                vec![("setting", setting.clone())],
                move || agreement.differing.get(&name).map_or(0.0, |nodes| f64::from(nodes.load(Relaxed))),
            );
        }
    }

    async fn compare_and_note(&self) -> Result<(), StoreError> {
        let mut known = self.store.known_nodes(MOST).await?;
        known.retain(|node| node.id != self.node);
        let now = self.clock.now();
        let (serving, gone): (Vec<_>, Vec<_>) = known.into_iter().partition(|node| serves(node, now));
        let is_first = !self.has_looked.swap(true, Relaxed);
        if is_first
            && serving.is_empty()
            && let Some(last) = gone.first()
        {
            self.tell_of_last(last);
        }
        self.tell_of_serving(&serving);
        self.note(true, now).await
    }

    async fn note(&self, is_serving: bool, now: Timestamp) -> Result<(), StoreError> {
        let (host, settings) = (self.host.clone(), self.settings.clone());
        let node = ServingNode { id: self.node, host, seen_at: now, is_serving, settings };
        self.store.note_node(&node, now - REMEMBERED).await?;
        self.is_noted.store(true, Relaxed);
        Ok(())
    }

    /// What one that is gone has left behind may be of no use: as after a secret was changed, or the file was put elsewhere.
    fn tell_of_last(&self, last: &ServingNode) {
        let differences = self.settings.differences(&last.settings);
        let spoiled =
            differences.filter(|one| one.how.spoils_what_was_made() && one.setting != FACTORS_REQUIRED);
        for Difference { setting, how } in spoiled {
            warn!(
                setting,
                node = last.host,
                last_seen = %last.seen_at,
                "this database was last served with another setting: {}; what was begun or issued then may be refused now",
                how.as_str()
            );
        }
    }

    fn tell_of_serving(&self, serving: &[ServingNode]) {
        let found = differing(&self.settings, serving);
        for (setting, count) in &self.differing {
            let of_setting = found.iter().filter(|(one, _)| one.setting == setting);
            let nodes: usize = of_setting.map(|(_, nodes)| nodes.len()).sum();
            count.store(u32::try_from(nodes).unwrap_or(u32::MAX), Relaxed);
        }
        for (Difference { setting, how }, hosts) in &found {
            let (nodes, how) = (named(hosts), how.as_str());
            if self.told.failed_for(&format!("{setting}: {how}: {nodes}")).is_some() {
                error!(
                    setting,
                    nodes, "nodes on this database differ in a setting that must be alike on all: {how}"
                );
            }
        }
        if found.is_empty() && self.told.is_over() {
            info!("nodes on this database have the same settings again, where these must be alike");
        }
    }
}

/// The nodes that serve now.
pub(crate) async fn serving_nodes(
    store: &dyn Repositories,
    now: Timestamp,
) -> Result<Vec<ServingNode>, StoreError> {
    let mut known = store.known_nodes(MOST).await?;
    known.retain(|node| serves(node, now));
    Ok(known)
}

/// In what these nodes differ from these settings, and which of them, by their machines.
pub(crate) fn differing<'a>(
    settings: &'a SharedSettings,
    nodes: &'a [ServingNode],
) -> BTreeMap<Difference<'a>, Vec<&'a str>> {
    let mut found: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for node in nodes {
        for difference in settings.differences(&node.settings) {
            found.entry(difference).or_default().push(node.host.as_str());
        }
    }
    found
}

/// Whether a node goes on serving. One that was seen in the future has another clock, or is gone since this one was set back.
fn serves(node: &ServingNode, now: Timestamp) -> bool {
    let apart = now.since(node.seen_at).max(node.seen_at.since(now));
    node.is_serving && apart <= GONE_AFTER
}

/// Some of these names, always the same of the same ones, and how many there are besides.
fn named(hosts: &[&str]) -> String {
    let mut hosts = hosts.to_vec();
    hosts.sort_unstable();
    let first = hosts.iter().take(NAMED).copied().collect::<Vec<_>>().join(", ");
    match hosts.len().saturating_sub(NAMED) {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}

/// The name of this machine, as far as it can be told.
fn host() -> String {
    let name = std::fs::read_to_string(HOST).ok().or_else(|| std::env::var("HOSTNAME").ok());
    let name: String = name.unwrap_or_default().trim().chars().take(LONGEST_HOST).collect();
    if name.is_empty() || name.chars().any(char::is_control) { "unknown".to_owned() } else { name }
}

/// Of what must be alike on all nodes, the secrets.
pub(crate) fn secrets_shared(secrets: &KeyMaterial, network: NetworkId) -> SharedSettings {
    let lists = secrets.fingerprints(network).into_iter();
    lists.fold(SharedSettings::default(), |said, (list, fingerprints)| said.with_secrets(list, fingerprints))
}

/// What must be alike on all nodes: what is sealed or issued on one is presented to another. Of secrets, and of the salt, only a fingerprint.
pub(crate) fn shared_settings(
    settings: &Settings,
    secrets: &KeyMaterial,
    network: NetworkId,
) -> SharedSettings {
    let said = secrets_shared(secrets, network)
        .with_value("urls.self.issuer", settings.urls.issuer.as_str())
        .with_value("serve.cookies.names.session", settings.serve.cookies.session_name.as_str())
        .with_value("serve.cookies.paths.session", settings.serve.cookies.session_path.as_str())
        .with_value("serve.cookies.domain", settings.serve.cookies.domain.as_deref().unwrap_or_default())
        .with_value("ttl.longest_access_token", format!("{}s", settings.ttl.longest_access_token.as_secs()))
        .with_value(FACTORS_REQUIRED, settings.identity.factors_required.as_str());
    let said = match &settings.identity.passkeys {
        Some(passkeys) => said.with_value("identity.passkeys.rp_id", passkeys.rp_id.as_str()),
        None => said,
    };
    let subjects = &settings.oidc.subjects;
    match &subjects.pairwise_salt {
        Some(salt) if subjects.supported.contains(&SubjectType::Pairwise) => {
            let salt = SystemSecret::new(salt.expose().as_bytes().to_vec());
            said.with_value("oidc.subject_identifiers.pairwise.salt", fingerprint(network, &salt))
        }
        _ => said,
    }
}

#[cfg(test)]
mod tests;
