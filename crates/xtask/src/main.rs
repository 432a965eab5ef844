//! Chores of the repository, run as `cargo xtask <chore>`.
//!
//! `arrows.rs` says which crate may depend on which, `file_size.rs` how long a file may be. Neither knows where its
//! facts come from: this file reads the workspace and prints what is wrong, one sentence a line.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{env, fs, io};

use cargo_metadata::{DependencyKind, MetadataCommand};

mod arrows;
mod file_size;

use arrows::{Arrow, ArrowKind};

const USAGE: &str = "usage: cargo xtask check-arrows";

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    if arguments != ["check-arrows"] {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    }
    match check_arrows() {
        Ok(complaints) => report(&complaints),
        Err(error) => {
            eprintln!("check-arrows could not look at the workspace: {error}");
            ExitCode::from(2)
        }
    }
}

fn report(complaints: &[String]) -> ExitCode {
    for complaint in complaints {
        eprintln!("error: {complaint}");
    }
    if complaints.is_empty() {
        println!("check-arrows: every dependency points where it may, no file is too long");
        return ExitCode::SUCCESS;
    }
    eprintln!("check-arrows: {} to mend", complaints.len());
    ExitCode::FAILURE
}

fn check_arrows() -> Result<Vec<String>, Box<dyn Error>> {
    let metadata = MetadataCommand::new().no_deps().exec()?;
    let mut arrows = Vec::new();
    let mut members = Vec::new();
    for package in metadata.workspace_packages() {
        members.push(package.name.to_string());
        for dependency in &package.dependencies {
            arrows.push(Arrow {
                from: package.name.to_string(),
                to: dependency.name.clone(),
                kind: match dependency.kind {
                    DependencyKind::Development => ArrowKind::Test,
                    _ => ArrowKind::Code,
                },
            });
        }
    }
    let mut complaints = arrows::complaints(&members, &arrows);
    let root = metadata.workspace_root.as_std_path();
    for path in rust_files(&root.join("crates"))? {
        let shown = path.strip_prefix(root).unwrap_or(&path);
        complaints.extend(file_size::complaint(shown, &fs::read_to_string(&path)?));
    }
    Ok(complaints)
}

/// Every `.rs` file below `folder`, in order, without build output.
fn rust_files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let path = entry.path();
        if entry.file_type()?.is_dir() {
            if path.file_name().is_some_and(|name| name != "target") {
                found.extend(rust_files(&path)?);
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}
