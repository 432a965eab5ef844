//! How an answer of the authorization endpoint travels to the client.

use sluice_protocol::{ClientId, RedirectUri, ResponseMode};

use crate::flow::Request;
use crate::query::Query;

/// Where the browser goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Location {
    /// There, by a redirect.
    Redirect(String),
    /// There, by a form that it posts (Form Post Response Mode §2).
    FormPost {
        /// The redirect URI.
        action: String,
        /// The parameters.
        fields: Vec<(String, String)>,
    },
}

/// A trusted redirect URI, and what goes with every answer to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResponseTarget {
    /// To whom.
    pub client: ClientId,
    /// Where.
    pub redirect_uri: RedirectUri,
    /// How.
    pub mode: ResponseMode,
    /// What the client gets back unchanged.
    pub state: Option<String>,
}

impl ResponseTarget {
    /// The target of a flow's answer.
    pub fn of(request: &Request) -> Self {
        Self {
            client: request.client.clone(),
            redirect_uri: request.redirect_uri.clone(),
            mode: request.response_mode,
            state: request.state.clone(),
        }
    }

    /// Answers with these parameters, `state` and, if it is to be told, `iss` (RFC 9207), unsigned.
    pub(super) fn respond(&self, parameters: &[(&str, &str)], issuer: Option<&str>) -> Location {
        self.carry(self.with_state(parameters).chain(issuer.map(|issuer| ("iss", issuer))))
    }

    /// These parameters and `state`.
    pub(super) fn with_state<'a>(
        &'a self,
        parameters: &'a [(&'a str, &'a str)],
    ) -> impl Iterator<Item = (&'a str, &'a str)> {
        parameters.iter().copied().chain(self.state.as_deref().map(|state| ("state", state)))
    }

    /// These parameters and no others, as the mode says.
    pub(super) fn carry<'a>(&self, parameters: impl IntoIterator<Item = (&'a str, &'a str)>) -> Location {
        if self.mode.signed(false) == ResponseMode::FormPost {
            let fields = parameters.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned()));
            return Location::FormPost { action: self.redirect_uri.to_string(), fields: fields.collect() };
        }
        let encoded = Query::from_iter(parameters).into_string();
        let uri = self.redirect_uri.as_str();
        let joint = match self.mode.signed(false) {
            ResponseMode::Fragment => "#",
            _ if uri.ends_with('?') || uri.ends_with('&') => "",
            _ if uri.contains('?') => "&",
            _ => "?",
        };
        Location::Redirect([uri, joint, &encoded].concat())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(uri: &str, mode: ResponseMode) -> ResponseTarget {
        ResponseTarget {
            client: "app".parse().unwrap(),
            redirect_uri: uri.parse().unwrap(),
            mode,
            state: Some("a b".into()),
        }
    }

    #[test]
    fn an_answer_keeps_the_query_of_the_redirect_uri() {
        let target = target("https://a.example/cb?x=1", ResponseMode::Query);
        let answer = target.respond(&[("code", "c")], Some("https://i/"));
        let expected = "https://a.example/cb?x=1&code=c&state=a%20b&iss=https%3A%2F%2Fi%2F";
        assert_eq!(answer, Location::Redirect(expected.into()));
    }

    #[test]
    fn an_answer_can_travel_in_the_fragment() {
        let target = target("https://a.example/cb?x=1", ResponseMode::Fragment);
        let answer = target.respond(&[("code", "c")], Some("i"));
        assert_eq!(answer, Location::Redirect("https://a.example/cb?x=1#code=c&state=a%20b&iss=i".into()));
    }
}
