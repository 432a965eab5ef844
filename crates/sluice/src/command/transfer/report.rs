//! What is said of lines that were rejected: to a file all of it, to a person the first ones.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::Path;

use indicatif::ProgressBar;
use serde_json::{Value, json};
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
    /// the file of lines that are done stays.
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
            if file.metadata()?.is_file() {
                file.set_len(if goes_on { told(path, imported.counts().lines)? } else { 0 })?;
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

/// How much of a report is about lines that are done, in bytes. What an import that was killed wrote behind it will be told again, and
/// may end in the middle of a line.
fn told(path: &Path, done: u64) -> io::Result<u64> {
    let (mut report, mut line, mut length) = (BufReader::new(File::open(path)?), Vec::new(), 0);
    loop {
        line.clear();
        let read = report.read_until(b'\n', &mut line)?;
        let about = line.strip_suffix(b"\n").and_then(line_number);
        if about.is_none_or(|about| about > done) {
            return Ok(length);
        }
        length += u64::try_from(read).unwrap_or(u64::MAX);
    }
}

/// Which line of the imported file a line of a report is about.
fn line_number(line: &[u8]) -> Option<u64> {
    serde_json::from_slice::<Value>(line).ok()?.get("line")?.as_u64()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_report_stays_what_is_about_lines_that_are_done() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("errors.ndjson");
        let told_of = |text: &str, done: u64| {
            std::fs::write(&path, text).unwrap();
            told(&path, done).unwrap()
        };
        let line = |number: u64| format!("{{\"field\":\"email\",\"line\":{number},\"reason\":\"…\"}}\n");
        let (first, second) = (line(7), line(12));
        let (whole, length) = (format!("{first}{second}"), |text: &str| u64::try_from(text.len()).unwrap());
        assert_eq!(told_of(&whole, 12), length(&whole));
        assert_eq!(told_of(&whole, 11), length(&first), "that one is told again");
        assert_eq!(told_of(&whole[..whole.len() - 1], 12), length(&first), "it was cut off");
        assert_eq!(told_of(&format!("{first}{{\"fie{second}"), 99), length(&first));
        assert_eq!((told_of("", 99), told_of("somebody's notes\n", 99)), (0, 0));
    }
}
