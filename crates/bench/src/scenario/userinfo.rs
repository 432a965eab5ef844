//! Userinfo (OpenID Connect Core 1.0 section 5.3), with tokens of people who logged in before.

use std::num::NonZeroUsize;

use async_trait::async_trait;

use super::introspect::by_turn;
use super::support::code_flow::{CodeFlow, wanted};
use super::support::places::is_published;
use super::support::{application::Wanted, crowd, field, id_token, prepared, tokens};
use super::{Dialect, IntrospectOptions, LoginOptions, Scenario, ScopeOptions};
use crate::driver::{Agent, Answer, Ask, Failure, Origin};
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
        let count = self.options.tokens.map_or(users.max(1), NonZeroUsize::get);
        let wanted = Wanted { access_token: self.options.token, ..wanted(&self.login) };
        let flow = CodeFlow::prepared(target, &self.dialect, &self.login, wanted, users).await?;
        is_published(&flow.application.places.userinfo, "userinfo")?;
        is_about_its_token(&flow, &mut crowd::alone(target)).await?;
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
        let answer = ask(agent, path, by_turn(headers, turn)?).await?;
        field::SUBJECT.required(&answer, STEP).map(drop)
    }
}

async fn ask<'a>(agent: &'a mut Agent, path: &str, header: &str) -> Result<Answer<'a>, Failure> {
    let header = [("authorization", header)];
    agent.send(&Ask::get(Origin::Public, path).with(&header)).await?.expect(200, STEP)
}

/// Looks once whether the answer is about whom the ID token of the same login is about (OpenID Connect Core 1.0 section 5.3.2).
async fn is_about_its_token(flow: &CodeFlow, agent: &mut Agent) -> Result<(), Failure> {
    let tokens = flow.log_in(agent, 0, 0).await?;
    let header = format!("Bearer {}", tokens.access_token);
    let answer = ask(agent, &flow.application.places.userinfo, &header).await?;
    let told = field::SUBJECT.required(&answer, STEP)?;
    let logged_in = tokens.id_token.as_deref().and_then(id_token::subject);
    if logged_in.is_some_and(|subject| subject != told) {
        return Err(Failure::Setup("userinfo is about somebody else than the ID token".to_owned()));
    }
    Ok(())
}
