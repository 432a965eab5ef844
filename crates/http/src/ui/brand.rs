//! What all pages have: the name of the service, and how they look.

use sluice_oauth::Config;

use super::icon::icon;
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
}

/// What stands around the pages of this server.
pub(crate) fn brand(config: &Config) -> Brand {
    Brand { service: config.pages.service_name.clone(), stylesheet: stylesheet(config), icon: icon(config) }
}

impl Default for &Brand {
    fn default() -> Self {
        static NONE: Brand = Brand { service: String::new(), stylesheet: String::new(), icon: String::new() };
        &NONE
    }
}
