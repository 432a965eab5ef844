//! `sluice version`.

use clap::Args;
use serde_json::json;

use super::output::{Answer, OutputArgs};

/// Commit and time are known if the build was told them.
const COMMIT: &str = match option_env!("SLUICE_GIT_HASH") {
    Some(commit) => commit,
    None => "unknown",
};
const TIME: &str = match option_env!("SLUICE_BUILD_TIME") {
    Some(time) => time,
    None => "unknown",
};

/// Prints the version.
#[derive(Debug, Clone, Args)]
pub(crate) struct VersionCommand {
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// What `sluice version` prints for people, but for the last line feed, as Hydra lays it out.
pub(crate) fn version() -> String {
    format!("Version:    v{}\nGit Hash:   {COMMIT}\nBuild Time: {TIME}", crate::VERSION)
}

/// The same for programs.
pub(crate) fn version_answer() -> Answer {
    let cells = [crate::VERSION, COMMIT, TIME].map(str::to_owned).to_vec();
    let json = json!({ "version": crate::VERSION, "git_hash": COMMIT, "build_time": TIME });
    Answer::one(&["VERSION", "GIT HASH", "BUILD TIME"], cells, json)
}
