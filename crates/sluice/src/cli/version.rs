//! `sluice version`.

/// What `sluice version` prints, but for the last line feed, as Hydra lays it out. The commit is known if the build was told it.
pub(crate) fn version() -> String {
    let commit = option_env!("SLUICE_GIT_HASH").unwrap_or("unknown");
    format!("Version:    v{}\nGit Hash:   {commit}", env!("CARGO_PKG_VERSION"))
}
