//! Programs that are told where to listen: at a port that is free, and at another if somebody else takes that first.

use std::fmt::Display;
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::time::{Duration, Instant};
use std::{fs, io};

use procfs::net::TcpState;
use procfs::process::FDTarget;
use tokio::time::sleep;

use super::process::Process;
use crate::driver::Endpoint;

/// How often a port that was free a moment ago may be taken.
const ATTEMPTS: usize = 5;
/// In the words of whoever finds it taken.
const TAKEN: &str = "Address already in use";
const LOOK_EVERY: Duration = Duration::from_millis(5);
const PATIENCE: Duration = Duration::from_secs(10);

/// A program that listens.
pub(crate) struct Listening {
    pub(crate) endpoint: Endpoint,
    pub(crate) process: Process,
}

impl Listening {
    /// Starts a program with the arguments that it needs to listen there; what it says goes into `log`.
    ///
    /// # Errors
    /// With what it said, if it does not listen.
    pub(crate) async fn start(
        program: &Path,
        log: &Path,
        arguments: impl Fn(&Endpoint) -> io::Result<Vec<String>>,
    ) -> io::Result<Self> {
        until_free(async || {
            let endpoint = free_endpoint()?;
            fs::write(log, "")?;
            let process = Process::start(program, &arguments(&endpoint)?, log)?;
            Self { endpoint, process }.listening(log).await
        })
        .await
    }

    async fn listening(self, log: &Path) -> io::Result<Self> {
        let began = Instant::now();
        while !listens(self.process.pid(), self.endpoint.address) {
            if began.elapsed() > PATIENCE || !self.process.is_running() {
                return Err(io::Error::other(fs::read_to_string(log)?.trim_end().to_owned()));
            }
            sleep(LOOK_EVERY).await;
        }
        Ok(self)
    }
}

/// Does something at free ports; once more, at others, if it found one of them taken.
///
/// # Errors
/// Of the last attempt.
pub(super) async fn until_free<T, E: Display>(
    mut attempt: impl AsyncFnMut() -> Result<T, E>,
) -> Result<T, E> {
    for _ in 1..ATTEMPTS {
        match attempt().await {
            Err(error) if error.to_string().contains(TAKEN) => {}
            done => return done,
        }
    }
    attempt().await
}

/// A port that is free now.
pub(super) fn free_endpoint() -> io::Result<Endpoint> {
    Ok(Endpoint::at(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?))
}

/// Whether it is this process that listens there, and not somebody who was quicker.
fn listens(pid: u32, address: SocketAddr) -> bool {
    let sockets = procfs::net::tcp().unwrap_or_default().into_iter();
    let there = sockets.filter(|socket| socket.state == TcpState::Listen && socket.local_address == address);
    let inodes: Vec<u64> = there.map(|socket| socket.inode).collect();
    let process = i32::try_from(pid).ok().and_then(|pid| procfs::process::Process::new(pid).ok());
    let mut open = process.and_then(|process| process.fd().ok()).into_iter().flatten().flatten();
    open.any(|file| matches!(file.target, FDTarget::Socket(inode) if inodes.contains(&inode)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_listens_is_told_from_others() {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let address = listener.local_addr().unwrap();
        assert!(listens(std::process::id(), address));
        assert!(!listens(rustix::process::getppid().unwrap().as_raw_nonzero().get().unsigned_abs(), address));
        drop(listener);
        assert!(!listens(std::process::id(), address));
    }

    #[tokio::test]
    async fn another_port_is_tried_while_somebody_has_it() {
        let mut attempts = 0;
        let came = until_free(async || {
            attempts += 1;
            if attempts < 3 { Err("bind(): Address already in use (os error 98)") } else { Ok(attempts) }
        })
        .await;
        assert_eq!(came, Ok(3));
    }

    #[tokio::test]
    async fn what_fails_for_another_reason_or_all_the_time_fails() {
        let mut attempts = 0;
        let failed = until_free(async || {
            attempts += 1;
            Err::<(), _>("no such setting")
        })
        .await;
        assert_eq!((failed, attempts), (Err("no such setting"), 1));
        let taken = until_free(async || Err::<(), _>("Address already in use"));
        assert!(taken.await.is_err());
    }

    #[tokio::test]
    async fn a_program_that_does_not_listen_is_told_in_its_own_words() {
        let folder = tempfile::tempdir().unwrap();
        let arguments = |_: &Endpoint| Ok(vec!["-c".to_owned(), "echo no such setting".to_owned()]);
        let started = Listening::start(Path::new("sh"), &folder.path().join("log"), arguments).await;
        assert_eq!(started.err().unwrap().to_string(), "no such setting");
    }
}
