//! The services of people: who they are, how they prove it, what is sent to them.

use std::path::Path;
use std::sync::Arc;

use sluice_commit::chain;
use sluice_crypto::Sealer;
use sluice_crypto::credential::CredentialKeys;
use sluice_crypto::hash_pool::HashPool;
use sluice_identity::account::{AccountConfig, AccountLinks, AccountService};
use sluice_identity::administration::IdentityAdministration;
use sluice_identity::config::BreachedSource;
use sluice_identity::factor::{FactorParts, FactorService, RelyingParty};
use sluice_identity::hardening::HardeningWorker;
use sluice_identity::identity::IdentityDirectory;
use sluice_identity::mail::{MailDelivery, MailQueue, MailRetries, MailSender, MailTemplates};
use sluice_identity::proof_of_work::ProofOfWork;
use sluice_identity::registration::breached::{self, BreachedPasswords};
use sluice_identity::session::{SessionService, SessionTerms};
use sluice_identity::{
    Limits, LoginService, PasswordHasher, PasswordRules, RegistrationParts, RegistrationService,
};
use sluice_net::{FetchPolicy, Fetcher, SmtpConfig, SmtpTransport};
use sluice_oauth::consent::ConsentService;
use sluice_oauth::login_session::LoginSessionService;
use sluice_token::{FeedFollower, RevocationSet};

use super::identity_config::PeopleConfig;
use super::secrets::SecretsError;
use super::services::Foundation;
use super::signing_out::SigningOut;
use super::stores::StartError;

/// What the services of people share with those of clients.
pub(super) struct Around<'a> {
    pub(super) in_flight: &'a Arc<Sealer>,
    pub(super) at_rest: &'a Arc<Sealer>,
    pub(super) pool: &'a Arc<HashPool>,
    /// What configuration names may be fetched by this.
    pub(super) outbound: &'a FetchPolicy,
    pub(super) revocations: &'a Arc<RevocationSet>,
    pub(super) follower: &'a Arc<FeedFollower>,
    pub(super) login_sessions: &'a Arc<LoginSessionService>,
    pub(super) consents: &'a Arc<ConsentService>,
}

/// The services of people.
pub(crate) struct People {
    pub(crate) registration: Arc<RegistrationService>,
    pub(crate) login: Arc<LoginService>,
    pub(crate) sessions: Arc<SessionService>,
    pub(crate) accounts: Arc<AccountService>,
    pub(crate) factors: Arc<FactorService>,
    pub(crate) proof_of_work: Arc<ProofOfWork>,
    pub(crate) administration: Arc<IdentityAdministration>,
    pub(crate) rules: Arc<PasswordRules>,
    pub(crate) hardening: Arc<HardeningWorker>,
    /// None where there is no mail.
    pub(crate) delivery: Option<Arc<MailDelivery>>,
}

impl People {
    /// The services.
    pub(super) fn new(
        base: &Foundation,
        config: PeopleConfig,
        around: &Around<'_>,
    ) -> Result<Self, StartError> {
        let directory: Arc<dyn IdentityDirectory> = Arc::new(SigningOut {
            store: Arc::clone(&base.store),
            sessions: Arc::clone(around.login_sessions),
            consents: Arc::clone(around.consents),
            clock: Arc::clone(&base.clock),
        });
        let makes = Makes { base, around, config: &config.identity, directory };
        let keys = makes.credential_keys()?;
        let hasher = Arc::new(makes.hasher(&keys));
        let limits = Arc::new(Limits::new(&config.identity.limits, &base.clock));
        let rules = Arc::new(makes.rules()?);
        let login = Arc::new(makes.login(&hasher, &limits));
        let sessions = Arc::new(makes.sessions(config.terms)?);
        let mails = config.smtp.is_some().then(|| Arc::new(makes.mails()));
        let factors = Arc::new(makes.factors(&limits, mails.as_ref())?);
        let common = Common { hasher, limits, rules, login, sessions, factors, mails };
        let accounts = Arc::new(makes.accounts(&common, config.links)?);
        let writes = common.mails.as_ref().map(|_| Arc::clone(&accounts));
        let administration =
            makes.administration(&common, (keys.clone(), config.max_memory_kib), writes.clone());
        // Where taken addresses are concealed, mail is what tells free ones from them.
        let writes = writes.filter(|_| config.verifies || makes.config.registration.conceal_taken);
        let registration = makes.registration(&common, writes);
        let Common { rules, login, sessions, factors, .. } = common;
        let (sender, templates) = (config.sender, config.mail_templates.as_deref());
        let delivery = config.smtp.map(|smtp| makes.delivery(&smtp, sender, templates)).transpose()?;
        Ok(Self {
            registration: Arc::new(registration),
            login,
            sessions,
            accounts,
            factors,
            proof_of_work: Arc::new(makes.proof_of_work()),
            administration: Arc::new(administration),
            rules,
            hardening: Arc::new(makes.hardening(keys)),
            delivery: delivery.map(Arc::new),
        })
    }
}

