//! What needs a secret that is lost for good: said, and given up, so that the rest can go on.

use sluice_commit::StoreError;
use sluice_identity::resealed::SealedCounts;
use sluice_oauth::client::ClientSecretsInUse;
use sluice_oauth::keys::KeyError;
use tracing::info;

use super::credentials::worst;
use super::{AtRest, clients};
use crate::cli::{Console, Exit};
use crate::command::{fail, print};

/// What nothing opens.
struct Lost {
    /// As set and id.
    keys: Vec<(String, String)>,
    passwords: u64,
    factors: u64,
    mails: u64,
    /// Of clients that sign with theirs.
    client_secrets: u64,
    /// Whatever clients have, they need it anew: nobody here can give it to them.
    clients: ClientSecretsInUse,
}

impl Lost {
    /// Looks at everything.
    async fn of(at_rest: &AtRest) -> Result<Self, StoreError> {
        let unopened = |counts: SealedCounts| -> u64 {
            counts.iter().filter(|(by, _)| !by.opens()).map(|(_, count)| count).sum()
        };
        let installation = &at_rest.installation;
        let clients = at_rest.clients.in_use().await?.lost();
        Ok(Self {
            keys: at_rest.keys.unopened().await?,
            passwords: installation.stored_credentials().lost().await?,
            factors: unopened(installation.sealed_factors().count().await?),
            mails: unopened(installation.sealed_mails().count().await?),
            client_secrets: clients.sealed.values().map(|of| of.count).sum(),
            clients,
        })
    }

    /// Whether nothing is to be given up.
    fn is_nothing(&self) -> bool {
        self.keys.is_empty() && [self.passwords, self.factors, self.mails, self.client_secrets] == [0; 4]
    }

    fn lines(&self, at_rest: &AtRest) -> Vec<String> {
        let mut lines = Vec::new();
        if !self.keys.is_empty() {
            let keys: Vec<_> = self.keys.iter().map(|(set, kid)| format!("{set}/{kid}")).collect();
            let (count, keys) = (keys.len(), keys.join(", "));
            lines.push(format!("keys at rest     {count} to be deleted, and new ones made: {keys}"));
        }
        let others = [
            (self.passwords, "passwords", "to be taken away: their people set others by mail"),
            (self.factors, "second factors", "to be removed: a password alone logs in then"),
            (self.mails, "mails", "to be dropped: their people ask for others"),
            (self.client_secrets, "client secrets", "to be forgotten: their clients need new ones"),
        ];
        let counted = others.iter().filter(|(count, ..)| *count > 0);
        lines.extend(counted.map(|(count, what, fate)| format!("{what:<16} {count} {fate}")));
        lines.extend(clients::lines(&self.clients, &at_rest.installation.secrets));
        if lines.is_empty() {
            lines.push("Nothing needs a secret that is not configured.".to_owned());
        }
        lines
    }
}

/// Says what would be given up.
pub(super) async fn consider(at_rest: &AtRest, console: &mut Console<'_>) -> Exit {
    match told(at_rest, console).await {
        Ok(lost) if lost.is_nothing() => Exit::Success,
        Ok(_) => {
            console.say(
                "Nothing was changed. Is the secret really lost? Whoever finds it later cannot open this any more. \
                 Stop all nodes and workers, and say --yes.",
            );
            Exit::Success
        }
        Err(error) => fail(console, &error),
    }
}

/// Says what is given up, and gives it up.
pub(super) async fn run(at_rest: &AtRest, console: &mut Console<'_>) -> Exit {
    match told(at_rest, console).await {
        Ok(lost) if lost.is_nothing() => Exit::Success,
        Ok(lost) => {
            tell_begun(&lost);
            match give_up(at_rest, console).await {
                Ok(exit) => exit,
                Err(error) => fail(console, &error),
            }
        }
        Err(error) => fail(console, &error),
    }
}

async fn told(at_rest: &AtRest, console: &mut Console<'_>) -> Result<Lost, StoreError> {
    let lost = Lost::of(at_rest).await?;
    for line in lost.lines(at_rest) {
        print(console, &line);
    }
    Ok(lost)
}

/// One row after the other, each in a transaction of its own: run again, it goes on where it stopped.
async fn give_up(at_rest: &AtRest, console: &mut Console<'_>) -> Result<Exit, KeyError> {
    let installation = &at_rest.installation;
    let passwords = installation.stored_credentials().abandon().await?;
    tell_given_up("passwords", passwords.abandoned);
    let factors = installation.sealed_factors().abandon().await?;
    tell_given_up("second factors", factors);
    let mails = installation.sealed_mails().abandon().await?;
    tell_given_up("mails", mails);
    let clients = at_rest.clients.abandon().await?;
    tell_given_up("client secrets", clients);
    // Each of these has a line of its own.
    let keys = at_rest.keys.abandon(&*installation.clock).await?;
    let lines = [
        format!("Took {} passwords away.", passwords.abandoned),
        format!("Removed {factors} second factors."),
        format!("Dropped {mails} mails."),
        format!("Forgot {clients} client secrets."),
        format!("Deleted {keys} keys."),
    ];
    let printed = lines.iter().map(|line| print(console, line)).fold(Exit::Success, worst);
    if passwords.changed > 0 {
        console.say(&format!("{} passwords changed meanwhile: run this again", passwords.changed));
        return Ok(Exit::Failure);
    }
    Ok(printed)
}

/// Says in the audit trail what is about to be given up: it may fail half way, and says nothing of a kind that it did not end.
fn tell_begun(lost: &Lost) {
    let &Lost { passwords, factors, mails, client_secrets, .. } = lost;
    let keys = lost.keys.len();
    info!(target: "sluice_audit", { passwords, factors, mails, client_secrets, keys }, "giving up what lost secrets protect");
}

/// Says in the audit trail what is gone with the secret that it needed.
fn tell_given_up(what: &str, count: u64) {
    if count > 0 {
        info!(target: "sluice_audit", { what, count }, "given up with a lost secret");
    }
}
