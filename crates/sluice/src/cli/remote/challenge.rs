//! `debug challenge`: says what a challenge is, and whether it still works.

use clap::Args;
use reqwest::StatusCode;
use serde_json::{Value, json};
use url::Url;

use super::error::RemoteError;
use super::server::{Reply, Server};
use crate::cli::output::{Answer, text};

const HEADER: &[&str] =
    &["CHALLENGE", "STATE", "CLIENT ID", "CLIENT NAME", "SUBJECT", "SCOPE", "REQUEST URL", "SEND BROWSER TO"];

/// What a challenge can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Login,
    Consent,
    Logout,
}

/// A challenge that somebody is stuck with.
#[derive(Clone, Args)]
pub(crate) struct ChallengeArgs {
    /// The challenge, or the address of the page that was opened with it
    #[arg(value_name = "CHALLENGE", allow_hyphen_values = true)]
    challenge: String,
}

pub(super) async fn debug(args: &ChallengeArgs, server: &Server) -> Result<Answer, RemoteError> {
    let (kinds, challenge) = parse(&args.challenge);
    let mut refusals = Vec::new();
    for kind in kinds {
        let path = ["admin", "oauth2", "auth", "requests", kind.name()];
        let reply = server.try_get(&path, &[(kind.parameter(), &challenge)]).await?;
        match reply.status {
            StatusCode::OK => return Ok(found(kind, "open", reply)),
            StatusCode::GONE => return Ok(found(kind, "expired, or already answered", reply)),
            _ => refusals.push(format!("as a {} challenge: {}", kind.name(), reply.refusal())),
        }
    }
    let verdict = "this is no challenge of this server, or it was damaged on the way".to_owned();
    let refusals = std::iter::once(verdict).chain(refusals).collect();
    let json = json!({ "challenge_type": null, "state": "unknown" });
    Ok(Answer::list(&[], Vec::new(), json).with_failures(refusals))
}

impl Kind {
    const ALL: [Self; 3] = [Self::Login, Self::Consent, Self::Logout];

    fn name(self) -> &'static str {
        match self {
            Self::Login => "login",
            Self::Consent => "consent",
            Self::Logout => "logout",
        }
    }

    fn parameter(self) -> &'static str {
        match self {
            Self::Login => "login_challenge",
            Self::Consent => "consent_challenge",
            Self::Logout => "logout_challenge",
        }
    }
}

/// The challenge, and what it may be: an address says which, a challenge alone does not.
fn parse(given: &str) -> (Vec<Kind>, String) {
    if let Ok(url) = Url::parse(given) {
        for kind in Kind::ALL {
            if let Some((_, challenge)) = url.query_pairs().find(|(name, _)| name == kind.parameter()) {
                return (vec![kind], challenge.into_owned());
            }
        }
    }
    (Kind::ALL.to_vec(), given.trim().to_owned())
}

fn found(kind: Kind, state: &str, reply: Reply) -> Answer {
    let request = reply.json;
    let client = request.get("client").unwrap_or(&Value::Null);
    let cells = vec![
        kind.name().to_owned(),
        state.to_owned(),
        text(client, "client_id"),
        text(client, "client_name"),
        text(&request, "subject"),
        text(&request, "requested_scope"),
        text(&request, "request_url"),
        text(&request, "redirect_to"),
    ];
    let json = json!({ "challenge_type": kind.name(), "state": state, "request": request });
    Answer::one(HEADER, cells, json)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_says_which_challenge_it_holds() {
        let (kinds, challenge) = parse("https://login.example.org/consent?x=1&consent_challenge=abc%2Fd");
        assert_eq!((kinds, challenge.as_str()), (vec![Kind::Consent], "abc/d"));
        assert_eq!(parse(" abc "), (Kind::ALL.to_vec(), "abc".to_owned()));
    }
}
