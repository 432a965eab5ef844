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
/// Floors that are further apart than this are told: what is counted in them is known no better.
const APART: f64 = 1.2;

/// What the floor's process is told.
#[derive(Debug, Clone, Args)]
pub struct FloorArgs {
    /// Where it listens, on 127.0.0.1
    #[arg(long)]
    pub(crate) port: u16,
}

impl FloorArgs {
    /// What this program is started with to be the floor at that port.
    pub(crate) fn at(port: u16) -> Vec<String> {
        ["bench", "floor", "--port", &port.to_string()].map(str::to_owned).to_vec()
    }
}

/// What a bare request costs, in µs of CPU.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Floor {
    pub(crate) hyper: f64,
    /// Where nginx is installed.
    pub(crate) nginx: Option<f64>,
}

/// The floors before and after what is measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Around {
    pub(crate) before: Floor,
    pub(crate) after: Floor,
}

impl Floor {
    /// The smaller of both: what others are counted in.
    pub(crate) fn lowest(self) -> f64 {
        self.nginx.map_or(self.hyper, |nginx| nginx.min(self.hyper))
    }
}

impl Around {
    /// Halfway between both.
    pub(crate) fn floor(self) -> Floor {
        let Self { before, after } = self;
        let nginx = before.nginx.zip(after.nginx);
        Floor {
            hyper: f64::midpoint(before.hyper, after.hyper),
            nginx: nginx.map(|(before, after)| f64::midpoint(before, after)),
        }
    }

    /// What to beware of when something is counted in this floor, if anything: hyper and nginx are far apart, or before and after.
    pub(crate) fn caution(self) -> Option<String> {
        let Floor { hyper, nginx } = self.floor();
        let nginx = nginx.filter(|nginx| are_apart(hyper, *nginx));
        let peers = nginx.map(|nginx| {
            format!("hyper {hyper:.1} µs, nginx {nginx:.1} µs: more than 20 % apart, and the smaller counts")
        });
        let (before, after) = (self.before.lowest(), self.after.lowest());
        let times = are_apart(before, after).then(|| {
            format!("{before:.1} µs before, {after:.1} µs after: more than 20 % apart, the machine changed")
        });
        let said: Vec<_> = peers.into_iter().chain(times).collect();
        (!said.is_empty()).then(|| said.join("; "))
    }
}

fn are_apart(one: f64, other: f64) -> bool {
    one.max(other) > one.min(other) * APART
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
        assert_eq!(Around { before, after }.floor(), Floor { hyper: 8.5, nginx: Some(7.0) });
    }

    #[test]
    fn floors_that_are_far_apart_are_told_with_their_figures() {
        let floor = |hyper, nginx| Floor { hyper, nginx };
        let caution = |before, after| Around { before, after }.caution();
        assert_eq!(caution(floor(8.0, Some(9.0)), floor(9.0, Some(8.5))), None);
        assert_eq!(caution(floor(8.0, None), floor(9.0, None)), None);
        let peers = caution(floor(8.0, Some(10.0)), floor(8.0, Some(11.0))).unwrap();
        assert_eq!(peers, "hyper 8.0 µs, nginx 10.5 µs: more than 20 % apart, and the smaller counts");
        let times = caution(floor(8.0, None), floor(10.0, None)).unwrap();
        assert_eq!(times, "8.0 µs before, 10.0 µs after: more than 20 % apart, the machine changed");
        let both = caution(floor(6.0, Some(9.0)), floor(9.0, Some(11.0))).unwrap();
        assert!(
            both.starts_with("hyper 7.5 µs, nginx 10.0 µs") && both.contains("; 6.0 µs before"),
            "{both}"
        );
    }
}
