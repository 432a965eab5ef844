//! The look that operators give the built-in pages: files that are read, and tried, when a node starts, and links.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use sluice_oauth::config::{Languages, Look, PageFile, PageLink};
use tracing::warn;
use url::Url;

use super::page_languages::{PageLanguages, page_languages};
use super::stores::StartError;
use crate::config::{IdentitySettings, LookSettings};

const LARGEST_STYLESHEET_KIB: u64 = 256;
const LARGEST_LOGO_KIB: u64 = 1024;

/// What is configured. The files are kept as they are now, until the node is started again.
///
/// # Errors
/// [`StartError::Setting`] if a file cannot be read, is too large, or is not what it should be.
pub(super) fn look(own: &IdentitySettings) -> Result<Look, StartError> {
    let LookSettings { stylesheet, logo, .. } = &own.look;
    Ok(Look {
        stylesheet: file("identity.pages.stylesheet", stylesheet.as_deref(), read_stylesheet)?,
        logo: file("identity.pages.logo", logo.as_deref(), read_logo)?,
        links: links(own),
        languages: languages(&own.look)?,
    })
}

/// The languages, with those of a folder if one is configured. What is odd about its files is logged, and keeps no node from starting.
fn languages(own: &LookSettings) -> Result<Languages, StartError> {
    match page_languages(own.translations.as_deref()) {
        Ok(PageLanguages { languages, warnings }) => {
            for warning in warnings {
                warn!(reason = %warning, "a translation of the pages is not used");
            }
            Ok(languages)
        }
        Err(problems) => {
            let (key, reason) = ("identity.pages.translations", problems.join("; "));
            Err(StartError::Setting { key, reason })
        }
    }
}

/// The file of a key that has one, read so.
fn file(
    key: &'static str,
    path: Option<&Path>,
    read: fn(&Path) -> Result<PageFile, String>,
) -> Result<Option<PageFile>, StartError> {
    let Some(path) = path else { return Ok(None) };
    let refused =
        |reason: String| StartError::Setting { key, reason: format!("{} {reason}", path.display()) };
    read(path).map(Some).map_err(refused)
}

fn read_stylesheet(path: &Path) -> Result<PageFile, String> {
    let content = content(path, LARGEST_STYLESHEET_KIB)?;
    if str::from_utf8(&content).is_err() {
        return Err("is no style sheet: it is not in UTF-8".to_owned());
    }
    Ok(PageFile::new("text/css; charset=utf-8", &content))
}

/// A picture is what both its name and its first bytes say: it is sent as that, and browsers do not guess.
fn read_logo(path: &Path) -> Result<PageFile, String> {
    let content = content(path, LARGEST_LOGO_KIB)?;
    let extension = path.extension().and_then(OsStr::to_str).unwrap_or_default().to_ascii_lowercase();
    let (media_type, is_such) = match extension.as_str() {
        "svg" => ("image/svg+xml", is_svg(&content)),
        "png" => ("image/png", content.starts_with(b"\x89PNG\r\n\x1a\n")),
        "jpg" | "jpeg" => ("image/jpeg", content.starts_with(b"\xff\xd8\xff")),
        "webp" => ("image/webp", is_webp(&content)),
        _ => return Err("has a name that ends in none of .svg, .png, .jpg, .jpeg and .webp".to_owned()),
    };
    if !is_such {
        return Err(format!("does not begin as a picture of the type {media_type} does"));
    }
    Ok(PageFile::new(media_type, &content))
}

fn is_svg(content: &[u8]) -> bool {
    let text = str::from_utf8(content).unwrap_or_default().trim_start_matches('\u{feff}').trim_start();
    text.starts_with('<') && text.contains("<svg")
}

/// A container of the RIFF kind, its length between the two marks.
fn is_webp(content: &[u8]) -> bool {
    content.starts_with(b"RIFF") && content.get(8..).is_some_and(|rest| rest.starts_with(b"WEBP"))
}

/// What is in the file, if it is no larger than so many KiB.
pub(super) fn content(path: &Path, most_kib: u64) -> Result<Vec<u8>, String> {
    let unreadable = |error: io::Error| format!("cannot be read: {error}");
    let mut file = File::open(path).map_err(unreadable)?.take(most_kib * 1024 + 1);
    let mut content = Vec::new();
    file.read_to_end(&mut content).map_err(unreadable)?;
    // The one byte more was there.
    if file.limit() == 0 {
        return Err(format!("is larger than {most_kib} KiB"));
    }
    Ok(content)
}

fn links(own: &IdentitySettings) -> Vec<PageLink> {
    let LookSettings { privacy, terms, imprint, .. } = &own.look;
    let page = |url: &Option<Url>| url.as_ref().map(Url::to_string);
    let links = [
        ("Help", own.support.as_deref().map(help)),
        ("Privacy", page(privacy)),
        ("Terms", page(terms)),
        ("Imprint", page(imprint)),
    ];
    links.into_iter().filter_map(|(label, url)| url.map(|url| PageLink { label, url })).collect()
}

