//! A login through the pages of a server: forms are filled in and sent until the application is reached.

use url::Url;

use super::form::{Form, only_link};
use crate::driver::{Agent, Answer, Ask, Failure, Origin, path_and_query};

/// No login takes more requests.
const MOST_STEPS: usize = 16;
const STEP: &str = "page";

/// What somebody types.
#[derive(Clone)]
pub(crate) struct Credentials {
    pub(crate) name: String,
    pub(crate) password: String,
}

/// Where the next request goes.
enum Next {
    /// Follow a link.
    Get(String),
    /// Send a form.
    Post { path: String, body: String, has_password: bool },
    /// The application.
    Done(String),
}

/// Walks from `start` to the redirect URI; the URL with which it is reached.
pub(crate) async fn walk(
    agent: &mut Agent,
    start: String,
    redirect_uri: &str,
    credentials: &Credentials,
) -> Result<String, Failure> {
    let (mut next, mut knows_password) = (Next::Get(start), false);
    for _ in 0..MOST_STEPS {
        let (path, answer) = match &next {
            Next::Done(_) => break,
            Next::Get(path) => (path, agent.send(&Ask::get(Origin::Public, path).as_browser()).await?),
            Next::Post { path, body, has_password } => {
                if *has_password && knows_password {
                    return Err(Failure::Incomplete {
                        step: "login page",
                        missing: "the way on with this password",
                    });
                }
                knows_password |= has_password;
                (path, agent.send(&Ask::form(Origin::Public, path, body).as_browser()).await?)
            }
        };
        next = after(path, answer, redirect_uri, credentials)?;
    }
    match next {
        Next::Done(url) => Ok(url),
        Next::Get(_) | Next::Post { .. } => {
            Err(Failure::Incomplete { step: STEP, missing: "the way to the application" })
        }
    }
}

/// What a browser does next that got this answer at `path`.
fn after(
    path: &str,
    answer: Answer<'_>,
    redirect_uri: &str,
    credentials: &Credentials,
) -> Result<Next, Failure> {
    let leads = |reference: &str| {
        if reference.starts_with(redirect_uri) {
            Next::Done(reference.to_owned())
        } else {
            Next::Get(resolved(path, reference))
        }
    };
    if answer.status() != 200 {
        return answer.redirect(STEP).map(leads);
    }
    let Some(form) = Form::of(answer.body()) else {
        let link = only_link(answer.body());
        return link.map(|link| leads(&link)).ok_or(Failure::Incomplete { step: STEP, missing: "a form" });
    };
    let body = form.filled_in(&credentials.name, &credentials.password);
    Ok(Next::Post { path: resolved(path, &form.action), body, has_password: form.asks_password })
}

/// The path and query that a reference on a page means (RFC 3986 section 5).
fn resolved(page: &str, reference: &str) -> String {
    if reference.starts_with('/') && !reference.starts_with("//") {
        return reference.to_owned();
    }
    let base = Url::parse("http://server/").and_then(|base| base.join(page));
    let url = base.and_then(|base| base.join(reference));
    url.map_or_else(|_| reference.to_owned(), |url| path_and_query(url.as_str()).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_resolved_as_browsers_do() {
        let page = "/realms/r/login?x=1";
        for (reference, expected) in [
            ("/ui/consent?a=b", "/ui/consent?a=b"),
            ("http://other:1/p?q", "/p?q"),
            ("", "/realms/r/login?x=1"),
            ("?y=2", "/realms/r/login?y=2"),
            ("accept", "/realms/r/accept"),
            ("../up", "/realms/up"),
        ] {
            assert_eq!(resolved(page, reference), expected, "{reference}");
        }
    }
}
