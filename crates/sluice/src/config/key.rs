//! Key: what one configuration key is called, what it may hold and what it is for.
//!
//! The sections declare their keys with it; [`super::table`] puts them together.

/// One configuration key as its section declares it; its full path is the section's prefix and
/// [`Key::name`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct Key {
    /// The dotted name below the section's prefix, as it is written in the file.
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    /// The default in the spelling of an environment variable; `None` when there is none, or it is derived.
    pub(crate) default: Option<&'static str>,
    /// One sentence for the reference page.
    pub(crate) doc: &'static str,
    pub(crate) owner: Owner,
    pub(crate) status: Status,
    pub(crate) environment: Environment,
}

/// What a key may hold.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Kind {
    Boolean,
    /// A whole number, both ends included.
    Integer {
        min: i64,
        max: i64,
    },
    /// The mode of a file: a whole number, octal after a 0.
    FileMode,
    /// A number from 0 to 1.
    Ratio,
    Text,
    Texts,
    /// One of the names of a [`Choice`], given by [`names`].
    Choice(fn() -> Vec<&'static str>),
    /// A list of such names.
    Choices(fn() -> Vec<&'static str>),
    /// Go's notation: `1h30m`.
    Duration,
    /// An absolute URL.
    Url,
    /// An absolute URL, or a whole path at the host of `urls.self.public`, its own path included.
    UrlReference,
    /// An http or https URL, or host and port.
    Server,
    Path,
    /// A file, or an absolute URL to fetch.
    PathOrUrl,
    /// What a listener is bound to; empty is every interface.
    Host,
    /// CIDR blocks or single addresses.
    Networks,
    Secret,
    Secrets,
    /// One secret that others present, or a list while one takes the place of another. A text is one, whatever is in it, unless a variable
    /// or a flag has a list of texts as JSON.
    Tokens,
    /// Names and values; the values are secret.
    SecretMap,
    /// A data source name: its password is secret.
    Dsn,
    /// A URL, or a mapping with `url` and `auth` below this key.
    Hook,
}

/// Whose key it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Owner {
    Hydra,
    Sluice,
}

/// What Sluice does with the key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Status {
    Supported,
    /// Loads with a warning that gives this reason.
    WithoutEffect(&'static str),
}

/// Whether the key has an environment variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Environment {
    Read,
    /// The name would be so short that it usually means something else (`DEV`, `VERSION`).
    NotRead,
}

impl Key {
    /// A key that Hydra has under the same name.
    pub(super) const fn hydra(name: &'static str, kind: Kind, doc: &'static str) -> Self {
        Self {
            name,
            kind,
            default: None,
            doc,
            owner: Owner::Hydra,
            status: Status::Supported,
            environment: Environment::Read,
        }
    }

    /// A key of Sluice's own.
    pub(super) const fn own(name: &'static str, kind: Kind, doc: &'static str) -> Self {
        Self { owner: Owner::Sluice, ..Self::hydra(name, kind, doc) }
    }

    /// A key of Hydra's that loads and does nothing, for this reason.
    pub(super) const fn ignored(name: &'static str, kind: Kind, reason: &'static str) -> Self {
        Self { status: Status::WithoutEffect(reason), ..Self::hydra(name, kind, "") }
    }

    pub(super) const fn with_default(self, text: &'static str) -> Self {
        Self { default: Some(text), ..self }
    }

    pub(super) const fn not_from_environment(self) -> Self {
        Self { environment: Environment::NotRead, ..self }
    }
}

impl Kind {
    /// Whether a value must never be printed.
    pub(super) const fn is_secret(self) -> bool {
        matches!(self, Self::Secret | Self::Secrets | Self::Tokens | Self::SecretMap)
    }

    pub(super) const fn is_list(self) -> bool {
        matches!(self, Self::Texts | Self::Choices(_) | Self::Networks | Self::Secrets | Self::Tokens)
    }

    /// The type for the reference page and for messages: `a whole number from 0 to 65535`.
    pub(super) fn describe(self) -> String {
        match self {
            Self::Boolean => "true or false".to_owned(),
            Self::Integer { min, max: i64::MAX } => format!("a whole number, {min} or more"),
            Self::Integer { min, max } => format!("a whole number from {min} to {max}"),
            Self::FileMode => "a whole number from 0 to 0777, octal after a 0".to_owned(),
            Self::Ratio => "a number from 0 to 1".to_owned(),
            Self::Text => "a text".to_owned(),
            Self::Texts => "a list of texts".to_owned(),
            Self::Choice(names) => format!("one of {}", names().join(", ")),
            Self::Choices(names) => format!("a list of {}", names().join(", ")),
            Self::Duration => "a duration such as 1h30m".to_owned(),
            Self::Url => "an absolute URL".to_owned(),
            Self::UrlReference => {
                "a URL, or a whole path at the host of urls.self.public, its own path included".to_owned()
            }
            Self::Server => "an http or https URL, or host and port".to_owned(),
            Self::Path => "a file path".to_owned(),
            Self::PathOrUrl => "a file path, or an absolute URL".to_owned(),
            Self::Host => "an address, or unix:<path>".to_owned(),
            Self::Networks => "a list of CIDR blocks".to_owned(),
            Self::Secret => "a secret text".to_owned(),
            Self::Secrets => "a list of secret texts".to_owned(),
            Self::Tokens => "a secret text, or a list of them".to_owned(),
            Self::SecretMap => "a mapping of names to secret texts".to_owned(),
            Self::Dsn => "a data source name".to_owned(),
            Self::Hook => "an absolute URL, or a mapping with url and auth".to_owned(),
        }
    }
}

/// An enum whose values have names in the configuration.
pub(super) trait Choice: Copy + 'static {
    /// Every name with its value.
    const CHOICES: &'static [(&'static str, Self)];
}

/// The names of a [`Choice`], for [`Kind::Choice`].
pub(super) fn names<T: Choice>() -> Vec<&'static str> {
    T::CHOICES.iter().map(|(name, _)| *name).collect()
}
