//! What is behind the gateway: nginx where it is installed, otherwise the bare service of the floor. Not what is measured.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tokio::net::TcpStream;
use tokio::time::sleep;

use super::nginx;
use super::process::Process;
use super::server::free_endpoint;
use super::{GATEWAY_PATH, GATEWAY_SCOPE, TargetError};
use crate::driver::Endpoint;

const LOOK_EVERY: Duration = Duration::from_millis(10);
const PATIENCE: Duration = Duration::from_secs(10);

/// An application of one small answer.
pub(super) struct Backend {
    endpoint: Endpoint,
    name: &'static str,
    _process: Process,
}

impl Backend {
    pub(super) async fn start(folder: &Path) -> Result<Self, TargetError> {
        let endpoint = free_endpoint()?;
        let port = endpoint.address.port();
        let log = folder.join("backend.log");
        let (name, process) = if nginx::is_installed() {
            let file = folder.join("backend.conf");
            let listen = format!("127.0.0.1:{port} reuseport");
            fs::write(&file, nginx::configuration(&listen, folder, "a small answer"))?;
            let [prefix, file] = [folder, &file].map(|path| path.display().to_string());
            (
                "nginx, return 200",
                Process::start(Path::new("nginx"), &["-p", &prefix, "-c", &file, "-e", "stderr"], &log)?,
            )
        } else {
            let port = port.to_string();
            let own_program = std::env::current_exe()?;
            (
                "a bare hyper service",
                Process::start(&own_program, &["bench", "floor", "--port", &port], &log)?,
            )
        };
        let began = Instant::now();
        while TcpStream::connect(endpoint.address).await.is_err() {
            if began.elapsed() > PATIENCE || !process.is_running() {
                return Err(TargetError::Backend(fs::read_to_string(&log).unwrap_or_default()));
            }
            sleep(LOOK_EVERY).await;
        }
        Ok(Self { endpoint, name, _process: process })
    }

    /// What answers.
    pub(super) const fn name(&self) -> &'static str {
        self.name
    }

    /// Writes the gateway's routes file.
    pub(super) fn routes(&self, folder: &Path) -> Result<PathBuf, TargetError> {
        let file = folder.join("routes.yaml");
        let upstream = &self.endpoint.host;
        let routes = format!(
            "upstreams:\n  app: {{servers: [\"http://{upstream}\"]}}\nroutes:\n  - {{name: orders, match: {{prefix: {GATEWAY_PATH}}}, \
             upstream: app, scopes: [{GATEWAY_SCOPE}]}}\n"
        );
        fs::write(&file, routes)?;
        Ok(file)
    }
}
