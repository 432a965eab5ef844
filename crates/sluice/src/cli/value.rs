//! How values of flags are read.

use std::convert::Infallible;
use std::ffi::OsStr;
use std::time::Duration;

use clap::builder::TypedValueParser;
use clap::error::{ContextKind, ContextValue};
use clap::{Arg, Command};
use jiff::SignedDuration;
use sluice_primitives::Secret;

/// A `key=value` pair. It may hold a secret, so that it has no `Debug` that shows the value.
#[derive(Clone)]
pub(crate) struct KeyValue {
    pub(crate) key: String,
    pub(crate) value: String,
}

impl std::fmt::Debug for KeyValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}=[redacted]", self.key)
    }
}

/// What a message has in the place of a value that may be a secret.
const UNTOLD: &str = "…";

/// Reads what may be a secret by this: where it is wrong, the message does not repeat it.
#[derive(Clone)]
pub(super) struct Unrepeated<P>(pub(super) P);

impl<P: TypedValueParser> TypedValueParser for Unrepeated<P> {
    type Value = P::Value;

    fn parse_ref(
        &self,
        command: &Command,
        flag: Option<&Arg>,
        value: &OsStr,
    ) -> Result<P::Value, clap::Error> {
        self.0.parse_ref(command, flag, value).map_err(|mut error| {
            error.insert(ContextKind::InvalidValue, ContextValue::String(UNTOLD.to_owned()));
            error
        })
    }
}

/// Reads `key=value`.
pub(super) fn key_value(text: &str) -> Result<KeyValue, &'static str> {
    match text.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() => {
            Ok(KeyValue { key: key.trim().to_owned(), value: value.to_owned() })
        }
        _ => Err("must be key=value"),
    }
}

/// Reads a secret; nothing is refused.
#[expect(clippy::unnecessary_wraps, reason = "the form that clap asks for")]
pub(super) fn secret(text: &str) -> Result<Secret<String>, Infallible> {
    Ok(Secret::new(text.to_owned()))
}

/// Reads whether something is so, in Go's notation.
pub(super) fn boolean(text: &str) -> Result<bool, &'static str> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(false),
        _ => Err("must be true or false"),
    }
}

/// Reads a duration in Go's notation: `1h30m`, `90s`, `0`.
pub(super) fn duration(text: &str) -> Result<Duration, &'static str> {
    if text == "0" {
        return Ok(Duration::ZERO);
    }
    let span = text.parse::<SignedDuration>().map_err(|_| "must be a duration such as 90s, 10m or 1h30m")?;
    Duration::try_from(span).map_err(|_| "must not be negative")
}

/// Reads a size such as `512MiB` or `1GiB`, in KiB.
pub(super) fn kibibytes(text: &str) -> Result<u32, &'static str> {
    let units = [("KiB", 1), ("MiB", 1 << 10), ("GiB", 1 << 20)];
    let read = units.iter().find_map(|(unit, kib)| {
        let number: u32 = text.strip_suffix(unit)?.trim_end().parse().ok()?;
        number.checked_mul(*kib).filter(|size| *size > 0)
    });
    read.ok_or("must be a size such as 512MiB or 1GiB")
}

/// Reads a name that becomes one segment of a URL's path.
pub(super) fn path_segment(text: &str) -> Result<String, &'static str> {
    match text {
        "" => Err("must not be empty"),
        "." | ".." => Err("must not be . or .."),
        _ => Ok(text.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_go_writes_them() {
        assert_eq!(duration("1h30m"), Ok(Duration::from_mins(90)));
        assert_eq!(duration("720h"), Ok(Duration::from_hours(720)));
        assert_eq!(duration("1.5s"), Ok(Duration::from_millis(1500)));
        assert_eq!(duration("250ms"), Ok(Duration::from_millis(250)));
        assert_eq!(duration("0"), Ok(Duration::ZERO));
        assert!(duration("-1h").is_err());
        assert!(duration("ten minutes").is_err());
    }

    #[test]
    fn what_is_so_is_read_as_go_writes_it() {
        for (text, truth) in
            [("1", true), ("t", true), ("TRUE", true), ("0", false), ("F", false), ("False", false)]
        {
            assert_eq!(boolean(text), Ok(truth), "{text}");
        }
        for wrong in ["", "yes", "tRUE", "2"] {
            assert!(boolean(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn sizes_are_read_with_their_unit() {
        assert_eq!(kibibytes("64KiB"), Ok(64));
        assert_eq!(kibibytes("1 GiB"), Ok(1_048_576));
        for wrong in ["", "64", "0MiB", "-1MiB", "1GB", "9999999GiB"] {
            assert!(kibibytes(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_pair_keeps_what_follows_the_first_equals_sign() {
        let pair = key_value("dsn=postgres://u:p@h/db?sslmode=require").unwrap();
        assert_eq!((pair.key.as_str(), pair.value.as_str()), ("dsn", "postgres://u:p@h/db?sslmode=require"));
        assert_eq!(format!("{pair:?}"), "dsn=[redacted]");
        assert!(key_value("dsn").is_err());
        assert!(key_value("=x").is_err());
    }
}
