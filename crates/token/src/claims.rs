//! The facts in an access token.

use sluice_crypto::digest::sha256;
use sluice_primitives::{GrantId, Lifetime, SessionId, Timestamp};
use sluice_protocol::{ClientId, Scope, Subject};

use crate::confirmation::Confirmation;

/// The id of a token (`jti`). Derived, not drawn: the same grant and generation yield the same id, so that a repeated
/// refresh answers with the same pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TokenId([u8; 16]);

impl TokenId {
    /// The id of the access token of a grant's `generation`.
    pub fn derive(grant: GrantId, generation: u32) -> Self {
        let mut input = [0; 20];
        let (id, count) = input.split_at_mut(16);
        id.copy_from_slice(grant.as_bytes());
        count.copy_from_slice(&generation.to_be_bytes());
        let mut bytes = [0; 16];
        for (to, from) in bytes.iter_mut().zip(sha256(&input)) {
            *to = from;
        }
        Self(bytes)
    }

    /// The id with these bytes.
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// The bytes of the id.
    pub const fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }

    /// What stands for this one token where a marker names a grant: no grant has its id.
    pub const fn as_grant(&self) -> GrantId {
        GrantId::from_bytes(self.0)
    }
}

impl std::fmt::Display for TokenId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        uuid::Uuid::from_bytes(self.0).hyphenated().fmt(f)
    }
}

/// What an access token says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccessTokenClaims {
    /// The id of the token.
    pub id: TokenId,
    /// The grant it belongs to. A client-credentials token has a grant of its own that no store knows.
    pub grant: GrantId,
    /// The client it was issued to.
    pub client: ClientId,
    /// For whom; none for client credentials.
    pub subject: Option<Subject>,
    /// The login session it belongs to.
    pub session: Option<SessionId>,
    /// What was granted.
    pub scope: Scope,
    /// For which services.
    pub audience: Vec<String>,
    /// When it was issued, to the second.
    pub issued_at: Timestamp,
    /// Until when it holds, to the second.
    pub expires_at: Timestamp,
    /// When the user authenticated, in milliseconds; what session and subject markers are held against. Where nobody did, when
    /// the token came to be: [`AccessTokenClaims::logged_in_at`].
    pub authenticated_at: Timestamp,
    /// When consent was accepted, in milliseconds; what client markers are held against.
    pub consented_at: Timestamp,
    /// Claims of the consent page as a JSON object.
    pub extra: Extra,
    /// What userinfo tells beside the subject, as a JSON object. In the grant, too, where a token does not carry it at all: that of
    /// a client for itself, whose grant no store knows, and one that is signed.
    pub userinfo: Extra,
    /// What few tokens say.
    pub rare: RareClaims,
}

/// What few access tokens say, together: one byte where nothing is said.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RareClaims {
    /// To which key the token is bound.
    pub confirmation: Option<Confirmation>,
    /// The `sub` that this client sees, if it is another than the subject: pairwise (OpenID Connect Core §8.1) or forced.
    pub shown_subject: Option<String>,
    /// Who acts for the subject, as a JSON object (RFC 8693 §4.1).
    pub actor: Option<String>,
    /// What was granted in detail, as a JSON array (RFC 9396).
    pub authorization_details: Option<String>,
    /// Authentication context class, if the login page told one (RFC 9068 §2.2.1, RFC 9470 §6.2).
    pub acr: Option<String>,
    /// Authentication methods, if the login page told them (RFC 9068 §2.2.1).
    pub amr: Vec<String>,
    /// What this token was exchanged for, the first one first; empty for a token that a grant yielded itself.
    pub origins: Vec<Origin>,
    /// Whether the subject never logged in here: another issuer speaks of it, or it is a client.
    pub without_login: bool,
}

/// A token that was exchanged for another one (RFC 8693). What ends it ends the other one too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// To whom it was issued.
    pub client: ClientId,
    /// Its id.
    pub token: TokenId,
    /// What markers about its client and about consent are held against.
    pub consented_at: Timestamp,
}

impl AccessTokenClaims {
    /// The same of a token that ends so long after it was issued at the latest, whatever was meant then: what was revoked is remembered
    /// for no longer.
    #[must_use]
    pub fn ending_within(mut self, longest: Lifetime) -> Self {
        self.expires_at = self.expires_at.min(self.issued_at + longest);
        self
    }

    /// What a marker names to revoke this token at its client's wish: its grant; for an exchanged token, which is but a guest
    /// of its grant, the token alone. So it is for one that a refresh replaced, which the token itself does not know.
    pub fn revocable(&self) -> GrantId {
        if self.rare.origins.is_empty() { self.grant } else { self.id.as_grant() }
    }

    /// When what [`Self::revocable`] names has ended by itself, if this token tells: no store knows that grant, so that it has no
    /// refresh token, and what is exchanged for a token lives no longer than that. `None` for a grant that a user's login led to.
    pub fn revocable_until(&self) -> Option<Timestamp> {
        let is_stored = self.logged_in_at().is_some() && self.rare.origins.is_empty();
        (!is_stored).then_some(self.expires_at)
    }

    /// Whether a marker may name this token alone: it was exchanged, or belongs to a grant that may have others. That of a client for
    /// itself and that for an assertion have a grant each.
    pub fn may_end_alone(&self) -> bool {
        !self.rare.origins.is_empty() || self.logged_in_at().is_some()
    }

    /// When the user logged in, if one did (RFC 9068 §2.2.1).
    pub fn logged_in_at(&self) -> Option<Timestamp> {
        let did = self.subject.is_some() && !self.rare.without_login;
        did.then_some(self.authenticated_at)
    }

    /// The `sub` that this client and its resource servers see: the client itself if there is no subject.
    pub fn visible_subject(&self) -> &str {
        let real = || self.subject.as_ref().map_or(self.client.as_str(), Subject::as_str);
        self.rare.shown_subject.as_deref().unwrap_or_else(real)
    }
}

/// Where claims of the consent page, and those of a hook, are.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Extra {
    /// There are none.
    #[default]
    None,
    /// Here, as a JSON object of at most 1 KiB; a longer one is a hook's, with at most so much of the consent page.
    Inline(String),
    /// Too large for a token: in the grant.
    InGrant,
}
