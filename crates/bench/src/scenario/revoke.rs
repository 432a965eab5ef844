//! Revocation (RFC 7009). A token is revoked once, so that each operation gets one first, by client credentials: two requests. What
//! revoking alone costs is the difference to `client-credentials`.

use std::time::{Duration, Instant};

use async_trait::async_trait;
use tokio::time::sleep;

use super::support::application::encoded;
use super::support::places::is_published;
use super::support::tokens::Issuer;
use super::support::{crowd, prepared};
use super::{ClientCredentialsOptions, Dialect, Scenario};
use crate::driver::{Agent, Failure, Origin, Receipt};
use crate::target::Target;

const STEP: &str = "revocation";
/// A node beside the one that was asked hears of it a moment later.
const HEARD_WITHIN: Duration = Duration::from_millis(if cfg!(test) { 200 } else { 5_000 });
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Where it is written down what answers promise, each such turn leaves its token alone: a server that took every token for revoked would
/// have kept every other promise.
const LEFT_ALONE: u64 = 16;

pub(super) struct Revoke {
    dialect: Dialect,
    options: ClientCredentialsOptions,
    made: Option<Made>,
}

struct Made {
    issuer: Issuer,
    /// The request, up to the token.
    form: String,
}

impl Revoke {
    pub(super) const fn new(dialect: Dialect, options: ClientCredentialsOptions) -> Self {
        Self { dialect, options, made: None }
    }
}

#[async_trait(?Send)]
impl Scenario for Revoke {
    async fn prepare(&mut self, target: &Target, _users: usize) -> Result<(), Failure> {
        let issuer = Issuer::prepared(target, &self.dialect, self.options.token).await?;
        is_published(&issuer.application.places.revocation, "revocation")?;
        let form = issuer.application.form(&[("token_type_hint", "access_token")]);
        let made = Made { issuer, form };
        made.prove(&mut crowd::alone(target)).await?;
        self.made = Some(made);
        Ok(())
    }

    async fn operate(&self, agent: &mut Agent, turn: u64) -> Result<(), Failure> {
        let made = prepared(self.made.as_ref())?;
        let token = made.issuer.issue(agent).await?;
        if agent.keeps_ledger() && turn.is_multiple_of(LEFT_ALONE) {
            agent.record(|| Receipt::LeftAlone { token });
            return Ok(());
        }
        made.revoke(agent, &token).await?;
        agent.record(|| Receipt::Revoked { token });
        Ok(())
    }
}

impl Made {
    async fn revoke(&self, agent: &mut Agent, token: &str) -> Result<(), Failure> {
        let (application, form) = (&self.issuer.application, &self.form);
        let form = format!("{form}&token={}", encoded(token));
        application.post(agent, &application.places.revocation, &form).await?.expect(200, STEP).map(drop)
    }

    /// Revokes a token, and sees that it does not work any more, where introspection tells: an endpoint that does nothing answers with
    /// 200, too.
    async fn prove(&self, agent: &mut Agent) -> Result<(), Failure> {
        let token = self.issuer.issue(agent).await?;
        let is_told = self.is_told(agent, &token).await?;
        self.revoke(agent, &token).await?;
        if !is_told {
            return Ok(());
        }
        let began = Instant::now();
        while self.issuer.introspected(agent, &token).await?.active {
            if began.elapsed() >= HEARD_WITHIN {
                return Err(Failure::Setup(
                    "the server revokes nothing: a revoked token is active".to_owned(),
                ));
            }
            sleep(LOOK_EVERY).await;
        }
        Ok(())
    }

    /// Whether introspection tells that a token works. At a server without Hydra's API it may be for others than this client.
    async fn is_told(&self, agent: &mut Agent, token: &str) -> Result<bool, Failure> {
        const INACTIVE: &str = "the server says of a token that it has just issued that it is not active";
        let issuer = &self.issuer;
        if issuer.application.places.introspection.is_empty() {
            return Ok(false);
        }
        let is_own = issuer.application.places.introspected_at == Origin::Admin;
        match issuer.introspected(agent, token).await {
            Ok(told) if is_own && !told.active => Err(Failure::Setup(INACTIVE.to_owned())),
            Ok(told) => Ok(told.active),
            Err(failure) if is_own => Err(failure),
            Err(_) => Ok(false),
        }
    }
}
