//! Refreshes: each user has a grant of their own, from a login before the run, and spends one refresh token after the other.

use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;

use super::kind::has_openid;
use super::support::application::encoded;
use super::support::code_flow::{CodeFlow, wanted};
use super::support::{crowd, field, prepared};
use super::{Again, Dialect, LoginOptions, RefreshOptions, Scenario};
use crate::driver::{Agent, Ask, Failure, Origin, Receipt};
use crate::target::Target;

const STEP: &str = "refresh";
/// Ends the sessions of a person who has none.
const LOGOUT: &str = "/admin/oauth2/auth/sessions/login?subject=nobody-who-is-here";

pub(super) struct Refresh {
    dialect: Dialect,
    login: LoginOptions,
    after_logout: bool,
    made: Option<Made>,
}

struct Made {
    flow: CodeFlow,
    /// The request, up to the token.
    form: String,
    has_id_token: bool,
    /// The newest token of each user.
    newest: Vec<Mutex<String>>,
}

impl Refresh {
    pub(super) fn new(dialect: Dialect, options: RefreshOptions) -> Self {
        let (id_token, scope) = (options.id_token, options.scope);
        let login = LoginOptions { id_token, scope, ..LoginOptions::default() };
        Self { dialect, login, after_logout: options.after_logout, made: None }
    }
}

#[async_trait(?Send)]
impl Scenario for Refresh {
    async fn prepare(&mut self, target: &Target, users: usize) -> Result<(), Failure> {
        let scope = &self.login.scope.scope;
        let flow = CodeFlow::prepared(target, &self.dialect, &self.login, wanted(&self.login), users).await?;
        let flow = flow.verified(target, self.login.id_token).await?;
        let newest = crowd::each(target, users, async |agent, user| begin(&flow, agent, user).await).await?;
        if self.after_logout {
            sign_out(&mut crowd::alone(target)).await?;
        }
        let form = flow.application.form(&[("grant_type", "refresh_token")]);
        let newest = newest.into_iter().map(Mutex::new).collect();
        self.made = Some(Made { flow, form, has_id_token: has_openid(scope), newest });
        Ok(())
    }

    async fn operate(&self, agent: &mut Agent, _turn: u64) -> Result<(), Failure> {
        let made = prepared(self.made.as_ref())?;
        let slot =
            made.newest.get(agent.user).ok_or_else(|| Failure::Setup("a user without a grant".to_owned()))?;
        let spent = slot.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let given = match made.rotate(agent, &spent).await {
            Ok(given) => given,
            Err(failure) => {
                if is_refused(&failure) {
                    made.begin_again(agent, slot).await?;
                }
                return Err(failure);
            }
        };
        slot.lock().unwrap_or_else(PoisonError::into_inner).clone_from(&given);
        agent.record(|| Receipt::Rotated { spent, given });
        Ok(())
    }

    async fn again(&self, agent: &mut Agent, what: Again<'_>) -> Result<Option<bool>, Failure> {
        prepared(self.made.as_ref())?.flow.again(agent, what).await.map(Some)
    }
}

impl Made {
    async fn rotate(&self, agent: &mut Agent, spent: &str) -> Result<String, Failure> {
        let form = format!("{}&refresh_token={}", self.form, encoded(spent));
        let answer = self.flow.tokens(agent, &form, STEP).await?;
        field::ACCESS_TOKEN.required(&answer, STEP)?;
        if self.has_id_token {
            field::ID_TOKEN.required(&answer, STEP)?;
        }
        Ok(field::REFRESH_TOKEN.required(&answer, STEP)?.into_owned())
    }

    /// The grant is gone, as it is when an answer was lost for too long: the user logs in again.
    async fn begin_again(&self, agent: &mut Agent, slot: &Mutex<String>) -> Result<(), Failure> {
        let user = agent.user;
        let token = begin(&self.flow, agent, user).await?;
        *slot.lock().unwrap_or_else(PoisonError::into_inner) = token;
        Ok(())
    }
}

/// Whether the server said that the token is of no use.
const fn is_refused(failure: &Failure) -> bool {
    matches!(failure, Failure::Status { status: 400 | 401, .. })
}

/// Logs somebody in; the first refresh token of the grant.
async fn begin(flow: &CodeFlow, agent: &mut Agent, user: usize) -> Result<String, Failure> {
    let token = flow.log_in(agent, user, user as u64).await?.refresh_token;
    token.ok_or(Failure::Incomplete { step: "token", missing: "refresh_token" })
}

/// What is revoked so is younger than all grants that were made, and tells of a subject: none of them is known to be spared but by a look.
async fn sign_out(agent: &mut Agent) -> Result<(), Failure> {
    let ask = Ask { method: "DELETE", ..Ask::get(Origin::Admin, LOGOUT) };
    agent.send(&ask).await?.expect(204, "logout").map(drop)
}
