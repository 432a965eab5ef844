//! What is behind the gateway: nginx where it is installed, otherwise the bare service of the floor. Not what is measured.

use std::fs;
use std::path::{Path, PathBuf};

use super::listening::Listening;
use super::nginx;
use super::{GATEWAY_PATH, GATEWAY_SCOPE, TargetError};
use crate::floor::FloorArgs;

/// An application of one small answer.
pub(super) struct Backend {
    name: &'static str,
    listening: Listening,
}

impl Backend {
    pub(super) async fn start(folder: &Path) -> Result<Self, TargetError> {
        let log = folder.join("backend.log");
        let (name, started) = if nginx::is_installed() {
            let started = Listening::start(Path::new("nginx"), &log, |endpoint| {
                nginx::configured(&format!("{} reuseport", endpoint.host), folder, "a small answer")
            });
            ("nginx, return 200", started.await)
        } else {
            let own_program = std::env::current_exe()?;
            let started =
                Listening::start(&own_program, &log, |endpoint| Ok(FloorArgs::at(endpoint.address.port())));
            ("a bare hyper service", started.await)
        };
        let listening = started.map_err(|error| TargetError::Backend(error.to_string()))?;
        Ok(Self { name, listening })
    }

    /// What answers.
    pub(super) const fn name(&self) -> &'static str {
        self.name
    }

    /// Writes the gateway's routes file.
    pub(super) fn routes(&self, folder: &Path) -> Result<PathBuf, TargetError> {
        let file = folder.join("routes.yaml");
        let upstream = &self.listening.endpoint.host;
        let routes = format!(
            "upstreams:\n  app: {{servers: [\"http://{upstream}\"]}}\nroutes:\n  - {{name: orders, match: {{prefix: {GATEWAY_PATH}}}, \
             upstream: app, scopes: [{GATEWAY_SCOPE}]}}\n"
        );
        fs::write(&file, routes)?;
        Ok(file)
    }
}
