//! What a valid token says, whoever issued it.

use serde_json::{Map, Value};
use sluice_primitives::{SessionId, Timestamp};
use sluice_protocol::Subject;
use sluice_protocol::subject::InvalidSubject;
use sluice_token::{AccessTokenClaims, Confirmation, PersonTokenClaims};

/// Who calls.
#[derive(Debug, Clone, PartialEq)]
pub enum Caller {
    /// With an access token of the authorization server: sealed or JWT.
    Own(Box<AccessTokenClaims>),
    /// With an access token of the identity API: PASETO.
    Person(Box<PersonClaims>),
    /// With a token of another issuer: JWT, or an opaque one that was introspected.
    Foreign(Box<ForeignClaims>),
}

/// What an access token of the identity API says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PersonClaims {
    /// The identity.
    pub subject: Subject,
    /// Its session.
    pub session: SessionId,
    /// The issuer.
    pub issuer: String,
    /// For whom the token is.
    pub audience: String,
    /// When it ends.
    pub expires_at: Timestamp,
    /// When the person authenticated: what markers are held against.
    pub authenticated_at: Timestamp,
    /// How (RFC 8176).
    pub amr: Vec<String>,
    /// How well.
    pub acr: String,
}

impl TryFrom<PersonTokenClaims> for PersonClaims {
    type Error = InvalidSubject;

    fn try_from(claims: PersonTokenClaims) -> Result<Self, InvalidSubject> {
        Ok(Self {
            subject: claims.subject.to_string().parse()?,
            session: claims.session,
            issuer: claims.issuer,
            audience: claims.audience,
            expires_at: claims.expires_at,
            authenticated_at: claims.authenticated_at,
            amr: claims.amr,
            acr: claims.acr,
        })
    }
}

/// What a token of another issuer says.
#[derive(Debug, Clone, PartialEq)]
pub struct ForeignClaims {
    /// The issuer, as configured: its identifier, or its name if it has none.
    pub issuer: String,
    /// `sub`; `None` in a token that a client got for itself.
    pub subject: Option<String>,
    /// `client_id`, or `azp`; of a client that got the token for itself also `sub`.
    pub client: Option<String>,
    /// `scope` (or `scp`), words separated by one space.
    pub scope: String,
    /// `aud`.
    pub audience: Vec<String>,
    /// `exp`.
    pub expires_at: Timestamp,
    /// Until when it is taken: `exp`, and as much more as the clock of its issuer may differ.
    pub taken_until: Timestamp,
    /// `cnf`.
    pub confirmation: Option<Confirmation>,
    /// Everything it says.
    pub claims: Map<String, Value>,
}

/// What a subject is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SubjectKind {
    /// A person.
    User,
    /// A client that acts for itself.
    Client,
}

impl Caller {
    /// The person who calls: `sub` as this client's resource servers see it. `None` for a client that acts for itself, or with what was
    /// exchanged for the token of such a one: in `sub` is a client then ([`Caller::sub`]).
    pub fn subject(&self) -> Option<&str> {
        match self {
            Self::Own(claims) => (!is_of_client(claims)).then(|| claims.visible_subject()),
            Self::Person(claims) => Some(claims.subject.as_str()),
            Self::Foreign(claims) => claims.subject.as_deref(),
        }
    }

    /// `sub` as tokens say it: where no person calls, a client.
    pub fn sub(&self) -> &str {
        match self {
            Self::Own(claims) => claims.visible_subject(),
            Self::Person(claims) => claims.subject.as_str(),
            Self::Foreign(claims) => {
                claims.subject.as_deref().or(claims.client.as_deref()).unwrap_or_default()
            }
        }
    }

    /// The issuer, if it is not this installation.
    pub fn foreign_issuer(&self) -> Option<&str> {
        match self {
            Self::Own(_) | Self::Person(_) => None,
            Self::Foreign(claims) => Some(&claims.issuer),
        }
    }

    /// The client that the token was issued to.
    pub fn client(&self) -> Option<&str> {
        match self {
            Self::Own(claims) => Some(claims.client.as_str()),
            Self::Person(_) => None,
            Self::Foreign(claims) => claims.client.as_deref(),
        }
    }

    /// Person or client.
    pub fn kind(&self) -> SubjectKind {
        if self.subject().is_some() { SubjectKind::User } else { SubjectKind::Client }
    }

    /// What was granted, words separated by one space.
    pub fn scope(&self) -> &str {
        match self {
            Self::Own(claims) => claims.scope.as_str(),
            Self::Person(_) => "",
            Self::Foreign(claims) => &claims.scope,
        }
    }

    /// Whether `word` was granted.
    pub fn has_scope(&self, word: &str) -> bool {
        self.scope().split(' ').any(|granted| granted == word)
    }

    /// Whether the token is for `audience`.
    pub fn is_for(&self, audience: &str) -> bool {
        match self {
            Self::Own(claims) => claims.audience.iter().any(|one| one == audience),
            Self::Person(claims) => claims.audience == audience,
            Self::Foreign(claims) => claims.audience.iter().any(|one| one == audience),
        }
    }

    /// When the token ends.
    pub fn expires_at(&self) -> Timestamp {
        match self {
            Self::Own(claims) => claims.expires_at,
            Self::Person(claims) => claims.expires_at,
            Self::Foreign(claims) => claims.expires_at,
        }
    }

    /// Until when the token is taken here, differing clocks included.
    pub fn taken_until(&self) -> Timestamp {
        match self {
            Self::Own(_) | Self::Person(_) => self.expires_at(),
            Self::Foreign(claims) => claims.taken_until,
        }
    }

    /// To which key the token is bound.
    pub fn confirmation(&self) -> Option<Confirmation> {
        match self {
            Self::Own(claims) => claims.rare.confirmation,
            Self::Person(_) => None,
            Self::Foreign(claims) => claims.confirmation,
        }
    }
}

/// Whether a token of ours speaks of a client: of one that got it for itself, or got what it was exchanged for (RFC 8693). In an exchanged one
/// that client is the subject, and may be called as a person is (RFC 9700 §4.15): but nobody logged in, and all began with its own token.
fn is_of_client(claims: &AccessTokenClaims) -> bool {
    let rare = &claims.rare;
    let first = rare.origins.first().map_or(&claims.client, |origin| &origin.client);
    claims.subject.as_ref().is_none_or(|subject| rare.without_login && subject.as_str() == first.as_str())
}

#[cfg(test)]
mod tests;
