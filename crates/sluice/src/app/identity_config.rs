//! Settings in the words of the identity service.

use std::num::NonZeroU32;
use std::path::PathBuf;

use sluice_crypto::hash_pool::HashPoolConfig;
use sluice_identity::account::AccountLinks;
use sluice_identity::config::{
    BreachedConfig, BreachedSource, CodeConfig, HardeningConfig, LimitsConfig, PasskeyConfig, PasswordPolicy,
    ProofOfWorkConfig, Rate, RegistrationConfig, SessionConfig,
};
use sluice_identity::mail::MailSender;
use sluice_identity::session::SessionTerms;
use sluice_identity::{Config, LockoutConfig};
use sluice_net::SmtpConfig;
use sluice_oauth::config::EmailClaim;
use sluice_oauth::discovery::consent_page_scopes;
use tracing::warn;
use url::Url;

use crate::config::{BreachedList, IdentitySettings, LimitsSettings, MailSettings, Settings};

/// What the services of people are told.
pub(super) struct PeopleConfig {
    pub(super) identity: Config,
    pub(super) terms: SessionTerms,
    pub(super) links: AccountLinks,
    /// None where there is no mail.
    pub(super) smtp: Option<SmtpConfig>,
    /// Whom mails are from, and where they lead.
    pub(super) sender: MailSender,
    /// A folder of templates for mails.
    pub(super) mail_templates: Option<PathBuf>,
    /// Whether people who register are asked to verify their address.
    pub(super) verifies: bool,
    /// How much memory a login may take for a hash, in KiB.
    pub(super) max_memory_kib: u32,
}

/// Warns where anybody may register with any address, nobody can show that it is theirs, and applications are told it all the same.
pub(super) fn tell_of_unverified_addresses(settings: &Settings, oauth: &sluice_oauth::Config) {
    let own = &settings.identity;
    let is_told = oauth.policies.email_claim == EmailClaim::Always && !consent_page_scopes(oauth).is_empty();
    let is_anybodys = own.registration.enabled && own.mail.is_none();
    if is_told && is_anybodys && !settings.mode.is_development() {
        warn!(
            key = "identity.email_claim",
            "anybody may register with the address of somebody else, and without a mail server none is verified: applications that let \
             people in by `email` must look at `email_verified`. identity.email_claim: verified keeps such addresses from them"
        );
    }
}

impl PeopleConfig {
    /// What the settings say.
    pub(super) fn of(settings: &Settings, oauth: &sluice_oauth::Config) -> Self {
        let own = &settings.identity;
        let identity = identity(own);
        let terms = SessionTerms {
            issuer: oauth.issuer.as_str().to_owned(),
            lifetimes: identity.sessions,
            longest_token: oauth.lifetimes.revocation,
        };
        let links = links(own, oauth);
        let sender = sender(own, &links);
        let smtp = own.mail.as_ref().map(smtp);
        let mail_templates = own.mail.as_ref().and_then(|mail| mail.templates.clone());
        let (verifies, max_memory_kib) = (own.registration.verify_email, own.hash_pool.max_memory_kib);
        Self { identity, terms, links, smtp, sender, mail_templates, verifies, max_memory_kib }
    }
}

/// The pages that mails lead to: those that are configured, else the built-in ones.
fn links(own: &IdentitySettings, oauth: &sluice_oauth::Config) -> AccountLinks {
    let built_in = |path: &str| oauth.issuer.endpoint(path).parse::<Url>().ok();
    let page = |configured: &Option<Url>, path: &str| {
        let page = configured.clone().or_else(|| built_in(path));
        page.unwrap_or_else(|| oauth.pages.login.clone())
    };
    // The built-in account pages are served beside the built-in login page only. Another one is not linked to: it expects
    // somebody whom an application has sent.
    let has_account_pages = built_in("/ui/login").as_ref() == Some(&oauth.pages.login);
    let built_in_account = built_in("/ui/account");
    let account = own.pages.account.clone().or_else(|| built_in_account.clone());
    AccountLinks {
        login: account.filter(|page| has_account_pages || built_in_account.as_ref() != Some(page)),
        verify: page(&own.pages.verification, "/ui/verification"),
        recover: page(&own.pages.recovery, "/ui/recovery"),
        change_email: page(&own.pages.email_change, "/ui/account/email/confirm"),
    }
}

/// Whom mails are from. Who may answer them is somebody only where answers go elsewhere than mails come from.
fn sender(own: &IdentitySettings, links: &AccountLinks) -> MailSender {
    MailSender {
        support: own.support.clone(),
        reads_answers: own.mail.as_ref().is_some_and(|mail| mail.reply_to.is_some()),
        account: links.login.as_ref().map(Url::to_string),
        recover: Some(links.recover.to_string()),
        ..MailSender::named(&own.service_name)
    }
}

/// Where slow hashes run.
pub(crate) fn hash_pool(settings: &IdentitySettings) -> HashPoolConfig {
    let mut pool =
        HashPoolConfig { max_memory_kib: settings.hash_pool.max_memory_kib, ..HashPoolConfig::default() };
    if let Some(threads) = settings.hash_pool.threads {
        pool.threads = threads;
    }
    pool
}

