//! `identity.limits`: how often things may be asked for.

use ipnet::IpNet;

use super::key::{Key, Kind};
use super::reader::Reader;

/// So many an hour; none for as many as one likes.
const RATE: Kind = Kind::Integer { min: 0, max: 1_000_000_000 };

pub(super) const KEYS: &[Key] = &[
    Key::own(
        "enabled",
        Kind::Boolean,
        "Whether the limits of this section hold. They are counted by each node for itself, and each can be turned off \
         with 0. What stays: wrong passwords and second factors are slowed down, a network waits for eight hashes of \
         passwords at a time, fewer where they take long, and a person changes their own record, and shows the password \
         once more, 60 times an hour each. If many people seem to come from one address, name it in `serve.trusted_proxies` where it is that of a \
         proxy, else in `exempt`.",
    )
    .with_default("true"),
    Key::own(
        "registrations_per_network",
        RATE,
        "Registrations from one network (an IPv4 address, or a /64 of IPv6) in an hour; 0 does not limit them.",
    )
    .with_default("100"),
    Key::own(
        "logins_per_network",
        RATE,
        "Logins from one network in an hour, right ones too, but for right passkeys, and the first 60 of a browser that is \
         known to the account or of a session; 0 does not limit them.",
    )
    .with_default("3000"),
    Key::own(
        "mails_per_address",
        RATE,
        "Mails of one kind to one address in an hour, by each node: those to register, to recover an account, to confirm an \
         address and the like are counted each by themselves; 0 does not limit them.",
    )
    .with_default("10"),
    Key::own("mails_per_network", RATE, "Mails that one network asks for in an hour; 0 does not limit them.")
        .with_default("100"),
    Key::own(
        "codes_per_account",
        RATE,
        "Codes that are typed for one account from one network in an hour: those of mails, those that are second factors, \
         and passwords that end a recovery, each by themselves; 0 does not limit them.",
    )
    .with_default("30"),
    Key::own(
        "codes_per_network",
        RATE,
        "Codes of mails that are typed from one network in an hour; 0 does not limit them.",
    )
    .with_default("300"),
    Key::own(
        "exempt",
        Kind::Networks,
        "Networks and single addresses that are not limited: those of this machine, because behind a proxy that nobody \
         named in `serve.trusted_proxies` everybody seems to come from there. `oauth2.long_requests.per_network` does not \
         count them either; they have one share of what is kept.",
    )
    .with_default("127.0.0.0/8,::/64"),
];

/// How often things may be asked for, an hour. `None`: as often as one likes.
#[derive(Debug, Clone)]
pub(crate) struct LimitsSettings {
    /// Default: 100.
    pub(crate) registrations_per_network: Option<u32>,
    /// Default: 3,000.
    pub(crate) logins_per_network: Option<u32>,
    /// Default: 10.
    pub(crate) mails_per_address: Option<u32>,
    /// Default: 100.
    pub(crate) mails_per_network: Option<u32>,
    /// Default: 30.
    pub(crate) codes_per_account: Option<u32>,
    /// Default: 300.
    pub(crate) codes_per_network: Option<u32>,
    /// Default: loopback.
    pub(crate) exempt: Vec<IpNet>,
}

pub(super) fn read(reader: &mut Reader<'_>) -> LimitsSettings {
    let enabled = reader.boolean("identity.limits.enabled");
    let mut rate = |key: &str| reader.integer(key).filter(|rate| enabled && *rate > 0);
    LimitsSettings {
        registrations_per_network: rate("identity.limits.registrations_per_network"),
        logins_per_network: rate("identity.limits.logins_per_network"),
        mails_per_address: rate("identity.limits.mails_per_address"),
        mails_per_network: rate("identity.limits.mails_per_network"),
        codes_per_account: rate("identity.limits.codes_per_account"),
        codes_per_network: rate("identity.limits.codes_per_network"),
        exempt: reader.networks("identity.limits.exempt"),
    }
}
