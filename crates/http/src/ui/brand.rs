//! What all pages have: the name of the service, and how they look.

use sluice_oauth::Config;
use sluice_oauth::config::PageLink;

use super::icon::icon;
use super::look::{logo, theme};
use super::stylesheet::stylesheet;

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
}

/// What stands around the pages of this server.
pub(crate) fn brand(config: &Config) -> Brand {
    Brand {
        service: config.pages.service_name.clone(),
        stylesheet: stylesheet(config),
        icon: icon(config),
        theme: theme(config),
        logo: logo(config),
        links: config.pages.look.links.clone(),
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
    };
}

impl Default for &Brand {
    fn default() -> Self {
        static NONE: Brand = Brand::NONE;
        &NONE
    }
}
