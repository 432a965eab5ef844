//! A server that does nothing, and what it costs.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use tokio::net::TcpStream;
use tokio::time::sleep;

use super::WARM_UP;
use crate::account::processes::trees;
use crate::driver::{Agent, Ask, Endpoint, Endpoints, Failure, Length, Load, Nobody, Origin, Pace, run};
use crate::scenario::Scenario;
use crate::target::Target;
use crate::target::nginx;
use crate::target::process::Process;
use crate::target::server::free_endpoint;

const LOOK_EVERY: Duration = Duration::from_millis(5);
const PATIENCE: Duration = Duration::from_secs(10);

/// In a process of its own.
pub(super) struct Peer {
    name: &'static str,
    endpoint: Endpoint,
    process: Process,
}

impl Peer {
    /// The bare service.
    pub(super) async fn hyper(own_program: &Path, folder: &Path) -> Result<Self, Failure> {
        let endpoint = free_endpoint()?;
        let port = endpoint.address.port().to_string();
        Self::start("the bare service", own_program, &["bench", "floor", "--port", &port], endpoint, folder)
            .await
    }

    /// nginx, which returns 200.
    pub(super) async fn nginx(folder: &Path) -> Result<Self, Failure> {
        let endpoint = free_endpoint()?;
        let file = folder.join("nginx.conf");
        fs::write(&file, nginx::configuration(&endpoint.address.to_string(), folder, "ok"))?;
        let [prefix, file] = [folder, &file].map(|path| path.display().to_string());
        let arguments = ["-p", &prefix, "-c", &file, "-e", "stderr"];
        Self::start("nginx", Path::new("nginx"), &arguments, endpoint, folder).await
    }

    async fn start(
        name: &'static str,
        program: &Path,
        arguments: &[&str],
        endpoint: Endpoint,
        folder: &Path,
    ) -> Result<Self, Failure> {
        let log = folder.join("log");
        let process = Process::start(program, arguments, &log)?;
        let began = Instant::now();
        while TcpStream::connect(endpoint.address).await.is_err() {
            if began.elapsed() > PATIENCE || !process.is_running() {
                let said = fs::read_to_string(&log).unwrap_or_default();
                return Err(Failure::Setup(format!(
                    "{name}, for the floor, did not start: {}",
                    said.trim_end()
                )));
            }
            sleep(LOOK_EVERY).await;
        }
        Ok(Self { name, endpoint, process })
    }

    /// µs of CPU per request under such a load.
    #[expect(clippy::cast_precision_loss, reason = "there are not so many")]
    pub(super) async fn cost(&self, load: &Load, length: Duration) -> Result<f64, Failure> {
        let endpoints = Endpoints { public: self.endpoint.clone(), admin: None, gateway: None };
        let (endpoints, bare) = (Arc::new(endpoints), Arc::new(Bare));
        let load = |length| Load { pace: Pace::Closed, length: Length::Duration(length), ..load.clone() };
        run(&load(WARM_UP), Arc::clone(&endpoints), Arc::<Bare>::clone(&bare), None, &Nobody).await?;
        let before = trees(&[self.process.pid()]);
        let measured = run(&load(length), endpoints, bare, None, &Nobody).await?;
        let spent =
            before.zip(trees(&[self.process.pid()])).map(|(before, after)| after.saturating_sub(before));
        match spent {
            Some(spent) if measured.operations > 0 => {
                Ok(spent.as_secs_f64() * 1e6 / measured.operations as f64)
            }
            _ => Err(Failure::Setup(format!("{}, for the floor, did not answer", self.name))),
        }
    }
}

/// The one request.
struct Bare;

#[async_trait(?Send)]
impl Scenario for Bare {
    async fn prepare(&mut self, _: &Target, _: usize) -> Result<(), Failure> {
        Ok(())
    }

    async fn operate(&self, agent: &mut Agent, _: u64) -> Result<(), Failure> {
        agent.send(&Ask::get(Origin::Public, "/")).await?.expect(200, "floor").map(drop)
    }
}
