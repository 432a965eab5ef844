//! The floor: what a keep-alive request costs a server that does nothing else. Whatever is measured costs at least this.
//!
//! A bare hyper service, in a process of its own (`sluice bench floor`), and nginx beside it where it is installed. Both are
//! driven as what is measured is: by the same driver, with as many users.

mod peer;
mod service;

use std::path::Path;
use std::time::Duration;

use clap::Args;
use tempfile::TempDir;

use crate::driver::{Failure, Length, Load};
use peer::Peer;

pub(crate) use service::serve;

/// Before it is measured.
const WARM_UP: Duration = Duration::from_millis(300);

/// What the floor's process is told.
#[derive(Debug, Clone, Args)]
pub struct FloorArgs {
    /// Where it listens, on 127.0.0.1
    #[arg(long)]
    pub(crate) port: u16,
}

/// What a bare request costs, in µs of CPU.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Floor {
    pub(crate) hyper: f64,
    /// Where nginx is installed.
    pub(crate) nginx: Option<f64>,
}

impl Floor {
    /// Halfway between what was measured before and after.
    pub(crate) fn between(before: Self, after: Self) -> Self {
        let nginx = before.nginx.zip(after.nginx);
        Self {
            hyper: f64::midpoint(before.hyper, after.hyper),
            nginx: nginx.map(|(before, after)| f64::midpoint(before, after)),
        }
    }

    /// The smaller of both: what others are counted in.
    pub(crate) fn lowest(self) -> f64 {
        self.nginx.map_or(self.hyper, |nginx| nginx.min(self.hyper))
    }
}

/// The servers that do nothing. They end with this.
pub(crate) struct Floors {
    hyper: Peer,
    nginx: Option<Peer>,
    _folder: TempDir,
}

impl Floors {
    /// Starts them; `own_program` is this program.
    ///
    /// # Errors
    /// [`Failure::Setup`], if the bare service does not start.
    pub(crate) async fn start(own_program: &Path) -> Result<Self, Failure> {
        let folder = tempfile::Builder::new().prefix("sluice-floor.").tempdir()?;
        let hyper = Peer::hyper(own_program, folder.path()).await?;
        let nginx =
            if crate::target::nginx::is_installed() { Some(Peer::nginx(folder.path()).await?) } else { None };
        Ok(Self { hyper, nginx, _folder: folder })
    }

    /// Measures both, one after the other.
    ///
    /// # Errors
    /// [`Failure::Setup`], if one of them is gone.
    pub(crate) async fn measure(&self, load: &Load) -> Result<Floor, Failure> {
        let hyper = self.hyper.cost(load, how_long(load.length)).await?;
        let nginx = match &self.nginx {
            Some(nginx) => Some(nginx.cost(load, how_long(load.length)).await?),
            None => None,
        };
        Ok(Floor { hyper, nginx })
    }
}

/// A third of the run, within reason: enough clock ticks to count, not more.
fn how_long(run: Length) -> Duration {
    match run {
        Length::Operations(_) => Duration::from_secs(1),
        Length::Duration(run) => (run / 3).clamp(Duration::from_secs(1), Duration::from_secs(3)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smaller_of_both_is_the_floor() {
        let lowest = |hyper, nginx| format!("{:.1}", Floor { hyper, nginx }.lowest());
        assert_eq!(lowest(8.0, Some(9.0)), "8.0");
        assert_eq!(lowest(8.0, Some(7.0)), "7.0");
        assert_eq!(lowest(8.0, None), "8.0");
    }

    #[test]
    fn the_floor_of_a_run_lies_between_those_around_it() {
        let (before, after) =
            (Floor { hyper: 8.0, nginx: Some(6.0) }, Floor { hyper: 9.0, nginx: Some(8.0) });
        assert_eq!(Floor::between(before, after), Floor { hyper: 8.5, nginx: Some(7.0) });
    }
}
