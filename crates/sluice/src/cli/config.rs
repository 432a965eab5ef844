//! `sluice config`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use sluice_http::translations;
use sluice_oauth::config::Languages;
use sluice_oauth::config::language::ENGLISH;

use super::configuration::ConfigurationArgs;
use super::{Console, Exit};
use crate::app::page_languages;
use crate::config::{Sources, in_force, reference_markdown};

/// What can be asked of the configuration.
#[derive(Debug, Clone, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Print what is in force and where it was set; secrets are redacted
    Show(ConfigurationArgs),
    /// Print the reference of all keys, in Markdown
    Reference,
    /// Check translations of the built-in pages, or print a file to be filled in
    Translations(TranslationsArgs),
}

/// What is asked about translations.
#[derive(Debug, Clone, Args)]
pub(crate) struct TranslationsArgs {
    /// The language whose file is printed, such as pt-BR, with the words that there are
    pub(crate) language: Option<String>,
    /// The folder of `identity.pages.translations`, whose files are checked as a node does when it starts
    #[arg(long, value_name = "DIR")]
    pub(crate) folder: Option<PathBuf>,
}

impl ConfigCommand {
    /// Prints what is asked for.
    pub(crate) fn run(&self, environment: Vec<(OsString, OsString)>, console: &mut Console<'_>) -> Exit {
        match self {
            Self::Reference => console.print(&reference_markdown()),
            Self::Show(args) => show(&args.sources(environment), console),
            Self::Translations(args) => translate(args, console),
        }
    }
}

/// Prints the file of a language, the template without any; or, where a folder is to be checked, how complete its languages are. What
/// is wrong with that is said line by line, and nothing is printed.
fn translate(args: &TranslationsArgs, console: &mut Console<'_>) -> Exit {
    let made = match page_languages(args.folder.as_deref()) {
        Ok(made) => made,
        Err(problems) => {
            for problem in problems {
                console.say(&format!("error: {problem}"));
            }
            return Exit::Failure;
        }
    };
    for warning in &made.warnings {
        console.say(&format!("warning: {warning}"));
    }
    match (&args.language, &args.folder) {
        (None, Some(_)) => console.print(&completeness(&made.languages)),
        (language, _) => {
            let language = language.as_ref().and_then(|tag| made.languages.find(tag));
            console.print(&translations::template(language))
        }
    }
}

/// How much of all messages each language has, but English, which lacks nothing.
fn completeness(languages: &Languages) -> String {
    let all = translations::messages().count();
    let others = languages.tags().filter(|tag| *tag != ENGLISH).filter_map(|tag| languages.find(tag));
    let told = others.map(|language| {
        let own = translations::messages().filter(|message| language.words_for(message).is_some()).count();
        format!("{}: {own} of {all} messages\n", language.tag())
    });
    told.collect()
}

/// Where the configuration is refused, what is set is printed all the same, above the problems: they are few, and it is long.
fn show(sources: &Sources, console: &mut Console<'_>) -> Exit {
    match in_force(sources) {
        Ok((page, warnings)) => {
            console.warn(&warnings);
            console.print(&page)
        }
        Err((error, set)) => {
            console.print(&set);
            console.warn(error.warnings());
            console.say(&error.to_string());
            Exit::Failure
        }
    }
}

#[cfg(test)]
mod tests {
    use sluice_primitives::{OsRng, SystemClock};
    use tempfile::TempDir;

    use super::*;

    /// What the command prints, what it says beside that, and what it ends with.
    fn asked(language: Option<&str>, folder: Option<&TempDir>) -> (String, String, Exit) {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let folder = folder.map(|folder| folder.path().to_owned());
        let args = TranslationsArgs { language: language.map(str::to_owned), folder };
        let variable = |_: &str| -> Option<String> { None };
        let mut console =
            Console { out: &mut out, err: &mut err, variable: &variable, clock: &SystemClock, rng: &OsRng };
        let exit = translate(&args, &mut console);
        (String::from_utf8(out).unwrap(), String::from_utf8(err).unwrap(), exit)
    }

    #[test]
    fn the_file_of_a_language_is_printed_with_the_words_that_there_are() {
        let (template, said, exit) = asked(None, None);
        assert!(template.contains("\n\"Sign in\": \"\"\n") && said.is_empty(), "{template}");
        assert_eq!(exit, Exit::Success);
        assert!(asked(Some("DE"), None).0.contains("\n\"Sign in\": \"Anmelden\"\n"));
        assert_eq!(asked(Some("pt-BR"), None).0, template);
    }

    #[test]
    fn a_folder_is_checked_as_a_node_does() {
        let folder = TempDir::new().unwrap();
        let file = folder.path().join("it.yaml");
        std::fs::write(&file, "\"Sign in\": \"Accedi\"\n\"Sing out\": \"Esci\"\n").unwrap();
        let (told, said, exit) = asked(None, Some(&folder));
        let all = translations::messages().count();
        assert_eq!(
            told,
            format!("de: {all} of {all} messages\nfr: {all} of {all} messages\nit: 1 of {all} messages\n")
        );
        let odd =
            format!("warning: {}: line 2: there is no message with these words: Sing out\n", file.display());
        assert_eq!((said, exit), (odd, Exit::Success));
        assert!(asked(Some("it"), Some(&folder)).0.contains("\n\"Sign in\": \"Accedi\"\n"));
        std::fs::write(&file, "Sign in: Accedi\n").unwrap();
        let (told, said, exit) = asked(Some("it"), Some(&folder));
        let wrong = format!(
            "error: {}: line 1: is no `\"message\": \"translation\"` in double quotes\n",
            file.display()
        );
        assert_eq!((told, said, exit), (String::new(), wrong, Exit::Failure));
    }
}
