//! A gateway in a process of its own: what it reads of a configuration, which may be that of a whole server.

use super::error::ConfigError;
use super::gateway::{self, GatewaySettings};
use super::gathered::Gathered;
use super::listener::{self, ListenerSettings};
use super::log::{self, LogSettings};
use super::mode::Mode;
use super::reader::{Outcome, Reader};
use super::{Loaded, tls};

/// What a gateway in a process of its own needs: no database, no secrets, no issuer.
#[derive(Debug, Clone)]
pub(crate) struct GatewayProcessSettings {
    pub(crate) mode: Mode,
    pub(crate) gateway: GatewaySettings,
    /// The port of health and metrics.
    pub(crate) admin: ListenerSettings,
    pub(crate) log: LogSettings,
}

impl Gathered {
    /// Whether a gateway can be a process of its own by this: it has a link. Without one it is a node like others.
    pub(crate) fn has_link(&self) -> bool {
        self.values.get(gateway::LINK_URL).is_some()
    }

    /// Whether this is the configuration of a gateway and of nothing else: it has a link, and names no database.
    pub(super) fn is_of_gateway_alone(&self) -> bool {
        self.has_link() && !self.values.is_given("dsn")
    }

    /// Reads what a gateway in a process of its own needs, which has a link.
    ///
    /// # Errors
    /// [`ConfigError`] with every problem of these sections.
    pub(crate) fn into_gateway(self) -> Result<Loaded<GatewayProcessSettings>, ConfigError> {
        let Self { table, mut values, findings, mode } = self;
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
        Ok(Loaded { settings, warnings, table, values })
    }
}
