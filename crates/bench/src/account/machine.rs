//! What it ran on.

use std::path::Path;
use std::process::Command;
use std::thread::available_parallelism;

use procfs::{CpuInfo, Current, Meminfo};

use super::build::Build;
use crate::number::as_f64;

const GIB: f64 = 1024.0 * 1024.0 * 1024.0;
const MIB: f64 = 1024.0 * 1024.0;

/// Processor, cores, memory, kernel and disk: name and value. What cannot be found out is left out.
pub fn describe() -> Vec<(String, String)> {
    let cores = available_parallelism().map_or_else(|_| "?".to_owned(), |cores| cores.to_string());
    let model = CpuInfo::current().ok().and_then(|cpus| cpus.model_name(0).map(str::to_owned));
    let memory = Meminfo::current().ok().map(|memory| format!("{:.1} GiB", as_f64(memory.mem_total) / GIB));
    let uname = rustix::system::uname();
    let kernel = format!("{} {}", uname.sysname().to_string_lossy(), uname.release().to_string_lossy());
    let processor = model.map(|model| format!("{cores} × {model}")).or(Some(format!("{cores} cores")));
    named(&[("processor", processor), ("memory", memory), ("kernel", Some(kernel))])
}

/// The version that a program says, its size, and how it was built, if that is written beside it: name and value.
pub fn program(path: &Path) -> Vec<(String, String)> {
    let said = Command::new(path).arg("version").output().ok().filter(|said| said.status.success());
    let said = said.map(|said| String::from_utf8_lossy(&said.stdout).into_owned());
    let version = said.as_deref().and_then(|said| said.lines().next());
    let version = version.map(|line| line.trim_start_matches("Version:").trim().to_owned());
    let size = path.metadata().ok().map(|file| format!("{:.1} MiB", as_f64(file.len()) / MIB));
    let build = Build::of(path);
    let commit = build.as_ref().and_then(|build| build.commit.clone());
    let took = build.as_ref().map(Build::took);
    named(&[
        ("program", version),
        ("size of the program", size),
        ("build of the program", took),
        ("commit of the program", commit),
    ])
}

fn named(pairs: &[(&str, Option<String>)]) -> Vec<(String, String)> {
    pairs.iter().filter_map(|(name, value)| Some(((*name).to_owned(), value.clone()?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_has_processors_memory_and_a_kernel() {
        let names: Vec<_> = describe().into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["processor", "memory", "kernel"]);
    }

    #[test]
    fn how_a_program_was_built_is_told_where_it_is_known() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sluice");
        let names = || program(&path).into_iter().map(|(name, _)| name).collect::<Vec<_>>();
        std::fs::write(&path, "").unwrap();
        assert_eq!(names(), ["size of the program"]);
        // The hash of nothing.
        let written = r#"{"sha256": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", "commit": null,
            "builds": [{"name": "release", "seconds": 251, "cold": true}]}"#;
        std::fs::write(folder.path().join("sluice.build.json"), written).unwrap();
        assert_eq!(names(), ["size of the program", "build of the program"]);
        assert_eq!(program(&path)[1].1, "release 4m 11s (cold)");
    }

    #[test]
    fn a_program_that_is_not_there_says_nothing() {
        assert_eq!(program(Path::new("/nowhere/sluice")), []);
    }
}
