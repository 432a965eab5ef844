//! What a measurement of its own kind prints, and where it is written.

use std::io;
use std::path::Path;

use serde::Serialize;

use crate::report;

/// A page about a report.
type Page<R> = fn(&R) -> Result<String, askama::Error>;

/// How it is told.
pub(crate) struct Outcome<'a, R> {
    pub(crate) report: &'a R,
    /// For the terminal.
    pub(crate) text: String,
    /// JSON instead of the text.
    pub(crate) json: bool,
    /// A folder for `run.json` and the page.
    pub(crate) folder: Option<&'a Path>,
    /// The page about it, if there is one.
    pub(crate) page: Option<Page<R>>,
}

impl<R: Serialize> Outcome<'_, R> {
    /// Prints it, and writes it then: what was measured is told, whatever becomes of the files.
    ///
    /// # Errors
    /// If the folder cannot be written to.
    pub(crate) fn tell(self) -> io::Result<()> {
        let json = serde_json::to_string_pretty(self.report)? + "\n";
        let printed = report::print(if self.json { &json } else { &self.text });
        if let Some(folder) = self.folder {
            let page = self.page.map(|page| page(self.report)).transpose().map_err(io::Error::other)?;
            let page = page.as_deref().map(|page| ("index.html", page));
            report::write(folder, page.into_iter().chain([("run.json", json.as_str())]))?;
        }
        printed
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_folder_that_is_not_there_is_made() {
        let temporary = tempfile::tempdir().unwrap();
        let folder = temporary.path().join("a/b");
        let outcome = Outcome {
            report: &[1, 2],
            text: String::new(),
            json: false,
            folder: Some(&folder),
            page: Some(|numbers| Ok(format!("{numbers:?}"))),
        };
        outcome.tell().unwrap();
        let written: Vec<u8> = serde_json::from_slice(&fs::read(folder.join("run.json")).unwrap()).unwrap();
        assert_eq!(written, [1, 2]);
        assert_eq!(fs::read_to_string(folder.join("index.html")).unwrap(), "[1, 2]");
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_named_before_anything_is_measured() {
        let temporary = tempfile::tempdir().unwrap();
        let file = temporary.path().join("file");
        fs::write(&file, "").unwrap();
        let folder = file.join("report");
        let refused = report::make(Some(&folder)).unwrap_err();
        assert!(refused.is_usage());
        let refused = refused.to_string();
        let named = format!("the report cannot be written to {}: ", folder.display());
        assert!(refused.starts_with(&named), "{refused}");
        assert!(report::make(None).is_ok());
        assert!(report::make(Some(&temporary.path().join("a/b"))).is_ok());
    }
}
