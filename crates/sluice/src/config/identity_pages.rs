//! `identity.pages`: a look and languages of one's own for the built-in pages, and what they link to.

use std::path::PathBuf;

use url::Url;

use super::key::{Key, Kind};
use super::reader::Reader;

pub(super) const KEYS: &[Key] = &[
    Key::own(
        "stylesheet",
        Kind::Path,
        "A style sheet that the built-in pages load after their own, for other colours and letters (`docs/identity/pages.md`); in UTF-8, \
         256 KiB at most.",
    ),
    Key::own(
        "logo",
        Kind::Path,
        "A picture that the built-in pages show in the place of Sluice's mark: `.svg`, `.png`, `.jpg`, `.jpeg` or `.webp`, 1 MiB at most.",
    ),
    Key::own(
        "translations",
        Kind::Path,
        "A folder with files such as `pt-BR.yaml`: what the built-in pages say in that language (`docs/identity/pages.md`). German and French \
         come along; their files add to that. `sluice config translations` prints a template.",
    ),
    Key::own("privacy_url", Kind::Url, "Your privacy policy, which the built-in pages link to."),
    Key::own("terms_url", Kind::Url, "Your terms, which the built-in pages link to."),
    Key::own("imprint_url", Kind::Url, "Who runs this service, which the built-in pages link to."),
];

/// How the built-in pages look, what they say, and what they link to. Default: as built in, and nothing.
#[derive(Debug, Clone)]
pub(crate) struct LookSettings {
    /// Loaded after the built-in one.
    pub(crate) stylesheet: Option<PathBuf>,
    /// A picture in the place of the built-in mark.
    pub(crate) logo: Option<PathBuf>,
    /// A folder with words of other languages.
    pub(crate) translations: Option<PathBuf>,
    pub(crate) privacy: Option<Url>,
    pub(crate) terms: Option<Url>,
    pub(crate) imprint: Option<Url>,
}

/// Reads the section.
pub(super) fn read(reader: &mut Reader<'_>) -> LookSettings {
    LookSettings {
        stylesheet: reader.path("identity.pages.stylesheet"),
        logo: reader.path("identity.pages.logo"),
        translations: reader.path("identity.pages.translations"),
        privacy: reader.url("identity.pages.privacy_url"),
        terms: reader.url("identity.pages.terms_url"),
        imprint: reader.url("identity.pages.imprint_url"),
    }
}
