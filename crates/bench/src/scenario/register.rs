//! Registrations: an address of its own for each, over all runs.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use tokio::time::Instant;

use super::support::{crowd, metrics, people, prepared, proof};
use super::{RegisterHardenOptions, Scenario};
use crate::driver::{Agent, Failure, Receipt};
use crate::target::Target;

/// Somebody registers.
#[derive(Default)]
pub(super) struct Register {
    run: Option<u64>,
    /// Of the next person. Turns begin again with each run, people do not.
    next: AtomicU64,
    registered: AtomicU64,
}

#[async_trait(?Send)]
impl Scenario for Register {
    async fn prepare(&mut self, _target: &Target, _users: usize) -> Result<(), Failure> {
        self.run = Some(proof::random_number()?);
        Ok(())
    }

    async fn operate(&self, agent: &mut Agent, _turn: u64) -> Result<(), Failure> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let person = people::person(*prepared(self.run.as_ref())?, number);
        people::register(agent, &person).await?;
        self.registered.fetch_add(1, Ordering::Relaxed);
        agent.record(|| Receipt::Registered { email: person.name, password: person.password });
        Ok(())
    }
}

/// Somebody registers, and the server makes Argon2id of the password behind their back.
pub(super) struct RegisterHarden {
    options: RegisterHardenOptions,
    register: Register,
    /// Hardened before anybody registered here.
    before: Option<u64>,
    run: Mutex<Option<Began>>,
}

/// How things stood when a run began.
#[derive(Debug, Clone, Copy)]
struct Began {
    at: Instant,
    registered: u64,
    hardened: u64,
}

impl Began {
    /// Who had registered in a warm-up or an earlier run and was not hardened yet; so many were hardened `before` all that.
    const fn waiting(self, before: u64) -> u64 {
        self.registered.saturating_sub(self.hardened.saturating_sub(before))
    }
}

impl RegisterHarden {
    pub(super) fn new(options: RegisterHardenOptions) -> Self {
        Self { options, register: Register::default(), before: None, run: Mutex::default() }
    }

    fn registered(&self) -> u64 {
        self.register.registered.load(Ordering::Relaxed)
    }
}

#[async_trait(?Send)]
impl Scenario for RegisterHarden {
    async fn prepare(&mut self, target: &Target, users: usize) -> Result<(), Failure> {
        self.register.prepare(target, users).await?;
        self.before = Some(hardened(target).await?);
        Ok(())
    }

    async fn operate(&self, agent: &mut Agent, turn: u64) -> Result<(), Failure> {
        self.register.operate(agent, turn).await
    }

    async fn begin(&self, target: &Target) -> Result<(), Failure> {
        let hardened = hardened(target).await?;
        let began = Began { at: Instant::now(), registered: self.registered(), hardened };
        *self.run.lock().unwrap_or_else(PoisonError::into_inner) = Some(began);
        Ok(())
    }

    async fn finish(&self, target: &Target) -> Result<Vec<(String, String)>, Failure> {
        let began = *self.run.lock().unwrap_or_else(PoisonError::into_inner);
        let (before, began) = (*prepared(self.before.as_ref())?, *prepared(began.as_ref())?);
        let (mut agent, ended) = (crowd::alone(target), Instant::now());
        let registered = self.registered();
        let meanwhile = metrics::hardened(&mut agent).await?.unwrap_or(began.hardened);
        let after = metrics::wait_for_hardened(&mut agent, before + registered, self.options.drain).await?;
        let drained = Drained {
            waiting: began.waiting(before),
            registered: registered.saturating_sub(began.registered),
            during: (meanwhile.saturating_sub(began.hardened), ended - began.at),
            after: (after.saturating_sub(meanwhile), ended.elapsed()),
        };
        Ok(drained.lines())
    }
}

/// How many the server has hardened so far.
async fn hardened(target: &Target) -> Result<u64, Failure> {
    let hardened = metrics::hardened(&mut crowd::alone(target)).await?;
    hardened.ok_or_else(|| Failure::Setup("the server does not say how many it has hardened".to_owned()))
}

