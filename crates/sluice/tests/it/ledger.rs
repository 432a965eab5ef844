//! What callers were told, kept by those who drive a server through a fault, and held against the server afterwards.
//!
//! The promise: nothing that was answered is lost, and a code works at most once, whatever happened in between.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use crate::application::{Application, Failure, Tokens};
use crate::process::{DEADLINE, LOOK_EVERY};

/// How many entries are checked at the same time.
const CHECKERS: usize = 8;

/// One login, as far as its application was told.
#[derive(Debug)]
pub(crate) struct Login {
    pub(crate) code: String,
    pub(crate) told: Told,
}

/// The last thing that an application was told.
#[derive(Debug)]
pub(crate) enum Told {
    /// The code; it has not been used.
    Code,
    /// The code; it was used and nobody knows whether it worked.
    Redeeming,
    /// Tokens.
    Tokens(Tokens),
    /// Tokens; they were refreshed and nobody knows whether that worked.
    Refreshing(Tokens),
    /// That these tokens are revoked.
    Revoked(Tokens),
    /// Tokens; they were revoked and nobody knows whether that worked.
    Revoking,
}

/// What everybody was told.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    pub(crate) logins: Vec<Login>,
    /// Clients whose registration was answered.
    pub(crate) clients: Vec<String>,
    /// Answers that no fault excuses.
    pub(crate) wrong: Vec<Failure>,
}

impl Ledger {
    /// Holds the ledger against a server that is well again.
    ///
    /// # Panics
    /// If the server has forgotten anything.
    pub(crate) async fn check(self, application: &Application) {
        assert!(self.wrong.is_empty(), "wrong answers: {:?}", self.wrong);
        let logins = Arc::new(Mutex::new(self.logins));
        let mut checkers = JoinSet::new();
        for _ in 0..CHECKERS {
            let (logins, application) = (Arc::clone(&logins), application.clone());
            checkers.spawn(async move {
                let next = || logins.lock().pop();
                while let Some(login) = next() {
                    login.check(&application).await;
                }
            });
        }
        while let Some(checked) = checkers.join_next().await {
            checked.expect("what was answered is there");
        }
        for client in &self.clients {
            assert!(application.knows_client(client).await, "the client {client} was answered and is gone");
        }
    }
}

impl fmt::Display for Ledger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut kinds = BTreeMap::<_, usize>::new();
        for login in &self.logins {
            *kinds.entry(login.told.kind()).or_default() += 1;
        }
        write!(f, "{} logins {kinds:?}, {} clients", self.logins.len(), self.clients.len())
    }
}

impl Told {
    const fn kind(&self) -> &'static str {
        match self {
            Self::Code => "code",
            Self::Redeeming => "redeeming",
            Self::Tokens(_) => "tokens",
            Self::Refreshing(_) => "refreshing",
            Self::Revoked(_) => "revoked",
            Self::Revoking => "revoking",
        }
    }
}

impl Login {
    async fn check(self, application: &Application) {
        let kind = self.told.kind();
        let holding = match self.told {
            Told::Code => Some(redeemed(application, &self.code).await),
            Told::Redeeming => redeemed_at_most_once(application, &self.code).await,
            Told::Tokens(tokens) => Some(refreshed(application, &tokens).await),
            // A retry within the window gets the same pair, whether or not the first attempt arrived.
            Told::Refreshing(tokens) => Some(refresh(application, &tokens).await),
            Told::Revoked(tokens) => {
                becomes_inactive(application, &tokens).await;
                let again = application.refresh(&tokens).await;
                assert!(
                    again.as_ref().is_err_and(|error| error.is("invalid_grant")),
                    "revoked, but {again:?}"
                );
                None
            }
            Told::Revoking => None,
        };
        let replay = application.redeem(&self.code).await;
        assert!(
            replay.as_ref().is_err_and(|error| error.is("invalid_grant")),
            "{kind}: replayed, but {replay:?}"
        );
        if let Some(tokens) = holding {
            // RFC 6749 §4.1.2: a code used twice costs the tokens.
            becomes_inactive(application, &tokens).await;
        }
    }
}

async fn redeemed(application: &Application, code: &str) -> Tokens {
    let tokens = application.redeem(code).await.expect("an answered code works");
    assert!(active(application, &tokens).await, "its tokens hold");
    tokens
}

async fn redeemed_at_most_once(application: &Application, code: &str) -> Option<Tokens> {
    match application.redeem(code).await {
        Ok(tokens) => Some(tokens),
        Err(failure) => {
            assert!(failure.is("invalid_grant"), "{failure:?}");
            None
        }
    }
}

async fn refreshed(application: &Application, tokens: &Tokens) -> Tokens {
    assert!(active(application, tokens).await, "answered tokens hold");
    let tokens = refresh(application, tokens).await;
    refresh(application, &tokens).await
}

async fn refresh(application: &Application, tokens: &Tokens) -> Tokens {
    let tokens = application.refresh(tokens).await.expect("an answered refresh token works");
    assert!(active(application, &tokens).await, "refreshed tokens hold");
    tokens
}

async fn active(application: &Application, tokens: &Tokens) -> bool {
    application.is_active(tokens).await.expect("introspection answers")
}

/// A node hears what another revoked a moment later.
async fn becomes_inactive(application: &Application, tokens: &Tokens) {
    let deadline = Instant::now() + DEADLINE;
    while active(application, tokens).await {
        assert!(Instant::now() < deadline, "revoked tokens still hold after {DEADLINE:?}");
        sleep(LOOK_EVERY).await;
    }
}
