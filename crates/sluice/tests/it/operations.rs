//! What `docs/operations.md` quotes of the log is what the program says.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;

const PAGE: &str = include_str!("../../../../docs/operations.md");

/// The rows of the table below a heading, each as its cells.
fn rows(heading: &str) -> Vec<Vec<&'static str>> {
    let (_, section) = PAGE.split_once(heading).unwrap_or_else(|| panic!("no {heading:?}"));
    let section = section.split("\n## ").next().unwrap();
    let rows = section.lines().filter(|line| line.starts_with("| ")).skip(1);
    rows.map(|row| row.trim_matches('|').split(" | ").collect()).collect()
}

/// How commands begin.
const COMMANDS: [&str; 8] =
    ["sluice ", "curl ", "systemctl ", "kubectl ", "ulimit ", "ls ", "df ", "SELECT "];

/// What databases and operating systems say.
const SAID_BY_OTHERS: [&str; 10] = [
    "canceling statement due to statement timeout (57014)",
    "disk I/O error: Error code 778",
    "unable to open database file: Error code 14",
    "attempt to write a readonly database",
    "Out of memory",
    "Read-only file system",
    "Permission denied",
    "No space left on device",
    "Too many open files",
    "Disk quota exceeded",
];

/// What a cell quotes of the program: all that is set as code, has more than one word and is no command.
fn sentences(cell: &'static str) -> impl Iterator<Item = &'static str> {
    let quoted = cell.split('`').skip(1).step_by(2).filter(|text| text.contains(' '));
    let is_command = |text: &str| COMMANDS.iter().any(|command| text.starts_with(command));
    quoted.filter(move |text| !is_command(text) && !SAID_BY_OTHERS.contains(text))
}

/// The source of all crates, without comments and tests; literals that go on in the next line are in one.
fn source() -> String {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut text = String::new();
    for entry in fs::read_dir(crates).unwrap() {
        let directory = entry.unwrap().path().join("src");
        if directory.is_dir() {
            read(&directory, &mut text);
        }
    }
    text
}

fn read(directory: &Path, text: &mut String) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.file_stem() == Some(OsStr::new("tests")) {
            continue;
        }
        if path.is_dir() {
            read(&path, text);
        } else if path.extension() == Some(OsStr::new("rs")) {
            let file = fs::read_to_string(&path).unwrap();
            let lines = file.lines().map(str::trim).filter(|line| !line.starts_with("//"));
            for line in lines {
                match line.strip_suffix('\\') {
                    Some(goes_on) => text.push_str(goes_on),
                    None => text.extend([line, "\n"]),
                }
            }
        }
    }
}

/// Whether the source says it: in parts, where one error tells of another, and with a last word that is filled in.
fn says(source: &str, sentence: &str) -> bool {
    sentence.split(": ").all(|part| {
        let filled_in = part.rsplit_once(' ').map(|(first, _)| format!("\"{first} {{"));
        source.contains(part) || filled_in.is_some_and(|literal| source.contains(&literal))
    })
}

#[test]
fn the_operations_page_quotes_what_the_program_says() {
    let source = source();
    let at_night = rows("\n## At three in the morning\n");
    let at_night = at_night.iter().flat_map(|cells| cells[..2].iter().copied());
    let audit = rows("\n### The audit trail\n");
    let audit = audit.iter().map(|cells| cells[1]);
    let quoted: Vec<_> = at_night.chain(audit).flat_map(sentences).collect();
    assert!(quoted.len() > 60, "{}", quoted.len());
    let unsaid: Vec<_> = quoted.into_iter().filter(|sentence| !says(&source, sentence)).collect();
    assert!(unsaid.is_empty(), "docs/operations.md quotes what nothing says: {unsaid:#?}");
}

/// A log that is left is replayed into the copy.
#[test]
fn a_restore_by_hand_takes_all_files_of_the_database_away() {
    let (_, item) = PAGE.split_once("\n- **To restore:**").unwrap();
    let item = item.split("\n- **").next().unwrap();
    for file in ["`sluice.db`", "`sluice.db-wal`", "`sluice.db-shm`", "`sluice.db-journal`"] {
        assert!(item.contains(file), "{file}");
    }
    assert!(!PAGE.contains(".backup copy.db"), "it does not end beside a server at work");
}
