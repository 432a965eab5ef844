//! Revocation (RFC 7009). A token is revoked once, so that each operation gets one first, by client credentials: two requests. What
//! revoking alone costs is the difference to `client-credentials`.

use async_trait::async_trait;

use super::support::application::encoded;
use super::support::places::is_published;
use super::support::prepared;
use super::support::tokens::Issuer;
use super::{ClientCredentialsOptions, Dialect, Scenario};
use crate::driver::{Agent, Failure, Receipt};
use crate::target::Target;

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
        self.made = Some(Made { issuer, form });
        Ok(())
    }

    async fn operate(&self, agent: &mut Agent, turn: u64) -> Result<(), Failure> {
        let Made { issuer, form } = prepared(self.made.as_ref())?;
        let token = issuer.issue(agent).await?;
        if agent.keeps_ledger() && turn.is_multiple_of(LEFT_ALONE) {
            agent.record(|| Receipt::LeftAlone { token });
            return Ok(());
        }
        let form = format!("{form}&token={}", encoded(&token));
        issuer
            .application
            .post(agent, &issuer.application.places.revocation, &form)
            .await?
            .expect(200, "revocation")?;
        agent.record(|| Receipt::Revoked { token });
        Ok(())
    }
}
