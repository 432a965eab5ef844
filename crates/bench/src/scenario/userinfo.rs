//! Userinfo (OpenID Connect Core 1.0 section 5.3), with tokens of people who logged in before.

use async_trait::async_trait;

use super::introspect::by_turn;
use super::support::code_flow::{CodeFlow, wanted};
use super::support::places::is_published;
use super::support::{application::Wanted, crowd, field, prepared, tokens};
use super::{Dialect, IntrospectOptions, LoginOptions, Scenario, ScopeOptions};
use crate::driver::{Agent, Ask, Failure, Origin};
use crate::target::Target;

const STEP: &str = "userinfo";

pub(super) struct Userinfo {
    dialect: Dialect,
    options: IntrospectOptions,
    login: LoginOptions,
    made: Option<Made>,
}

struct Made {
    path: String,
    /// A header for each token.
    headers: Vec<String>,
}

impl Userinfo {
    pub(super) fn new(dialect: Dialect, options: IntrospectOptions) -> Self {
        let login =
            LoginOptions { scope: ScopeOptions { scope: "openid".to_owned() }, ..LoginOptions::default() };
        Self { dialect, options, login, made: None }
    }
}

#[async_trait(?Send)]
impl Scenario for Userinfo {
    async fn prepare(&mut self, target: &Target, users: usize) -> Result<(), Failure> {
        let count = self.options.tokens.unwrap_or(users).max(1);
        let wanted = Wanted { access_token: self.options.token, ..wanted(&self.login) };
        let flow = CodeFlow::prepared(target, &self.dialect, &self.login, wanted, users).await?;
        is_published(&flow.application.places.userinfo, "userinfo")?;
        let headers = crowd::each(target, count, async |agent, number| {
            let token = flow.log_in(agent, number, number as u64).await?.access_token;
            tokens::same_format(&token, self.options.token)?;
            Ok(format!("Bearer {token}"))
        })
        .await?;
        self.made = Some(Made { path: flow.application.places.userinfo, headers });
        Ok(())
    }

    async fn operate(&self, agent: &mut Agent, turn: u64) -> Result<(), Failure> {
        let Made { path, headers } = prepared(self.made.as_ref())?;
        let header = [("authorization", by_turn(headers, turn)?.as_str())];
        let answer = agent.send(&Ask::get(Origin::Public, path).with(&header)).await?.expect(200, STEP)?;
        field::SUBJECT.required(&answer, STEP).map(drop)
    }
}
