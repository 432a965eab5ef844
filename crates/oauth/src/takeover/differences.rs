//! What goes on otherwise here for a client whose record is as it was: told as it is imported, so that nobody hears of it from its users first.

use sluice_net::FetchPolicy;
use url::Url;

use crate::client::Client;
use crate::config::RequestObjectPolicy;
use crate::subject::differs_from_hydra;

/// Said of a client with subjects of its own.
const ANOTHER_SUBJECT: &str = "its users get another sub at their next login than Hydra gave them, unless the login application says the old one (force_subject_identifier)";
/// Said of one whose request objects are unsigned.
const UNSIGNED: &str = "its request objects are not signed, and such are refused unless oauth2.request_objects.allow_unsigned is set";
/// Said of one whose request objects are to be fetched.
const NOT_FETCHED: &str = "its request_uris are not fetched unless oauth2.request_uris.enabled is set";

/// What of the configuration says how a client goes on.
#[derive(Debug, Clone, Default)]
pub struct Circumstances {
    /// Which request objects are taken.
    pub request_objects: RequestObjectPolicy,
    /// Where this server may ask.
    pub outbound: FetchPolicy,
}

impl Circumstances {
    /// Sentences that say what goes on otherwise here.
    pub(super) fn differences(&self, client: &Client) -> Vec<String> {
        let mut told = Vec::new();
        if differs_from_hydra(client) {
            told.push(ANOTHER_SUBJECT.to_owned());
        }
        let is_unsigned = client.request_object_signing_alg.as_deref() == Some("none");
        if is_unsigned && !self.request_objects.allow_unsigned {
            told.push(UNSIGNED.to_owned());
        }
        if !client.request_uris.is_empty() && !self.request_objects.by_reference {
            told.push(NOT_FETCHED.to_owned());
        }
        told.extend(self.unreachable(client).into_iter().map(|member| {
            format!("requests to its {member} are refused: the address is not public, and clients.http.private_ip_exception_urls does not name it")
        }));
        told
    }

    /// The members whose addresses are not called.
    fn unreachable(&self, client: &Client) -> Vec<&'static str> {
        let is_refused = |url: &Url| self.outbound.refuses_by_its_text(url);
        let mut members = Vec::new();
        if client.jwks_uri.as_ref().is_some_and(|uri| is_refused(uri.url())) {
            members.push("jwks_uri");
        }
        if client.backchannel_logout.as_ref().is_some_and(|uri| is_refused(uri.url())) {
            members.push("backchannel_logout_uri");
        }
        let fetched = client.request_uris.iter().filter(|_| self.request_objects.by_reference);
        if fetched.filter_map(|uri| Url::parse(uri).ok()).any(|uri| is_refused(&uri)) {
            members.push("request_uris");
        }
        members
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::fake::client;

    #[test]
    fn switches_that_are_off_are_told_of_by_their_names() {
        let asking = Client {
            request_uris: vec!["https://10.1.2.3/r".to_owned()],
            request_object_signing_alg: Some("none".to_owned()),
            ..client("web")
        };
        let told = Circumstances::default().differences(&asking);
        assert_eq!(told, [UNSIGNED, NOT_FETCHED]);
        let request_objects = RequestObjectPolicy {
            allow_unsigned: true,
            by_reference: true,
            ..RequestObjectPolicy::default()
        };
        let on = Circumstances { request_objects, ..Circumstances::default() };
        let told = on.differences(&asking);
        assert!(
            told.len() == 1 && told[0].starts_with("requests to its request_uris are refused"),
            "{told:?}"
        );
        assert_eq!(on.differences(&client("web")), [""; 0]);
    }

    #[test]
    fn what_is_at_an_address_that_is_not_called_is_told_of() {
        let inner = Client {
            jwks_uri: Some("http://192.168.1.2/jwks".parse().unwrap()),
            backchannel_logout: Some("http://localhost:5555/logout".parse().unwrap()),
            ..client("web")
        };
        let told = Circumstances::default().differences(&inner).join("\n");
        assert!(
            told.contains("to its jwks_uri are") && told.contains("to its backchannel_logout_uri are"),
            "{told}"
        );
        let anywhere = FetchPolicy { allow_private: true, ..FetchPolicy::default() };
        let anywhere = Circumstances { outbound: anywhere, ..Circumstances::default() };
        assert_eq!(anywhere.differences(&inner), [""; 0]);
        let public =
            Client { jwks_uri: Some("https://web.example.com/jwks".parse().unwrap()), ..client("web") };
        assert_eq!(Circumstances::default().differences(&public), [""; 0]);
    }

    #[test]
    fn subjects_that_change_are_told_of() {
        let pairwise = Client {
            subject_type: "pairwise".to_owned(),
            redirect_uris: vec!["https://web.example.com:8443/cb".parse().unwrap()],
            ..client("web")
        };
        assert_eq!(Circumstances::default().differences(&pairwise), [ANOTHER_SUBJECT]);
    }
}
