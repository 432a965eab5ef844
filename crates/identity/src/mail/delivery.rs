//! How mails arrive: retried with back-off, kept as dead letters in the end.

use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::join_all;
use sluice_commit::{StoreError, chain};
use sluice_crypto::Sealer;
use sluice_primitives::rng::random_bytes;
use sluice_primitives::{Clock, Lifetime, Rng, Timestamp};
use tracing::{error, info, warn};

use super::message::{HEAD_START, Message, Unreadable};
use super::metrics::MailMetrics;
use super::repository::{LeasedMail, MailRepository};
use super::retries::MailRetries;
use super::template::MailTemplates;
use super::transport::{MailError, MailFate, MailTransport};

/// A mail that has failed so often is a dead letter: after about a day.
const ATTEMPTS: u32 = 12;
/// By how much a lease is longer than a mail takes at most: for the store to hear what became of it, and for clocks that differ.
const BEYOND: Lifetime = Lifetime::secs(90);
/// After how long a mail is tried again for the first time; each further time takes four times as long.
const FIRST: Lifetime = Lifetime::secs(5);
/// It never takes longer.
const LONGEST: Lifetime = Lifetime::hours(4);
/// After so many rounds what waits is counted anew, while there is more to send.
const COUNTED_EVERY: usize = 32;

/// Delivers what waits in the outbox.
pub struct MailDelivery {
    /// What waits.
    pub outbox: Arc<dyn MailRepository>,
    /// Who carries it.
    pub transport: Arc<dyn MailTransport>,
    /// How it is written out.
    pub templates: MailTemplates,
    /// Opens what waits, at rest.
    pub sealer: Arc<Sealer>,
    /// What an operator sees.
    pub metrics: Arc<MailMetrics>,
    /// What goes first also when it is tried again.
    pub retries: MailRetries,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Randomness.
    pub rng: Arc<dyn Rng>,
}

impl MailDelivery {
    /// Delivers all that is due, as many mails at once as the transport carries, for as long as `goes_on` says so; how many
    /// mails were tried. Progress is in the store: a crash repeats but never loses.
    ///
    /// # Errors
    /// [`StoreError`] if the store cannot do it now.
    pub async fn run(&self, goes_on: impl Fn() -> bool + Send) -> Result<usize, StoreError> {
        // A mail server that hangs must not keep from view what waits, and what was dead before.
        if self.metrics.is_due() {
            self.count().await;
        }
        let mut tried = self.round().await?;
        let (mut last, mut rounds) = (tried, 1_usize);
        // As long as a round finds as much as it may take, there is more.
        while last >= self.at_once() && goes_on() {
            if rounds.is_multiple_of(COUNTED_EVERY) {
                self.count().await;
            }
            last = self.round().await?;
            (tried, rounds) = (tried + last, rounds + 1);
        }
        if tried > 0 {
            self.count().await;
        }
        Ok(tried)
    }

    /// Counts what waits. What cannot be counted is sent all the same.
    async fn count(&self) {
        match self.outbox.depth().await {
            Ok(depth) => self.metrics.set_depth(depth),
            Err(error) => warn!(error = %chain(&error), "the mails that wait cannot be counted"),
        }
    }

    /// Gives up what no server was told of yet; [`MailDelivery::run`] ends when it is known, and written, what became of the
    /// rest. What was given up is left to its lease, and not counted as an attempt.
    pub fn stop(&self) {
        self.transport.stop();
    }

    /// Takes what can be sent at once, so that a lease is for one mail's time only.
    async fn round(&self) -> Result<usize, StoreError> {
        let room = u32::try_from(self.at_once()).unwrap_or(u32::MAX);
        let lease = Lifetime::from(self.transport.longest().as_duration() + BEYOND.as_duration());
        let now = self.clock.now();
        let mut retries = self.retries.take_due(now).into_iter();
        while let Some((due_at, id)) = retries.next() {
            if let Err(error) = self.outbox.bring_forward(id, due_at, due_at - HEAD_START).await {
                [(due_at, id)]
                    .into_iter()
                    .chain(retries)
                    .for_each(|(due_at, id)| self.retries.keep(id, due_at));
                return Err(error);
            }
        }
        let due = self.outbox.lease(now, lease, room).await?;
        let tried = due.len();
        let outcomes = join_all(due.iter().map(|leased| self.deliver_alone(leased))).await;
        outcomes.into_iter().collect::<Result<(), _>>()?;
        Ok(tried)
    }

    fn at_once(&self) -> usize {
        usize::try_from(self.transport.at_once().max(1)).unwrap_or(usize::MAX)
    }

