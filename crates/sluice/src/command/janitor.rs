//! `sluice janitor`: what a node does by itself all the time, once and to the end.

use std::ffi::OsString;
use std::sync::Arc;

use sluice_commit::chain;
use sluice_oauth::config::tokens_of_session;
use sluice_primitives::{Clock, Lifetime, OsRng, Rng, SystemClock};

use super::{fail, print};
use crate::app::{JanitorKind, Round, Stores, Task, janitor_round, open_store};
use crate::cli::{Console, DataSourceArgs, Exit, JanitorCommand};
use crate::config;

/// A round looks at a part of a large table: so many that find nothing have seen a table of ten million rows from end to end.
const QUIET_ROUNDS: u32 = 100;

/// Deletes what has expired, in batches, at most as many rows as the command allows.
pub(crate) async fn run(
    janitor: JanitorCommand,
    environment: Vec<(OsString, OsString)>,
    console: &mut Console<'_>,
) -> Exit {
    let (stores, sessions_kept) = match opened(&janitor.source, environment, console).await {
        Ok(opened) => opened,
        Err(reason) => {
            let _ = writeln!(console.err, "{reason}");
            return Exit::Failure;
        }
    };
    let store = stores.repositories();
    let (mut deleted, mut quiet_rounds) = (0_u64, 0);
    let work = janitor.work();
    let grants = work.tokens || work.grants;
    let is_wanted = |kind: &JanitorKind| if kind.is_lasting() { grants } else { work.requests };
    let kinds: Vec<_> = JanitorKind::ALL.into_iter().filter(is_wanted).collect();
    let kept = janitor.keep_if_younger.map(Lifetime::from).unwrap_or_default();
    // What expires meanwhile is left to others: this is to end.
    let before = console.clock.now() - kept;
    let most = u64::from(janitor.limit);
    let limit = janitor.batch_size.max(1);
    let exit = loop {
        let total = Some(most.saturating_sub(deleted));
        let task = Task { kinds: &kinds, before, sessions_kept, limit, total };
        match janitor_round(&*store, task).await {
            Round { failed: Some(error), .. } => break fail(console, &error),
            Round { deleted: 0, .. } => quiet_rounds += 1,
            Round { deleted: rows, .. } => (deleted, quiet_rounds) = (deleted + rows, 0),
        }
        if quiet_rounds >= QUIET_ROUNDS {
            break print(console, &format!("Deleted {deleted} expired rows."));
        }
        if deleted >= most {
            break print(console, &format!("Deleted {deleted} expired rows; there may be more."));
        }
    };
    stores.shutdown().await;
    exit
}

/// The database that is named, and for how long remembered sessions are kept after their end: as the nodes do, if they have the same
/// configuration.
async fn opened(
    source: &DataSourceArgs,
    environment: Vec<(OsString, OsString)>,
    console: &mut Console<'_>,
) -> Result<(Stores, Lifetime), String> {
    let sources = source.sources(environment)?;
    let (database, ttl, warnings) = config::load_janitor(&sources).map_err(|error| {
        console.warn(error.warnings());
        error.to_string()
    })?;
    console.warn(&warnings);
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let rng: Arc<dyn Rng> = Arc::new(OsRng);
    let stores = open_store(&database, false, (&clock, &rng)).await.map_err(|error| chain(&error))?;
    Ok((stores, tokens_of_session(ttl.refresh_token.lifetime())))
}
