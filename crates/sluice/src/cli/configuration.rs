//! Flags that say where the configuration comes from.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;

use super::value::{self, KeyValue, Unrepeated};
use crate::config::{Mode, Sources};

/// The directory that is Sluice's below the user's data directory.
const DIRECTORY: &str = "sluice";

/// Where the configuration comes from, as given on the command line.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct ConfigurationArgs {
    /// A YAML file of the configuration; later files win
    #[arg(
        short = 'c',
        long = "config",
        value_name = "FILE",
        value_delimiter = ',',
        global = true,
        help_heading = "Configuration"
    )]
    pub(crate) files: Vec<PathBuf>,
    /// Sets a key of the configuration, over files and environment
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = Unrepeated(value::key_value), global = true, help_heading = "Configuration")]
    pub(crate) overrides: Vec<KeyValue>,
    /// Development mode: plain http, a SQLite file and secrets of its own. Never in production
    #[arg(long = "dev", global = true, help_heading = "Configuration")]
    pub(crate) is_development: bool,
    /// Where development mode keeps its files [default: sluice in your data directory]
    #[arg(long, value_name = "DIR", global = true, help_heading = "Configuration")]
    pub(crate) data_dir: Option<PathBuf>,
}

impl ConfigurationArgs {
    /// Where to read the configuration from, in this environment.
    pub(crate) fn sources(&self, environment: Vec<(OsString, OsString)>) -> Sources {
        let data_dir = self.data_dir.clone().unwrap_or_else(|| default_data_dir(&environment));
        Sources {
            files: self.files.clone(),
            environment,
            overrides: self.overrides.iter().map(|pair| (pair.key.clone(), pair.value.clone())).collect(),
            mode: if self.is_development { Mode::Development } else { Mode::Production },
            data_dir,
        }
    }
}

/// `$XDG_DATA_HOME/sluice`, else `~/.local/share/sluice`, else `sluice` right here.
fn default_data_dir(environment: &[(OsString, OsString)]) -> PathBuf {
    let directory = |variable: &str| {
        let (_, value) = environment.iter().find(|(name, value)| name == variable && !value.is_empty())?;
        Some(PathBuf::from(value))
    };
    let base = directory("XDG_DATA_HOME").or_else(|| Some(directory("HOME")?.join(".local/share")));
    base.unwrap_or_default().join(DIRECTORY)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(pairs: &[(&str, &str)]) -> Vec<(OsString, OsString)> {
        pairs.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect()
    }

    #[test]
    fn development_keeps_its_files_in_the_users_data_directory() {
        let args = ConfigurationArgs::default();
        let at = |pairs: &[(&str, &str)]| args.sources(environment(pairs)).data_dir;
        assert_eq!(at(&[("HOME", "/home/ada"), ("XDG_DATA_HOME", "/data")]), PathBuf::from("/data/sluice"));
        assert_eq!(at(&[("HOME", "/home/ada")]), PathBuf::from("/home/ada/.local/share/sluice"));
        assert_eq!(at(&[]), PathBuf::from("sluice"));
    }
}
