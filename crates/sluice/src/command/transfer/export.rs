//! `sluice export identities`.

use std::error::Error;
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use serde_json::json;
use sluice_identity::transfer::{Exported, Exporter};
use thiserror::Error;
use tracing::{info, warn};

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
    let mut people = match Written::begin(&args.file) {
        Ok(people) => people,
        Err(unwritable) => {
            installation.stores.shutdown().await;
            return Err(unwritable.into());
        }
    };
    let mut count = 0;
    let mut progress = |exported: &Exported| {
        count = exported.identities;
        bar.set_message(format!("{count} people"));
    };
    // Before: whoever interrupts this has what was written until then.
    info!(target: "sluice_audit", "people are being exported");
    let done = people.write(&exporter, (console, &mut progress)).await;
    bar.finish_and_clear();
    tell(&done, count);
    installation.stores.shutdown().await;
    done.map(Some)
}

/// Writes down what became of it, when so many were read.
fn tell<E>(done: &Result<Exported, E>, count: u64) {
    match done {
        Ok(_) if count == 0 => {}
        Ok(_) => info!(target: "sluice_audit", { count }, "people exported"),
        // Of those that were read, some may not have been written, and nobody was handed all. Of none that was counted, a part may be.
        Err(_) => warn!(target: "sluice_audit", { count }, "people may have been exported"),
    }
}

/// Where they are written to.
enum Written<'a> {
    StandardOutput,
    File(&'a Path, BufWriter<File>),
}

impl<'a> Written<'a> {
    /// Before anybody is read: where there is no such file, nobody was handed out.
    fn begin(path: &'a Path) -> Result<Self, Unwritable> {
        if is_standard(path) {
            return Ok(Self::StandardOutput);
        }
        let file = create(path).map_err(|cause| Unwritable { path: path.to_owned(), cause })?;
        Ok(Self::File(path, BufWriter::new(file)))
    }

    /// Writes all of them. A file that could not be written and has nothing in it does not stay.
    async fn write(
        &mut self,
        exporter: &Exporter,
        (console, progress): (&mut Console<'_>, &mut (dyn FnMut(&Exported) + Send)),
    ) -> Result<Exported, Box<dyn Error>> {
        let Self::File(path, file) = self else {
            return Ok(exporter.run(&mut BufWriter::new(&mut *console.out), progress).await?);
        };
        let done = exporter.run(file, progress).await;
        let kept = file.flush().and_then(|()| file.get_ref().sync_all());
        if done.is_err() || kept.is_err() {
            remove_if_empty(path, file.get_ref());
        }
        kept.map_err(|cause| Unwritable { path: path.to_path_buf(), cause })?;
        Ok(done?)
    }
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

/// Takes away the file of this run if nothing is in it: the next run makes its own. That it stays is no error.
fn remove_if_empty(path: &Path, file: &File) {
    if file.metadata().is_ok_and(|file| file.len() == 0) {
        let _ = fs::remove_file(path);
    }
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tracing::Dispatch;
    use tracing::subscriber::{NoSubscriber, set_default};

    use super::*;

    #[test]
    fn of_an_export_that_failed_it_is_told_however_few_were_counted() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log");
        let log = Arc::new(File::create(&path).unwrap());
        let subscriber = tracing_subscriber::fmt().with_writer(log).with_ansi(false).finish();
        // Where there is one dispatcher, the thread that comes first to a place says for all whether anybody listens there.
        let (_second, _guard) = (Dispatch::new(NoSubscriber::default()), set_default(subscriber));
        tell::<()>(&Ok(Exported::default()), 0);
        tell::<()>(&Ok(Exported::default()), 3);
        tell(&Err(()), 0);
        let said = fs::read_to_string(path).unwrap();
        let told: Vec<_> =
            said.lines().filter_map(|line| Some(line.split_once(" sluice_audit: ")?.1)).collect();
        assert_eq!(told, ["people exported count=3", "people may have been exported count=0"]);
    }

    #[test]
    fn of_a_file_that_could_not_be_written_what_is_in_it_stays() {
        let directory = tempfile::tempdir().unwrap();
        let (empty, part) = (directory.path().join("empty"), directory.path().join("part"));
        remove_if_empty(&empty, &create(&empty).unwrap());
        let mut file = create(&part).unwrap();
        file.write_all(b"{").unwrap();
        remove_if_empty(&part, &file);
        assert_eq!((empty.exists(), part.exists()), (false, true));
    }
}
