//! A request through the gateway, with a token that it checks.

use std::num::NonZeroUsize;

use async_trait::async_trait;

use super::introspect::by_turn;
use super::support::tokens::Issuer;
use super::support::{crowd, prepared};
use super::{Dialect, GatewayOptions, Scenario};
use crate::driver::{Agent, Ask, Failure, Origin};
use crate::target::Target;

const STEP: &str = "gateway";
/// Headers of who has no token, and of who has one that nobody issued.
const NONE: &[(&str, &str)] = &[];
const UNKNOWN: &[(&str, &str)] = &[("authorization", "Bearer no-such-token")];

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
            .expect(200, STEP)
            .map(drop)
    }

    /// Looks once whether it lets nobody through without a token that holds. Otherwise what passes everything on would be a gateway, and
    /// a fast one. How strangers are sent away is its own business: some lead them to a login page. That the path is there at all is seen
    /// with a token that holds.
    async fn asks_for_tokens(&self, agent: &mut Agent) -> Result<(), Failure> {
        let strangers = [(NONE, "who has no token"), (UNKNOWN, "who has a token that nobody issued")];
        for (headers, who) in strangers {
            let ask = Ask::get(Origin::Gateway, &self.options.path).with(headers);
            let answer = agent.send(&ask).await?;
            match answer.status() {
                300..=499 => {}
                200..=299 => {
                    return Err(Failure::Setup(format!("the gateway lets everybody through, also {who}")));
                }
                _ => return Err(answer.refused(STEP)),
            }
        }
        Ok(())
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
        let count = self.options.tokens.map_or(users.max(1), NonZeroUsize::get);
        let tokens = issuer.stock(target, count).await?;
        let headers: Vec<_> = tokens.iter().map(|token| format!("Bearer {token}")).collect();
        let mut agent = crowd::alone(target);
        if !self.options.unchecked {
            self.asks_for_tokens(&mut agent).await?;
        }
        self.ask(&mut agent, by_turn(&headers, 0)?).await?;
        self.headers = Some(headers);
        Ok(())
    }

    async fn operate(&self, agent: &mut Agent, turn: u64) -> Result<(), Failure> {
        self.ask(agent, by_turn(prepared(self.headers.as_ref())?, turn)?).await
    }
}