    /// A mail that makes the program panic takes no other with it: neither here, nor at the nodes that take it next.
    async fn deliver_alone(&self, leased: &LeasedMail) -> Result<(), StoreError> {
        let delivered = AssertUnwindSafe(self.deliver(leased)).catch_unwind().await;
        if let Ok(outcome) = delivered {
            return outcome;
        }
        let next = self.next_try(leased, true);
        error!(mail.id = %leased.id, attempts = leased.attempts + 1, dead = next.is_none(), "delivering a mail panicked");
        self.metrics.count_failed();
        self.outbox.failed(leased.id, next).await
    }

    async fn deliver(&self, leased: &LeasedMail) -> Result<(), StoreError> {
        let (message, written_at) = match Message::open(&leased.sealed, &self.sealer) {
            Ok(opened) => opened,
            Err(cause) => return self.unopened(leased, cause).await,
        };
        // It waited for too long, for a mail server or for a node.
        if !is_useful(&message, written_at, self.clock.now()) {
            warn!(mail.id = %leased.id, mail.kind = message.kind.as_str(), dead = true, "mail not sent: its code holds no more");
            self.metrics.count_failed();
            return self.outbox.failed(leased.id, None).await;
        }
        let sent = match self.templates.render(leased.id, &message, written_at) {
            Ok(mail) => self.transport.send(&mail).await,
            Err(cause) => Err(MailError { fate: MailFate::Refused, cause: Box::new(cause) }),
        };
        match sent {
            Ok(()) => {
                info!(mail.id = %leased.id, mail.kind = message.kind.as_str(), "mail sent");
                self.metrics.count_sent();
                self.outbox.sent(leased.id).await
            }
            Err(error) if error.fate == MailFate::Untried => {
                info!(mail.id = %leased.id, mail.kind = message.kind.as_str(), "mail left for later");
                Ok(())
            }
            Err(error) => self.failed(leased, (&message, written_at), &error).await,
        }
    }

    /// A secret that this node does not have, another may: while it is brought in node by node, mails wait for those who do. So they do for
    /// those of a version that understands them.
    async fn unopened(&self, leased: &LeasedMail, cause: Unreadable) -> Result<(), StoreError> {
        let next = self.next_try(leased, cause.may_be_read_elsewhere());
        error!(mail.id = %leased.id, attempts = leased.attempts + 1, dead = next.is_none(), error = %cause, "mail cannot be opened");
        self.metrics.count_failed();
        self.outbox.failed(leased.id, next).await
    }

    async fn failed(
        &self,
        leased: &LeasedMail,
        (message, written_at): (&Message, Timestamp),
        error: &MailError,
    ) -> Result<(), StoreError> {
        let next = self.next_try(leased, error.fate == MailFate::Deferred);
        // A code that does not hold any more helps nobody.
        let next = next.filter(|next| is_useful(message, written_at, *next));
        let (cause, dead) = (chain(&*error.cause), next.is_none());
        warn!(mail.id = %leased.id, mail.kind = message.kind.as_str(), attempts = leased.attempts + 1, dead, error = %cause, "mail not sent");
        self.metrics.count_failed();
        self.outbox.failed(leased.id, next).await?;
        if let Some(next) = next.filter(|_| message.kind.goes_first()) {
            self.retries.keep(leased.id, next);
        }
        Ok(())
    }

    /// When a mail is tried again that failed, if that may help.
    fn next_try(&self, leased: &LeasedMail, may_help: bool) -> Option<Timestamp> {
        let again = may_help && leased.attempts + 1 < ATTEMPTS;
        again.then(|| self.clock.now() + self.back_off(leased.attempts))
    }

    /// 5 s, 20 s, 80 s, … at most 4 h; up to a quarter longer, so that what failed together does not come back together.
    fn back_off(&self, attempts: u32) -> Lifetime {
        let longer = FIRST.as_duration().saturating_mul(4_u32.saturating_pow(attempts));
        let span = longer.min(LONGEST.as_duration());
        let [drawn] = random_bytes::<1>(&*self.rng);
        Lifetime::from(span + span * u32::from(drawn) / 1024)
    }
}

impl fmt::Debug for MailDelivery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MailDelivery").field("metrics", &self.metrics).finish_non_exhaustive()
    }
}

fn is_useful(message: &Message, written_at: Timestamp, at: Timestamp) -> bool {
    let minutes = message.kind.code().map(|code| u32::try_from(code.minutes).unwrap_or(u32::MAX));
    minutes.is_none_or(|minutes| at < written_at + Lifetime::minutes(minutes))
}
