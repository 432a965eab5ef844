//! How long a source file may be: 600 lines, its tests not counted.

use std::path::Path;

/// The most lines a file may have without its tests.
const MOST_LINES: usize = 600;

/// What is wrong with the length of this file, or nothing. Files that hold only tests may be of any length.
pub(crate) fn complaint(path: &Path, source: &str) -> Option<String> {
    if holds_only_tests(path) {
        return None;
    }
    let lines = lines_without_tests(source);
    (lines > MOST_LINES).then(|| {
        format!("{} has {lines} lines without its tests, {MOST_LINES} are the most: split it", path.display())
    })
}

fn holds_only_tests(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == "tests.rs")
        || path.components().any(|part| part.as_os_str() == "tests")
}

/// Lines up to the inline test module, which is the last item of a file.
fn lines_without_tests(source: &str) -> usize {
    let lines: Vec<&str> = source.lines().collect();
    lines
        .windows(2)
        .position(|pair| {
            matches!(pair, [attribute, item]
                if attribute.starts_with("#[cfg(test)]") && item.starts_with("mod ") && item.ends_with('{'))
        })
        .unwrap_or(lines.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn six_hundred_lines_pass_and_one_more_does_not() {
        let path = Path::new("crates/oauth/src/flow.rs");
        assert_eq!(complaint(path, &"x\n".repeat(600)), None);
        let found = complaint(path, &"x\n".repeat(601)).unwrap();
        assert!(found.starts_with("crates/oauth/src/flow.rs has 601 lines"), "{found}");
    }

    #[test]
    fn tests_are_not_counted() {
        let long = "x\n".repeat(900);
        assert_eq!(complaint(Path::new("crates/oauth/src/flow/tests.rs"), &long), None);
        assert_eq!(complaint(Path::new("crates/oauth/tests/it/flow.rs"), &long), None);
        let inline = format!("{}#[cfg(test)]\nmod tests {{\n{long}}}\n", "x\n".repeat(600));
        assert_eq!(complaint(Path::new("crates/oauth/src/flow.rs"), &inline), None);
    }
}
