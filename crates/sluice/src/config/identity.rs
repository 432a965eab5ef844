//! `identity`: people's accounts.
//!
//! Sections of their own: `identity_hashing`, `identity_limits`, `identity_passkeys`, `identity_mail`, `identity_pages`.

use std::path::PathBuf;
use std::time::Duration;

use sluice_identity::factor::FactorsRequired;
use sluice_net::smtp::Mailbox;
use sluice_oauth::config::LONGEST_ACCESS_TOKEN;
use url::Url;

use super::identity_hashing::{self, HardeningSettings, HashPoolSettings, PasswordHashSettings};
use super::identity_limits::{self, LimitsSettings};
use super::identity_mail::{self, MailSettings};
use super::identity_pages::{self, LookSettings};
use super::identity_passkeys::{self, PasskeySettings};
use super::key::{Choice, Key, Kind, names};
use super::reader::Reader;
use super::urls::UrlsSettings;

const SUPPORT: &str = "identity.support";
const CONCEAL: &str = "identity.registration.conceal_taken";
const LIST_FILE: &str = "identity.password.breached.file";
const LIST_URL: &str = "identity.password.breached.url";
const LIST_REQUIRED: &str = "identity.password.breached.required";
const IDLE: &str = "identity.session.idle";
const LIFETIME: &str = "identity.session.lifetime";
const ACCESS_TOKEN: &str = "identity.session.access_token";

const SHORTEST: Duration = Duration::from_secs(1);
const LONGEST_SESSION: Duration = Duration::from_hours(10 * 365 * 24);
const LONGEST_ROTATION: Duration = Duration::from_mins(5);
const SHORTEST_CODE: Duration = Duration::from_mins(1);
const LONGEST_CODE: Duration = Duration::from_hours(7 * 24);

/// Each bit doubles the work; 24 bits take a browser some ten seconds.
const BITS: Kind = Kind::Integer { min: 0, max: 24 };

