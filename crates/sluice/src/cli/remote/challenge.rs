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

/// What stands in addresses that lead from such a page back to the server.
const VERIFIERS: [&str; 4] = ["login_verifier", "consent_verifier", "logout_verifier", "device_verifier"];

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

/// Says that a challenge is none only where the server says so of each kind. Any other refusal (401, 503) says nothing about it, and is told instead.
pub(super) async fn debug(args: &ChallengeArgs, server: &Server) -> Result<Answer, RemoteError> {
    let (kinds, challenge) = parse(&args.challenge)?;
    let mut refusals = Vec::new();
    for kind in kinds {
        let path = ["admin", "oauth2", "auth", "requests", kind.name()];
        let reply = server.try_get(&path, &[(kind.parameter(), &challenge)]).await?;
        match reply.status {
            StatusCode::OK => return Ok(found(kind, "open", reply)),
            StatusCode::GONE => return Ok(found(kind, "expired, or already answered", reply)),
            StatusCode::NOT_FOUND => {
                refusals.push(format!("as a {} challenge: {}", kind.name(), reply.refusal()));
            }
            _ => return Err(RemoteError::Refused(reply.refusal())),
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
///
/// # Errors
/// [`RemoteError::Usage`] for the address of a page that was opened without a challenge.
fn parse(given: &str) -> Result<(Vec<Kind>, String), RemoteError> {
    let given = given.trim();
    if let Ok(url) = Url::parse(given) {
        for kind in Kind::ALL {
            if let Some((_, challenge)) = url.query_pairs().find(|(name, _)| name == kind.parameter()) {
                return Ok((vec![kind], challenge.into_owned()));
            }
        }
        if matches!(url.scheme(), "http" | "https") {
            return Err(RemoteError::Usage(without_challenge(&url)));
        }
    }
    Ok((Kind::ALL.to_vec(), given.to_owned()))
}

/// What is said of such an address, which is not repeated.
fn without_challenge(url: &Url) -> String {
    let [login, consent, logout] = Kind::ALL.map(Kind::parameter);
    let missing = format!("the address has no challenge: neither {login} nor {consent} nor {logout}");
    let is_there = |parameter: &str| url.query_pairs().any(|(name, _)| name == parameter);
    match VERIFIERS.into_iter().find(|verifier| is_there(verifier)) {
        Some(verifier) => format!(
            "{missing}; its {verifier} is none: that is the way back from the page, and the challenge is in the address of the page"
        ),
        None => missing,
    }
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
        let address = "https://login.example.org/consent?x=1&consent_challenge=abc%2Fd";
        let (kinds, challenge) = parse(address).unwrap();
        assert_eq!((kinds, challenge.as_str()), (vec![Kind::Consent], "abc/d"));
        assert_eq!(parse(" abc ").unwrap(), (Kind::ALL.to_vec(), "abc".to_owned()));
    }
}
