//! The fields of a line, not yet read: every one at most once, and none that is not known.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::line::{LineError, LineFault};

/// An unknown name is repeated in its error up to here, in characters.
const SHOWN: usize = 64;

/// The names of the fields.
pub(super) const ID: &str = "id";
pub(super) const EMAIL: &str = "email";
pub(super) const USERNAME: &str = "username";
pub(super) const PASSWORD_HASH: &str = "password_hash";
pub(super) const EMAIL_VERIFIED: &str = "email_verified";
pub(super) const STATUS: &str = "status";
pub(super) const CREATED_AT: &str = "created_at";

/// What a line holds, as JSON.
#[derive(Default)]
pub(super) struct Fields<'a> {
    pub(super) id: Option<&'a RawValue>,
    pub(super) email: Option<&'a RawValue>,
    pub(super) username: Option<&'a RawValue>,
    pub(super) password_hash: Option<&'a RawValue>,
    pub(super) email_verified: Option<&'a RawValue>,
    pub(super) status: Option<&'a RawValue>,
    pub(super) created_at: Option<&'a RawValue>,
    wrong: Option<LineError>,
}

/// The name of a field.
#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "snake_case")]
enum Name {
    Id,
    Email,
    Username,
    PasswordHash,
    EmailVerified,
    Status,
    CreatedAt,
    Unknown(String),
}

impl<'a> Fields<'a> {
    /// Takes a line apart. What serde says of an error is not repeated: it may quote a value.
    pub(super) fn read(line: &'a [u8]) -> Result<Self, LineError> {
        let fields: Self = serde_json::from_slice(line)
            .map_err(|error| LineError::of_line(LineFault::Malformed { column: error.column().max(1) }))?;
        fields.wrong.clone().map_or(Ok(fields), Err)
    }

    fn set(&mut self, name: Name, value: &'a RawValue) {
        let (name, place) = match name {
            Name::Id => (ID, &mut self.id),
            Name::Email => (EMAIL, &mut self.email),
            Name::Username => (USERNAME, &mut self.username),
            Name::PasswordHash => (PASSWORD_HASH, &mut self.password_hash),
            Name::EmailVerified => (EMAIL_VERIFIED, &mut self.email_verified),
            Name::Status => (STATUS, &mut self.status),
            Name::CreatedAt => (CREATED_AT, &mut self.created_at),
            Name::Unknown(name) => {
                let shown = name.chars().take(SHOWN).collect::<String>();
                self.wrong.get_or_insert(LineError::of(shown, LineFault::UnknownField));
                return;
            }
        };
        if place.replace(value).is_some() {
            self.wrong.get_or_insert(LineError::of(name, LineFault::Repeated));
        }
    }
}

impl<'de> Deserialize<'de> for Fields<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(FieldsVisitor)
    }
}

struct FieldsVisitor;

impl<'de> Visitor<'de> for FieldsVisitor {
    type Value = Fields<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields<'de>, A::Error> {
        let mut fields = Fields::default();
        while let Some((name, value)) = map.next_entry::<Name, &'de RawValue>()? {
            fields.set(name, value);
        }
        Ok(fields)
    }
}
