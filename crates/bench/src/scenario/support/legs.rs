//! The legs of a login with an application for logins, which is played here over Hydra's admin API.

use super::field;
use crate::driver::{Agent, Ask, Failure, Origin, path_and_query};

/// What the application for logins says.
pub(super) struct Accepting<'a> {
    pub(super) login: &'a str,
    pub(super) consent: &'a str,
}

/// Seven requests, from the authorization endpoint to the callback.
pub(super) async fn accepted(agent: &mut Agent, start: &str, with: Accepting<'_>) -> Result<String, Failure> {
    let page = visit(agent, start, "authorization").await?;
    let verifier = accept(agent, &LOGIN, &page, with.login).await?;
    let page = visit(agent, path_and_query(&verifier), "login verifier").await?;
    let verifier = accept(agent, &CONSENT, &page, with.consent).await?;
    visit(agent, path_and_query(&verifier), "consent verifier").await
}

/// Whether the application for logins is told to skip: the browser is signed in. Nothing is accepted.
pub(super) async fn is_skipped(agent: &mut Agent, start: &str) -> Result<bool, Failure> {
    let Leg { challenge: name, path, asking, .. } = LOGIN;
    let page = visit(agent, start, "authorization").await?;
    let challenge = raw_query_value(&page, name).ok_or_else(|| {
        agent.explain(&page, Failure::Incomplete { step: asking, missing: "the challenge" })
    })?;
    let ask = format!("{path}?{name}={challenge}");
    let answer = agent.send(&Ask::get(Origin::Admin, &ask)).await?.expect(200, asking)?;
    let request: serde_json::Value = serde_json::from_slice(answer.body())
        .map_err(|_| answer.explain(Failure::Incomplete { step: asking, missing: "JSON" }))?;
    Ok(request.get("skip").and_then(serde_json::Value::as_bool).unwrap_or_default())
}

/// What a page of an application for logins asks the admin API.
struct Leg {
    challenge: &'static str,
    path: &'static str,
    asking: &'static str,
    accepting: &'static str,
}

const LOGIN: Leg = Leg {
    challenge: "login_challenge",
    path: "/admin/oauth2/auth/requests/login",
    asking: "login request",
    accepting: "login acceptance",
};

const CONSENT: Leg = Leg {
    challenge: "consent_challenge",
    path: "/admin/oauth2/auth/requests/consent",
    asking: "consent request",
    accepting: "consent acceptance",
};

async fn accept(agent: &mut Agent, leg: &Leg, page: &str, body: &str) -> Result<String, Failure> {
    let Leg { challenge: name, path, asking, accepting } = leg;
    let challenge = raw_query_value(page, name)
        .ok_or_else(|| agent.explain(page, Failure::Incomplete { step: asking, missing: "the challenge" }))?;
    let ask = format!("{path}?{name}={challenge}");
    let answer = agent.send(&Ask::get(Origin::Admin, &ask)).await?.expect(200, asking)?;
    if field::CHALLENGE.count(answer.body()) == 0 {
        return Err(Failure::Incomplete { step: asking, missing: "challenge" });
    }
    let ask = format!("{path}/accept?{name}={challenge}");
    let answer = agent.send(&Ask::json("PUT", Origin::Admin, &ask, body)).await?.expect(200, accepting)?;
    Ok(field::REDIRECT_TO.required(&answer, accepting)?.into_owned())
}

async fn visit(agent: &mut Agent, path: &str, step: &'static str) -> Result<String, Failure> {
    let answer = agent.send(&Ask::get(Origin::Public, path).as_browser()).await?;
    Ok(answer.redirect(step)?.to_owned())
}

/// A value of a query as it stands there: it goes into another query or form.
pub(super) fn raw_query_value<'a>(url: &'a str, name: &str) -> Option<&'a str> {
    let query = url.split_once('?')?.1;
    let query = query.split_once('#').map_or(query, |(query, _)| query);
    query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_a_query_are_taken_as_they_stand() {
        let url = "http://c/callback?code=ory_ac_a%2Bb.c&scope=openid+x&state=s#code=other";
        assert_eq!(raw_query_value(url, "code"), Some("ory_ac_a%2Bb.c"));
        assert_eq!(raw_query_value(url, "state"), Some("s"));
        assert_eq!(raw_query_value(url, "cod"), None);
        assert_eq!(raw_query_value("http://c/callback", "code"), None);
    }
}
