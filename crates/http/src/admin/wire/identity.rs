//! People's records as administrators read and write them. No credential is ever shown.

#![expect(clippy::option_option, reason = "a merge patch tells null from what is not there (RFC 7396)")]

use serde::{Deserialize, Serialize};
use sluice_identity::administration::{IdentityEdit, NewIdentity, NewPassword};
use sluice_identity::session::IdentitySession;
use sluice_identity::{Identity, IdentityStatus};
use sluice_oauth::login_session::LoginSession;
use sluice_primitives::Secret;
use uuid::Uuid;

use crate::identity::wire::{Rfc3339, SessionBody, rfc3339};

/// A record.
#[derive(Serialize)]
pub(crate) struct IdentityBody<'a> {
    id: Uuid,
    email: &'a str,
    email_verified: bool,
    email_verified_at: Option<Rfc3339>,
    username: &'a str,
    status: &'static str,
    has_password: bool,
    created_at: Rfc3339,
    updated_at: Rfc3339,
}

impl<'a> From<&'a Identity> for IdentityBody<'a> {
    fn from(identity: &'a Identity) -> Self {
        Self {
            id: identity.id.as_uuid(),
            email: &identity.email,
            email_verified: identity.email_verified_at.is_some(),
            email_verified_at: identity.email_verified_at.map(rfc3339),
            username: &identity.username,
            status: identity.status.as_str(),
            has_password: !identity.credential.is_empty(),
            created_at: rfc3339(identity.created_at),
            updated_at: rfc3339(identity.updated_at),
        }
    }
}

/// Where a person is signed in.
#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub(crate) enum SignedInBody<'a> {
    /// At the API, or the account pages.
    Api(SessionBody<'a>),
    /// At applications.
    Browser(BrowserBody<'a>),
}

/// A browser in which a person logged in to applications.
#[derive(Serialize)]
pub(crate) struct BrowserBody<'a> {
    id: Uuid,
    remembered: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    device: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    network: Option<&'a str>,
    amr: &'a [String],
    acr: Option<&'a str>,
    authenticated_at: Rfc3339,
    last_seen_at: Rfc3339,
    expires_at: Rfc3339,
}

impl<'a> From<&'a IdentitySession> for SignedInBody<'a> {
    fn from(session: &'a IdentitySession) -> Self {
        Self::Api(session.into())
    }
}

impl<'a> From<&'a LoginSession> for SignedInBody<'a> {
    fn from(session: &'a LoginSession) -> Self {
        let origin = session.origin.as_ref();
        Self::Browser(BrowserBody {
            id: session.id.as_uuid(),
            remembered: session.remembered,
            device: origin.map(|origin| origin.device.as_str()),
            network: origin.map(|origin| origin.network.as_str()),
            amr: &session.amr,
            acr: session.acr.as_deref(),
            authenticated_at: rfc3339(session.authenticated_at),
            last_seen_at: rfc3339(session.last_seen_at),
            expires_at: rfc3339(session.expires_at),
        })
    }
}

/// `POST /admin/identities`: at most one of `password` and `password_hash`. `null` is the same as to leave a member out; what has no
/// meaning is refused, or a record would be made that is another than was meant.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewIdentityBody {
    email: Option<String>,
    username: Option<String>,
    password: Option<SecretText>,
    password_hash: Option<SecretText>,
    status: Option<StatusText>,
    email_verified: Option<bool>,
    #[serde(default, deserialize_with = "refused")]
    id: Forbidden,
}

impl NewIdentityBody {
    /// The record that is asked for.
    ///
    /// # Errors
    /// A sentence about what is wrong.
    pub(crate) fn into_new(self) -> Result<NewIdentity, String> {
        if self.id == Forbidden(true) {
            return Err(
                "`id` is made up here; people come with theirs by `sluice import identities`.".to_owned()
            );
        }
        let password = match (self.password, self.password_hash) {
            (Some(_), Some(_)) => {
                return Err("`password` and `password_hash` cannot be used together.".to_owned());
            }
            (Some(SecretText(password)), None) => Some(NewPassword::Plain(password)),
            (None, Some(SecretText(hash))) => Some(NewPassword::Hash(hash)),
            (None, None) => None,
        };
        Ok(NewIdentity {
            email: self.email.unwrap_or_default(),
            username: self.username.unwrap_or_default(),
            password,
            status: self.status.unwrap_or_default().into(),
            email_verified: self.email_verified.unwrap_or_default(),
        })
    }
}