/// Where help is: what is no URL is a mail address.
fn help(support: &str) -> String {
    Url::parse(support).map_or_else(|_| format!("mailto:{support}"), String::from)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use tempfile::TempDir;

    use super::*;
    use crate::config::{Mode, Sources, load};

    /// What is made of these settings, below `identity`.
    fn look_of(settings: &[(&str, &str)]) -> Result<Look, String> {
        let own = |(key, value): &(&str, &str)| (format!("identity.{key}"), (*value).to_owned());
        let sources = Sources {
            files: Vec::new(),
            environment: Vec::new(),
            overrides: settings.iter().map(own).collect(),
            mode: Mode::Development,
            data_dir: PathBuf::from("/var/lib/sluice"),
        };
        let settings = load(&sources).unwrap_or_else(|error| panic!("{error}")).settings;
        look(&settings.identity).map_err(|error| error.to_string())
    }

    /// What is made of a file of this name and content as the setting.
    fn look_with(key: &str, name: &str, content: &[u8]) -> Result<Look, String> {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        look_of(&[(key, path.to_str().unwrap())])
    }

    #[test]
    fn a_style_sheet_is_kept_as_it_is_if_it_is_a_text_that_is_not_too_large() {
        let with = |content: &[u8]| look_with("pages.stylesheet", "theme.css", content);
        let kept = with(b":root { --accent: #123456 }").unwrap().stylesheet.unwrap();
        assert_eq!(&*kept.content(), b":root { --accent: #123456 }");
        assert_eq!(kept.media_type(), "text/css; charset=utf-8");
        assert!(with(&vec![b' '; 256 * 1024]).is_ok());
        let refused = with(&vec![b' '; 256 * 1024 + 1]).unwrap_err();
        assert!(refused.starts_with("the setting identity.pages.stylesheet: "), "{refused}");
        assert!(refused.ends_with("theme.css is larger than 256 KiB"), "{refused}");
        let refused = with(b"\xff\xfe:\0").unwrap_err();
        assert!(refused.ends_with("theme.css is no style sheet: it is not in UTF-8"), "{refused}");
    }

    #[test]
    fn a_logo_is_a_picture_by_its_name_and_by_its_first_bytes() {
        const SVG: &[u8] =
            b"\xef\xbb\xbf<?xml version=\"1.0\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\"/>";
        let pictures: [(&str, &str, &[u8]); 5] = [
            ("logo.svg", "image/svg+xml", SVG),
            ("LOGO.PNG", "image/png", b"\x89PNG\r\n\x1a\n..."),
            ("logo.jpg", "image/jpeg", b"\xff\xd8\xff\xe0..."),
            ("logo.jpeg", "image/jpeg", b"\xff\xd8\xff\xe0..."),
            ("logo.webp", "image/webp", b"RIFF\x24\0\0\0WEBPVP8 "),
        ];
        for (name, media_type, content) in pictures {
            let logo = look_with("pages.logo", name, content).unwrap().logo.unwrap();
            assert_eq!((logo.media_type(), &*logo.content()), (media_type, content));
            let refused = look_with("pages.logo", name, b"RIFF\x24\0\0\0WAVEfmt ").unwrap_err();
            let expected = format!("{name} does not begin as a picture of the type {media_type} does");
            assert!(refused.ends_with(&expected), "{refused}");
        }
        for name in ["logo.gif", "logo"] {
            let refused = look_with("pages.logo", name, SVG).unwrap_err();
            let expected =
                format!("{name} has a name that ends in none of .svg, .png, .jpg, .jpeg and .webp");
            assert!(refused.ends_with(&expected), "{refused}");
        }
    }

    #[test]
    fn a_file_that_cannot_be_read_is_named_with_its_setting() {
        for key in ["pages.stylesheet", "pages.logo"] {
            let refused = look_of(&[(key, "/nowhere/at/all.svg")]).unwrap_err();
            let expected = format!("the setting identity.{key}: /nowhere/at/all.svg cannot be read: No such");
            assert!(refused.starts_with(&expected), "{refused}");
        }
    }

    #[test]
    fn pages_link_to_what_is_configured_in_one_order() {
        assert!(look_of(&[]).unwrap().links.is_empty());
        let settings = [
            ("pages.imprint_url", "https://example.com/imprint"),
            ("pages.terms_url", "https://example.com/terms"),
            ("pages.privacy_url", "https://example.com/privacy"),
            ("support", "help@example.com"),
        ];
        let links = look_of(&settings).unwrap().links;
        let said: Vec<_> = links.iter().map(|link| (link.label, link.url.as_str(), link.is_page())).collect();
        let expected = [
            ("Help", "mailto:help@example.com", false),
            ("Privacy", "https://example.com/privacy", true),
            ("Terms", "https://example.com/terms", true),
            ("Imprint", "https://example.com/imprint", true),
        ];
        assert_eq!(said, expected);
        let links = look_of(&[("support", "https://example.com/help?from=login")]).unwrap().links;
        assert_eq!(
            links,
            [PageLink { label: "Help", url: "https://example.com/help?from=login".to_owned() }]
        );
    }
}
