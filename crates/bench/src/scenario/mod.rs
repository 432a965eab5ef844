//! What users do. One file per scenario.

mod client_credentials;
mod clients;
mod gateway;
mod introspect;
mod kind;
mod login;
mod mix;
mod options;
mod refresh;
mod register;
mod revoke;
mod shape;
mod support;
#[cfg(test)]
mod tests;
mod userinfo;

use async_trait::async_trait;

pub use kind::Kind;
pub use options::{
    AcceptedLoginOptions, ClientCredentialsOptions, Dialect, GatewayOptions, HardeningOptions,
    IdTokenAlgorithm, IntrospectOptions, ListClientsOptions, LoginOptions, LoginPasswordOptions,
    LoginSessions, RefreshOptions, ScopeOptions, StandardServer, TokenFormat,
};
pub use shape::Shape;
pub(crate) use support::code_flow::{CodeFlow, wanted};
pub(crate) use support::crowd::each;

use crate::driver::{Agent, Failure, Observer};
use crate::target::Target;

/// What a user was given and may try once more.
#[derive(Debug, Clone, Copy)]
pub enum Again<'a> {
    /// A code that was redeemed, as it stood in the callback.
    Code(&'a str),
    /// A refresh token that was given for a code.
    RefreshToken(&'a str),
    /// A refresh token of a chain in which each was given for the one before.
    Rotated(&'a str),
}

/// Something that can be done again and again.
#[async_trait(?Send)]
pub trait Scenario: Send + Sync {
    /// Makes what the operations need – clients, tokens, people – by the target's own API. Called once, before anything is
    /// measured; `users` is how many agents there will be, with numbers from 0.
    ///
    /// # Errors
    /// [`Failure`] of a request, or [`Failure::Setup`] with a sentence for the terminal.
    async fn prepare(&mut self, target: &Target, users: usize) -> Result<(), Failure>;

    /// One operation of one user. `turn` counts the operations of the run from 0, over all users.
    ///
    /// # Errors
    /// [`Failure`], counted by its text.
    async fn operate(&self, agent: &mut Agent, turn: u64) -> Result<(), Failure>;

    /// Before the first operation of each run that is measured: what was counted before, in a warm-up or in an earlier run, is none of
    /// it, and what that has left to do may be waited for, until `observer` has had enough.
    ///
    /// # Errors
    /// [`Failure`] of a request.
    async fn begin(&self, _target: &Target, _observer: &dyn Observer) -> Result<(), Failure> {
        Ok(())
    }

    /// After the last operation of a run: waits for what the operations have left to do, until `observer` has had enough, and says what
    /// it found, as lines for the report.
    ///
    /// # Errors
    /// [`Failure`] of a request.
    async fn finish(
        &self,
        _target: &Target,
        _observer: &dyn Observer,
    ) -> Result<Vec<(String, String)>, Failure> {
        Ok(Vec::new())
    }

    /// Uses something once more that an answer gave the agent's user: whether that works. `None` where there is nothing of the kind.
    ///
    /// # Errors
    /// [`Failure`] of a request.
    async fn again(&self, _agent: &mut Agent, _what: Again<'_>) -> Result<Option<bool>, Failure> {
        Ok(None)
    }

    /// How the rate of an open loop changes during the run, if it does: the rate that was asked for is the highest.
    fn shape(&self) -> Option<Shape> {
        None
    }
}
