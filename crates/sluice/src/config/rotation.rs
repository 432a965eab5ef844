//! `keys.rotation`: when this server makes itself new signing keys.

use std::time::Duration;

use sluice_oauth::config::LONGEST_ACCESS_TOKEN;

use super::duration;
use super::key::{Key, Kind};
use super::reader::Reader;
use super::ttl::TtlSettings;

const EVERY: &str = "keys.rotation.every";
const ANNOUNCE_FOR: &str = "keys.rotation.announce_for";
const RETIRE_AFTER: &str = "keys.rotation.retire_after";

/// How long others may keep the key set (`Cache-Control` of `/.well-known/jwks.json`).
const JWKS_KEPT_FOR: Duration = Duration::from_mins(5);

pub(super) const KEYS: &[Key] = &[
    Key::own(
        "rotation.every",
        Kind::Duration,
        "How long a key signs before another takes over; 0: until somebody makes another.",
    )
    .with_default("0"),
    Key::own(
        "rotation.announce_for",
        Kind::Duration,
        "How long a new key is published before it signs; more than the 5m for which others may keep the key set.",
    )
    .with_default("2h"),
    Key::own(
        "rotation.retire_after",
        Kind::Duration,
        "How long a key that signs no more is published and still verifies; at least 744h, as long as an access \
         token may live, and `ttl.id_token`.",
    )
    .with_default("768h"),
];

/// When signing keys come and go.
#[derive(Debug, Clone)]
pub(crate) struct KeyRotationSettings {
    /// How long a key signs; longer than `announce_for`. `None`, the default: until somebody makes another.
    pub(crate) every: Option<Duration>,
    /// How long a key is published before it signs. Default: 2 h.
    pub(crate) announce_for: Duration,
    /// How long one that signs no more still verifies. Default: 768 h; at least as long as any access token lives.
    pub(crate) retire_after: Duration,
}

pub(super) fn read(reader: &mut Reader<'_>, ttl: &TtlSettings) -> KeyRotationSettings {
    let problems = reader.problem_count();
    let every = Some(reader.duration(EVERY)).filter(|every| !every.is_zero());
    let rotation = KeyRotationSettings {
        every,
        announce_for: reader.duration(ANNOUNCE_FOR),
        retire_after: reader.duration(RETIRE_AFTER),
    };
    if reader.problem_count() == problems {
        check(reader, &rotation, ttl);
    }
    rotation
}

fn check(reader: &mut Reader<'_>, rotation: &KeyRotationSettings, ttl: &TtlSettings) {
    if rotation.announce_for <= JWKS_KEPT_FOR {
        let kept = duration::format(JWKS_KEPT_FOR);
        reader.refuse(
            ANNOUNCE_FOR,
            format!("must be more than {kept}: others may keep the key set for so long"),
        );
    }
    let longest = LONGEST_ACCESS_TOKEN.as_duration();
    if rotation.retire_after < longest {
        let longest = duration::format(longest);
        reader
            .refuse(RETIRE_AFTER, format!("must be at least {longest}, as long as an access token may live"));
    }
    let Some(every) = rotation.every else { return };
    if every <= rotation.announce_for {
        reader.refuse(EVERY, format!("must be more than {ANNOUNCE_FOR}"));
    }
    if rotation.retire_after < ttl.id_token {
        reader.refuse(RETIRE_AFTER, "must be at least ttl.id_token: older id tokens would not verify");
    }
}
