//! What people call a browser, from what it calls itself.

use sluice_oauth::config::PageLanguage;

/// In this order: most browsers call themselves by the names of others as well.
const BROWSERS: [(&str, &str); 9] = [
    ("Edg/", "Edge"),
    ("OPR/", "Opera"),
    ("SamsungBrowser/", "Samsung Internet"),
    ("Firefox/", "Firefox"),
    ("FxiOS/", "Firefox"),
    ("CriOS/", "Chrome"),
    ("Chrome/", "Chrome"),
    ("Safari/", "Safari"),
    ("curl/", "curl"),
];
const SYSTEMS: [(&str, &str); 7] = [
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Android", "Android"),
    ("CrOS", "ChromeOS"),
    ("Windows", "Windows"),
    ("Mac OS X", "macOS"),
    ("Linux", "Linux"),
];
/// How much of an unknown name is shown, in characters.
const SHOWN: usize = 80;

/// What people call it: `Firefox on Linux`.
pub(super) fn device_name(agent: &str, language: &PageLanguage) -> String {
    let known = |names: &[(&str, &'static str)]| {
        names.iter().find(|(mark, _)| agent.contains(mark)).map(|(_, name)| *name)
    };
    match (known(&BROWSERS), known(&SYSTEMS)) {
        (Some(browser), Some(system)) => language.fill("{browser} on {system}", &[&browser, &system]),
        (Some(browser), None) => browser.to_owned(),
        (None, Some(system)) => language.fill("A program on {system}", &[&system]),
        (None, None) if agent.trim().is_empty() => language.say("Unknown device").to_owned(),
        (None, None) => agent.chars().take(SHOWN).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_browser_is_called_what_people_call_it() {
        let engine = "AppleWebKit/605.1.15 (KHTML, like Gecko)";
        for (agent, name) in [
            ("Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0", "Firefox on Linux"),
            (
                &format!(
                    "Mozilla/5.0 (Windows NT 10.0; Win64) {engine} Chrome/138.0.0.0 Safari/537.36 Edg/138.0"
                ),
                "Edge on Windows",
            ),
            (
                &format!(
                    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) {engine} Mobile/15 Safari/604"
                ),
                "Safari on iPhone",
            ),
            ("curl/8.5.0", "curl"),
            ("my-program/1", "my-program/1"),
            ("", "Unknown device"),
        ] {
            assert_eq!(device_name(agent, &PageLanguage::ENGLISH), name);
        }
        assert_eq!(device_name(&"x".repeat(500), &PageLanguage::ENGLISH).len(), SHOWN);
    }
}
