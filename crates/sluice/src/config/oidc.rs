//! `oidc`: OpenID Connect.

use super::key::{Choice, Key, Kind, names};
use super::metadata_documents::{self, MetadataDocumentSettings};
use super::reader::Reader;
use super::registration::{self, RegistrationSettings};
use super::secret_string::SecretString;

const SUBJECT_TYPES: &str = "oidc.subject_identifiers.supported_types";
const SALT: &str = "oidc.subject_identifiers.pairwise.salt";

/// The shortest salt that is accepted, in characters; Hydra's rule.
const SHORTEST_SALT: usize = 8;

pub(super) const KEYS: &[Key] = &[
    Key::own(
        "default_id_token_signing_alg",
        Kind::Choice(names::<TokenAlgorithm>),
        "What signs the id tokens of clients that registered no algorithm; RS256 those of clients that a document \
         describes.",
    )
    .with_default("RS256"),
    Key::hydra(
        "subject_identifiers.supported_types",
        Kind::Choices(names::<SubjectType>),
        "Which subjects clients may be shown (OpenID Connect Core §8); clients that registered none get `public` if it \
         is there, those that a document describes whichever stands first.",
    )
    .with_default("public"),
    Key::hydra(
        "subject_identifiers.pairwise.salt",
        Kind::Secret,
        "What pairwise subjects are made with, 8 characters or more; required when `pairwise` is supported. To change \
         it gives every user another subject.",
    ),
];

/// OpenID Connect.
#[derive(Debug, Clone)]
pub(crate) struct OidcSettings {
    /// Default: RS256.
    pub(crate) default_id_token_algorithm: TokenAlgorithm,
    pub(crate) subjects: SubjectSettings,
    /// Of clients that name none, whoever registers them. Default: none; it is the domain's then.
    pub(crate) default_client_scope: Vec<String>,
    /// Of clients that name none and that no administrator registers. Default: none.
    pub(crate) self_registered_audience: Vec<String>,
    /// `None`: clients cannot register themselves. The default.
    pub(crate) registration: Option<RegistrationSettings>,
    /// `None`: a client id that is a URL is like any other. The default.
    pub(crate) metadata_documents: Option<MetadataDocumentSettings>,
}

/// Which subjects clients may be shown.
#[derive(Debug, Clone)]
pub(crate) struct SubjectSettings {
    /// One at least; clients that a document describes without one get the first. Default: public.
    pub(crate) supported: Vec<SubjectType>,
    /// What clients get that were registered without one: public where it is supported, as with Hydra, wherever it stands.
    pub(crate) default: SubjectType,
    /// There when `supported` has pairwise.
    pub(crate) pairwise_salt: Option<SecretString>,
}

/// A kind of subject identifier (OpenID Connect Core §8).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum SubjectType {
    #[default]
    Public,
    Pairwise,
}

/// What a token may be signed with by default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum TokenAlgorithm {
    #[default]
    Rs256,
    Es256,
    Ps256,
    EdDsa,
}

impl Choice for SubjectType {
    const CHOICES: &'static [(&'static str, Self)] =
        &[("public", Self::Public), ("pairwise", Self::Pairwise)];
}

impl Choice for TokenAlgorithm {
    const CHOICES: &'static [(&'static str, Self)] =
        &[("RS256", Self::Rs256), ("ES256", Self::Es256), ("PS256", Self::Ps256), ("EdDSA", Self::EdDsa)];
}

pub(super) fn read(reader: &mut Reader<'_>) -> OidcSettings {
    OidcSettings {
        default_id_token_algorithm: reader.choice("oidc.default_id_token_signing_alg"),
        subjects: read_subjects(reader),
        default_client_scope: registration::read_default_scope(reader),
        self_registered_audience: registration::read_default_audience(reader),
        registration: registration::read(reader),
        metadata_documents: metadata_documents::read(reader),
    }
}

fn read_subjects(reader: &mut Reader<'_>) -> SubjectSettings {
    let mut supported = reader.choices(SUBJECT_TYPES);
    if supported.is_empty() {
        supported.push(SubjectType::default());
    }
    let pairwise_salt = reader.secret(SALT);
    if supported.contains(&SubjectType::Pairwise) {
        match &pairwise_salt {
            None => reader.refuse(SALT, "is required when pairwise subjects are supported"),
            Some(salt) if salt.expose().chars().count() < SHORTEST_SALT => {
                reader.refuse(SALT, format!("is shorter than {SHORTEST_SALT} characters"));
            }
            Some(_) => {}
        }
    }
    let is_public = supported.contains(&SubjectType::Public);
    let default = if is_public { SubjectType::Public } else { SubjectType::Pairwise };
    SubjectSettings { supported, default, pairwise_salt }
}
