//! What is said of lines that were rejected: to a file all of it, to a person the first ones.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::Path;

use indicatif::ProgressBar;
use serde_json::json;
use sluice_identity::transfer::{ImportFile, ImportProgress, ImportWatcher, RejectedLine};

use crate::cli::printable;

/// So many are said to a person.
const SAID: u64 = 100;

/// Tells of an import.
pub(super) struct Report<'a> {
    /// Where all rejected lines go.
    file: Option<BufWriter<File>>,
    /// The person.
    err: &'a mut (dyn Write + Send),
    bar: &'a ProgressBar,
    said: u64,
}

impl<'a> Report<'a> {
    /// A report of an import to a person, and to a file if one is named, which must not be the imported one. `goes_on`: what is in
    /// the file stays.
    pub(super) fn open(
        (path, imported): (Option<&Path>, &ImportFile),
        goes_on: bool,
        (err, bar): (&'a mut (dyn Write + Send), &'a ProgressBar),
    ) -> io::Result<Self> {
        let open = |path: &Path| {
            let file =
                OpenOptions::new().create(true).write(true).append(goes_on).truncate(false).open(path)?;
            if imported.is(&file)? {
                return Err(io::Error::other("--errors names the file that is imported"));
            }
            // Not before it is known to be another one; a terminal or a pipe has nothing to take away.
            if !goes_on && file.metadata()?.is_file() {
                file.set_len(0)?;
            }
            Ok(file)
        };
        let file = path.map(open).transpose()?.map(BufWriter::new);
        Ok(Self { file, err, bar, said: 0 })
    }

    fn say(&mut self, line: &RejectedLine) {
        self.said += 1;
        let said = match self.said {
            ..=SAID => format!("line {}: {}", line.line, printable(&line.rejection.to_string())),
            more if more == SAID + 1 => {
                "further lines are not shown: --errors FILE keeps all of them".to_owned()
            }
            _ => return,
        };
        self.bar.suspend(|| {
            // Nobody listens: the summary counts it.
            let _ = writeln!(self.err, "{said}");
        });
    }
}

impl ImportWatcher for Report<'_> {
    fn rejected(&mut self, lines: &[RejectedLine]) -> io::Result<()> {
        for line in lines {
            match &mut self.file {
                Some(file) => {
                    let (field, reason) = (line.rejection.field(), line.rejection.reason());
                    writeln!(file, "{}", json!({ "line": line.line, "field": field, "reason": reason }))?;
                }
                None => self.say(line),
            }
        }
        Ok(())
    }

    fn progress(&mut self, progress: &ImportProgress) {
        let counts = progress.counts;
        // Formatting costs more than the line did.
        if counts.lines.is_multiple_of(1_000) {
            self.bar.set_position(progress.offset);
            self.bar.set_message(format!("{} lines, {} rejected", counts.lines, counts.rejected()));
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        let Some(file) = &mut self.file else { return Ok(()) };
        file.flush()?;
        file.get_ref().sync_data()
    }
}
