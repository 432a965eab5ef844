//! What all pages have: the name of the service, how they look, and the language that they say things in.

use std::collections::BTreeMap;
use std::fmt::Display;

use sluice_oauth::Config;
use sluice_oauth::config::language::Part;
use sluice_oauth::config::{PageLanguage, PageLink};

use super::icon::icon;
use super::look::{logo, theme};
use super::script::SENTENCES;
use super::stylesheet::stylesheet;
use super::views::Moment;

/// What stands around each page.
#[derive(Debug)]
pub(crate) struct Brand {
    /// What the service is called, by the people who run it.
    pub(crate) service: String,
    /// Where the style sheet is.
    pub(crate) stylesheet: String,
    /// Where the icon is.
    pub(crate) icon: String,
    /// Where a style sheet is that comes after the other, if the people who run the service have one.
    pub(crate) theme: Option<String>,
    /// Where their logo is, if they have one.
    pub(crate) logo: Option<String>,
    /// What they link to.
    pub(crate) links: Vec<PageLink>,
    /// What the page is told in.
    pub(crate) language: PageLanguage,
}

/// What stands around the pages of this server that are told in this language.
pub(super) fn brand(config: &Config, language: &PageLanguage) -> Brand {
    Brand {
        service: config.pages.service_name.clone(),
        stylesheet: stylesheet(config),
        icon: icon(config),
        theme: theme(config),
        logo: logo(config),
        links: config.pages.look.links.clone(),
        language: language.clone(),
    }
}

impl Brand {
    /// Nothing around a page.
    pub(crate) const NONE: Self = Self {
        service: String::new(),
        stylesheet: String::new(),
        icon: String::new(),
        theme: None,
        logo: None,
        links: Vec::new(),
        language: PageLanguage::ENGLISH,
    };

    /// The message with these English words, in the language of the page.
    pub(super) fn say<'a>(&'a self, english: &'a str) -> &'a str {
        self.language.say(english)
    }

    /// The same with this value at its place.
    pub(super) fn fill(&self, english: &str, value: &dyn Display) -> String {
        self.language.fill(english, &[value])
    }

    /// The same with two values, in the order of the English words.
    pub(super) fn fill_two(&self, english: &str, first: &dyn Display, second: &dyn Display) -> String {
        self.language.fill(english, &[first, second])
    }

    /// The same with three.
    pub(super) fn fill_three(
        &self,
        english: &str,
        first: &dyn Display,
        second: &dyn Display,
        third: &dyn Display,
    ) -> String {
        self.language.fill(english, &[first, second, third])
    }

    /// The same in parts, for more at its places than words.
    pub(super) fn parts<'a>(&'a self, english: &'a str) -> Vec<Part<'a>> {
        self.language.parts(english)
    }

    /// What stands before its only place, and behind it.
    pub(super) fn around<'a>(&'a self, english: &'a str) -> (&'a str, &'a str) {
        self.language.around(english)
    }

    /// When something was.
    pub(super) fn moment(&self, moment: &Moment) -> String {
        moment.told_in(&self.language)
    }

    /// What the script says in other words than its own, under those: JSON. None if it says nothing else.
    pub(super) fn words_for_script(&self) -> Option<String> {
        if !self.language.is_translated() {
            return None;
        }
        let words: BTreeMap<&str, &str> =
            SENTENCES.iter().map(|english| (*english, self.say(english))).collect();
        serde_json::to_string(&words).ok()
    }
}

impl Default for &Brand {
    fn default() -> Self {
        static NONE: Brand = Brand::NONE;
        &NONE
    }
}
