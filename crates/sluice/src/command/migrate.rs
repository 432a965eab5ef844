//! `sluice migrate sql up|status`.

use std::ffi::OsString;

use jiff::Timestamp;

use super::{database, print};
use crate::app::Stores;
use crate::cli::{Console, Exit, MigrateCommand, SqlAction};

/// Applies what is missing, or shows it.
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
    let exit = show(&stores, console).await;
    stores.shutdown().await;
    exit
}

async fn show(stores: &Stores, console: &mut Console<'_>) -> Exit {
    let migrations = match stores.migrations().await {
        Ok(migrations) => migrations,
        Err(error) => return super::fail(console, &error),
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