pub(super) const KEYS: &[Key] = &[
    Key::own("service_name", Kind::Text, "What pages and mails call this service, and authenticator apps the account.")
        .with_default("Sluice"),
    Key::own(
        "support",
        Kind::Text,
        "Where people find help: an http or https URL, or a mail address. The built-in pages link to it, and mails name it that tell of a \
         change which only you can undo.",
    ),
    Key::own(
        "preferred_username",
        Kind::Choice(names::<PreferredUsername>),
        "What the built-in consent page tells applications as `preferred_username`, with the scope `profile`: the username, which \
         anybody chooses and others may have, or where there is none the verified address, if `email` is granted too; that \
         address alone; or nothing (`docs/identity/api.md`).",
    )
    .with_default("username"),
    Key::own(
        "email_claim",
        Kind::Choice(names::<EmailClaim>),
        "When the built-in consent page tells applications an address as `email`, with the scope `email`: always, with `email_verified` beside \
         it, or only once it is verified. Until then `verified` tells `email_verified: false` and no address, for applications that let \
         people in by one and do not look whether it is verified (`docs/identity/api.md`).",
    )
    .with_default("always"),
    Key::own(
        "registration.enabled",
        Kind::Boolean,
        "Whether people may register. Where they may not, and `urls.registration` is no page of your own, \
         `prompt=create` is not announced and leads to the login page.",
    )
    .with_default("true"),
    Key::own(
        "registration.conceal_taken",
        Kind::Boolean,
        "Whether the answer to a registration hides that the address is taken; its owner is told by mail, so \
         `identity.mail.smtp.url` is required.",
    )
    .with_default("false"),
    Key::own(
        "registration.verify_email",
        Kind::Boolean,
        "Whether people who register are sent a mail to verify their address, if mail can be sent.",
    )
    .with_default("true"),
    Key::own(
        "password.min_length",
        Kind::Integer { min: 8, max: 256 },
        "The fewest characters of a new password.",
    )
    .with_default("8"),
    Key::own(
        "password.breached.file",
        Kind::Path,
        "A file of passwords that nobody may choose: lines `SHA1:count` in hexadecimal, sorted, as the downloader of \
         Have I Been Pwned makes it.",
    ),
    Key::own(
        "password.breached.url",
        Kind::Url,
        "The same as a service, which is told the first five digits of a SHA-1 only, such as \
         `https://api.pwnedpasswords.com/range/`. Instead of the file.",
    ),
    Key::own(
        "password.breached.required",
        Kind::Boolean,
        "Whether no password may be chosen while that list is out of reach; otherwise it is passed over, and a log \
         says so.",
    )
    .with_default("false"),
    Key::own(
        "factors.required",
        Kind::Choice(names::<FactorsRequired>),
        "Who must have a second factor, and sets one up at the next login before that is accepted: nobody; those of whom an administrator \
         said so (`PATCH /admin/identities/{id}/factors`); or everybody (`docs/identity/api.md`). The same on all nodes. Sessions that go on \
         are not ended by it.",
    )
    .with_default("never"),
    Key::own(
        "session.access_token",
        Kind::Duration,
        "How long the access tokens of sessions are valid, if their session does not end before; at most 744h. The same \
         on all nodes. Lowered, it ends tokens that were issued for longer; to raise it, stop all nodes first.",
    )
    .with_default("15m"),
    Key::own("session.idle", Kind::Duration, "How long a session lasts that is not refreshed.").with_default("720h"),
    Key::own("session.lifetime", Kind::Duration, "How long a session lasts at most.").with_default("2160h"),
    Key::own(
        "session.rotation_window",
        Kind::Duration,
        "How long the refresh token before the last one is answered with the same pair again; at most 5m.",
    )
    .with_default("30s"),
    Key::own("codes.verify", Kind::Duration, "How long the code of a mail verifies an address; from 1m to 168h.")
        .with_default("24h"),
    Key::own("codes.recover", Kind::Duration, "How long the code of a mail sets another password; from 1m to 168h.")
        .with_default("15m"),
    Key::own(
        "codes.change_email",
        Kind::Duration,
        "How long the code of a mail changes the address; from 1m to 168h.",
    )
    .with_default("1h"),
    Key::own(
        "proof_of_work.registration_bits",
        BITS,
        "What a browser has to compute before a registration, in leading zero bits of a hash; each bit doubles it, and \
         20 take a second or two. 0: nothing.",
    )
    .with_default("0"),
    Key::own("proof_of_work.login_bits", BITS, "The same before a login.").with_default("0"),
    Key::own(
        "urls.account",
        Kind::UrlReference,
        "The page where people look after their account, to which mails and pages send them to log in; built in by default, \
         beside the built-in login page. With another `urls.login` there is none, and no link to one.",
    ),
    Key::own("urls.verification", Kind::UrlReference, "The page where an address is verified; built in by default."),
    Key::own("urls.recovery", Kind::UrlReference, "The page where another password is set; built in by default."),
    Key::own(
        "urls.email_change",
        Kind::UrlReference,
        "The page where another address is confirmed, with the `token` of the link in the mail; built in by default. With \
         another `urls.login` the built-in one only says to enter the code where the change was asked for.",
    ),
];

/// People's accounts.
#[derive(Debug, Clone)]
pub(crate) struct IdentitySettings {
    /// Default: `Sluice`.
    pub(crate) service_name: String,
    /// A URL or a mail address. Default: none.
    pub(crate) support: Option<String>,
    /// Default: the username.
    pub(crate) preferred_username: PreferredUsername,
    /// Default: always.
    pub(crate) email_claim: EmailClaim,
    pub(crate) registration: SelfRegistrationSettings,
    pub(crate) password: PasswordSettings,
    /// Default: nobody.
    pub(crate) factors_required: FactorsRequired,
    pub(crate) password_hash: PasswordHashSettings,
    pub(crate) hash_pool: HashPoolSettings,
    pub(crate) hardening: HardeningSettings,
    pub(crate) session: SessionSettings,
    pub(crate) limits: LimitsSettings,
    pub(crate) codes: CodeSettings,
    pub(crate) proof_of_work: ProofOfWorkSettings,
    /// `None` where the host of the pages is an address: passkeys belong to a name.
    pub(crate) passkeys: Option<PasskeySettings>,
    /// `None`: no mail is sent.
    pub(crate) mail: Option<MailSettings>,
    pub(crate) pages: AccountPageSettings,
    pub(crate) look: LookSettings,
}

