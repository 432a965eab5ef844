//! `oidc.dynamic_client_registration`: clients that register themselves (RFC 7591).

use std::path::PathBuf;

use url::Url;

use super::key::{Choice, Key, Kind, names};
use super::reader::Reader;
use super::secret_string::SecretString;

const PREFIX: &str = "oidc.dynamic_client_registration";
const TOKEN: &str = "oidc.dynamic_client_registration.initial_access_token";
const JWKS: &str = "oidc.dynamic_client_registration.software_statement_jwks";

/// The shortest token that is accepted, in characters.
const SHORTEST_TOKEN: usize = 16;

pub(super) const KEYS: &[Key] = &[
    Key::hydra("enabled", Kind::Boolean, "Whether clients may register themselves (RFC 7591).")
        .with_default("false"),
    Key::hydra(
        "default_scope",
        Kind::Texts,
        "The scope of a client that names none, whoever registers it, and the most that one has whom nobody invited; \
         without it, `offline_access offline openid`, and for those that no administrator registers `profile email` \
         too where the consent page is the built-in one.",
    ),
    Key::own(
        "default_audience",
        Kind::Texts,
        "The audience of a client that registers itself, or that a document describes, and names none, and the most \
         that one has whom nobody invited: the resources (RFC 8707) that it may ask for, a URL for all below it, too. \
         Without it, none.",
    ),
    Key::own(
        "initial_access_token",
        Kind::Secret,
        "The token that a registration must bear, 16 characters or more; without it anybody may register. \
         Empty, it is refused.",
    ),
    Key::own(
        "software_statements",
        Kind::Choice(names::<SoftwareStatements>),
        "What becomes of a software statement (RFC 7591 §2.3): the registration is refused, it is passed over, or \
         it is verified and its claims win.",
    )
    .with_default("refuse"),
    Key::own(
        "software_statement_jwks",
        Kind::PathOrUrl,
        "The JWK set that verifies software statements; required to verify.",
    ),
    Key::own(
        "software_statement_issuers",
        Kind::Texts,
        "The issuers whose software statements are accepted; without it, any that signs with a key of that set.",
    ),
];

/// How clients register themselves.
#[derive(Debug, Clone)]
pub(crate) struct RegistrationSettings {
    /// `None`: anybody may register.
    pub(crate) initial_access_token: Option<SecretString>,
    /// Default: refuse.
    pub(crate) software_statements: SoftwareStatements,
    /// There when software statements are verified.
    pub(crate) software_statement_jwks: Option<KeySetSource>,
    /// Empty: any that signs with a key of the set.
    pub(crate) software_statement_issuers: Vec<String>,
}

/// What becomes of a software statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum SoftwareStatements {
    #[default]
    Refuse,
    Ignore,
    Verify,
}

/// Where a JWK set is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum KeySetSource {
    File(PathBuf),
    Url(Url),
}

impl Choice for SoftwareStatements {
    const CHOICES: &'static [(&'static str, Self)] =
        &[("refuse", Self::Refuse), ("ignore", Self::Ignore), ("verify", Self::Verify)];
}

/// Reads the section; `None` when clients may not register themselves.
pub(super) fn read(reader: &mut Reader<'_>) -> Option<RegistrationSettings> {
    let enabled = reader.boolean(&format!("{PREFIX}.enabled"));
    let registration = RegistrationSettings {
        initial_access_token: read_token(reader, enabled),
        software_statements: reader.choice(&format!("{PREFIX}.software_statements")),
        software_statement_jwks: read_key_set(reader),
        software_statement_issuers: reader.texts(&format!("{PREFIX}.software_statement_issuers")),
    };
    if registration.software_statements == SoftwareStatements::Verify && !reader.has(JWKS) {
        reader.refuse(JWKS, "is required to verify software statements");
    }
    enabled.then_some(registration)
}

/// The scope of clients that name none, also where they may not register themselves.
pub(super) fn read_default_scope(reader: &mut Reader<'_>) -> Vec<String> {
    reader.texts(&format!("{PREFIX}.default_scope"))
}

/// The audience of clients that no administrator registers, also of those that documents describe.
pub(super) fn read_default_audience(reader: &mut Reader<'_>) -> Vec<String> {
    reader.texts(&format!("{PREFIX}.default_audience"))
}

fn read_token(reader: &mut Reader<'_>, enabled: bool) -> Option<SecretString> {
    if enabled {
        let problems = reader.problem_count();
        reader.refuse_blank(TOKEN, "anybody may register clients");
        // Who is refused an empty one has read it there.
        if !reader.has(TOKEN) && reader.problem_count() == problems {
            reader.warn(TOKEN, "is not set: anybody may register clients");
        }
    }
    let token = reader.bearer_token(TOKEN)?;
    if token.expose().chars().count() < SHORTEST_TOKEN {
        reader.refuse(TOKEN, format!("is shorter than {SHORTEST_TOKEN} characters"));
    }
    Some(token)
}

fn read_key_set(reader: &mut Reader<'_>) -> Option<KeySetSource> {
    if reader.text(JWKS)?.contains("://") {
        reader.url(JWKS).map(KeySetSource::Url)
    } else {
        reader.path(JWKS).map(KeySetSource::File)
    }
}
