//! A gateway in a process of its own: what it reads of a configuration, which may be that of a whole server.

use super::error::ConfigError;
use super::gateway::{self, GatewaySettings};
use super::layers::Layers;
use super::listener::{self, ListenerSettings};
use super::log::{self, LogSettings};
use super::mode::Mode;
use super::reader::{Outcome, Reader};
use super::table::Table;
use super::values::Values;
use super::{Loaded, Sources, gather, tls};

/// What a gateway in a process of its own needs: no database, no secrets, no issuer.
#[derive(Debug, Clone)]
pub(crate) struct GatewayProcessSettings {
    pub(crate) mode: Mode,
    pub(crate) gateway: GatewaySettings,
    /// The port of health and metrics.
    pub(crate) admin: ListenerSettings,
    pub(crate) log: LogSettings,
}

/// Reads what a gateway in a process of its own needs. `None`: it has no link, so that it is a node like others.
///
/// # Errors
/// [`ConfigError`] with every problem of these sections.
pub(crate) fn load_gateway(sources: &Sources) -> Result<Option<Loaded<GatewayProcessSettings>>, ConfigError> {
    load_gateway_with(sources, |layers| layers.files(&sources.files))
}

/// The same; `files` writes the layer of the files.
pub(super) fn load_gateway_with(
    sources: &Sources,
    files: impl FnOnce(&mut Layers<'_>),
) -> Result<Option<Loaded<GatewayProcessSettings>>, ConfigError> {
    let table = Table::new();
    let (mut values, findings, mode) = gather(&table, sources, files);
    if !has_link(&values) {
        return Ok(None);
    }
    let mut reader = Reader::new(&table, &values, findings);
    reader.boolean("dev");
    tls::check_common(&mut reader);
    let settings = GatewayProcessSettings {
        mode,
        gateway: gateway::read(&mut reader),
        admin: listener::read(&mut reader, "serve.admin"),
        log: log::read(&mut reader),
    };
    let Outcome { findings, read, .. } = reader.into_outcome();
    let warnings = findings.into_warnings()?;
    values.keep_only(&read);
    Ok(Some(Loaded { settings, warnings, table, values }))
}

/// Whether this is the configuration of a gateway and of nothing else: it has a link, and names no database.
pub(super) fn is_alone(values: &Values) -> bool {
    has_link(values) && !values.is_given("dsn")
}

fn has_link(values: &Values) -> bool {
    values.get(gateway::LINK_URL).is_some()
}
