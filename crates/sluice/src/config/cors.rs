//! `serve.public.cors` and `serve.admin.cors`.

use std::time::Duration;

use url::Url;

use super::key::{Choice, Key, Kind, names};
use super::reader::{Reader, quoted};

pub(super) const KEYS: &[Key] = &[
    Key::hydra(
        "enabled",
        Kind::Boolean,
        "Whether browsers of other origins may call this listener. The `allowed_cors_origins` of clients have no effect without \
         `serve.public.cors.enabled`.",
    )
    .with_default("false"),
    Key::hydra(
        "allowed_origins",
        Kind::Texts,
        "The origins that may call; `*` allows all, and one `*` may stand in an origin \
         (`https://*.example.com`). On the public port anybody may read discovery and the public keys.",
    )
    .with_default("*"),
    Key::hydra(
        "allowed_methods",
        Kind::Choices(names::<CorsMethod>),
        "The methods that other origins may use.",
    )
    .with_default("POST,GET,PUT,PATCH,DELETE"),
    Key::hydra(
        "allowed_headers",
        Kind::Texts,
        "The request headers that other origins may send; `*` allows all.",
    )
    .with_default("Authorization,Content-Type"),
    Key::hydra(
        "exposed_headers",
        Kind::Texts,
        "The response headers that other origins may read; `*` is all that answers have.",
    )
    .with_default("Content-Type"),
    Key::hydra(
        "allow_credentials",
        Kind::Boolean,
        "Whether other origins may send cookies and authentication: those that are named. To one that only `*` lets in it does \
         not apply: a preflight allows it to any where clients bring origins of their own (as at the token endpoint), since \
         it does not name the client, but the answer itself does not.",
    )
    .with_default("true"),
    Key::hydra(
        "max_age",
        Kind::Integer { min: 0, max: i64::MAX },
        "How long a preflight answer may be kept, in seconds.",
    )
    .with_default("0"),
    Key::ignored("options_passthrough", Kind::Boolean, "preflights are always answered here"),
    Key::ignored("debug", Kind::Boolean, "log.level is debug or is not"),
];

/// What browsers of other origins may do.
#[derive(Debug, Clone)]
pub(crate) struct CorsSettings {
    /// Origins with at most one `*` each, in either case; `*` alone is all. Default: all.
    pub(crate) allowed_origins: Vec<String>,
    /// Default: POST, GET, PUT, PATCH, DELETE.
    pub(crate) allowed_methods: Vec<CorsMethod>,
    /// `*` is all. Default: Authorization, Content-Type.
    pub(crate) allowed_headers: Vec<String>,
    /// `*` is all that answers have. Default: Content-Type.
    pub(crate) exposed_headers: Vec<String>,
    /// Whether cookies and authentication may be sent. Default: yes.
    pub(crate) allow_credentials: bool,
    /// How long a preflight answer may be kept. Default: 0 s, not at all.
    pub(crate) max_age: Duration,
}

/// A method that another origin may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CorsMethod {
    Post,
    Get,
    Put,
    Patch,
    Delete,
    Connect,
    Head,
    Options,
    Trace,
}

impl Choice for CorsMethod {
    const CHOICES: &'static [(&'static str, Self)] = &[
        ("POST", Self::Post),
        ("GET", Self::Get),
        ("PUT", Self::Put),
        ("PATCH", Self::Patch),
        ("DELETE", Self::Delete),
        ("CONNECT", Self::Connect),
        ("HEAD", Self::Head),
        ("OPTIONS", Self::Options),
        ("TRACE", Self::Trace),
    ];
}

impl CorsMethod {
    /// The method as it is on the wire.
    pub(crate) fn as_str(self) -> &'static str {
        Self::CHOICES.iter().find(|(_, method)| *method == self).map_or("", |(name, _)| *name)
    }
}

/// Reads the CORS settings below `prefix`; `None` when they are not enabled.
pub(super) fn read(reader: &mut Reader<'_>, prefix: &str) -> Option<CorsSettings> {
    let key = |name: &str| format!("{prefix}.{name}");
    let enabled = reader.boolean(&key("enabled"));
    let cors = CorsSettings {
        allowed_origins: read_origins(reader, &key("allowed_origins")),
        allowed_methods: reader.choices(&key("allowed_methods")),
        allowed_headers: reader.texts(&key("allowed_headers")),
        exposed_headers: reader.texts(&key("exposed_headers")),
        allow_credentials: reader.boolean(&key("allow_credentials")),
        max_age: Duration::from_secs(reader.integer(&key("max_age")).unwrap_or_default()),
    };
    enabled.then_some(cors)
}

fn read_origins(reader: &mut Reader<'_>, key: &str) -> Vec<String> {
    let origins = reader.texts(key);
    for origin in origins.iter().filter(|origin| !is_origin_pattern(origin)) {
        let reason = format!(
            "{} is not an origin such as https://app.example.com, with one `*` at most",
            quoted(origin)
        );
        reader.refuse(key, reason);
    }
    origins
}

fn is_origin_pattern(text: &str) -> bool {
    if text == "*" {
        return true;
    }
    let example = text.replacen('*', "wildcard", 1);
    let is_origin = |url: Url| {
        url.has_host() && url.path().len() <= 1 && url.query().is_none() && url.fragment().is_none()
    };
    !example.contains('*') && !example.contains('@') && Url::parse(&example).is_ok_and(is_origin)
}
