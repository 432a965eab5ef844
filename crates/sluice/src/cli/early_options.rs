//! Options in front of the verb, where Hydra takes them too: `hydra -c hydra.yml serve all`, `hydra -e URL list clients`.

use std::ffi::OsString;

/// Those that have a value.
const WITH_VALUE: &[&str] = &["-c", "--config", "-e", "--endpoint", "--format"];
/// Those that may stand alone.
const FLAGS: &[&str] = &["-q", "--quiet"];

/// The arguments, the name of the program first, with such options behind the verb.
pub(super) fn behind_the_verb(mut arguments: Vec<OsString>) -> Vec<OsString> {
    let mut verb = 1;
    while let Some(length) = arguments.get(verb).and_then(|argument| length(argument.to_str()?)) {
        verb += length;
    }
    if let Some(front) = arguments.get_mut(1..=verb) {
        front.rotate_right(1);
    }
    arguments
}

/// Of how many arguments the option consists, if it is one of these.
fn length(argument: &str) -> Option<usize> {
    let name = argument.split('=').next().unwrap_or_default();
    if WITH_VALUE.contains(&name) {
        return Some(if name == argument { 2 } else { 1 });
    }
    FLAGS.contains(&name).then_some(1)
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::*;

    #[test]
    fn what_stands_in_front_of_the_verb_is_put_behind_it() {
        for (line, expected) in [
            ("hydra -c a.yml serve all", "hydra serve -c a.yml all"),
            ("hydra --config=a.yml migrate sql up", "hydra migrate --config=a.yml sql up"),
            ("hydra -q list clients", "hydra list -q clients"),
            ("hydra -e http://h --format json list clients", "hydra list -e http://h --format json clients"),
            ("hydra list -q clients", "hydra list -q clients"),
            ("hydra --dev serve all", "hydra --dev serve all"),
            ("hydra -c a.yml", "hydra -c a.yml"),
            ("hydra -c", "hydra -c"),
            ("hydra", "hydra"),
            ("", ""),
        ] {
            let put = behind_the_verb(line.split_whitespace().map(OsString::from).collect());
            assert_eq!(put.join(OsStr::new(" ")), OsString::from(expected), "{line}");
        }
    }
}
