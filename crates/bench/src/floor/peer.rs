//! A server that does nothing, and what it costs.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

use super::{FloorArgs, WARM_UP};
use crate::account::processes::trees;
use crate::driver::{Agent, Ask, Endpoints, Failure, Length, Load, Nobody, Origin, Pace, run};
use crate::scenario::Scenario;
use crate::target::Target;
use crate::target::listening::Listening;
use crate::target::nginx;

/// In a process of its own.
pub(super) struct Peer {
    name: &'static str,
    listening: Listening,
}

impl Peer {
    /// The bare service.
    pub(super) async fn hyper(own_program: &Path, folder: &Path) -> Result<Self, Failure> {
        let log = folder.join("hyper.log");
        let started =
            Listening::start(own_program, &log, |endpoint| Ok(FloorArgs::at(endpoint.address.port())));
        Self::of("the bare service", started.await)
    }

    /// nginx, which returns 200.
    pub(super) async fn nginx(folder: &Path) -> Result<Self, Failure> {
        let log = folder.join("nginx.log");
        let started = Listening::start(Path::new("nginx"), &log, |endpoint| {
            nginx::configured(&endpoint.host, folder, "ok")
        });
        Self::of("nginx", started.await)
    }

    fn of(name: &'static str, started: io::Result<Listening>) -> Result<Self, Failure> {
        let why = |error: io::Error| Failure::Setup(format!("{name}, for the floor, did not start: {error}"));
        Ok(Self { name, listening: started.map_err(why)? })
    }

    /// µs of CPU per request under such a load.
    #[expect(clippy::cast_precision_loss, reason = "there are not so many")]
    pub(super) async fn cost(&self, load: &Load, length: Duration) -> Result<f64, Failure> {
        let endpoints = Endpoints { public: self.listening.endpoint.clone(), admin: None, gateway: None };
        let (endpoints, bare) = (Arc::new(endpoints), Arc::new(Bare));
        let load = |length| Load { pace: Pace::Closed, length: Length::Duration(length), ..load.clone() };
        run(&load(WARM_UP), Arc::clone(&endpoints), Arc::<Bare>::clone(&bare), None, &Nobody).await?;
        let before = trees(&[self.listening.process.pid()]);
        let measured = run(&load(length), endpoints, bare, None, &Nobody).await?;
        let after = trees(&[self.listening.process.pid()]);
        let spent = before.zip(after).map(|(before, after)| after.saturating_sub(before));
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
