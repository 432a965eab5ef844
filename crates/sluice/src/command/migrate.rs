//! `sluice migrate sql up|status`.

use std::ffi::OsString;
use std::time::Duration;

use jiff::Timestamp;

use super::{database, print};
use crate::app::Stores;
use crate::cli::{Console, Exit, MigrateCommand, SqlAction};

/// How often it is looked whether another process has applied what is missing.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Applies what is missing, shows it, or waits for it.
pub(crate) async fn run(
    migrate: MigrateCommand,
    environment: Vec<(OsString, OsString)>,
    console: &mut Console<'_>,
) -> Exit {
    let (action, source) = migrate.into_parts();
    let stores = match database(&source, environment, action == SqlAction::Up, console).await {
        Ok(stores) => stores,
        Err(reason) => {
            let _ = writeln!(console.err, "{reason}");
            return Exit::Failure;
        }
    };
    let exit = show(&stores, action == SqlAction::Await, console).await;
    stores.shutdown().await;
    exit
}

async fn show(stores: &Stores, awaits: bool, console: &mut Console<'_>) -> Exit {
    let migrations = loop {
        match stores.migrations().await {
            Ok(migrations) if awaits && migrations.iter().any(|migration| migration.applied_at.is_none()) => {
                tokio::time::sleep(LOOK_EVERY).await;
            }
            Ok(migrations) => break migrations,
            Err(error) => return super::fail(console, &error),
        }
    };
    for migration in migrations {
        let state = match migration.applied_at {
            Some(at) => Timestamp::from_millisecond(at.as_millis()).unwrap_or_default().to_string(),
            None => "pending".to_owned(),
        };
        if print(console, &format!("{:<40} {state}", migration.name)) == Exit::Failure {
            return Exit::Failure;
        }
    }
    Exit::Success
}