/// What people are called to applications.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum PreferredUsername {
    /// As they call themselves.
    #[default]
    Username,
    /// By their verified address.
    Email,
    Nothing,
}

impl Choice for PreferredUsername {
    const CHOICES: &'static [(&'static str, Self)] =
        &[("username", Self::Username), ("email", Self::Email), ("none", Self::Nothing)];
}

impl Choice for FactorsRequired {
    const CHOICES: &'static [(&'static str, Self)] =
        &[("never", Self::Never), ("chosen", Self::Chosen), ("always", Self::Always)];
}

/// When applications are told an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum EmailClaim {
    /// Whether or not it is verified, and which it is.
    #[default]
    Always,
    /// Once it is verified.
    Verified,
}

impl Choice for EmailClaim {
    const CHOICES: &'static [(&'static str, Self)] =
        &[("always", Self::Always), ("verified", Self::Verified)];
}

/// Who may register.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SelfRegistrationSettings {
    /// Default: yes.
    pub(crate) enabled: bool,
    /// Default: no. Never without mail.
    pub(crate) conceal_taken: bool,
    /// Default: yes.
    pub(crate) verify_email: bool,
}

/// What a new password must be.
#[derive(Debug, Clone)]
pub(crate) struct PasswordSettings {
    /// In characters. Default: 8; from 8 to 256.
    pub(crate) min_length: usize,
    /// Default: none.
    pub(crate) breached: Option<BreachedSettings>,
}

/// Passwords that nobody may choose.
#[derive(Debug, Clone)]
pub(crate) struct BreachedSettings {
    pub(crate) list: BreachedList,
    /// Whether none may be chosen while the list is out of reach. Default: no.
    pub(crate) required: bool,
}

/// Where that list is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum BreachedList {
    File(PathBuf),
    Url(Url),
}

/// How long sessions live.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SessionSettings {
    /// Default: 15 min; at most 744 h.
    pub(crate) access_token: Duration,
    /// Default: 30 days; at most `lifetime`.
    pub(crate) idle: Duration,
    /// Default: 90 days.
    pub(crate) lifetime: Duration,
    /// Default: 30 s; at most 5 min.
    pub(crate) rotation_window: Duration,
}

/// How long the codes in mails are good; from 1 min to 7 days.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CodeSettings {
    /// Default: 24 h.
    pub(crate) verify: Duration,
    /// Default: 15 min.
    pub(crate) recover: Duration,
    /// Default: 1 h.
    pub(crate) change_email: Duration,
}

/// What a browser has to compute, in leading zero bits; at most 24.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ProofOfWorkSettings {
    /// Default: 0.
    pub(crate) registration_bits: u8,
    /// Default: 0.
    pub(crate) login_bits: u8,
}

/// The pages that mails and links lead to. `None` is the built-in one.
#[derive(Debug, Clone)]
pub(crate) struct AccountPageSettings {
    pub(crate) account: Option<Url>,
    pub(crate) verification: Option<Url>,
    pub(crate) recovery: Option<Url>,
    pub(crate) email_change: Option<Url>,
}

/// Reads the section. Without `urls`, what depends on them is read as well as can be.
pub(super) fn read(reader: &mut Reader<'_>, base: &Url, urls: Option<&UrlsSettings>) -> IdentitySettings {
    let service_name = reader.text("identity.service_name").unwrap_or_default();
    let mail = identity_mail::read(reader);
    let hash_pool = identity_hashing::read_pool(reader);
    let bits = |bits: Option<u8>| bits.unwrap_or_default();
    IdentitySettings {
        support: read_support(reader),
        preferred_username: reader.choice("identity.preferred_username"),
        email_claim: reader.choice("identity.email_claim"),
        registration: read_registration(reader, mail.is_some()),
        password: PasswordSettings {
            min_length: reader.integer("identity.password.min_length").unwrap_or_default(),
            breached: read_breached(reader),
        },
        factors_required: reader.choice("identity.factors.required"),
        password_hash: identity_hashing::read_hash(reader, &hash_pool),
        hash_pool,
        hardening: identity_hashing::read_hardening(reader),
        session: read_session(reader),
        limits: identity_limits::read(reader),
        codes: read_codes(reader),
        proof_of_work: ProofOfWorkSettings {
            registration_bits: bits(reader.integer("identity.proof_of_work.registration_bits")),
            login_bits: bits(reader.integer("identity.proof_of_work.login_bits")),
        },
        passkeys: identity_passkeys::read(reader, urls.map(|urls| &urls.public), &service_name),
        mail,
        pages: read_pages(reader, base),
        look: identity_pages::read(reader),
        service_name,
    }
}