/// What became of those who registered.
struct Drained {
    /// From before the run.
    waiting: u64,
    registered: u64,
    /// Hardened while others registered, and for how long.
    during: (u64, Duration),
    /// Hardened after that, and for how long.
    after: (u64, Duration),
}

impl Drained {
    fn lines(&self) -> Vec<(String, String)> {
        let hardened = self.during.0 + self.after.0;
        let left = (self.waiting + self.registered).saturating_sub(hardened);
        let rate = |(count, time): (u64, Duration)| {
            #[expect(clippy::cast_precision_loss, reason = "there are not so many")]
            let rate = count as f64 / time.as_secs_f64().max(f64::MIN_POSITIVE);
            format!("{rate:.1}/s ({count} in {:.1} s)", time.as_secs_f64())
        };
        let line = |name: &str, value: String| (name.to_owned(), value);
        vec![
            line("registered", self.registered.to_string()),
            line("not hardened when the run began", self.waiting.to_string()),
            line("hardened while people registered", rate(self.during)),
            line("hardened after that", rate(self.after)),
            line("still to be hardened", left.to_string()),
        ]
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::Arc;

    use http_body_util::Full;
    use hyper::body::{Bytes, Incoming};
    use hyper::server::conn::http1;
    use hyper::service::service_fn;
    use hyper::{Request, Response};
    use hyper_util::rt::TokioIo;
    use tokio::net::TcpListener;

    use super::*;

    /// A server that says how many it has hardened.
    async fn served(hardened: Arc<AtomicU64>) -> Target {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url: url::Url = format!("http://{}/", listener.local_addr().unwrap()).parse().unwrap();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let hardened = Arc::clone(&hardened);
                let service = service_fn(move |_: Request<Incoming>| {
                    let hardened = hardened.load(Ordering::Relaxed);
                    let text = format!("sluice_hardening_total{{outcome=\"hardened\"}} {hardened}\n");
                    async move { Ok::<_, Infallible>(Response::new(Full::new(Bytes::from(text)))) }
                });
                tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
            }
        });
        Target::at(url)
    }

    #[tokio::test]
    async fn a_run_counts_what_is_its_own_and_tells_what_it_found() {
        let done = Arc::new(AtomicU64::new(7));
        let target = served(Arc::clone(&done)).await;
        let mut scenario = RegisterHarden::new(RegisterHardenOptions { drain: Duration::ZERO });
        scenario.prepare(&target, 1).await.unwrap();
        let goes_on = |registered, hardened| {
            scenario.register.registered.fetch_add(registered, Ordering::Relaxed);
            done.fetch_add(hardened, Ordering::Relaxed);
        };
        let counts = async || -> Vec<String> {
            let lines = scenario.finish(&target).await.unwrap();
            lines.into_iter().map(|(_, value)| value.split(" in ").next().unwrap().to_owned()).collect()
        };
        goes_on(50, 10);
        scenario.begin(&target).await.unwrap();
        goes_on(100, 20);
        let first = counts().await;
        scenario.begin(&target).await.unwrap();
        goes_on(30, 35);
        let second = counts().await;
        assert_eq!([&first[0], &first[1], &first[4]], ["100", "40", "120"]);
        assert_eq!([&second[0], &second[1], &second[4]], ["30", "120", "115"]);
        assert!(first[2].ends_with("(20") && second[2].ends_with("(35"), "{first:?} {second:?}");
    }

    #[test]
    fn what_was_hardened_is_told_with_its_rate() {
        let drained = Drained {
            waiting: 20,
            registered: 100,
            during: (10, Duration::from_secs(5)),
            after: (60, Duration::from_secs(3)),
        };
        let lines = drained.lines();
        let values: Vec<_> = lines.iter().map(|(_, value)| value.as_str()).collect();
        assert_eq!(values, ["100", "20", "2.0/s (10 in 5.0 s)", "20.0/s (60 in 3.0 s)", "50"]);
    }
}
