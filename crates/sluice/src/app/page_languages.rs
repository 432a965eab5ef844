//! The languages of the built-in pages: those that come along, and the files of a folder, one for each language.

use std::ffi::OsStr;
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::{fs, io};

use sluice_http::translations::{self, Remark, Translation};
use sluice_oauth::config::{Language, Languages};

use super::look::content;

/// More than a file has that says everything.
const LARGEST_FILE_KIB: u64 = 1024;

/// What the pages can be told in.
#[derive(Debug)]
pub(crate) struct PageLanguages {
    pub(crate) languages: Languages,
    /// What is odd about the files, but can be.
    pub(crate) warnings: Vec<String>,
}

/// The languages that come along and those of this folder, whose files add to them in the order of their names.
///
/// # Errors
/// All that is wrong with the files.
pub(crate) fn page_languages(folder: Option<&Path>) -> Result<PageLanguages, Vec<String>> {
    let mut languages: Vec<Language> = translations::built_in_languages().collect();
    let (mut warnings, mut problems) = (Vec::new(), Vec::new());
    if let Some(folder) = folder {
        let files = files(folder).map_err(|problem| vec![problem])?;
        if files.is_empty() {
            warnings.push(about(folder, "has no file whose name ends in .yaml"));
        }
        for path in files {
            match read(&path) {
                Ok(Translation { language, unknown }) => {
                    languages.push(language);
                    warnings.extend(unknown.iter().map(|remark| about(&path, remark)));
                }
                Err(wrong) => problems.extend(wrong.into_iter().map(|problem| about(&path, problem))),
            }
        }
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    Ok(PageLanguages { languages: Languages::new(languages), warnings })
}

fn about(path: &Path, what: impl Display) -> String {
    format!("{}: {what}", path.display())
}

/// The files of the folder with words, sorted. What is hidden is somebody else's, and so are files of other kinds.
fn files(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let unreadable = |error: io::Error| about(folder, format!("cannot be read: {error}"));
    let entries = fs::read_dir(folder).map_err(unreadable)?;
    let paths: Result<Vec<PathBuf>, _> = entries.map(|entry| entry.map(|entry| entry.path())).collect();
    let mut files = paths.map_err(unreadable)?;
    files.retain(|path| {
        let is_hidden = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        !is_hidden && path.extension().is_some_and(|end| end == "yaml" || end == "yml")
    });
    files.sort();
    Ok(files)
}

fn read(path: &Path) -> Result<Translation, Vec<String>> {
    let tag = path.file_stem().and_then(OsStr::to_str).unwrap_or_default();
    if !translations::is_tag(tag) {
        return Err(vec!["is not named by the tag of a language, such as pt-BR.yaml".to_owned()]);
    }
    let bytes = content(path, LARGEST_FILE_KIB).map_err(|problem| vec![problem])?;
    let Ok(text) = str::from_utf8(&bytes) else { return Err(vec!["is not in UTF-8".to_owned()]) };
    translations::read(tag, text).map_err(|wrong| wrong.iter().map(Remark::to_string).collect())
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    /// What is made of a folder with these files.
    fn of_files(files: &[(&str, &str)]) -> (TempDir, Result<PageLanguages, Vec<String>>) {
        let folder = TempDir::new().unwrap();
        for (name, content) in files {
            fs::write(folder.path().join(name), content).unwrap();
        }
        let languages = page_languages(Some(folder.path()));
        (folder, languages)
    }

    #[test]
    fn a_folder_adds_languages_and_words_to_those_that_come_along() {
        let files = [
            ("de.yaml", "\"Sign in\": \"Einloggen\"\n"),
            ("pt-BR.yml", "\"Sign in\": \"Entrar\"\n\"Sing out\": \"Sair\"\n"),
            (".de.yaml", "what an editor left"),
            ("README.md", "Ours."),
        ];
        let (folder, made) = of_files(&files);
        let made = made.unwrap();
        assert_eq!(made.languages.tags().collect::<Vec<_>>(), ["en", "de", "fr", "pt-BR"]);
        let german = made.languages.find("de").unwrap();
        assert_eq!(german.words_for("Sign in"), Some("Einloggen"));
        assert_eq!(german.words_for("Sign out"), Some("Abmelden"), "of those that come along");
        let portuguese = made.languages.find("pt-br").unwrap();
        assert_eq!(portuguese.words_for("Sign in"), Some("Entrar"));
        let place = folder.path().join("pt-BR.yml");
        let warning = format!("{}: line 2: there is no message with these words: Sing out", place.display());
        assert_eq!(made.warnings, [warning]);
    }

    #[test]
    fn all_that_is_wrong_with_a_folder_is_told_with_its_file() {
        let files = [
            ("german.old.yaml", ""),
            ("it.yaml", "\"Sign in\": \"Entra {ora}\"\nHelp: Aiuto\n"),
            ("de.yaml", ""),
        ];
        let (folder, refused) = of_files(&files);
        let at = |name: &str| folder.path().join(name).display().to_string();
        let expected = [
            format!("{}: is not named by the tag of a language, such as pt-BR.yaml", at("german.old.yaml")),
            format!(
                "{}: line 1: the message has no place and the translation {{ora}}: Sign in",
                at("it.yaml")
            ),
            format!("{}: line 2: is no `\"message\": \"translation\"` in double quotes", at("it.yaml")),
        ];
        assert_eq!(refused.unwrap_err(), expected);
        let nowhere = page_languages(Some(Path::new("/nowhere/at/all"))).unwrap_err();
        assert!(nowhere.iter().all(|one| one.starts_with("/nowhere/at/all: cannot be read: No such")));
        let folder = TempDir::new().unwrap();
        fs::write(folder.path().join("de.yaml"), b"\xff").unwrap();
        let refused = page_languages(Some(folder.path())).unwrap_err();
        assert_eq!(refused, [format!("{}: is not in UTF-8", folder.path().join("de.yaml").display())]);
    }

    #[test]
    fn a_folder_without_words_is_odd_and_none_is_not() {
        let (folder, made) = of_files(&[("de.json", "{}")]);
        let expected = format!("{}: has no file whose name ends in .yaml", folder.path().display());
        assert_eq!(made.unwrap().warnings, [expected]);
        assert!(page_languages(None).unwrap().warnings.is_empty());
    }
}
