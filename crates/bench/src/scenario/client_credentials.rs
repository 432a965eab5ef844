//! Client credentials: an application gets a token for itself.

use async_trait::async_trait;

use super::support::prepared;
use super::support::tokens::Issuer;
use super::{ClientCredentialsOptions, Dialect, Scenario};
use crate::driver::{Agent, Failure};
use crate::target::Target;

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

    async fn operate(&self, agent: &mut Agent, _turn: u64) -> Result<(), Failure> {
        prepared(self.issuer.as_ref())?.check(agent).await
    }
}
