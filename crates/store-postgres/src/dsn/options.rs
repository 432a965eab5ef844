//! What the `options` of a DSN set, as the server reads them.

/// The `search_path` that these options set last, if they do.
pub(super) fn search_path(options: &str) -> Option<String> {
    let (mut words, mut found) = (words(options).into_iter(), None);
    while let Some(word) = words.next() {
        let setting = match word.strip_prefix("--").or_else(|| word.strip_prefix("-c")) {
            Some("") => words.next(),
            other => other.map(str::to_owned),
        };
        let setting = setting.as_deref().and_then(|setting| setting.split_once('='));
        if let Some((_, value)) = setting.filter(|(name, _)| is_search_path(name)) {
            found = Some(value.to_owned());
        }
    }
    found
}

/// Whether two lists name the same schemas in the same order.
pub(crate) fn is_same_list(one: &str, other: &str) -> bool {
    let names = |list: &str| list.replace('"', "").split(',').map(|name| name.trim().to_owned()).collect();
    let (one, other): (Vec<String>, Vec<String>) = (names(one), names(other));
    one == other
}

fn is_search_path(name: &str) -> bool {
    name.replace('-', "_").eq_ignore_ascii_case("search_path")
}

/// The words of a command line, in which a backslash makes any character a part of its word.
fn words(options: &str) -> Vec<String> {
    let (mut words, mut word, mut is_quoted) = (Vec::new(), String::new(), false);
    for character in options.chars() {
        match character {
            _ if is_quoted => {
                word.push(character);
                is_quoted = false;
            }
            '\\' => is_quoted = true,
            _ if character.is_ascii_whitespace() => words.push(std::mem::take(&mut word)),
            _ => word.push(character),
        }
    }
    words.push(word);
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_search_path_is_read_in_every_way_in_which_options_set_it() {
        for (options, expected) in [
            ("-c search_path=sluice", Some("sluice")),
            ("-csearch_path=sluice", Some("sluice")),
            ("--search_path=sluice", Some("sluice")),
            ("--search-path=sluice", Some("sluice")),
            ("-c jit=off  -c Search_Path=one,\\ two -c work_mem=8MB", Some("one, two")),
            ("-c search_path=one -c search_path=two", Some("two")),
            ("-c statement_timeout=5000", None),
            ("-c", None),
            ("", None),
        ] {
            assert_eq!(search_path(options).as_deref(), expected, "{options}");
        }
    }

    #[test]
    fn a_list_is_the_same_however_it_is_written_and_another_in_another_order() {
        assert!(is_same_list("sluice,public", "sluice, \"public\""));
        assert!(!is_same_list("sluice, public", "public, sluice"));
        assert!(!is_same_list("sluice", "\"$user\", public"));
    }
}
