//! Client credentials: an application gets a token for itself.

use async_trait::async_trait;

use super::support::prepared;
use super::support::tokens::Issuer;
use super::{ClientCredentialsOptions, Dialect, Scenario};
use crate::driver::{Agent, Failure, Receipt};
use crate::target::Target;

/// Where it is written down what answers promise, each such turn keeps its token, to be asked about.
const KEPT: u64 = 16;

pub(super) struct ClientCredentials {
    dialect: Dialect,
    options: ClientCredentialsOptions,
    issuer: Option<Issuer>,
}

impl ClientCredentials {
    pub(super) const fn new(dialect: Dialect, options: ClientCredentialsOptions) -> Self {
        Self { dialect, options, issuer: None }
    }
}

#[async_trait(?Send)]
impl Scenario for ClientCredentials {
    async fn prepare(&mut self, target: &Target, _users: usize) -> Result<(), Failure> {
        self.issuer = Some(Issuer::prepared(target, &self.dialect, self.options.token).await?);
        Ok(())
    }

    async fn operate(&self, agent: &mut Agent, turn: u64) -> Result<(), Failure> {
        let issuer = prepared(self.issuer.as_ref())?;
        if agent.keeps_ledger() && turn.is_multiple_of(KEPT) {
            let token = issuer.issue(agent).await?;
            agent.record(|| Receipt::LeftAlone { token });
            return Ok(());
        }
        issuer.check(agent).await
    }
}
