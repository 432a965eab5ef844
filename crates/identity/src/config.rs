//! What the identity service is told. If a [`Config`] exists, it is right.

use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;

use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use sluice_crypto::password_hash::Argon2Params;
use sluice_primitives::Lifetime;
use url::Url;

use crate::factor::FactorsRequired;
use crate::login::LockoutConfig;

/// What the identity service is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// What pages and mails call the service, and authenticator apps the account. Default: `Sluice`.
    pub service_name: String,
    /// What a password hash costs; default 64 MiB, 1 pass, 4 lanes. Must fit into what the hash pool allows one hash.
    pub password_hash: Argon2Params,
    /// How guessing is slowed down.
    pub lockout: LockoutConfig,
    /// Who may register.
    pub registration: RegistrationConfig,
    /// What a new password must be.
    pub password: PasswordPolicy,
    /// How long sessions and their tokens live.
    pub sessions: SessionConfig,
    /// How often things may be asked for.
    pub limits: LimitsConfig,
    /// How long the codes in mails are good.
    pub codes: CodeConfig,
    /// The hardening worker of this process.
    pub hardening: HardeningConfig,
    /// Passkeys; none: they are not offered.
    pub passkeys: Option<PasskeyConfig>,
    /// Who must have a second factor. Default: nobody.
    pub factors_required: FactorsRequired,
    /// What a browser has to compute before a form is taken.
    pub proof_of_work: ProofOfWorkConfig,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            service_name: "Sluice".to_owned(),
            password_hash: Argon2Params::default(),
            lockout: LockoutConfig::default(),
            registration: RegistrationConfig::default(),
            password: PasswordPolicy::default(),
            sessions: SessionConfig::default(),
            limits: LimitsConfig::default(),
            codes: CodeConfig::default(),
            hardening: HardeningConfig::default(),
            passkeys: None,
            factors_required: FactorsRequired::default(),
            proof_of_work: ProofOfWorkConfig::default(),
        }
    }
}

/// Who may register.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RegistrationConfig {
    /// Whether people may register at all. Default: yes.
    pub enabled: bool,
    /// Whether the answer hides that an address is taken; its owner is told by mail. Needs mail. Default: no.
    pub conceal_taken: bool,
}

impl Default for RegistrationConfig {
    fn default() -> Self {
        Self { enabled: true, conceal_taken: false }
    }
}

/// What a new password must be, beside at most 1,024 characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PasswordPolicy {
    /// The fewest characters. Default 8; a lower number counts as 8 (NIST SP 800-63B §5.1.1.2).
    pub min_characters: usize,
    /// Where known passwords are looked up. Default: nowhere.
    pub breached: Option<BreachedConfig>,
}

impl Default for PasswordPolicy {
    fn default() -> Self {
        Self { min_characters: crate::registration::policy::MIN_CHARACTERS, breached: None }
    }
}

/// The list of passwords that were found in breaches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BreachedConfig {
    /// Where it is.
    pub source: BreachedSource,
    /// Whether a password is refused with an error while the list is out of reach. If not, it passes, and a log says so.
    pub required: bool,
}

/// Where the list of breached passwords is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BreachedSource {
    /// A file with a line `SHA1:count` for each, sorted, hexadecimal: what the downloader of Have I Been Pwned makes.
    File(PathBuf),
    /// An endpoint that is asked for the first five digits of the SHA-1 only: `https://api.pwnedpasswords.com/range/`.
    Endpoint(Url),
}

/// How long sessions and their tokens live.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionConfig {
    /// An access token. Default: 15 min.
    pub access_token: Lifetime,
    /// A session that is not refreshed. Default: 30 days.
    pub idle: Lifetime,
    /// A session in any case. Default: 90 days.
    pub lifetime: Lifetime,
    /// For so long after a refresh the token before still gets the same again. Default: 30 s.
    pub rotation_window: Lifetime,
}

impl Default for SessionConfig {
    fn default() -> Self {
        Self {
            access_token: Lifetime::minutes(15),
            idle: Lifetime::hours(30 * 24),
            lifetime: Lifetime::hours(90 * 24),
            rotation_window: Lifetime::secs(30),
        }
    }
}

/// So many at once, and so many again over this time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    /// How many.
    pub burst: NonZeroU32,
    /// After so long without any, as many may come again; one by one they come back before.
    pub per: Lifetime,
}

