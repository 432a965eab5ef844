//! The languages of the built-in pages: [`Language`], which of them somebody reads ([`Languages`]), and how a page speaks in one of
//! them ([`PageLanguage`]).
//!
//! A message is named by its English words, which stand in wherever a language has none of its own. What changes within it has a place
//! in it, `{client}`. The values come in the order of the English words, and go where the words of the language want them.

use std::collections::HashMap;
use std::fmt::{self, Display, Write as _};
use std::sync::Arc;

/// The language of the pages as they are written.
pub const ENGLISH: &str = "en";
/// Languages, and scripts, that are written from right to left.
const RIGHT_TO_LEFT: [&str; 11] = ["ar", "ckb", "dv", "fa", "he", "ks", "ps", "sd", "ug", "ur", "yi"];
const SCRIPTS_RIGHT_TO_LEFT: [&str; 7] = ["adlm", "arab", "hebr", "nkoo", "rohg", "syrc", "thaa"];
/// How many tags are looked for: the dearest ones come first.
const MOST_RANGES: usize = 32;
/// The longest tag that is looked for, in bytes: it is cut shorter step by step.
const LONGEST_RANGE: usize = 64;

/// A language that built-in pages are told in.
#[derive(Clone, PartialEq, Eq)]
pub struct Language {
    tag: String,
    messages: HashMap<String, String>,
}

impl Language {
    /// The language with this tag (RFC 5646), whose words stand under the English ones. Each must have the same places as those.
    pub fn new(tag: impl Into<String>, messages: HashMap<String, String>) -> Self {
        Self { tag: tag.into(), messages }
    }

    /// Its tag.
    pub fn tag(&self) -> &str {
        &self.tag
    }

    /// Whether it is the one of this tag: letters may be small or capital (RFC 5646 §2.1.1).
    pub fn is(&self, tag: &str) -> bool {
        self.tag.eq_ignore_ascii_case(tag)
    }

    /// Its words for the message with these English ones, if it has any.
    pub fn words_for(&self, english: &str) -> Option<&str> {
        self.messages.get(english).map(String::as_str)
    }

    /// The same language, with these words in the place of its own.
    #[must_use]
    pub fn with(mut self, other: Self) -> Self {
        self.messages.extend(other.messages);
        self
    }
}

impl fmt::Debug for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { tag, messages } = self;
        f.debug_struct("Language").field("tag", tag).field("messages", &messages.len()).finish()
    }
}

/// The languages that there are beside English. If `en` is one of them, it has other words in the place of some of the English ones.
#[derive(Debug, Clone, Default)]
pub struct Languages(Vec<Arc<Language>>);

impl Languages {
    /// These languages. Of those with the same tag the later one adds its words to the former one.
    pub fn new(languages: impl IntoIterator<Item = Language>) -> Self {
        let mut kept: Vec<Language> = Vec::new();
        for language in languages {
            match kept.iter().position(|known| known.is(language.tag())) {
                Some(place) => {
                    let known = kept.remove(place);
                    kept.insert(place, known.with(language));
                }
                None => kept.push(language),
            }
        }
        Self(kept.into_iter().map(Arc::new).collect())
    }

    /// The tags of all languages, English first.
    pub fn tags(&self) -> impl Iterator<Item = &str> {
        let others = self.0.iter().map(|language| language.tag());
        std::iter::once(ENGLISH).chain(others.filter(|tag| !tag.eq_ignore_ascii_case(ENGLISH)))
    }

    /// The language of this tag, if it has words of its own.
    pub fn find(&self, tag: &str) -> Option<&Language> {
        self.0.iter().find(|language| language.is(tag)).map(|language| &**language)
    }

    /// English.
    pub fn english(&self) -> PageLanguage {
        self.named(ENGLISH).unwrap_or_default()
    }

    /// The language that somebody wants who names these, the best one first: each is looked for, then cut shorter until it is found
    /// (RFC 4647 §3.4). None if none of them is there.
    pub fn wanted<'a>(&self, ranges: impl IntoIterator<Item = &'a str>) -> Option<PageLanguage> {
        ranges
            .into_iter()
            .take(MOST_RANGES)
            .filter(|range| range.len() <= LONGEST_RANGE)
            .find_map(|range| self.looked_up(range))
    }

    fn looked_up(&self, mut range: &str) -> Option<PageLanguage> {
        loop {
            if let Some(found) = self.named(range) {
                return Some(found);
            }
            (range, _) = range.rsplit_once('-')?;
            // A single letter says what the part after it is about, and nothing without it.
            if let Some((rest, last)) = range.rsplit_once('-')
                && last.len() == 1
            {
                range = rest;
            }
        }
    }

    fn named(&self, tag: &str) -> Option<PageLanguage> {
        let found = self.0.iter().find(|language| language.is(tag)).cloned();
        match found {
            None if tag.eq_ignore_ascii_case(ENGLISH) => Some(PageLanguage::ENGLISH),
            found => found.map(|language| PageLanguage(Some(language))),
        }
    }
}

