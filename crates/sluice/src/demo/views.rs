//! Views of the example application that `sluice demo` runs: one struct per file in `templates/`, plain data only.
//!
//! [`HomePage`]: signed out, or signed in with a [`SignedIn`]. [`AppErrorPage`]: what went wrong on the way.
//!
//! The pages show tokens because that is what they are for. Every value is escaped by the template.

use askama::Template;

/// The only page there is: a sign-in link, or everything the application knows about who signed in.
#[derive(Template)]
#[template(path = "home.html")]
pub(crate) struct HomePage<'a> {
    pub(crate) stylesheet: &'a str,
    pub(crate) icon: &'a str,
    /// Where the wordmark links to.
    pub(crate) home_url: &'a str,
    /// The authorization server.
    pub(crate) issuer: &'a str,
    /// Starts a flow; a GET that redirects to the authorization endpoint.
    pub(crate) sign_in_url: &'a str,
    /// Where "Refresh tokens" posts to, with `csrf`.
    pub(crate) refresh_action: &'a str,
    /// Where "Sign out" posts to, with `csrf`.
    pub(crate) sign_out_action: &'a str,
    pub(crate) csrf: &'a str,
    /// What just happened: "You are signed out."
    pub(crate) notice: Option<&'a str>,
    /// `None` shows the sign-in page.
    pub(crate) user: Option<SignedIn<'a>>,
}

/// Who signed in, and the tokens that came of it.
pub(crate) struct SignedIn<'a> {
    /// Name, e-mail or subject: the first that is known.
    pub(crate) display_name: &'a str,
    pub(crate) subject: &'a str,
    /// As received: three base64url parts.
    pub(crate) id_token: &'a str,
    /// Decoded, as indented JSON.
    pub(crate) id_token_header: &'a str,
    /// Decoded, as indented JSON.
    pub(crate) id_token_payload: &'a str,
    pub(crate) access_token: &'a str,
    /// `None` unless offline access was granted.
    pub(crate) refresh_token: Option<&'a str>,
    /// The granted scope, one entry per value.
    pub(crate) scopes: Vec<&'a str>,
    /// When the access token expires, as a sentence says it: "in 59 minutes".
    pub(crate) expires: &'a str,
    /// The answer of the userinfo endpoint, as indented JSON.
    pub(crate) userinfo: &'a str,
}

impl SignedIn<'_> {
    /// The letter in the round badge.
    fn initial(&self) -> String {
        let letter = self.display_name.chars().find(|letter| letter.is_alphanumeric());
        letter.map_or_else(String::new, |letter| letter.to_uppercase().collect())
    }
}

/// A failed sign-in, refresh or sign-out.
#[derive(Template)]
#[template(path = "app_error.html")]
pub(crate) struct AppErrorPage<'a> {
    pub(crate) stylesheet: &'a str,
    pub(crate) icon: &'a str,
    pub(crate) home_url: &'a str,
    pub(crate) title: &'a str,
    pub(crate) sentence: &'a str,
    /// The `error` parameter or field of the server's answer.
    pub(crate) error_code: Option<&'a str>,
    /// The `error_description` that came with it.
    pub(crate) error_description: Option<&'a str>,
}
