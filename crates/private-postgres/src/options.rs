//! What a cluster is started with.

use std::path::PathBuf;
use std::process::Command;

use crate::programs;

/// `statfs(2)`: this is memory.
const TMPFS: i64 = 0x0102_1994;
/// Set where tests go on for long.
const SOAK: &str = "SOAK_SECONDS";
/// What can be preloaded so that the server keeps account of statements.
const STATEMENTS: &str = "pg_stat_statements";

/// What a cluster is started with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClusterOptions {
    /// Where its folder is made; `$TMPDIR` or `/tmp` by default.
    pub below: PathBuf,
    /// Settings over those that PostgreSQL ships with: name and value, neither with a space.
    pub settings: Vec<(String, String)>,
}

impl ClusterOptions {
    /// Settings as shipped.
    pub fn stock() -> Self {
        Self { below: temporary(), settings: Vec::new() }
    }

    /// For tests, several of which share the cluster: on a disk, and without anybody who tidies up behind their backs, unless
    /// `SOAK_SECONDS` says that they go on for long.
    pub fn of_tests() -> Self {
        let stock = Self { below: disk(), ..Self::stock() };
        let options = stock.with("fsync", "on").with("max_connections", "200");
        if std::env::var_os(SOAK).is_some() { options } else { options.with("autovacuum", "off") }
    }

    /// With another setting.
    #[must_use]
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.settings.push((name.to_owned(), value.to_owned()));
        self
    }

    /// With an account of statements (`pg_stat_statements`), if the extension is installed. Databases have it after
    /// `CREATE EXTENSION`.
    #[must_use]
    pub fn with_statements(self) -> Self {
        if is_installed(STATEMENTS) { self.with("shared_preload_libraries", STATEMENTS) } else { self }
    }

    /// For the command line of the server.
    pub(crate) fn arguments(&self) -> String {
        let settings: Vec<_> =
            self.settings.iter().map(|(name, value)| format!("-c {name}={value}")).collect();
        settings.join(" ")
    }
}

pub(crate) fn temporary() -> PathBuf {
    let named = std::env::var_os("TMPDIR").filter(|folder| !folder.is_empty());
    named.map_or_else(|| PathBuf::from("/tmp"), PathBuf::from)
}

/// A folder for data that is on a disk, not in memory: `$TMPDIR`, `/tmp` or `/var/tmp`.
pub fn disk() -> PathBuf {
    let temporary = temporary();
    let in_memory = rustix::fs::statfs(&temporary).is_ok_and(|found| found.f_type == TMPFS);
    if in_memory { PathBuf::from("/var/tmp") } else { temporary }
}

/// Whether the server that would be started has a library of that name.
pub fn is_installed(library: &str) -> bool {
    let Ok(programs) = programs() else { return false };
    let asked = Command::new(programs.join("pg_config")).arg("--pkglibdir").output();
    let asked = asked.ok().filter(|said| said.status.success());
    // Debian's `pg_config` of a version comes with the development files; the libraries are beside the programs.
    let said = asked.map(|said| PathBuf::from(String::from_utf8_lossy(&said.stdout).trim_end().to_owned()));
    let beside = programs.parent().map(|version| version.join("lib"));
    let file = format!("{library}.so");
    [said, beside].into_iter().flatten().any(|folder| folder.join(&file).exists())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_given_as_options_of_the_server() {
        let options = ClusterOptions::stock().with("fsync", "on").with("work_mem", "8MB");
        assert_eq!(options.arguments(), "-c fsync=on -c work_mem=8MB");
        assert_eq!(ClusterOptions::stock().arguments(), "");
    }

    #[test]
    fn data_of_tests_is_not_in_memory() {
        let found = rustix::fs::statfs(&ClusterOptions::of_tests().below).unwrap();
        assert_ne!(found.f_type, TMPFS);
    }

    #[test]
    fn a_library_that_nobody_has_is_not_installed() {
        assert!(!is_installed("sluice_nobody_has_this"));
    }
}
