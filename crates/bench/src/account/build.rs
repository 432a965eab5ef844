//! How a program was built, where what built it has written that beside it (`bench/builds.sh`).

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// Behind the name of the program.
const SUFFIX: &str = ".build.json";
/// So many bytes of a program are read at a time.
const PIECE: usize = 64 * 1024;

/// How a program was built.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Build {
    /// Of which commit, if that was known.
    pub commit: Option<String>,
    /// What was built one after the other; the last is the program.
    pub builds: Vec<Step>,
}

/// One of several builds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// What it is called.
    pub name: String,
    /// How long it took.
    pub seconds: u64,
    /// Whether nothing had been built before.
    pub cold: bool,
}

/// What is written beside a program.
#[derive(Deserialize)]
struct Written {
    /// Of the program, in hexadecimal: another that was built later in the same place is not the one that is told of.
    sha256: String,
    #[serde(flatten)]
    build: Build,
}

impl Build {
    /// What is known of this program.
    pub fn of(program: &Path) -> Option<Self> {
        let name = program.file_name()?.to_str()?;
        let written = fs::read(program.with_file_name(format!("{name}{SUFFIX}"))).ok()?;
        let Written { sha256, build } = serde_json::from_slice(&written).ok()?;
        (digest(program).ok()? == sha256).then_some(build)
    }

    /// How long each build took, in words.
    pub fn took(&self) -> String {
        let step = |Step { name, seconds, cold }: &Step| {
            let time = humantime::format_duration(Duration::from_secs(*seconds));
            format!("{name} {time} ({})", if *cold { "cold" } else { "of what had changed" })
        };
        self.builds.iter().map(step).collect::<Vec<_>>().join(", ")
    }
}

fn digest(program: &Path) -> io::Result<String> {
    let (mut file, mut hash, mut piece) = (File::open(program)?, Sha256::new(), vec![0; PIECE]);
    loop {
        let read = file.read(&mut piece)?;
        match piece.get(..read) {
            Some([]) | None => break,
            Some(bytes) => hash.update(bytes),
        }
    }
    Ok(hash.finalize().iter().fold(String::new(), |mut text, byte| {
        // Into a text that always works.
        let _ = write!(text, "{byte:02x}");
        text
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of "abc" (FIPS 180-4, example).
    const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    fn known(program: &str, written: &str) -> Option<Build> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sluice");
        fs::write(&path, program).unwrap();
        fs::write(folder.path().join("sluice.build.json"), written).unwrap();
        Build::of(&path)
    }

    fn written(commit: &str) -> String {
        format!(
            r#"{{"sha256": "{ABC}", "commit": {commit}, "builds": [
              {{"name": "trained", "seconds": 432, "cold": true}}, {{"name": "optimised", "seconds": 61, "cold": false}}]}}"#
        )
    }

    #[test]
    fn what_is_written_beside_a_program_is_told() {
        let build = known("abc", &written(r#""3f2a""#)).unwrap();
        assert_eq!(build.commit.as_deref(), Some("3f2a"));
        assert_eq!(build.took(), "trained 7m 12s (cold), optimised 1m 1s (of what had changed)");
        assert_eq!(known("abc", &written("null")).unwrap().commit, None);
    }

    #[test]
    fn of_a_program_that_was_built_later_nothing_is_known() {
        assert_eq!(known("abd", &written("null")), None);
        assert_eq!(known("abc", "{"), None);
        assert_eq!(Build::of(Path::new("/nowhere/sluice")), None);
    }
}
