//! `oidc`: OpenID Connect.

use super::key::{Choice, Key, Kind, names};
use super::reader::Reader;
use super::secret_string::SecretString;

const SALT: &str = "oidc.subject_identifiers.pairwise.salt";

/// The shortest salt, in characters; Hydra's rule.
const SHORTEST_SALT: usize = 8;

pub(super) const KEYS: &[Key] = &[
    Key::hydra(
        "subject_identifiers.supported_types",
        Kind::Choices(names::<SubjectType>),
        "Which subjects clients may be shown (OpenID Connect Core §8).",
    )
    .with_default("public"),
    Key::hydra(
        "subject_identifiers.pairwise.salt",
        Kind::Secret,
        "The salt of pairwise subjects, at least 8 characters; to change it changes them all.",
    ),
    Key::hydra(
        "dynamic_client_registration.enabled",
        Kind::Boolean,
        "Whether clients may register themselves.",
    )
    .with_default("false"),
    Key::hydra(
        "dynamic_client_registration.default_scope",
        Kind::Texts,
        "The scope of clients that register themselves and name none.",
    )
    .with_default("offline_access,offline,openid"),
];

/// OpenID Connect.
#[derive(Debug, Clone)]
pub(crate) struct OidcSettings {
    /// Default: public. Never empty.
    pub(crate) subject_types: Vec<SubjectType>,
    /// There whenever `subject_types` has pairwise.
    pub(crate) pairwise_salt: Option<SecretString>,
    pub(crate) dynamic_registration: DynamicRegistrationSettings,
}

/// Dynamic client registration (RFC 7591).
#[derive(Debug, Clone)]
pub(crate) struct DynamicRegistrationSettings {
    /// Default: no.
    pub(crate) enabled: bool,
    /// Of clients that name none. Default: `offline_access`, `offline`, `openid`.
    pub(crate) default_scope: Vec<String>,
}

/// A kind of subject identifier (OpenID Connect Core §8).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SubjectType {
    Public,
    Pairwise,
}

impl Choice for SubjectType {
    const CHOICES: &'static [(&'static str, Self)] =
        &[("public", Self::Public), ("pairwise", Self::Pairwise)];
}

pub(super) fn read(reader: &mut Reader<'_>) -> OidcSettings {
    let mut subject_types: Vec<SubjectType> = reader.choices("oidc.subject_identifiers.supported_types");
    if subject_types.is_empty() {
        subject_types.push(SubjectType::Public);
    }
    let pairwise_salt = reader.secret(SALT);
    if subject_types.contains(&SubjectType::Pairwise) {
        match &pairwise_salt {
            None if !reader.has(SALT) => reader.refuse(SALT, "is required for pairwise subjects"),
            Some(salt) if salt.expose().chars().count() < SHORTEST_SALT => {
                reader.refuse(SALT, format!("is shorter than {SHORTEST_SALT} characters"));
            }
            _ => {}
        }
    }
    OidcSettings {
        subject_types,
        pairwise_salt,
        dynamic_registration: DynamicRegistrationSettings {
            enabled: reader.boolean("oidc.dynamic_client_registration.enabled"),
            default_scope: reader.texts("oidc.dynamic_client_registration.default_scope"),
        },
    }
}
