//! A request through the gateway, with a token that it checks.

use async_trait::async_trait;

use super::introspect::by_turn;
use super::support::prepared;
use super::support::tokens::Issuer;
use super::{Dialect, GatewayOptions, Scenario};
use crate::driver::{Agent, Ask, Failure, Origin};
use crate::target::Target;

pub(super) struct Gateway {
    options: GatewayOptions,
    /// A header for each token.
    headers: Option<Vec<String>>,
}

impl Gateway {
    pub(super) const fn new(options: GatewayOptions) -> Self {
        Self { options, headers: None }
    }

    async fn ask(&self, agent: &mut Agent, header: &str) -> Result<(), Failure> {
        let header = [("authorization", header)];
        agent
            .send(&Ask::get(Origin::Gateway, &self.options.path).with(&header))
            .await?
            .expect(200, "gateway")
            .map(drop)
    }
}

#[async_trait(?Send)]
impl Scenario for Gateway {
    async fn prepare(&mut self, target: &Target, users: usize) -> Result<(), Failure> {
        if target.endpoints.gateway.is_none() {
            return Err(Failure::Setup("there is no gateway: say --gateway-url".to_owned()));
        }
        let issuer =
            Issuer::with_scope(target, &Dialect::Hydra, self.options.token, &self.options.scope).await?;
        let tokens = issuer.stock(target, self.options.tokens.unwrap_or(users).max(1)).await?;
        self.headers = Some(tokens.iter().map(|token| format!("Bearer {token}")).collect());
        Ok(())
    }

    async fn operate(&self, agent: &mut Agent, turn: u64) -> Result<(), Failure> {
        self.ask(agent, by_turn(prepared(self.headers.as_ref())?, turn)?).await
    }
}