/// What the identity service is told.
pub(crate) fn identity(own: &IdentitySettings) -> Config {
    Config {
        service_name: own.service_name.clone(),
        password_hash: own.password_hash.params,
        lockout: LockoutConfig::default(),
        registration: RegistrationConfig {
            enabled: own.registration.enabled,
            conceal_taken: own.registration.conceal_taken,
        },
        password: PasswordPolicy {
            min_characters: own.password.min_length,
            breached: own.password.breached.as_ref().map(|breached| BreachedConfig {
                source: match &breached.list {
                    BreachedList::File(path) => BreachedSource::File(path.clone()),
                    BreachedList::Url(url) => BreachedSource::Endpoint(url.clone()),
                },
                required: breached.required,
            }),
        },
        sessions: SessionConfig {
            access_token: own.session.access_token.into(),
            idle: own.session.idle.into(),
            lifetime: own.session.lifetime.into(),
            rotation_window: own.session.rotation_window.into(),
        },
        limits: limits(&own.limits),
        codes: CodeConfig {
            verify: own.codes.verify.into(),
            recover: own.codes.recover.into(),
            change_email: own.codes.change_email.into(),
        },
        hardening: HardeningConfig {
            enabled: own.hardening.enabled,
            lease: own.hardening.lease.into(),
            batch: own.hardening.batch,
            poll: own.hardening.poll.into(),
            jobs: own.hardening.threads,
        },
        passkeys: own.passkeys.as_ref().map(|passkeys| PasskeyConfig {
            rp_id: passkeys.rp_id.clone(),
            rp_name: passkeys.rp_name.clone(),
            origins: passkeys.origins.clone(),
        }),
        factors_required: own.factors_required,
        proof_of_work: ProofOfWorkConfig {
            registration_bits: own.proof_of_work.registration_bits,
            login_bits: own.proof_of_work.login_bits,
        },
    }
}

fn limits(own: &LimitsSettings) -> LimitsConfig {
    let rate =
        |hourly: Option<u32>| hourly.and_then(NonZeroU32::new).map(|burst| Rate::per_hour(burst.get()));
    LimitsConfig {
        registrations_per_network: rate(own.registrations_per_network),
        logins_per_network: rate(own.logins_per_network),
        mails_per_address: rate(own.mails_per_address),
        mails_per_network: rate(own.mails_per_network),
        codes_per_account: rate(own.codes_per_account),
        codes_per_network: rate(own.codes_per_network),
        exempt: own.exempt.clone(),
    }
}

fn smtp(mail: &MailSettings) -> SmtpConfig {
    SmtpConfig {
        reply_to: mail.reply_to.clone(),
        timeout: mail.timeout,
        pool_size: mail.connections,
        extra_ca_file: mail.ca_file.clone(),
        hello_name: mail.hello_name.clone(),
        ..SmtpConfig::new(mail.url.clone(), mail.from.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::oauth_config::oauth;
    use crate::config::{Mode, Sources, load};

    const ELSEWHERE: (&str, &str) = ("urls.login", "https://login.example/");

    fn settings_of(settings: &[(&str, &str)]) -> Settings {
        let own = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
        let sources = Sources {
            files: Vec::new(),
            environment: Vec::new(),
            overrides: settings.iter().map(own).collect(),
            mode: Mode::Development,
            data_dir: PathBuf::from("/var/lib/sluice"),
        };
        load(&sources).unwrap_or_else(|error| panic!("{error}")).settings
    }

    /// Where mails lead to with these settings: to log in, and to confirm another address.
    fn links_of(settings: &[(&str, &str)]) -> (Option<String>, String) {
        let settings = settings_of(settings);
        let AccountLinks { login, change_email, .. } = links(&settings.identity, &oauth(&settings).unwrap());
        (login.map(String::from), change_email.into())
    }

    #[test]
    fn people_log_in_at_the_account_pages_where_there_are_any() {
        let expected = Some("http://127.0.0.1:4444/ui/account".to_owned());
        assert_eq!(links_of(&[]).0, expected);
        assert_eq!(links_of(&[("urls.login", "/ui/login")]).0, expected);
        assert_eq!(links_of(&[ELSEWHERE]).0, None);
        assert_eq!(links_of(&[ELSEWHERE, ("identity.urls.account", "/ui/account")]).0, None);
        let own = "https://login.example/me";
        assert_eq!(links_of(&[ELSEWHERE, ("identity.urls.account", own)]).0.as_deref(), Some(own));
    }

    #[test]
    fn mails_say_where_to_turn_to_as_it_is_configured() {
        let sender = |own: &[(&str, &str)]| {
            let settings = settings_of(own);
            sender(&settings.identity, &links(&settings.identity, &oauth(&settings).unwrap()))
        };
        let smtp = [
            ("identity.mail.smtp.url", "smtp://mail.example.com"),
            ("identity.mail.smtp.from", "no-reply@example.com"),
            ("identity.support", "help@example.com"),
        ];
        let MailSender { service, support, reads_answers, account, recover } = sender(&smtp);
        assert_eq!((service.as_str(), support.as_deref()), ("Sluice", Some("help@example.com")));
        assert_eq!(account.as_deref(), Some("http://127.0.0.1:4444/ui/account"));
        assert_eq!((recover.as_deref(), reads_answers), (Some("http://127.0.0.1:4444/ui/recovery"), false));
        let answered = [smtp[0], smtp[1], ("identity.mail.smtp.reply_to", "help@example.com"), ELSEWHERE];
        let answered = sender(&answered);
        assert!(answered.reads_answers && answered.account.is_none());
    }

    #[test]
    fn another_address_is_confirmed_at_a_page_that_is_always_there() {
        let settings: [&[(&str, &str)]; 2] = [&[], &[ELSEWHERE]];
        for settings in settings {
            assert_eq!(links_of(settings).1, "http://127.0.0.1:4444/ui/account/email/confirm");
        }
    }
}
