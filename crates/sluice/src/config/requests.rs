//! How an authorization request may come: pushed (RFC 9126), signed (RFC 9101), by reference.

use std::time::Duration;

use super::key::{Key, Kind};
use super::reader::Reader;

const SHORTEST_LIFESPAN: Duration = Duration::from_secs(5);
const LONGEST_LIFESPAN: Duration = Duration::from_mins(10);

const REQUIRE_SIGNED: &str = "oauth2.request_objects.require_signed";
const ALLOW_UNSIGNED: &str = "oauth2.request_objects.allow_unsigned";

pub(super) const KEYS: &[Key] = &[
    Key::own(
        "pushed_authorization_requests.lifespan",
        Kind::Duration,
        "How long the `request_uri` of a pushed authorization request is valid (RFC 9126); from 5s to 10m.",
    )
    .with_default("60s"),
    Key::own(
        "pushed_authorization_requests.required",
        Kind::Boolean,
        "Whether every client must push its authorization requests.",
    )
    .with_default("false"),
    Key::own(
        "request_objects.require_signed",
        Kind::Boolean,
        "Whether every client must send its authorization requests as signed request objects (RFC 9101).",
    )
    .with_default("false"),
    Key::own(
        "request_objects.allow_unsigned",
        Kind::Boolean,
        "Whether a request object may be unsigned (`alg: none`), unless its client registered an algorithm.",
    )
    .with_default("false"),
    Key::own(
        "request_uris.enabled",
        Kind::Boolean,
        "Whether request objects are fetched from the `request_uris` that clients registered (OpenID Connect Core \
         §6.2).",
    )
    .with_default("false"),
    Key::own(
        "long_requests.per_network",
        Kind::Integer { min: 0, max: 1_000_000_000 },
        "Authorization requests that are too long for a URL, and are kept in the store for that, of one network (an IPv4 \
         address, or a /64 of IPv6) in 10 minutes; each node counts for itself, and 0 does not limit them. Requests with \
         a `state` of more than about 600 characters are. Those in `identity.limits.exempt` are not counted so. Whatever \
         this says, no more than 6,250 of a network are kept at once, 37,500 of all in `identity.limits.exempt`, and \
         100,000 of everybody.",
    )
    .with_default("2000"),
];

/// How an authorization request may come.
#[derive(Debug, Clone)]
pub(crate) struct RequestSettings {
    pub(crate) pushed: PushedRequestSettings,
    pub(crate) objects: RequestObjectSettings,
    /// Whether request objects are fetched from where clients registered them. Default: no.
    pub(crate) fetch_request_uris: bool,
    /// How many requests too long for a URL a network may have kept in 10 minutes; `None`: any number. Default: 2,000.
    pub(crate) long_per_network: Option<u32>,
}

/// Pushed authorization requests (RFC 9126).
#[derive(Debug, Clone)]
pub(crate) struct PushedRequestSettings {
    /// How long its `request_uri` is valid. Default: 60 s; from 5 s to 10 min.
    pub(crate) lifespan: Duration,
    /// Whether every client must push. Default: no.
    pub(crate) required: bool,
}

/// Request objects (RFC 9101). At most one of the two is true.
#[derive(Debug, Clone)]
pub(crate) struct RequestObjectSettings {
    /// Whether every client must sign. Default: no.
    pub(crate) require_signed: bool,
    /// Whether `alg: none` is taken from a client that registered no algorithm. Default: no.
    pub(crate) allow_unsigned: bool,
}

pub(super) fn read(reader: &mut Reader<'_>) -> RequestSettings {
    let objects = RequestObjectSettings {
        require_signed: reader.boolean(REQUIRE_SIGNED),
        allow_unsigned: reader.boolean(ALLOW_UNSIGNED),
    };
    if objects.require_signed && objects.allow_unsigned {
        reader.refuse(ALLOW_UNSIGNED, format!("contradicts {REQUIRE_SIGNED}"));
    }
    RequestSettings {
        pushed: PushedRequestSettings {
            lifespan: reader.duration_within(
                "oauth2.pushed_authorization_requests.lifespan",
                SHORTEST_LIFESPAN..=LONGEST_LIFESPAN,
            ),
            required: reader.boolean("oauth2.pushed_authorization_requests.required"),
        },
        objects,
        fetch_request_uris: reader.boolean("oauth2.request_uris.enabled"),
        long_per_network: reader.integer::<u32>("oauth2.long_requests.per_network").filter(|most| *most > 0),
    }
}
