//! `oidc`: OpenID Connect. Nothing of it can be chosen in this version; what is asked for in vain is said.

use super::key::{Choice, Key, Kind, names};
use super::later::{NO_DYNAMIC_CLIENTS, NO_PAIRWISE};
use super::reader::Reader;

const SUBJECT_TYPES: &str = "oidc.subject_identifiers.supported_types";

pub(super) const KEYS: &[Key] = &[
    Key::hydra(
        "subject_identifiers.supported_types",
        Kind::Choices(names::<SubjectType>),
        "Which subjects clients may be shown (OpenID Connect Core §8). Only `public` has an effect; `pairwise` \
         is warned about.",
    )
    .with_default("public"),
    Key::ignored("subject_identifiers.pairwise.salt", Kind::Secret, NO_PAIRWISE),
    Key::ignored("dynamic_client_registration.enabled", Kind::Boolean, NO_DYNAMIC_CLIENTS),
    Key::ignored("dynamic_client_registration.default_scope", Kind::Texts, NO_DYNAMIC_CLIENTS),
];

/// A kind of subject identifier (OpenID Connect Core §8).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SubjectType {
    Public,
    Pairwise,
}

impl Choice for SubjectType {
    const CHOICES: &'static [(&'static str, Self)] =
        &[("public", Self::Public), ("pairwise", Self::Pairwise)];
}

/// Refuses what is no kind of subject, and warns about the one that is not there yet.
pub(super) fn check(reader: &mut Reader<'_>) {
    if reader.choices(SUBJECT_TYPES).contains(&SubjectType::Pairwise) {
        reader.warn(SUBJECT_TYPES, NO_PAIRWISE);
    }
}
