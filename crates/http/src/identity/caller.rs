//! Who calls the identity API, and from where.

use std::sync::Arc;

use axum::extract::{FromRequestParts, OptionalFromRequestParts, Path};
use http::header::AUTHORIZATION;
use http::request::Parts;
use sluice_identity::Network;
use sluice_identity::session::Caller;
use sluice_net::PeerAddress;
use uuid::Uuid;

use super::IdentityState;
use crate::extract::{bearer, user_agent};
use crate::respond::{Problem, ProblemKind};

/// Somebody who presented an access token that holds (RFC 6750 §2.1).
pub(crate) struct SignedIn(pub(crate) Caller);

impl FromRequestParts<Arc<IdentityState>> for SignedIn {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &Arc<IdentityState>) -> Result<Self, Problem> {
        let token = bearer(&parts.headers).ok_or_else(|| Problem::of(ProblemKind::TokenMissing))?;
        Ok(Self(state.sessions.authenticate(token)?))
    }
}

/// Whoever presents no token is nobody; one that does not hold is refused.
impl OptionalFromRequestParts<Arc<IdentityState>> for SignedIn {
    type Rejection = Problem;

    async fn from_request_parts(
        parts: &mut Parts,
        state: &Arc<IdentityState>,
    ) -> Result<Option<Self>, Problem> {
        if !parts.headers.contains_key(AUTHORIZATION) {
            return Ok(None);
        }
        <Self as FromRequestParts<_>>::from_request_parts(parts, state).await.map(Some)
    }
}

/// The id in the path. What is none is nobody's.
pub(crate) struct Id(pub(crate) Uuid);

impl<S: Send + Sync> FromRequestParts<S> for Id {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        match <Path<Uuid> as FromRequestParts<S>>::from_request_parts(parts, state).await {
            Ok(Path(id)) => Ok(Self(id)),
            Err(_) => Err(Problem::of(ProblemKind::NotFound)),
        }
    }
}

/// Where a request comes from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Origin(pub(crate) Network);

impl FromRequestParts<Arc<IdentityState>> for Origin {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &Arc<IdentityState>) -> Result<Self, Problem> {
        let peer = parts.extensions.get::<PeerAddress>().copied();
        Ok(Self(state.proxies.network(peer, &parts.headers)))
    }
}

/// What the browser or program calls itself.
pub(crate) struct Device(pub(crate) String);

impl<S: Send + Sync> FromRequestParts<S> for Device {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        Ok(Self(user_agent(&parts.headers).to_owned()))
    }
}