/// The language that a page is told in. By default English.
#[derive(Debug, Clone, Default)]
pub struct PageLanguage(Option<Arc<Language>>);

impl PageLanguage {
    /// The language of the pages as they are written.
    pub const ENGLISH: Self = Self(None);

    /// Its tag (RFC 5646), as `lang` and `Content-Language` have it.
    pub fn tag(&self) -> &str {
        self.0.as_ref().map_or(ENGLISH, |language| language.tag())
    }

    /// Whether the page has other words than those that it is written with.
    pub const fn is_translated(&self) -> bool {
        self.0.is_some()
    }

    /// Whether it is written from right to left: by its script, or else by what it is.
    pub fn is_right_to_left(&self) -> bool {
        let tag = self.tag().to_ascii_lowercase();
        let mut parts = tag.split('-');
        let language = parts.next().unwrap_or_default();
        match parts.find(|part| part.len() == 4 && part.bytes().all(|byte| byte.is_ascii_alphabetic())) {
            Some(script) => SCRIPTS_RIGHT_TO_LEFT.contains(&script),
            None => RIGHT_TO_LEFT.contains(&language),
        }
    }

    /// The message with these English words. What is no message stays as it is: it was put together before.
    pub fn say<'a>(&'a self, english: &'a str) -> &'a str {
        self.0.as_ref().and_then(|language| language.words_for(english)).unwrap_or(english)
    }

    /// The same with these values at its places, in the order of the English words.
    pub fn fill(&self, english: &str, values: &[&dyn Display]) -> String {
        let mut text = String::with_capacity(english.len() * 2);
        for part in self.parts(english) {
            match part.place.and_then(|place| values.get(place)) {
                Some(value) => {
                    let _ = write!(text, "{value}"); // a String takes whatever is written
                }
                None => text.push_str(part.words),
            }
        }
        text
    }

    /// The same in parts, for a page that has more to show at a place than words.
    pub fn parts<'a>(&'a self, english: &'a str) -> Vec<Part<'a>> {
        let names: Vec<&str> = pieces(english).into_iter().filter_map(Piece::name).collect();
        let part = |piece: Piece<'a>| match piece {
            Piece::Words(words) => Part { words, place: None },
            Piece::Place { name, text } => {
                Part { words: text, place: names.iter().position(|known| *known == name) }
            }
        };
        pieces(self.say(english)).into_iter().map(part).collect()
    }

    /// What stands before the only place of a message, and behind it.
    pub fn around<'a>(&'a self, english: &'a str) -> (&'a str, &'a str) {
        let words = self.say(english);
        let (before, rest) = words.split_once('{').unwrap_or((words, ""));
        (before, rest.split_once('}').map_or("", |(_, after)| after))
    }
}

/// A part of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part<'a> {
    /// The words, if it is no place.
    pub words: &'a str,
    place: Option<usize>,
}

impl Part<'_> {
    /// Whether it is this place of the English words, counted from zero.
    pub fn is_place(&self, place: usize) -> bool {
        self.place == Some(place)
    }
}

/// The names of the places of a message, sorted: those of a translation are the same.
pub fn places(message: &str) -> Vec<&str> {
    let mut names: Vec<&str> = pieces(message).into_iter().filter_map(Piece::name).collect();
    names.sort_unstable();
    names
}

enum Piece<'a> {
    Words(&'a str),
    Place { name: &'a str, text: &'a str },
}

impl<'a> Piece<'a> {
    const fn name(self) -> Option<&'a str> {
        match self {
            Self::Words(_) => None,
            Self::Place { name, .. } => Some(name),
        }
    }
}

