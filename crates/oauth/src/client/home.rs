//! Where an application is, and which of its addresses a page may link to.

use sluice_protocol::RedirectUri;
use url::Url;

use super::metadata_document::MetadataDocuments;
use super::model::Client;
use super::registration::web_url;

impl Client {
    /// An address that the client says, if its pages may have it. One that registered itself borrows no trust from what others have
    /// to say: it has people read what is at the one host that it has them sent to. A redirect URI at the host of others costs it nothing.
    pub fn link<'a>(&self, raw: &'a str) -> Option<&'a str> {
        let url = web_url(raw)?;
        (!self.registered_itself || self.has_host_of(&url)).then_some(raw)
    }

    /// Where it says that logins begin (OpenID Connect Core §4), if people may be sent there: they follow it from a page of this server, and
    /// the login app sends them there unasked. Of a client that may say so itself only what is at the one host that it has people sent to anyway,
    /// whoever vouched for the rest: a statement is in each copy of an application, and a document may name the redirect URIs of others.
    pub fn begins_logins_at(&self) -> Option<Url> {
        let url = web_url(self.defaults.initiate_login_uri.as_deref()?)?;
        let is_described = MetadataDocuments::is_address(&self.id);
        let says_so_itself = self.registered_itself || self.registration_token_hash.is_some() || is_described;
        let is_at_its_document =
            || Url::parse(self.id.as_str()).is_ok_and(|document| document.host_str() == url.host_str());
        let is_at_home = self.has_host_of(&url) && (!is_described || is_at_its_document());
        (!says_so_itself || is_at_home).then_some(url)
    }

    fn has_host_of(&self, url: &Url) -> bool {
        let own = self.redirect_uris.iter().filter_map(RedirectUri::url);
        let mut own = own.filter(|own| matches!(own.scheme(), "http" | "https")).peekable();
        own.peek().is_some() && own.all(|own| own.host_str() == url.host_str())
    }
}

/// Where the application is that a browser came from: what it says itself, or else the origin of where the browser was to go.
pub fn home_of(client: Option<&Client>, redirect_uri: Option<&RedirectUri>) -> Option<String> {
    let said = client.and_then(|client| client.link(&client.client_uri)).map(str::to_owned);
    said.or_else(|| origin(redirect_uri?))
}

/// The start page of an application that does not say where it is: there is one at its origin, as a rule.
fn origin(redirect_uri: &RedirectUri) -> Option<String> {
    let url = redirect_uri.url().filter(|url| matches!(url.scheme(), "http" | "https"))?;
    url.join("/").ok().map(Into::into)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::RequestDefaults;
    use crate::client::fake::client;

    #[test]
    fn an_application_on_the_web_is_found_at_its_origin() {
        let origin = |raw: &str| home_of(None, Some(&raw.parse().unwrap()));
        assert_eq!(origin("https://app.example:8443/out?a=b").as_deref(), Some("https://app.example:8443/"));
        assert_eq!(origin("myapp://signed-out"), None);
    }

    fn begins_logins_at(uri: &str, of: Client) -> bool {
        let defaults =
            RequestDefaults { initiate_login_uri: Some(uri.to_owned()), ..RequestDefaults::default() };
        let redirect_uris = vec!["https://app.example/cb".parse().unwrap()];
        Client { redirect_uris, defaults, ..of }.begins_logins_at().is_some()
    }

    #[test]
    fn logins_begin_at_the_host_of_a_client_unless_only_an_administrator_says_where() {
        let managed = Client { registration_token_hash: Some("hash".to_owned()), ..client("managed") };
        for (client, anywhere) in [
            (client("app"), true),
            (Client { registered_itself: true, ..client("stranger") }, false),
            (managed, false),
            (client("https://app.example/client.json"), false),
        ] {
            let id = client.id.clone();
            assert!(begins_logins_at("https://app.example/login", client.clone()), "{id}");
            assert_eq!(begins_logins_at("https://evil.example/login", client.clone()), anywhere, "{id}");
            assert!(!begins_logins_at("javascript:alert(1)", client), "{id}");
        }
    }

    /// Anybody may name the redirect URIs of others in a document.
    #[test]
    fn logins_of_a_client_that_a_document_describes_begin_at_the_host_of_that_too() {
        for uri in ["https://app.example/login", "https://evil.example/login"] {
            assert!(!begins_logins_at(uri, client("https://evil.example/client.json")), "{uri}");
        }
    }

    #[test]
    fn an_application_is_where_it_says_unless_nobody_vouches_for_that() {
        let elsewhere = "https://elsewhere.example/start".to_owned();
        let there = "https://app.example/cb".parse::<RedirectUri>().unwrap();
        let known =
            Client { client_uri: elsewhere.clone(), redirect_uris: vec![there.clone()], ..client("app") };
        assert_eq!(home_of(Some(&known), Some(&there)), Some(elsewhere));
        let stranger = Client { registered_itself: true, ..known };
        assert_eq!(home_of(Some(&stranger), Some(&there)).as_deref(), Some("https://app.example/"));
        let at_home = Client { client_uri: "https://app.example/start".to_owned(), ..stranger };
        assert_eq!(home_of(Some(&at_home), Some(&there)).as_deref(), Some("https://app.example/start"));
    }
}