impl Rate {
    /// So many an hour; 0 counts as 1.
    pub const fn per_hour(burst: u32) -> Self {
        let burst = match NonZeroU32::new(burst) {
            Some(burst) => burst,
            None => NonZeroU32::MIN,
        };
        Self { burst, per: Lifetime::hours(1) }
    }
}

/// How often things may be asked for. `None`: as often as one likes. Counts are this node's alone. Guesses
/// ([`Config::lockout`]), places among those who wait for a hash and changes of one's own record are bounded in any case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LimitsConfig {
    /// Registrations from one network. Default: 100 an hour.
    pub registrations_per_network: Option<Rate>,
    /// Logins from one network, right ones too; not right passkeys, nor the first 60 an hour of a browser that is known to the
    /// account, or of a session. Default: 3,000 an hour.
    pub logins_per_network: Option<Rate>,
    /// Mails of one kind to one address. Default: 10 an hour.
    pub mails_per_address: Option<Rate>,
    /// Mails asked for from one network. Default: 100 an hour.
    pub mails_per_network: Option<Rate>,
    /// Codes typed for one account from one network: those of mails, those that are second factors, and passwords that end a
    /// recovery, each by themselves. Default: 30 an hour. Not for one account from everywhere: strangers could keep its owner
    /// from typing one.
    pub codes_per_account: Option<Rate>,
    /// Codes of mails typed from one network. Default: 300 an hour.
    pub codes_per_network: Option<Rate>,
    /// Networks and addresses that are not counted. Default: the loopback ones, because behind a proxy that nobody named everybody comes
    /// from there.
    pub exempt: Vec<IpNet>,
}

impl Default for LimitsConfig {
    fn default() -> Self {
        let loopback_v4 = Ipv4Net::new_assert(std::net::Ipv4Addr::new(127, 0, 0, 0), 8);
        let loopback_v6 = Ipv6Net::new_assert(std::net::Ipv6Addr::UNSPECIFIED, 64);
        Self {
            registrations_per_network: Some(Rate::per_hour(100)),
            logins_per_network: Some(Rate::per_hour(3000)),
            mails_per_address: Some(Rate::per_hour(10)),
            mails_per_network: Some(Rate::per_hour(100)),
            codes_per_account: Some(Rate::per_hour(30)),
            codes_per_network: Some(Rate::per_hour(300)),
            exempt: vec![loopback_v4.into(), loopback_v6.into()],
        }
    }
}

/// How long the codes in mails are good.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CodeConfig {
    /// To verify the address. Default: 24 h.
    pub verify: Lifetime,
    /// To set another password. Default: 15 min.
    pub recover: Lifetime,
    /// To change the address. Default: 1 h.
    pub change_email: Lifetime,
}

impl Default for CodeConfig {
    fn default() -> Self {
        Self { verify: Lifetime::hours(24), recover: Lifetime::minutes(15), change_email: Lifetime::hours(1) }
    }
}

/// The hardening worker of this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HardeningConfig {
    /// Whether `serve` hardens; if not, a `worker` should. Default: yes.
    pub enabled: bool,
    /// For how long nobody else takes a credential that was taken. Default: 60 s. Must be longer than hashing
    /// `batch` of them takes.
    pub lease: Lifetime,
    /// How many are taken, and stored, at once. Default: 32.
    pub batch: u32,
    /// How often to look when there is nothing to do, and how long a result waits to be stored with others. Default: 1 s.
    pub poll: Lifetime,
    /// How many are hashed at a time: what hardening may take of the CPU, in cores. Default: as many as there are.
    pub jobs: Option<NonZeroUsize>,
}

impl Default for HardeningConfig {
    fn default() -> Self {
        Self { enabled: true, lease: Lifetime::secs(60), batch: 32, poll: Lifetime::secs(1), jobs: None }
    }
}

/// Passkeys (WebAuthn).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PasskeyConfig {
    /// The domain that passkeys are of. A passkey works there and below.
    pub rp_id: String,
    /// What the browser calls the site.
    pub rp_name: String,
    /// The origins that may ask for a passkey.
    pub origins: Vec<Url>,
}

/// What a browser has to compute before a form is taken, in leading zero bits of a hash; each bit doubles it. 0: nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ProofOfWorkConfig {
    /// Before a registration. Default: 0.
    pub registration_bits: u8,
    /// Before a login. Default: 0.
    pub login_bits: u8,
}
