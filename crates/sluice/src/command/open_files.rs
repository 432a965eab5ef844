//! Open files: as many as may be had, and whether they are as many as connections of clients may take.

use std::io;

use rustix::process::{Resource, getrlimit, setrlimit};
use sluice_net::Limits;
use tracing::warn;

use crate::cli::Listeners;
use crate::config::{GatewaySettings, ListenerSettings, Settings};

/// Files besides the connections of clients: for the database, logs, a few upstreams.
const BESIDES: usize = 1_024;

/// Takes as many open files as may be had: each connection is one, and what a process begins with is often 1,024. Says how many
/// those are; `None`: there is no bound.
///
/// # Errors
/// The operating system's, if it does not permit them.
pub(super) fn permit() -> io::Result<Option<u64>> {
    let mut limit = getrlimit(Resource::Nofile);
    if limit.current != limit.maximum {
        limit.current = limit.maximum;
        setrlimit(Resource::Nofile, limit)?;
    }
    Ok(limit.current)
}

/// Says in the log if they were not permitted, or are fewer than so many connections need.
pub(super) fn tell(permitted: io::Result<Option<u64>>, connections: usize) {
    match permitted {
        Err(error) => warn!(%error, "the limit of open files stays as it is"),
        Ok(Some(limit)) if is_too_low(limit, connections) => warn!(
            limit,
            connections,
            needed = connections + BESIDES,
            "fewer files may be open than listeners may have connections: raise the limit, or lower max_connections"
        ),
        Ok(_) => {}
    }
}

/// How many connections the listeners of a node may have, all together.
pub(super) fn connections(settings: &Settings, listeners: Listeners) -> usize {
    let (serve, link, gateway) = (&settings.serve, &settings.link, &settings.gateway);
    let ports = [
        (listeners.has_public(), of_listener(&serve.public)),
        // A gateway by itself has health and metrics there.
        (listeners != Listeners::Public, of_listener(&serve.admin.listener)),
        (listeners.has_admin() && !link.tokens.is_empty(), of_listener(&link.listener)),
        (listeners.has_gateway() && gateway.routes.is_some(), of_gateway(gateway)),
    ];
    ports.into_iter().filter(|(is_served, _)| *is_served).map(|(_, connections)| connections).sum()
}

/// How many a gateway in a process of its own may have, with the port of its health.
pub(super) fn connections_of_gateway(gateway: &GatewaySettings, health: &ListenerSettings) -> usize {
    of_gateway(gateway) + of_listener(health)
}

fn of_gateway(gateway: &GatewaySettings) -> usize {
    let ports = 1 + usize::from(gateway.decisions.is_some());
    ports * gateway.max_connections
}

fn of_listener(listener: &ListenerSettings) -> usize {
    listener.max_connections.unwrap_or(Limits::default().max_connections)
}

fn is_too_low(limit: u64, connections: usize) -> bool {
    usize::try_from(limit).is_ok_and(|limit| limit < connections + BESIDES)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::config::{self, Mode, Sources};

    fn settings(overrides: &[(&str, &str)]) -> Settings {
        let overrides = overrides.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        let sources = Sources {
            files: Vec::new(),
            environment: Vec::new(),
            overrides: overrides.collect(),
            mode: Mode::Development,
            data_dir: PathBuf::from("unused"),
        };
        config::load(&sources).unwrap().settings
    }

    #[test]
    fn connections_of_all_ports_that_are_served_count_together() {
        let usual = settings(&[]);
        assert_eq!(connections(&usual, Listeners::All), 2 * 16_384);
        assert_eq!(connections(&usual, Listeners::Public), 16_384);
        let all = settings(&[
            ("serve.public.max_connections", "1"),
            ("serve.admin.max_connections", "20"),
            ("serve.gateway.max_connections", "300"),
            ("serve.link.token", "a-token-that-is-long-enough-for-a-link"),
            ("gateway.routes", "/routes.yaml"),
        ]);
        assert_eq!(connections(&all, Listeners::All), 1 + 20 + 2 * 300 + 16_384);
        assert_eq!(connections(&all, Listeners::Admin), 20 + 16_384);
        assert_eq!(connections(&all, Listeners::Gateway), 20 + 2 * 300);
        let health = &all.serve.admin.listener;
        assert_eq!(connections_of_gateway(&all.gateway, health), 20 + 2 * 300);
        let without_decisions =
            settings(&[("serve.decisions.enabled", "false"), ("gateway.routes", "/routes.yaml")]);
        assert_eq!(connections(&without_decisions, Listeners::Gateway), 16_384 + 65_536);
    }

    #[test]
    fn a_limit_without_room_for_anything_else_is_too_low() {
        assert!(is_too_low(32_768 + 1_023, 32_768));
        assert!(!is_too_low(32_768 + 1_024, 32_768));
    }
}
