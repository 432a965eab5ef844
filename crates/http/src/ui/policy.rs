//! What a page may load, and where its form may lead (Content Security Policy Level 3).

use sluice_oauth::Config;
use url::{Host, Url};

/// The policy of one page: its own style sheet, icon and, if it has one, the script, and nothing else, in no frame.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Policy {
    form_targets: Vec<String>,
    scripted: bool,
}

impl Policy {
    /// A page without a form.
    pub(super) fn no_form() -> Self {
        Self::default()
    }

    /// A page whose form is posted to this server. Browsers hold `form-action` also against redirects: those to the
    /// configured error page are the only ones that a form is answered with.
    pub(super) fn form(config: &Config) -> Self {
        let error = config.pages.error.as_ref().map(source);
        let form_targets = std::iter::once("'self'".to_owned()).chain(error).collect();
        Self { form_targets, ..Self::default() }
    }

    /// The same page with the script, which may start itself once more as a worker.
    pub(super) fn with_script(self) -> Self {
        Self { scripted: true, ..self }
    }

    /// The value of the header.
    pub(super) fn header(&self) -> String {
        let targets =
            if self.form_targets.is_empty() { "'none'".to_owned() } else { self.form_targets.join(" ") };
        let script = if self.scripted { " script-src 'self'; worker-src 'self';" } else { "" };
        format!(
            "default-src 'none'; style-src 'self'; img-src 'self';{script} base-uri 'none'; frame-ancestors 'none'; form-action {targets}"
        )
    }
}

/// What names the origin of `url` in a policy. The grammar (CSP3 §2.3.1) knows no IPv6 addresses, and a host may hold
/// what would end the directive: then, as for the schemes of native applications, the scheme alone.
pub(crate) fn source(url: &Url) -> String {
    let scheme = url.scheme();
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.');
    let host = match url.host() {
        Some(Host::Domain(host)) if matches!(scheme, "http" | "https") && host.chars().all(plain) => {
            host.to_owned()
        }
        Some(Host::Ipv4(address)) => address.to_string(),
        Some(Host::Domain(_) | Host::Ipv6(_)) | None => return format!("{scheme}:"),
    };
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    format!("{scheme}://{host}{port}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source_of(url: &str) -> String {
        source(&url.parse().unwrap())
    }

    #[test]
    fn a_source_is_the_origin_of_the_address() {
        assert_eq!(source_of("https://App.Example/cb?x=1"), "https://app.example");
        assert_eq!(source_of("http://localhost:4446/cb"), "http://localhost:4446");
        assert_eq!(source_of("https://app.example:443/"), "https://app.example");
        assert_eq!(source_of("https://bücher.example/"), "https://xn--bcher-kva.example");
        assert_eq!(source_of("http://127.0.0.1:53112/cb"), "http://127.0.0.1:53112");
    }

    #[test]
    fn what_has_no_origin_in_the_grammar_is_named_by_its_scheme() {
        assert_eq!(source_of("myapp:/cb"), "myapp:");
        assert_eq!(source_of("com.example.app://callback"), "com.example.app:");
        assert_eq!(source_of("http://[::1]:5000/cb"), "http:");
    }

    #[test]
    fn no_host_can_end_the_directive() {
        for url in
            ["https://a;script-src/", "https://a,b/", "https://*/", "https://a_b.example/", "x://a;b c/"]
        {
            let Ok(url) = url.parse() else { continue };
            let source = source(&url);
            assert!(source.ends_with(':') && !source.contains([';', ',', ' ', '*']), "{source}");
        }
    }

    #[test]
    fn a_page_without_a_form_allows_none() {
        let header = Policy::no_form().header();
        assert!(
            header.contains("form-action 'none'") && header.starts_with("default-src 'none'"),
            "{header}"
        );
    }
}
