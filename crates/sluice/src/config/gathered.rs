//! What all layers say, gathered once, for a file may be a pipe: who reads that again finds it empty. The sections read it from here.

use std::ffi::OsString;

use super::error::{ConfigError, Findings};
use super::layers::Layers;
use super::mode::Mode;
use super::reader::{Outcome, Reader};
use super::table::Table;
use super::values::Values;
use super::{Loaded, Sources, derived, read, show};

/// What all layers say, before a section reads it.
pub(crate) struct Gathered {
    pub(super) table: Table,
    pub(super) values: Values,
    pub(super) findings: Findings,
    pub(super) mode: Mode,
}

/// Variables of Hydra 1.0, those that have taken their place, and the keys of both.
const OF_HYDRA_1: [(&str, &str, &str); 2] =
    [("DATABASE_URL", "DSN", "dsn"), ("SYSTEM_SECRET", "SECRETS_SYSTEM", "secrets.system")];

/// Warns of variables that a Hydra read; of those that others set too, where what they say is missing.
fn warn_about_hydras(environment: &[(OsString, OsString)], values: &Values, findings: &mut Findings) {
    if environment.iter().any(|(name, value)| name == "DEV" && value == "true") {
        findings.warn("DEV", "is not read from the environment; `--dev` is for development");
    }
    for (variable, now, key) in OF_HYDRA_1 {
        let is_set = environment.iter().any(|(name, value)| name == variable && !value.is_empty());
        if is_set && !values.is_given(key) {
            findings.warn(variable, format!("is not read: it is `{now}`"));
        }
    }
}

impl Gathered {
    /// Reads all layers. Do it once for each [`Sources`].
    pub(crate) fn of(sources: &Sources) -> Self {
        Self::with(sources, |layers| layers.files(&sources.files))
    }

    /// The same; `files` writes the layer of the files.
    pub(super) fn with(sources: &Sources, files: impl FnOnce(&mut Layers<'_>)) -> Self {
        let table = Table::new();
        let mut layers = Layers { table: &table, values: Values::default(), findings: Findings::default() };
        layers.defaults();
        files(&mut layers);
        layers.environment(&sources.environment);
        layers.overrides(&sources.overrides);
        layers.warn_about_ignored();
        let Layers { mut values, mut findings, .. } = layers;
        let mode = derived::fill(&mut values, &mut findings, sources);
        if !mode.is_development() {
            warn_about_hydras(&sources.environment, &values, &mut findings);
        }
        Self { table, values, findings, mode }
    }

    /// The same where listeners without a certificate are given one at the start: what is made up of the public one is at https.
    pub(crate) fn self_signed(mut self) -> Self {
        derived::move_to_https(&mut self.values, &mut self.findings);
        self
    }

    /// What is set, and where, as far as it can be read; secrets and passwords are redacted.
    pub(super) fn show(&self) -> String {
        show::show(&self.table, &self.values)
    }

    /// Reads every section.
    ///
    /// # Errors
    /// [`ConfigError`] with every problem of every source, so that all can be mended at once.
    pub(crate) fn into_node(self) -> Result<Loaded, ConfigError> {
        let Self { table, mut values, findings, mode } = self;
        let mut reader = Reader::new(&table, &values, findings);
        let settings = read(&mut reader, mode);
        let Outcome { findings, shortened, .. } = reader.into_outcome();
        for (key, longest) in shortened {
            values.correct(&key, longest);
        }
        match settings {
            Some(settings) => Ok(Loaded { settings, warnings: findings.into_warnings()?, table, values }),
            None => Err(findings.into_error()),
        }
    }
}
