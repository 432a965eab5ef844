//! What it ran on.

use std::path::Path;
use std::process::Command;
use std::thread::available_parallelism;

use procfs::{CpuInfo, Current, Meminfo};

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

/// The version that a program says and its size: name and value.
pub fn program(path: &Path) -> Vec<(String, String)> {
    let said = Command::new(path).arg("version").output().ok().filter(|said| said.status.success());
    let said = said.map(|said| String::from_utf8_lossy(&said.stdout).into_owned());
    let version = said.as_deref().and_then(|said| said.lines().next());
    let version = version.map(|line| line.trim_start_matches("Version:").trim().to_owned());
    let size = path.metadata().ok().map(|file| format!("{:.1} MiB", as_f64(file.len()) / MIB));
    named(&[("program", version), ("size of the program", size)])
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
    fn a_program_that_is_not_there_says_nothing() {
        assert_eq!(program(Path::new("/nowhere/sluice")), []);
    }
}