fn pieces(message: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut rest = message;
    while let Some((words, from)) = rest.find('{').and_then(|start| rest.split_at_checked(start)) {
        let Some((text, after)) = from.find('}').and_then(|end| from.split_at_checked(end + 1)) else {
            break;
        };
        if !words.is_empty() {
            pieces.push(Piece::Words(words));
        }
        // One brace on each side: `{{client}}` names another place than `{client}` does.
        let name = text.strip_prefix('{').and_then(|text| text.strip_suffix('}')).unwrap_or(text);
        pieces.push(Piece::Place { name, text });
        rest = after;
    }
    if !rest.is_empty() {
        pieces.push(Piece::Words(rest));
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    fn language(tag: &str, messages: &[(&str, &str)]) -> Language {
        let owned = |(english, own): &(&str, &str)| ((*english).to_owned(), (*own).to_owned());
        Language::new(tag, messages.iter().map(owned).collect())
    }

    fn languages() -> Languages {
        Languages::new(["de", "de-CH", "pt-BR", "zh-Hant"].map(|tag| language(tag, &[])))
    }

    #[test]
    fn whoever_names_languages_gets_the_first_that_is_there_if_need_be_a_wider_one() {
        let languages = languages();
        for (ranges, found) in [
            (&["de"][..], Some("de")),
            (&["DE-ch"], Some("de-CH")),
            (&["de-CH-1996"], Some("de-CH")),
            (&["de-AT", "pt-BR"], Some("de")),
            (&["it", "pt-br", "de"], Some("pt-BR")),
            (&["pt"], None),
            (&["pt-PT", "en-GB"], Some("en")),
            (&["zh-Hant-x-own"], Some("zh-Hant")),
            (&["zh-Hant-TW-x-a-b"], Some("zh-Hant")),
            (&["*", "", "-", "x-de"], None),
            (&[], None),
        ] {
            let wanted = languages.wanted(ranges.iter().copied());
            assert_eq!(wanted.as_ref().map(PageLanguage::tag), found, "{ranges:?}");
        }
        let long = format!("de-{}", "a-".repeat(LONGEST_RANGE));
        assert!(languages.wanted([long.as_str()]).is_none());
        let many = |others: usize| languages.wanted(std::iter::repeat_n("it", others).chain(["de"]));
        assert!(many(MOST_RANGES - 1).is_some() && many(MOST_RANGES).is_none());
        assert_eq!(languages.tags().collect::<Vec<_>>(), ["en", "de", "de-CH", "pt-BR", "zh-Hant"]);
    }

    #[test]
    fn what_comes_later_for_a_language_counts_and_what_it_leaves_out_stays() {
        let shipped = language("de", &[("Sign in", "Anmelden"), ("Sign out", "Abmelden")]);
        let own = language("DE", &[("Sign in", "Einloggen")]);
        let languages = Languages::new([shipped, own, language("en", &[("Sign in", "Log in")])]);
        let german = languages.wanted(["de"]).unwrap();
        assert_eq!((german.say("Sign in"), german.say("Sign out")), ("Einloggen", "Abmelden"));
        assert_eq!(german.say("Help"), "Help", "English stands in");
        assert_eq!(languages.english().say("Sign in"), "Log in");
        assert_eq!(languages.tags().collect::<Vec<_>>(), ["en", "de"]);
        assert_eq!(Languages::default().english().say("Sign in"), "Sign in");
    }

    #[test]
    fn values_go_where_the_words_of_a_language_want_them() {
        let english = "From {place} since {time}.";
        let german = Languages::new([language("de", &[(english, "Seit {time} in {place}")])]);
        let german = german.wanted(["de"]).unwrap();
        let values: [&dyn Display; 2] = [&"Bonn", &9];
        assert_eq!(PageLanguage::ENGLISH.fill(english, &values), "From Bonn since 9.");
        assert_eq!(german.fill(english, &values), "Seit 9 in Bonn");
        let parts = german.parts(english);
        let placed: Vec<_> =
            parts.iter().map(|part| (part.words, part.is_place(0), part.is_place(1))).collect();
        assert_eq!(
            placed,
            [
                ("Seit ", false, false),
                ("{time}", false, true),
                (" in ", false, false),
                ("{place}", true, false)
            ]
        );
        assert_eq!(PageLanguage::ENGLISH.around("to {client} now"), ("to ", " now"));
        assert_eq!(places("From {place} since {time}, {place}."), ["place", "place", "time"]);
        assert_ne!(places("to {{client}}"), places("to {client}"));
        assert_eq!(PageLanguage::ENGLISH.fill("a { b", &[]), "a { b");
        assert_eq!(PageLanguage::ENGLISH.fill("{value}", &[&"{value}"]), "{value}", "no value is read");
    }

    #[test]
    fn a_language_is_written_from_right_to_left_by_its_script_or_by_what_it_is() {
        for (tag, is_so) in [
            ("ar", true),
            ("he-IL", true),
            ("FA", true),
            ("de", false),
            ("az-Arab", true),
            ("ar-Latn", false),
        ] {
            let languages = Languages::new([language(tag, &[])]);
            assert_eq!(languages.wanted([tag]).unwrap().is_right_to_left(), is_so, "{tag}");
        }
        assert!(!PageLanguage::ENGLISH.is_right_to_left());
    }
}