/// What several services of people share.
struct Common {
    hasher: Arc<PasswordHasher>,
    limits: Arc<Limits>,
    rules: Arc<PasswordRules>,
    login: Arc<LoginService>,
    sessions: Arc<SessionService>,
    factors: Arc<FactorService>,
    mails: Option<Arc<MailQueue>>,
}

/// What each service is made of.
struct Makes<'a> {
    base: &'a Foundation,
    around: &'a Around<'a>,
    config: &'a sluice_identity::Config,
    directory: Arc<dyn IdentityDirectory>,
}

impl Makes<'_> {
    fn credential_keys(&self) -> Result<CredentialKeys, SecretsError> {
        let peppers = self.base.secrets.peppers().ok_or(SecretsError::Missing)?;
        Ok(CredentialKeys::new(peppers, Arc::clone(self.around.at_rest)))
    }

    fn hasher(&self, keys: &CredentialKeys) -> PasswordHasher {
        let (pool, rng) = (Arc::clone(self.around.pool), Arc::clone(&self.base.rng));
        PasswordHasher::new(keys.clone(), pool, self.config.password_hash, rng)
    }

    fn rules(&self) -> Result<PasswordRules, StartError> {
        let list = self.config.password.breached.as_ref();
        let list = list.map(|list| open_breached(&list.source, self.around.outbound)).transpose()?;
        Ok(PasswordRules::new(&self.config.password, list))
    }

    fn login(&self, hasher: &Arc<PasswordHasher>, limits: &Arc<Limits>) -> LoginService {
        LoginService::new(
            Arc::clone(&self.base.store) as _,
            Arc::clone(hasher),
            Arc::clone(limits),
            &self.config.lockout,
            Arc::clone(&self.base.clock),
        )
        .verified_only(self.config.registration.conceal_taken)
    }

    fn sessions(&self, terms: SessionTerms) -> Result<SessionService, StartError> {
        Ok(SessionService {
            terms,
            sessions: Arc::clone(&self.base.store) as _,
            identities: Arc::clone(&self.directory),
            keys: Arc::new(self.base.secrets.identity_tokens(self.base.network)?),
            sealer: Arc::clone(self.around.in_flight),
            revocations: Arc::clone(self.around.revocations),
            follower: Arc::clone(self.around.follower),
            clock: Arc::clone(&self.base.clock),
            rng: Arc::clone(&self.base.rng),
        })
    }

    fn mails(&self) -> MailQueue {
        MailQueue {
            outbox: Arc::clone(&self.base.store) as _,
            sealer: Arc::clone(self.around.at_rest),
            clock: Arc::clone(&self.base.clock),
            rng: Arc::clone(&self.base.rng),
        }
    }

    fn delivery(
        &self,
        smtp: &SmtpConfig,
        sender: MailSender,
        folder: Option<&Path>,
    ) -> Result<MailDelivery, StartError> {
        let transport = SmtpTransport::new(smtp)
            .map_err(|error| StartError::Setting { key: "identity.mail.smtp", reason: chain(&error) })?;
        let templates = match folder {
            Some(folder) => MailTemplates::with_folder(sender, folder),
            None => Ok(MailTemplates::new(sender)),
        };
        let templates = templates
            .map_err(|error| StartError::Setting { key: "identity.mail.templates", reason: chain(&error) })?;
        Ok(MailDelivery {
            outbox: Arc::clone(&self.base.store) as _,
            transport: Arc::new(transport),
            templates,
            sealer: Arc::clone(self.around.at_rest),
            metrics: Arc::default(),
            retries: MailRetries::default(),
            clock: Arc::clone(&self.base.clock),
            rng: Arc::clone(&self.base.rng),
        })
    }

    fn factors(
        &self,
        limits: &Arc<Limits>,
        mails: Option<&Arc<MailQueue>>,
    ) -> Result<FactorService, StartError> {
        let passkeys = self.config.passkeys.as_ref().map(RelyingParty::new).transpose();
        let passkeys = passkeys
            .map_err(|error| StartError::Setting { key: "identity.passkeys", reason: error.to_string() })?;
        Ok(FactorService::new(FactorParts {
            identities: Arc::clone(&self.base.store) as _,
            factors: Arc::clone(&self.base.store) as _,
            in_flight: Arc::clone(self.around.in_flight),
            at_rest: Arc::clone(self.around.at_rest),
            recovery_keys: self.base.secrets.recovery_codes().ok_or(SecretsError::Missing)?,
            limits: Arc::clone(limits),
            mails: mails.cloned(),
            service_name: self.config.service_name.clone(),
            passkeys,
            required: self.config.factors_required,
            clock: Arc::clone(&self.base.clock),
            rng: Arc::clone(&self.base.rng),
        }))
    }

    fn accounts(&self, common: &Common, links: AccountLinks) -> Result<AccountService, SecretsError> {
        Ok(AccountService {
            config: AccountConfig { links, codes: self.config.codes },
            identities: Arc::clone(&self.directory),
            codes: Arc::clone(&self.base.store) as _,
            code_key: self.base.secrets.mail_codes().ok_or(SecretsError::Missing)?,
            mails: common.mails.clone(),
            sessions: Arc::clone(&common.sessions),
            factors: Arc::clone(&common.factors),
            login: Arc::clone(&common.login),
            hasher: Arc::clone(&common.hasher),
            rules: Arc::clone(&common.rules),
            limits: Arc::clone(&common.limits),
            sealer: Arc::clone(self.around.in_flight),
            clock: Arc::clone(&self.base.clock),
            rng: Arc::clone(&self.base.rng),
        })
    }

    fn administration(
        &self,
        common: &Common,
        (keys, max_memory_kib): (CredentialKeys, u32),
        writes: Option<Arc<AccountService>>,
    ) -> IdentityAdministration {
        IdentityAdministration {
            identities: Arc::clone(&self.directory),
            sessions: Arc::clone(&common.sessions),
            factors: Arc::clone(&common.factors),
            keys,
            max_memory_kib,
            rules: Arc::clone(&common.rules),
            mails: writes.map(|accounts| accounts as _),
            sealer: Arc::clone(self.around.in_flight),
            clock: Arc::clone(&self.base.clock),
            rng: Arc::clone(&self.base.rng),
        }
    }

    fn registration(&self, common: &Common, writes: Option<Arc<AccountService>>) -> RegistrationService {
        RegistrationService::new(RegistrationParts {
            identities: Arc::clone(&self.base.store) as _,
            hasher: Arc::clone(&common.hasher),
            rules: Arc::clone(&common.rules),
            limits: Arc::clone(&common.limits),
            mails: writes.map(|accounts| accounts as _),
            config: self.config.registration,
            clock: Arc::clone(&self.base.clock),
            rng: Arc::clone(&self.base.rng),
        })
    }

    fn proof_of_work(&self) -> ProofOfWork {
        let (clock, rng) = (Arc::clone(&self.base.clock), Arc::clone(&self.base.rng));
        ProofOfWork::new(self.config.proof_of_work, Arc::clone(self.around.in_flight), clock, rng)
    }

    fn hardening(&self, keys: CredentialKeys) -> HardeningWorker {
        HardeningWorker {
            repo: Arc::clone(&self.base.store) as _,
            keys,
            pool: Arc::clone(self.around.pool),
            params: self.config.password_hash,
            clock: Arc::clone(&self.base.clock),
            config: self.config.hardening,
            metrics: Arc::default(),
        }
    }
}

/// The list of passwords that nobody may choose. Where the operator says it is, it may be in the network that this server stands in.
fn open_breached(
    source: &BreachedSource,
    outbound: &FetchPolicy,
) -> Result<Arc<dyn BreachedPasswords>, StartError> {
    let host = match source {
        BreachedSource::Endpoint(url) => url.host_str().map(str::to_owned),
        BreachedSource::File(_) => None,
    };
    let exempt_hosts = outbound.exempt_hosts.iter().cloned().chain(host).collect();
    let fetcher = Arc::new(Fetcher::new(FetchPolicy { exempt_hosts, ..outbound.clone() })?);
    breached::open(source, &fetcher).map_err(|error| match source {
        BreachedSource::File(path) => StartError::Setting {
            key: "identity.password.breached.file",
            reason: format!("{}: {}", path.display(), chain(&error)),
        },
        BreachedSource::Endpoint(_) => {
            StartError::Setting { key: "identity.password.breached.url", reason: chain(&error) }
        }
    })
}
