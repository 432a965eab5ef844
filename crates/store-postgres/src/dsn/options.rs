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
    names(one) == names(other)
}

/// The names of a list as the server reads them. None of a list that it refuses.
fn names(list: &str) -> Option<Vec<String>> {
    let (mut names, mut rest) = (Vec::new(), list.trim_ascii());
    if rest.is_empty() {
        return Some(names);
    }
    loop {
        let (name, behind) = match rest.strip_prefix('"') {
            Some(quoted) => quoted_name(quoted)?,
            None => bare_name(rest)?,
        };
        names.push(name);
        match behind.trim_ascii_start() {
            "" => return Some(names),
            behind => rest = behind.strip_prefix(',')?.trim_ascii_start(),
        }
    }
}

/// The name up to a comma or a space, in small letters, and what is behind it.
fn bare_name(list: &str) -> Option<(String, &str)> {
    let is_end = |character: char| character == ',' || character.is_ascii_whitespace();
    let (name, behind) = list.split_at_checked(list.find(is_end).unwrap_or(list.len()))?;
    (!name.is_empty()).then(|| (name.to_ascii_lowercase(), behind))
}

/// The name up to its closing quote, as it is written, and what is behind it. Two quotes are one of the name.
fn quoted_name(list: &str) -> Option<(String, &str)> {
    let (mut name, mut rest) = (String::new(), list);
    loop {
        let (part, behind) = rest.split_once('"')?;
        name.push_str(part);
        let Some(more) = behind.strip_prefix('"') else { return Some((name, behind)) };
        name.push('"');
        rest = more;
    }
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

    #[test]
    fn a_name_in_quotes_keeps_its_letters_and_its_commas() {
        for (one, other, is_same) in [
            ("SL", "sl", true),
            ("SL", "\"sl\"", true),
            ("SL", "\"SL\"", false),
            ("sl", "\"SL\"", false),
            ("\"SL\",public", " \"SL\" , Public", true),
            ("\"a, b\"", "a, b", false),
            ("\"a, b\"", "\"a, b\"", true),
            ("\"a\"\"b\"", "\"ab\"", false),
            ("\"a\"\"b\"", "a\"b", true),
            ("", " ", true),
            ("", "\"\"", false),
            ("a,", "a", false),
            ("\"a", "a", false),
        ] {
            assert_eq!(is_same_list(one, other), is_same, "{one} and {other}");
        }
    }
}
