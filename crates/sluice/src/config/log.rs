//! `log`: what is logged, and in which form.

use super::key::{Choice, Key, Kind, names};
use super::reader::Reader;

pub(super) const KEYS: &[Key] = &[
    Key::hydra(
        "level",
        Kind::Choice(names::<LogLevel>),
        "What is logged; panic and fatal mean the same as error. The audit trail is logged at every level.",
    )
    .with_default("info"),
    Key::hydra(
        "format",
        Kind::Choice(names::<Named>),
        "The form of the log; Hydra's gelf is not written, and means the same as json.",
    )
    .with_default("text"),
    Key::ignored("leak_sensitive_values", Kind::Boolean, "tokens, secrets and cookies are never logged"),
    Key::ignored("redaction_text", Kind::Text, "nothing is logged that would have to be replaced"),
    Key::ignored("redactable_http_headers", Kind::Texts, "headers are not logged"),
];

/// What is logged, and in which form.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LogSettings {
    /// Default: info.
    pub(crate) level: LogLevel,
    /// Default: text.
    pub(crate) format: LogFormat,
}

/// The least important thing that is logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum LogLevel {
    Error,
    Warn,
    #[default]
    Info,
    Debug,
    Trace,
}

/// The form of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum LogFormat {
    #[default]
    Text,
    /// One line each.
    Json,
    /// Indented.
    JsonPretty,
}

impl Choice for LogLevel {
    const CHOICES: &'static [(&'static str, Self)] = &[
        ("panic", Self::Error),
        ("fatal", Self::Error),
        ("error", Self::Error),
        ("warn", Self::Warn),
        ("info", Self::Info),
        ("debug", Self::Debug),
        ("trace", Self::Trace),
    ];
}

/// A form as it is named.
#[derive(Debug, Clone, Copy, Default)]
struct Named {
    format: LogFormat,
    /// Hydra's, in the place of which something else is written.
    is_gelf: bool,
}

impl Named {
    const fn of(format: LogFormat) -> Self {
        Self { format, is_gelf: false }
    }
}

impl Choice for Named {
    const CHOICES: &'static [(&'static str, Self)] = &[
        ("text", Self::of(LogFormat::Text)),
        ("json", Self::of(LogFormat::Json)),
        ("json_pretty", Self::of(LogFormat::JsonPretty)),
        ("gelf", Self { format: LogFormat::Json, is_gelf: true }),
    ];
}

pub(super) fn read(reader: &mut Reader<'_>) -> LogSettings {
    let Named { format, is_gelf } = reader.choice("log.format");
    if is_gelf {
        reader.warn("log.format", "gelf is not written; the log is in JSON, one line each");
    }
    LogSettings { level: reader.choice("log.level"), format }
}