/// `PUT /admin/identities/{id}`: what is not said is as in a new record, but for the verification of an address that stays.
#[derive(Deserialize)]
pub(crate) struct ReplaceIdentityBody {
    #[serde(default)]
    email: String,
    #[serde(default)]
    username: String,
    #[serde(default)]
    status: StatusText,
    #[serde(default, deserialize_with = "said")]
    email_verified: Option<bool>,
    #[serde(default, deserialize_with = "refused")]
    password: Forbidden,
    #[serde(default, deserialize_with = "refused")]
    password_hash: Forbidden,
}

impl ReplaceIdentityBody {
    /// The edit that makes the record so.
    ///
    /// # Errors
    /// A sentence about what is wrong.
    pub(crate) fn into_edit(self) -> Result<IdentityEdit, String> {
        check_no_credential([self.password, self.password_hash])?;
        Ok(IdentityEdit {
            email: Some(self.email),
            username: Some(self.username),
            status: Some(self.status.into()),
            email_verified: self.email_verified,
        })
    }
}

/// `PATCH /admin/identities/{id}`: a JSON merge patch (RFC 7396). `null` takes away what may be missing.
#[derive(Deserialize)]
pub(crate) struct PatchIdentityBody {
    #[serde(default, deserialize_with = "sent")]
    email: Option<Option<String>>,
    #[serde(default, deserialize_with = "sent")]
    username: Option<Option<String>>,
    #[serde(default, deserialize_with = "sent")]
    status: Option<Option<StatusText>>,
    #[serde(default, deserialize_with = "sent")]
    email_verified: Option<Option<bool>>,
    #[serde(default, deserialize_with = "refused")]
    password: Forbidden,
    #[serde(default, deserialize_with = "refused")]
    password_hash: Forbidden,
}

impl PatchIdentityBody {
    /// The edit that makes the record so.
    ///
    /// # Errors
    /// A sentence about what is wrong.
    pub(crate) fn into_edit(self) -> Result<IdentityEdit, String> {
        check_no_credential([self.password, self.password_hash])?;
        Ok(IdentityEdit {
            email: self.email.map(Option::unwrap_or_default),
            username: self.username.map(Option::unwrap_or_default),
            status: self.status.map(|status| status.unwrap_or_default().into()),
            email_verified: self.email_verified.map(Option::unwrap_or_default),
        })
    }
}

/// `POST /admin/identities/{id}/credentials/reset`
#[derive(Deserialize, Default)]
pub(crate) struct ResetBody {
    /// Whether the person is sent a mail to choose another password by.
    #[serde(default)]
    pub(crate) send_mail: bool,
}

/// `PATCH /admin/identities/{id}/factors`
#[derive(Deserialize)]
pub(crate) struct RequirementBody {
    /// Whether the person must have a second factor.
    pub(crate) required: bool,
}

/// Whether a member is there that cannot be set. To ignore it would leave the old password where somebody thinks to have changed it.
#[derive(Default, Clone, Copy, PartialEq, Eq)]
struct Forbidden(bool);

fn refused<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Forbidden, D::Error> {
    serde::de::IgnoredAny::deserialize(deserializer).map(|_| Forbidden(true))
}

fn check_no_credential(members: [Forbidden; 2]) -> Result<(), String> {
    if members.contains(&Forbidden(true)) {
        return Err("A password cannot be changed here; credentials can be reset.".to_owned());
    }
    Ok(())
}

struct SecretText(Secret<String>);

impl<'de> Deserialize<'de> for SecretText {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(|text| Self(Secret::new(text)))
    }
}

#[derive(Deserialize, Default, Clone, Copy)]
#[serde(rename_all = "snake_case")]
enum StatusText {
    #[default]
    Active,
    Disabled,
}

impl From<StatusText> for IdentityStatus {
    fn from(status: StatusText) -> Self {
        match status {
            StatusText::Active => Self::Active,
            StatusText::Disabled => Self::Disabled,
        }
    }
}

/// What is there is no `null`.
fn said<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<bool>, D::Error> {
    bool::deserialize(deserializer).map(Some)
}

/// Tells `null` from what is not there.
fn sent<'de, T: Deserialize<'de>, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Option<T>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}