fn read_support(reader: &mut Reader<'_>) -> Option<String> {
    let support = reader.text(SUPPORT)?;
    let is_word = !support.contains(|c: char| c.is_whitespace() || c.is_control());
    let is_page = support.parse::<Url>().is_ok_and(|url| matches!(url.scheme(), "http" | "https"));
    // A mailbox may have a name beside its address.
    let is_address = !support.contains(['<', '>', ':']) && support.parse::<Mailbox>().is_ok();
    if is_word && (is_page || is_address) {
        return Some(support);
    }
    reader.refuse(SUPPORT, "must be an http or https URL, or a mail address");
    None
}

fn read_registration(reader: &mut Reader<'_>, has_mail: bool) -> SelfRegistrationSettings {
    let conceal_taken = reader.boolean(CONCEAL);
    if conceal_taken && !has_mail {
        reader.refuse(CONCEAL, "needs identity.mail.smtp.url: the owner of the address is told by mail");
    }
    SelfRegistrationSettings {
        enabled: reader.boolean("identity.registration.enabled"),
        conceal_taken,
        verify_email: reader.boolean("identity.registration.verify_email"),
    }
}

fn read_breached(reader: &mut Reader<'_>) -> Option<BreachedSettings> {
    let (file, url, required) = (reader.path(LIST_FILE), reader.url(LIST_URL), reader.boolean(LIST_REQUIRED));
    let list = match (file, url) {
        (Some(_), Some(_)) => {
            reader.refuse(LIST_URL, format!("has {LIST_FILE} beside it; set the one or the other"));
            return None;
        }
        (Some(file), None) => BreachedList::File(file),
        (None, Some(url)) => BreachedList::Url(url),
        (None, None) => {
            if required && !reader.has(LIST_URL) {
                reader.refuse(LIST_REQUIRED, format!("needs {LIST_FILE} or {LIST_URL}"));
            }
            return None;
        }
    };
    Some(BreachedSettings { list, required })
}

fn read_session(reader: &mut Reader<'_>) -> SessionSettings {
    let problems = reader.problem_count();
    let settings = SessionSettings {
        access_token: reader.duration_within(ACCESS_TOKEN, SHORTEST..=LONGEST_ACCESS_TOKEN.as_duration()),
        idle: reader.duration_within(IDLE, SHORTEST..=LONGEST_SESSION),
        lifetime: reader.duration_within(LIFETIME, SHORTEST..=LONGEST_SESSION),
        rotation_window: reader
            .duration_within("identity.session.rotation_window", Duration::ZERO..=LONGEST_ROTATION),
    };
    if reader.problem_count() == problems && settings.idle > settings.lifetime {
        reader.refuse(IDLE, format!("must not be more than {LIFETIME}"));
    }
    settings
}

fn read_codes(reader: &mut Reader<'_>) -> CodeSettings {
    let mut code = |key: &str| reader.duration_within(key, SHORTEST_CODE..=LONGEST_CODE);
    CodeSettings {
        verify: code("identity.codes.verify"),
        recover: code("identity.codes.recover"),
        change_email: code("identity.codes.change_email"),
    }
}

fn read_pages(reader: &mut Reader<'_>, base: &Url) -> AccountPageSettings {
    let mut page = |key: &str| reader.url_reference(key, base);
    AccountPageSettings {
        account: page("identity.urls.account"),
        verification: page("identity.urls.verification"),
        recovery: page("identity.urls.recovery"),
        email_change: page("identity.urls.email_change"),
    }
}
