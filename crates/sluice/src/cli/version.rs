//! `sluice version`.

/// What `sluice version` prints, but for the last line feed, as Hydra lays it out. Commit and time are known if the build was told them.
pub(crate) fn version() -> String {
    let commit = option_env!("SLUICE_GIT_HASH").unwrap_or("unknown");
    let time = option_env!("SLUICE_BUILD_TIME").unwrap_or("unknown");
    format!("Version:    v{}\nGit Hash:   {commit}\nBuild Time: {time}", env!("CARGO_PKG_VERSION"))
}
