//! `sluice import identities`.

use std::error::Error;
use std::ffi::OsString;
use std::sync::Arc;

use serde_json::json;
use sluice_identity::transfer::{ImportConfig, ImportError, ImportFile, ImportedCounts, Importer};
use tracing::info;

use super::progress;
use super::report::Report;
use crate::cli::{Answer, Console, Exit, ImportIdentitiesArgs, OutputArgs};
use crate::command::installation::Installation;
use crate::command::serve::until_told_to_stop;
use crate::command::{fail, load};

/// What stands for the standard input elsewhere.
const STANDARD_INPUT: &str = "-";
const NEEDS_A_FILE: &str = "people are imported from a file, not from the standard input: how far the import has come is kept beside it";
const HEADER: &[&str] = &["FILE", "LINES", "IMPORTED", "DUPLICATES", "INVALID", "FINISHED"];

/// Imports people, and prints how many lines became what. Fails if one was rejected, or not all were read.
pub(crate) async fn import(
    (import, output): (ImportIdentitiesArgs, OutputArgs),
    environment: Vec<(OsString, OsString)>,
    console: &mut Console<'_>,
) -> Exit {
    match Box::pin(imported(&import, environment, (output.is_quiet, console))).await {
        Err(error) => fail(console, &*error),
        Ok(None) => Exit::Failure,
        Ok(Some((counts, is_finished))) => {
            let printed = output.print(&answer(&import, counts, is_finished), console.out);
            let exit = console.printed(printed);
            if counts.disbelieved > 0 {
                console.say(&disbelieved(counts.disbelieved));
            }
            if !is_finished {
                console.say("stopped: the same command goes on where it did");
            }
            if counts.rejected() > 0 || !is_finished { Exit::Failure } else { exit }
        }
    }
}

/// How many lines became what, and whether all were read. `None`: there is no configuration, which was said.
async fn imported(
    args: &ImportIdentitiesArgs,
    environment: Vec<(OsString, OsString)>,
    (is_quiet, console): (bool, &mut Console<'_>),
) -> Result<Option<(ImportedCounts, bool)>, Box<dyn Error>> {
    if args.file.as_os_str() == STANDARD_INPUT {
        return Err(NEEDS_A_FILE.into());
    }
    let sources = args.installation.sources(environment);
    let Some(loaded) = load(&sources) else { return Ok(None) };
    console.warn(&loaded.warnings);
    let bar = progress::spinner(is_quiet);
    let installation = Installation::open(&loaded.settings, &sources, &bar).await?;
    // What other secrets seal is lost, and keeps every node from starting.
    installation.check_secrets().await?;
    let network = installation.stores.network_id().await?;
    let mut file = ImportFile::open(&args.file, network, args.is_restarted, console.clock.now())?;
    if file.is_database_assumed() {
        console.say(
            "warning: an earlier version kept how far the import had come, and not in which database: \
             it is taken for this one",
        );
    }
    if file.is_finished() {
        console.say("the file was imported to its end before: --restart begins anew");
        installation.stores.shutdown().await;
        return Ok(Some((file.counts(), true)));
    }
    let goes_on = file.counts().lines > 0;
    if goes_on {
        console.say(&format!("going on behind line {}", file.counts().lines));
    }
    progress::count_to(&bar, file.size());
    let mut report = Report::open((args.errors.as_deref(), &file), goes_on, (&mut *console.err, &bar))?;
    let importer = Importer {
        identities: installation.stores.repositories() as _,
        keys: installation.credentials.clone(),
        max_memory_kib: loaded.settings.identity.hash_pool.max_memory_kib,
        clock: Arc::clone(&installation.clock),
        rng: Arc::clone(&installation.rng),
        config: ImportConfig { in_flight: args.in_flight, ..ImportConfig::default() },
    };
    let done = run_and_tell(&importer, &mut file, &mut report).await;
    bar.finish_and_clear();
    installation.stores.shutdown().await;
    Ok(Some((done?, file.is_finished())))
}

/// Also on record.
async fn run_and_tell(
    importer: &Importer,
    file: &mut ImportFile,
    report: &mut Report<'_>,
) -> Result<ImportedCounts, ImportError> {
    // Before: of an import that is killed nothing else tells but the next one.
    let before = file.counts().imported;
    info!(target: "sluice_audit", { before }, "people are being imported");
    let done = importer.run(file, report, until_told_to_stop()).await;
    // Whatever came in between, these are there.
    let count = file.counts().imported.saturating_sub(before);
    if count > 0 {
        info!(target: "sluice_audit", { count }, "people imported");
    }
    done
}

fn answer(args: &ImportIdentitiesArgs, counts: ImportedCounts, is_finished: bool) -> Answer {
    let file = args.file.display().to_string();
    let ImportedCounts { lines, imported, duplicates, invalid, disbelieved } = counts;
    let numbers = [lines, imported, duplicates, invalid].map(|number| number.to_string());
    let cells = std::iter::once(file.clone()).chain(numbers).chain([is_finished.to_string()]).collect();
    let json = json!({
        "file": file,
        "lines": lines,
        "imported": imported,
        "duplicates": duplicates,
        "invalid": invalid,
        "disbelieved": disbelieved,
        "finished": is_finished,
    });
    Answer::one(HEADER, cells, json)
}

/// Says that lines are imported with less than they say.
fn disbelieved(count: u64) -> String {
    format!(
        "warning: {count} lines say `email_verified` of an address that nobody is given: these are imported as not verified \
         (docs/identity/import.md)"
    )
}
