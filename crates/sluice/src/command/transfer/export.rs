//! `sluice export identities`.

use std::error::Error;
use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use serde_json::json;
use sluice_identity::transfer::{Exported, Exporter};
use thiserror::Error;
use tracing::info;

use super::progress;
use crate::cli::{Answer, Console, Exit, Export, ExportCommand, ExportIdentitiesArgs};
use crate::command::installation::Installation;
use crate::command::{fail, load};

/// The name that stands for the standard output.
const STANDARD_OUTPUT: &str = "-";
const HEADER: &[&str] = &["FILE", "IDENTITIES", "NOT HARDENED", "UNREADABLE"];

/// The file cannot be made, or kept.
#[derive(Debug, Error)]
#[error("{} cannot be written", .path.display())]
struct Unwritable {
    path: PathBuf,
    #[source]
    cause: io::Error,
}

/// Exports people, and prints how many; below lines on the standard output, to the standard error.
pub(crate) async fn export(
    command: ExportCommand,
    environment: Vec<(OsString, OsString)>,
    console: &mut Console<'_>,
) -> Exit {
    let ExportCommand { output, noun: Export::Identities(args) } = command;
    let exported = match Box::pin(exported(&args, environment, (output.is_quiet, console))).await {
        Ok(Some(exported)) => exported,
        Ok(None) => return Exit::Failure,
        Err(error) => return fail(console, &*error),
    };
    if exported.provisional > 0 {
        console.say(&format!(
            "{} passwords are not hardened yet, and their lines have no hash: those people need recovery where the file \
             is imported",
            exported.provisional
        ));
    }
    if exported.unreadable > 0 {
        console.say(&format!(
            "{} passwords do not open with the secrets of this configuration, and their lines have no hash",
            exported.unreadable
        ));
    }
    let answer = answer(&args.file, exported);
    let printed = if is_standard(&args.file) {
        output.print(&answer, console.err)
    } else {
        output.print(&answer, console.out)
    };
    let exit = console.printed(printed);
    if exported.unreadable > 0 { Exit::Failure } else { exit }
}

/// What was exported. `None`: there is no configuration, which was said.
async fn exported(
    args: &ExportIdentitiesArgs,
    environment: Vec<(OsString, OsString)>,
    (is_quiet, console): (bool, &mut Console<'_>),
) -> Result<Option<Exported>, Box<dyn Error>> {
    let sources = args.installation.sources(environment);
    let Some(loaded) = load(&sources) else { return Ok(None) };
    console.warn(&loaded.warnings);
    let bar = progress::spinner(is_quiet);
    let installation = Installation::open(&loaded.settings, &sources, &bar).await?;
    let exporter = Exporter {
        identities: installation.stores.repositories() as _,
        keys: installation.credentials.clone(),
    };
    let mut count = 0;
    let mut progress = |exported: &Exported| {
        count = exported.identities;
        bar.set_message(format!("{count} people"));
    };
    // Before: whoever interrupts this has what was written until then.
    info!(target: "sluice_audit", "people are being exported");
    let done = written(&exporter, &args.file, (console, &mut progress)).await;
    bar.finish_and_clear();
    // Also if not all of them are.
    if count > 0 {
        info!(target: "sluice_audit", { count }, "people exported");
    }
    installation.stores.shutdown().await;
    done.map(Some)
}

/// Writes all of them to the file, or the standard output.
async fn written(
    exporter: &Exporter,
    path: &Path,
    (console, progress): (&mut Console<'_>, &mut (dyn FnMut(&Exported) + Send)),
) -> Result<Exported, Box<dyn Error>> {
    if is_standard(path) {
        return Ok(exporter.run(&mut BufWriter::new(&mut *console.out), progress).await?);
    }
    let unwritable = |cause| Unwritable { path: path.to_owned(), cause };
    let mut file = BufWriter::new(create(path).map_err(unwritable)?);
    let done = exporter.run(&mut file, progress).await;
    file.flush().and_then(|()| file.get_ref().sync_all()).map_err(unwritable)?;
    Ok(done?)
}

fn is_standard(path: &Path) -> bool {
    path.as_os_str() == STANDARD_OUTPUT
}

/// A new file that nobody else reads: it holds hashes.
fn create(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

fn answer(path: &Path, exported: Exported) -> Answer {
    let file = path.display().to_string();
    let Exported { identities, provisional, unreadable } = exported;
    let numbers = [identities, provisional, unreadable].map(|number| number.to_string());
    let cells = std::iter::once(file.clone()).chain(numbers).collect();
    let json = json!({
        "file": file,
        "identities": identities,
        "not_hardened": provisional,
        "unreadable": unreadable,
    });
    Answer::one(HEADER, cells, json)
}
