//! Logins: authorization code and PKCE. Eight requests, the seven of the flow and the one for the tokens.
//!
//! As Hydra's users build it, with an application of their own for login and consent, which is played here over the admin API;
//! or through the pages of the server, with a password.

use async_trait::async_trait;

use super::support::code_flow::{CodeFlow, wanted};
use super::support::people;
use super::support::{prepared, proof};
use super::{Again, Dialect, LoginOptions, LoginPasswordOptions, Scenario};
use crate::driver::{Agent, Failure};
use crate::target::Target;

/// Accepted through the admin API; at a server without one through its pages.
pub(super) struct Login {
    dialect: Dialect,
    options: LoginOptions,
    flow: Option<CodeFlow>,
}

impl Login {
    pub(super) const fn new(dialect: Dialect, options: LoginOptions) -> Self {
        Self { dialect, options, flow: None }
    }
}

#[async_trait(?Send)]
impl Scenario for Login {
    async fn prepare(&mut self, target: &Target, users: usize) -> Result<(), Failure> {
        let wanted = wanted(&self.options);
        let flow = CodeFlow::prepared(target, &self.dialect, &self.options, wanted, users).await?;
        self.flow = Some(flow.verified(target, self.options.id_token).await?);
        Ok(())
    }

    async fn operate(&self, agent: &mut Agent, turn: u64) -> Result<(), Failure> {
        let who = agent.user;
        prepared(self.flow.as_ref())?.log_in(agent, who, turn).await.map(drop)
    }

    async fn again(&self, agent: &mut Agent, what: Again<'_>) -> Result<Option<bool>, Failure> {
        prepared(self.flow.as_ref())?.again(agent, what).await.map(Some)
    }
}

/// Through the built-in pages, with a password that costs what Argon2id costs.
pub(super) struct LoginPassword {
    options: LoginPasswordOptions,
    made: Option<(CodeFlow, usize)>,
}

impl LoginPassword {
    pub(super) const fn new(options: LoginPasswordOptions) -> Self {
        Self { options, made: None }
    }
}

#[async_trait(?Send)]
impl Scenario for LoginPassword {
    async fn prepare(&mut self, target: &Target, users: usize) -> Result<(), Failure> {
        let count = self.options.people.unwrap_or(users).max(1);
        let people = people::crowd_of(target, proof::random_number()?, count).await?;
        let flow = CodeFlow::through_pages(target, &self.options.login, people).await?;
        self.made = Some((flow.verified(target, self.options.login.id_token).await?, count));
        Ok(())
    }

    /// People take turns, so that all of them log in, however few users there are.
    async fn operate(&self, agent: &mut Agent, turn: u64) -> Result<(), Failure> {
        let (flow, people) = prepared(self.made.as_ref())?;
        let who = usize::try_from(turn).unwrap_or_default() % people.max(&1);
        flow.log_in(agent, who, turn).await.map(drop)
    }

    async fn again(&self, agent: &mut Agent, what: Again<'_>) -> Result<Option<bool>, Failure> {
        let (flow, _) = prepared(self.made.as_ref())?;
        flow.again(agent, what).await.map(Some)
    }
}
