//! Access tokens that are made before a run.

use serde::Deserialize;

use super::application::{Application, Wanted, encoded};
use super::{crowd, field};
use crate::driver::{Agent, Answer, Ask, Failure, Origin};
use crate::scenario::{Dialect, TokenFormat};
use crate::target::Target;

const STEP: &str = "token";
pub(crate) const INTROSPECTION: &str = "introspection";

/// An application, and the request that gives it a token of its own.
pub(crate) struct Issuer {
    pub(crate) application: Application,
    form: String,
}

impl Issuer {
    /// Registers the application, or takes the one that is known, and sees that its tokens are of that format, and each another.
    pub(crate) async fn prepared(
        target: &Target,
        dialect: &Dialect,
        format: TokenFormat,
    ) -> Result<Self, Failure> {
        Self::with_scope(target, dialect, format, "read").await
    }

    /// The same, for tokens of that scope; a client that is known has the scope that it has.
    pub(crate) async fn with_scope(
        target: &Target,
        dialect: &Dialect,
        format: TokenFormat,
        scope: &str,
    ) -> Result<Self, Failure> {
        let mut agent = crowd::alone(target);
        let wanted = Wanted { scope, access_token: format, ..Wanted::default() };
        let (application, fields) = match dialect {
            Dialect::Hydra => {
                let application = Application::registered(&mut agent, &wanted).await?;
                (application, vec![("grant_type", "client_credentials"), ("scope", scope)])
            }
            Dialect::Standard(server) => {
                (Application::known(&mut agent, server).await?, vec![("grant_type", "client_credentials")])
            }
        };
        let form = application.form(&fields);
        let issuer = Self { application, form };
        let (token, other) = (issuer.issue(&mut agent).await?, issuer.issue(&mut agent).await?);
        same_format(&token, format)?;
        differ(&token, &other, "access token")?;
        Ok(issuer)
    }

    /// Asks for a token.
    pub(crate) async fn issue(&self, agent: &mut Agent) -> Result<String, Failure> {
        let answer = self.ask(agent).await?;
        Ok(field::ACCESS_TOKEN.required(&answer, STEP)?.into_owned())
    }

    /// Asks for a token, and looks whether there is one.
    pub(crate) async fn check(&self, agent: &mut Agent) -> Result<(), Failure> {
        let answer = self.ask(agent).await?;
        field::ACCESS_TOKEN.required(&answer, STEP).map(drop)
    }

    async fn ask<'a>(&self, agent: &'a mut Agent) -> Result<Answer<'a>, Failure> {
        let places = &self.application.places;
        let answer = self.application.post(agent, &places.token, &self.form).await?.expect(200, STEP)?;
        field::without_error(answer, STEP)
    }

    /// The request that asks what a token says: at Hydra's admin listener nobody has to say who asks.
    pub(crate) fn question(&self, token: &str) -> String {
        match self.application.places.introspected_at {
            Origin::Admin => format!("token={}", encoded(token)),
            Origin::Public | Origin::Gateway => self.application.form(&[("token", token)]),
        }
    }

    /// Sends a [`Self::question`].
    pub(crate) async fn ask_about<'a>(
        &self,
        agent: &'a mut Agent,
        form: &str,
    ) -> Result<Answer<'a>, Failure> {
        let places = &self.application.places;
        let (path, at) = (&places.introspection, places.introspected_at);
        let answer = match at {
            Origin::Admin => agent.send(&Ask::form(at, path, form)).await?,
            Origin::Public | Origin::Gateway => self.application.post_to(agent, at, path, form).await?,
        };
        answer.expect(200, INTROSPECTION)
    }

    /// What a token says.
    pub(crate) async fn introspected(&self, agent: &mut Agent, token: &str) -> Result<Introspected, Failure> {
        self.ask_about(agent, &self.question(token)).await?.json(INTROSPECTION)
    }

    /// So many different tokens.
    pub(crate) async fn stock(&self, target: &Target, count: usize) -> Result<Vec<String>, Failure> {
        crowd::each(target, count, async |agent, _| self.issue(agent).await).await
    }
}

/// What introspection says (RFC 7662 section 2.2), as far as it is looked at.
#[derive(Debug, Deserialize)]
pub(crate) struct Introspected {
    pub(crate) active: bool,
    pub(crate) client_id: Option<String>,
}

/// Whether what was given twice is not the same.
pub(crate) fn differ(one: &str, other: &str, what: &str) -> Result<(), Failure> {
    if one == other {
        return Err(Failure::Setup(format!("the server has given the same {what} twice")));
    }
    Ok(())
}

/// A run says what its tokens look like: that has to be true of a server whose tokens it did not choose.
pub(crate) fn same_format(token: &str, format: TokenFormat) -> Result<(), Failure> {
    let found = if is_jwt(token) { TokenFormat::Jwt } else { TokenFormat::Opaque };
    if found == format {
        return Ok(());
    }
    let found = found.name();
    Err(Failure::Setup(format!(
        "the access tokens of this server are of the format {found}: say --token {found}"
    )))
}

fn is_jwt(token: &str) -> bool {
    token.starts_with("eyJ") && token.split('.').count() == 3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_format_that_was_not_asked_for_is_named() {
        assert!(same_format("eyJhbGciOiJFUzI1NiJ9.e30.c2ln", TokenFormat::Jwt).is_ok());
        assert!(same_format("ory_at_abc.def", TokenFormat::Opaque).is_ok());
        let error = same_format("ory_at_abc.def", TokenFormat::Jwt).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the access tokens of this server are of the format opaque: say --token opaque"
        );
    }
}
