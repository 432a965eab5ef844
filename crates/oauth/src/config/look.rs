//! A look of one's own for the built-in pages: [`Look`]. What pages load is a [`PageFile`], and what they link to a [`PageLink`].

use std::fmt::{self, Write as _};
use std::sync::Arc;

use sluice_crypto::digest::sha256;

use super::Languages;

/// What operators put around the built-in pages. By default nothing.
#[derive(Debug, Clone, Default)]
pub struct Look {
    /// Loaded after the built-in style sheet.
    pub stylesheet: Option<PageFile>,
    /// Shown above each page, in the place of the built-in mark.
    pub logo: Option<PageFile>,
    /// Shown below each page, in this order.
    pub links: Vec<PageLink>,
    /// What pages are told in, beside English.
    pub languages: Languages,
}

/// A link below each page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageLink {
    /// What it says.
    pub label: &'static str,
    /// Where it leads: an `http`, `https` or `mailto` URL.
    pub url: String,
}

impl PageLink {
    /// Whether it leads to a page, and not to somebody who is written to.
    pub fn is_page(&self) -> bool {
        !self.url.starts_with("mailto:")
    }
}

/// A file that pages load, built in or not.
#[derive(Clone)]
pub struct PageFile {
    media_type: &'static str,
    content: Arc<[u8]>,
    version: String,
}

impl PageFile {
    /// A file of this type and content.
    pub fn new(media_type: &'static str, content: &[u8]) -> Self {
        let version = sha256(content).iter().take(8).fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}"); // a String takes whatever is written
            text
        });
        Self { media_type, content: Arc::from(content), version }
    }

    /// What `Content-Type` says.
    pub const fn media_type(&self) -> &'static str {
        self.media_type
    }

    /// What is in it.
    pub fn content(&self) -> Arc<[u8]> {
        Arc::clone(&self.content)
    }

    /// The beginning of the hash of the content, in hexadecimal: another content has another one.
    pub fn version(&self) -> &str {
        &self.version
    }
}

impl fmt::Debug for PageFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { media_type, version, .. } = self;
        f.debug_struct("PageFile")
            .field("media_type", media_type)
            .field("version", version)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_content_is_another_version_and_the_same_one_is_not() {
        let version = |content: &str| PageFile::new("text/css", content.as_bytes()).version().to_owned();
        assert_eq!(version("a{}"), version("a{}"));
        assert_ne!(version("a{}"), version("b{}"));
        assert_eq!(version("").len(), 16);
    }

    #[test]
    fn what_is_printed_of_a_file_is_not_its_content() {
        let printed = format!("{:?}", PageFile::new("text/css", b"body"));
        assert!(printed.contains("text/css") && !printed.contains("content"), "{printed}");
    }
}
