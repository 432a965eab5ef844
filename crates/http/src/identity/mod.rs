//! The identity API: `/auth/*`. JSON in, JSON out, problem details where something is refused. Nothing is kept by anybody
//! on the way.
//!
//! [`registration`]: a new account. [`login`]: who it is. [`enrolment`]: a login that waits for a second factor to be set up. [`sessions`]: for how long. [`account`]: one's own record.
//! [`recovery`]: the way back in. [`factors`]: what is asked beside the password. [`puzzle`]: proof of work. [`caller`]: who
//! calls, from where. [`confirmation`]: who it is, once more. [`body`], [`text`], [`proof`], [`wire`]: the JSON.

mod account;
mod body;
mod caller;
mod confirmation;
mod enrolment;
mod factors;
mod login;
mod proof;
mod puzzle;
mod recovery;
mod registration;
mod sessions;
mod text;
pub(crate) mod wire;

pub use body::read_identity_bodies;

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::Method;
use axum::routing::{any, delete, get, patch, post};
use sluice_identity::account::{AccountService, Outcome};
use sluice_identity::factor::FactorService;
use sluice_identity::proof_of_work::ProofOfWork;
use sluice_identity::session::{Caller, SessionService};
use sluice_identity::{Identity, IdentityError, LoginService, RegistrationService};

use crate::busy::{self, BusyRoute};
use crate::proxies::Proxies;
use crate::respond::problem::OVER;
use crate::respond::{Problem, ProblemKind};

/// What the handlers of the identity API work with.
#[expect(missing_docs, reason = "each field is what its type says")]
pub struct IdentityState {
    pub registration: Arc<RegistrationService>,
    pub login: Arc<LoginService>,
    pub sessions: Arc<SessionService>,
    pub accounts: Arc<AccountService>,
    pub factors: Arc<FactorService>,
    pub proof_of_work: Arc<ProofOfWork>,
    /// Who may say where a request comes from.
    pub proxies: Arc<Proxies>,
}

/// The state, as handlers take it.
type Shared = State<Arc<IdentityState>>;

impl IdentityState {
    /// The record of the caller. A token may outlive it for as long as the feed of revocations takes.
    async fn person(&self, caller: &Caller) -> Result<Identity, Problem> {
        let found = self.accounts.identities.find(caller.identity).await.map_err(IdentityError::from)?;
        found.ok_or_else(|| Problem::of_token(ProblemKind::InvalidToken, OVER))
    }

    /// The same of a caller whose session goes on.
    async fn present(&self, caller: &Caller) -> Result<Identity, Problem> {
        let person = self.person(caller).await?;
        // After the record was read: what ends all sessions makes another one of it.
        if self.sessions.goes_on((caller.identity, caller.session)).await? {
            Ok(person)
        } else {
            Err(Problem::of_token(ProblemKind::InvalidToken, OVER))
        }
    }
}

/// What a person wanted to do, if it was done.
fn went_through<T>(outcome: Outcome<T>) -> Result<T, Problem> {
    match outcome {
        Outcome::Done(done) => Ok(done),
        Outcome::Denied(denied) => Err(denied.into()),
    }
}

/// What of them goes around the router.
pub(crate) fn busy(issuer: &str, state: &Arc<IdentityState>) -> [BusyRoute; 3] {
    [
        busy::public(Method::POST, format!("{issuer}/auth/register"), registration::register, state),
        busy::public(Method::POST, format!("{issuer}/auth/login"), login::log_in, state),
        busy::public(Method::POST, format!("{issuer}/auth/refresh"), sessions::refresh, state),
    ]
}

/// The routes below `/auth`.
pub(crate) fn routes(state: Arc<IdentityState>) -> Router {
    // Not nested: that would rebuild the address of every request.
    Router::new()
        .route("/auth/register", post(registration::register))
        .route("/auth/proof-of-work", get(puzzle::issue))
        .route("/auth/login", post(login::log_in))
        .route("/auth/login/factor", post(login::show_factor))
        .route("/auth/login/passkey", post(login::begin_passkey))
        .route("/auth/login/passkey/finish", post(login::finish_passkey))
        .route("/auth/login/enrolment/verification", post(enrolment::send_verification))
        .route("/auth/login/enrolment/totp", post(enrolment::begin_totp))
        .route("/auth/login/enrolment/totp/confirm", post(enrolment::confirm_totp))
        .route("/auth/login/enrolment/passkeys", post(enrolment::begin_passkey))
        .route("/auth/login/enrolment/passkeys/confirm", post(enrolment::confirm_passkey))
        .route("/auth/refresh", post(sessions::refresh))
        .route("/auth/logout", post(sessions::log_out))
        .route("/auth/sessions", get(sessions::list).delete(sessions::end_others))
        .route("/auth/sessions/{id}", delete(sessions::end))
        .route("/auth/me", get(account::me).patch(account::edit).delete(account::delete))
        .route("/auth/password", post(account::change_password))
        .route("/auth/email", post(account::change_email))
        .route("/auth/email/confirm", post(account::confirm_email))
        .route("/auth/verification", post(account::send_verification))
        .route("/auth/verification/confirm", post(account::confirm_verification))
        .route("/auth/recovery", post(recovery::begin))
        .route("/auth/recovery/check", post(recovery::check))
        .route("/auth/recovery/confirm", post(recovery::confirm))
        .route("/auth/factors", get(factors::list))
        .route("/auth/factors/{id}", patch(factors::rename).delete(factors::remove))
        .route("/auth/factors/totp", post(factors::begin_totp))
        .route("/auth/factors/totp/confirm", post(factors::confirm_totp))
        .route("/auth/factors/passkeys", post(factors::begin_passkey))
        .route("/auth/factors/passkeys/confirm", post(factors::confirm_passkey))
        .route("/auth/factors/recovery-codes", post(factors::make_recovery_codes))
        .route("/auth/{*rest}", any(async || Problem::of(ProblemKind::NotFound)))
        .method_not_allowed_fallback(async || Problem::of(ProblemKind::MethodNotAllowed))
        .with_state(state)
}

#[cfg(test)]
pub(crate) mod tests;
