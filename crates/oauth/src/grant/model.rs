//! What a grant is.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sluice_primitives::{AttemptId, GrantId, Lifetime, SessionId, Timestamp};
use sluice_protocol::{Audience, ClientId, Scope, Subject};
use sluice_token::Facts;

/// How many times the refresh token of a grant was rotated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Generation(pub u32);

impl Generation {
    /// The next generation.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

/// A grant as the store keeps it.
#[derive(Debug, Clone, PartialEq)]
pub struct Grant {
    /// Equal to the id of the flow that led to it.
    pub id: GrantId,
    /// To whom it was given.
    pub client: ClientId,
    /// By whom.
    pub subject: Subject,
    /// In which login session.
    pub session: Option<SessionId>,
    /// What was granted.
    pub scope: Scope,
    /// For which services.
    pub audience: Audience,
    /// When the user authenticated, in milliseconds.
    pub authenticated_at: Timestamp,
    /// When consent was accepted, in milliseconds.
    pub consented_at: Timestamp,
    /// When it can be forgotten. Never before the flow that made it would have expired.
    pub expires_at: Timestamp,
    /// When its code was redeemed.
    pub redeemed_at: Option<Timestamp>,
    /// When it was revoked.
    pub revoked_at: Option<Timestamp>,
    /// The generation of its refresh chain; 0 from redemption on.
    pub generation: Generation,
    /// When that generation was made: at redemption, or at the last rotation.
    pub rotated_at: Option<Timestamp>,
    /// The attempt that wrote the row last.
    pub attempt: AttemptId,
    /// What else its tokens say.
    pub claims: GrantClaims,
}

impl Grant {
    /// What revocation markers are held against.
    pub const fn facts(&self) -> Facts<'_> {
        Facts {
            grant: self.id,
            client: &self.client,
            subject: Some(&self.subject),
            session: self.session,
            authenticated_at: self.authenticated_at,
            consented_at: self.consented_at,
        }
    }
}

/// What the tokens of a grant say beside the facts that the server acts on. Stores keep it as one JSON text.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct GrantClaims {
    /// Authentication context class (OpenID Connect Core §2).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub acr: Option<String>,
    /// Authentication methods (RFC 8176).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub amr: Vec<String>,
    /// Claims of the consent page for the id token and userinfo.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub id_token: Map<String, Value>,
    /// Claims of the consent page for access tokens.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub access_token: Map<String, Value>,
    /// What the login page handed to the consent page; kept for the list of consents.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<Value>,
    /// The `sub` that this client sees, if it is another than the subject: pairwise (OpenID Connect Core §8.1), or forced
    /// by the login page (Hydra's `force_subject_identifier`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shown_subject: Option<String>,
    /// The `claims` parameter of the authorization request (OpenID Connect Core §5.5).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claims_request: Option<Value>,
    /// What was granted in detail (RFC 9396 §2).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub authorization_details: Option<Value>,
    /// Whether the consent page asked to remember the decision, and for how many seconds (0: without end).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remember_for: Option<i64>,
    /// Whether a hook put its own claims in the place of the consent page's. Never in a store: for one answer only.
    #[serde(skip)]
    pub replaced: bool,
}

/// Redeems the code of a grant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RedeemCode {
    /// Which.
    pub grant: GrantId,
    /// This attempt.
    pub attempt: AttemptId,
    /// When.
    pub now: Timestamp,
    /// Until when the grant lives from now on.
    pub expires_at: Timestamp,
}

/// A digest of what a refresh asked for (scope, audience, binding): a retry must ask for the same.
pub type RefreshRequest = [u8; 16];

/// Rotates the refresh token of a grant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RotateRefresh {
    /// Which grant.
    pub grant: GrantId,
    /// This attempt.
    pub attempt: AttemptId,
    /// The generation of the refresh token that was presented.
    pub presented: Generation,
    /// What was asked for.
    pub request: RefreshRequest,
    /// When.
    pub now: Timestamp,
    /// How long after a rotation its predecessor is answered with the same pair again.
    pub window: Lifetime,
    /// Until when the grant lives from now on.
    pub expires_at: Timestamp,
}
