//! `sluice migrate sql up|status`.

use std::ffi::OsString;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};
use sluice_commit::chain;
use sluice_primitives::{Clock, OsRng, Rng, SystemClock};
use tokio::time::sleep;

use super::serve::until_told_to_stop;
use super::{fail, named_database};
use crate::app::{AppliedMigration, Reminder, StartError, Stores, await_store, open_store};
use crate::cli::{Answer, Console, Exit, MigrateCommand, SqlAction};
use crate::config::{DatabaseSettings, Dsn};

/// As Hydra calls them.
const HEADER: &[&str] = &["VERSION", "NAME", "STATUS"];
/// How often it is looked whether another process has applied what is missing.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Applies what is missing, shows it, or waits for it, until it is told to stop.
pub(crate) async fn run(
    migrate: MigrateCommand,
    environment: Vec<(OsString, OsString)>,
    console: &mut Console<'_>,
) -> Exit {
    let told = until_told_to_stop();
    let exit = tokio::select! {
        biased;
        () = told => None,
        exit = done(migrate, environment, console) => Some(exit),
    };
    exit.unwrap_or_else(|| {
        console.say("stopped before it was done");
        Exit::Interrupted
    })
}

async fn done(
    migrate: MigrateCommand,
    environment: Vec<(OsString, OsString)>,
    console: &mut Console<'_>,
) -> Exit {
    let (action, source, output) = migrate.into_parts();
    let database = match named_database(&source, environment, console) {
        Ok((database, _)) => database,
        Err(reason) => {
            console.say(&reason);
            return Exit::Failure;
        }
    };
    let migrations = match action {
        SqlAction::Up => up(&database, console).await,
        SqlAction::Status => status(&database, console).await,
        SqlAction::Await => awaited(&database, console).await,
    };
    match migrations {
        Ok(migrations) => {
            let printed = output.print(&answer(&migrations), console.out);
            console.printed(printed)
        }
        Err(error) => fail(console, &error),
    }
}

/// Applies what is missing.
async fn up(
    database: &DatabaseSettings,
    console: &mut Console<'_>,
) -> Result<Vec<AppliedMigration>, StartError> {
    let (clock, rng) = world();
    let tell = |error: &StartError| say_waiting(error, console);
    migrations(await_store(database, true, (&clock, &rng), tell).await?).await
}

/// Looks once. In a file that is not there nothing is applied, and none is made; but its path may be wrong.
async fn status(
    database: &DatabaseSettings,
    console: &mut Console<'_>,
) -> Result<Vec<AppliedMigration>, StartError> {
    match look(database).await {
        Err(missing @ StartError::NoFile(_)) => {
            console.say(&format!("warning: {missing}"));
            look(&DatabaseSettings { dsn: Dsn::Memory, ..database.clone() }).await
        }
        looked => looked,
    }
}

/// Looks until nothing is missing, also while there is no database yet.
async fn awaited(
    database: &DatabaseSettings,
    console: &mut Console<'_>,
) -> Result<Vec<AppliedMigration>, StartError> {
    let mut reminder = Reminder::default();
    loop {
        match look(database).await {
            Ok(migrations) if migrations.iter().all(|one| one.applied_at.is_some()) => return Ok(migrations),
            Ok(_) => {}
            Err(error) if may_come(&error) => {
                if reminder.is_due() {
                    say_waiting(&error, console);
                }
            }
            Err(error) => return Err(error),
        }
        sleep(LOOK_EVERY).await;
    }
}

async fn look(database: &DatabaseSettings) -> Result<Vec<AppliedMigration>, StartError> {
    let (clock, rng) = world();
    migrations(open_store(database, false, (&clock, &rng)).await?).await
}

async fn migrations(stores: Stores) -> Result<Vec<AppliedMigration>, StartError> {
    let migrations = stores.migrations().await;
    stores.shutdown().await;
    Ok(migrations?)
}

fn world() -> (Arc<dyn Clock>, Arc<dyn Rng>) {
    (Arc::new(SystemClock), Arc::new(OsRng))
}

/// Whether another process may bring what is missing.
fn may_come(error: &StartError) -> bool {
    match error {
        StartError::NoFile(_) => true,
        StartError::Store(error) => error.is_temporary(),
        _ => false,
    }
}

fn say_waiting(error: &StartError, console: &mut Console<'_>) {
    console.say(&format!("warning: {}; it is waited for", chain(error)));
}

fn answer(migrations: &[AppliedMigration]) -> Answer {
    let cells =
        |one: &AppliedMigration| vec![one.version.to_string(), one.name.clone(), told_state(one).to_owned()];
    let json: Vec<Value> = migrations.iter().map(json_of).collect();
    Answer::list(HEADER, migrations.iter().map(cells).collect(), json.into())
}

/// As Hydra has it, without the SQL and with the time.
fn json_of(one: &AppliedMigration) -> Value {
    let applied_at = one.applied_at.map(|at| Timestamp::from_millisecond(at.as_millis()).unwrap_or_default());
    json!({
        "state": state(one),
        "version": one.version.to_string(),
        "name": one.name,
        "applied_at": applied_at.map(|at| at.to_string()),
    })
}

/// As people read it.
const fn told_state(one: &AppliedMigration) -> &'static str {
    if one.is_known { state(one) } else { "Unknown to this version" }
}

const fn state(one: &AppliedMigration) -> &'static str {
    match (one.is_known, one.applied_at.is_some()) {
        (false, _) => "Unknown",
        (true, true) => "Applied",
        (true, false) => "Pending",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_later_version_applied_is_listed_as_unknown() {
        let applied_at = Some(sluice_primitives::Timestamp::from_secs(1));
        let migration = |version, is_known, applied_at| AppliedMigration {
            version,
            name: "from_the_future".to_owned(),
            is_known,
            is_required: false,
            applied_at,
        };
        let known = [migration(1, true, applied_at), migration(2, true, None)];
        assert_eq!(known.each_ref().map(told_state), ["Applied", "Pending"]);
        let later = migration(12, false, applied_at);
        assert_eq!(told_state(&later), "Unknown to this version");
        let json = json_of(&later);
        assert_eq!((&json["state"], &json["version"]), (&json!("Unknown"), &json!("12")));
        assert!(json["applied_at"].is_string(), "{json}");
    }
}
