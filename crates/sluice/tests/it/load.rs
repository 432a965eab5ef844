//! Load: workers that log people in, again and again, and write down what they are told.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::application::{Application, Failure, Tally};
use crate::ledger::{Ledger, Login, Told};
use crate::process::DEADLINE;

/// How many people log in at the same time.
const WORKERS: usize = 16;
/// How long a worker leaves a server alone that did not serve it.
const PAUSE: Duration = Duration::from_millis(20);

/// Workers that are busy until they are told to stop.
pub(crate) struct Load {
    application: Application,
    ledger: Arc<Mutex<Ledger>>,
    answered: watch::Receiver<usize>,
    stop: CancellationToken,
    workers: JoinSet<()>,
}

impl Load {
    /// Puts an application's nodes under load.
    pub(crate) fn start(application: &Application) -> Self {
        let (answer, answered) = watch::channel(0);
        let (ledger, stop) = (Arc::<Mutex<Ledger>>::default(), CancellationToken::new());
        let mut workers = JoinSet::new();
        for number in 0..WORKERS {
            let (ledger, stop) = (Arc::clone(&ledger), stop.clone());
            let worker =
                Worker { number, application: application.clone(), ledger, answer: answer.clone(), stop };
            workers.spawn(worker.work());
        }
        Self { application: application.clone(), ledger, answered, stop, workers }
    }

    /// Waits for this many more logins.
    pub(crate) async fn more_logins(&mut self, count: usize) {
        let goal = *self.answered.borrow() + count;
        let reached = timeout(DEADLINE, self.answered.wait_for(|answered| *answered >= goal)).await;
        assert!(reached.is_ok(), "no {count} logins within {DEADLINE:?}: {:?}", self.application.tally());
    }

    /// What was answered so far.
    pub(crate) fn tally(&self) -> Tally {
        self.application.tally()
    }

    /// Lets every worker finish the request that it is in.
    pub(crate) async fn stop(mut self) -> Ledger {
        self.stop.cancel();
        while let Some(ended) = self.workers.join_next().await {
            ended.expect("a worker does not panic");
        }
        std::mem::take(&mut *self.ledger.lock())
    }
}

struct Worker {
    number: usize,
    application: Application,
    ledger: Arc<Mutex<Ledger>>,
    answer: watch::Sender<usize>,
    stop: CancellationToken,
}

impl Worker {
    async fn work(self) {
        for turn in self.number.. {
            if self.stop.is_cancelled() {
                return;
            }
            if turn.is_multiple_of(16) {
                self.register().await;
            }
            match self.application.log_in(&format!("person-{}-{turn}", self.number)).await {
                Ok(code) => {
                    let told = self.use_code(&code, turn).await;
                    self.ledger.lock().logins.push(Login { code, told });
                    self.answer.send_modify(|answered| *answered += 1);
                }
                Err(failure) => self.did_not_succeed(failure).await,
            }
        }
    }

    async fn register(&self) {
        match self.application.register_client().await {
            Ok((id, _)) => self.ledger.lock().clients.push(id),
            Err(failure) => self.did_not_succeed(failure).await,
        }
    }

    /// Every fourth application keeps the code for later; of the others some refresh, some revoke.
    async fn use_code(&self, code: &str, turn: usize) -> Told {
        if turn.is_multiple_of(4) || self.stop.is_cancelled() {
            return Told::Code;
        }
        let mut tokens = match self.application.redeem(code).await {
            Ok(tokens) => tokens,
            Err(failure) => return self.unknown(failure, Told::Redeeming).await,
        };
        for _ in 0..turn % 3 {
            if self.stop.is_cancelled() {
                break;
            }
            match self.application.refresh(&tokens).await {
                Ok(refreshed) => tokens = refreshed,
                Err(failure) => return self.unknown(failure, Told::Refreshing(tokens)).await,
            }
        }
        if turn % 8 != 5 || self.stop.is_cancelled() {
            return Told::Tokens(tokens);
        }
        match self.application.revoke(&tokens).await {
            Ok(()) => Told::Revoked(tokens),
            Err(failure) => self.unknown(failure, Told::Revoking).await,
        }
    }

    async fn unknown(&self, failure: Failure, told: Told) -> Told {
        self.did_not_succeed(failure).await;
        told
    }

    async fn did_not_succeed(&self, failure: Failure) {
        match failure {
            Failure::Lost | Failure::Unavailable => sleep(PAUSE).await,
            Failure::Refused { .. } => self.ledger.lock().wrong.push(failure),
        }
    }
}
