//! The services of people on the store in memory: for tests of them, and of what speaks with them.

#![expect(clippy::unwrap_used, reason = "for tests, which end where something is not as it must be")]

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::Mutex;
use sluice_crypto::Sealer;
use sluice_crypto::credential::{CredentialKeys, Peppers};
use sluice_crypto::digest::MacKey;
use sluice_crypto::hash_pool::HashPool;
use sluice_crypto::paseto::PasetoKey;
use sluice_crypto::password_hash::Argon2Params;
use sluice_identity::account::{AccountConfig, AccountLinks, AccountService};
use sluice_identity::config::{CodeConfig, Config, SessionConfig};
use sluice_identity::factor::{FactorParts, FactorService, RecoveryCodeKeys, RelyingParty};
use sluice_identity::mail::{
    CodeKey, MailDelivery, MailError, MailMetrics, MailQueue, MailRetries, MailSender, MailTemplates,
    MailTransport, RenderedMail,
};
use sluice_identity::session::{AccessTokenKeys, NoSigningKey, SessionService, SessionTerms};
use sluice_identity::{
    Limits, LoginService, PasswordHasher, PasswordRules, RegistrationParts, RegistrationService,
};
use sluice_primitives::{Clock, Lifetime, ManualClock, Rng, Secret};
use sluice_token::{FeedFollower, RevocationSet};

use crate::MemoryStore;

/// What the services of people are made of.
pub struct People {
    /// Where everything is.
    pub store: Arc<MemoryStore>,
    /// The time.
    pub clock: Arc<ManualClock>,
    /// Randomness.
    pub rng: Arc<dyn Rng>,
    /// Seals everything, in flight and at rest.
    pub sealer: Arc<Sealer>,
    /// Where hashes are computed.
    pub pool: Arc<HashPool>,
    /// What the services are told.
    pub config: Config,
    /// Who issues tokens.
    pub issuer: String,
    /// Where mails lead to.
    pub links: AccountLinks,
    /// Whether there is mail.
    pub sends_mail: bool,
}

/// The services of people.
pub struct PeopleServices {
    /// The keys of credentials.
    pub keys: CredentialKeys,
    /// What a password must be.
    pub rules: Arc<PasswordRules>,
    /// Who is signed in.
    pub sessions: Arc<SessionService>,
    /// Who it is.
    pub login: Arc<LoginService>,
    /// Second factors.
    pub factors: Arc<FactorService>,
    /// The own record.
    pub accounts: Arc<AccountService>,
    /// How one gets a record.
    pub registration: Arc<RegistrationService>,
}

/// Pages below `base`, each by its name.
pub fn account_links(base: &str) -> AccountLinks {
    let page = |name: &str| format!("{base}/{name}").parse().unwrap();
    AccountLinks {
        login: Some(page("login")),
        verify: page("verify"),
        recover: page("recover"),
        change_email: page("change"),
    }
}

impl People {
    /// The services. Nobody has heard the feed yet.
    pub fn services(&self) -> PeopleServices {
        let keys = self.keys();
        let params = Argon2Params::new(64, 1, 1).unwrap();
        let hasher = PasswordHasher::new(keys.clone(), Arc::clone(&self.pool), params, Arc::clone(&self.rng));
        let limits = Limits::new(&self.config.limits, &(self.clock.clone() as Arc<dyn Clock>));
        let (hasher, limits) = (Arc::new(hasher), Arc::new(limits));
        let rules = Arc::new(PasswordRules::new(&self.config.password, None));
        let mails = self.sends_mail.then(|| Arc::new(self.queue()));
        let login = Arc::new(self.login(&hasher, &limits));
        let sessions = Arc::new(self.sessions());
        let factors = Arc::new(self.factors(&limits, mails.as_ref()));
        let accounts = Arc::new(AccountService {
            config: AccountConfig { links: self.links.clone(), codes: CodeConfig::default() },
            identities: self.store.clone(),
            codes: self.store.clone(),
            code_key: CodeKey::new(MacKey::derive(b"secret", b"codes")),
            mails,
            sessions: Arc::clone(&sessions),
            factors: Arc::clone(&factors),
            login: Arc::clone(&login),
            hasher,
            rules: Arc::clone(&rules),
            limits,
            sealer: Arc::clone(&self.sealer),
            clock: self.clock.clone(),
            rng: Arc::clone(&self.rng),
        });
        let registration = Arc::new(RegistrationService::new(self.registration_parts(&accounts)));
        PeopleServices { keys, rules, sessions, login, factors, accounts, registration }
    }

    /// What the registration beside these is made of.
    pub fn registration_parts(&self, accounts: &Arc<AccountService>) -> RegistrationParts {
        RegistrationParts {
            identities: self.store.clone(),
            hasher: Arc::clone(&accounts.hasher),
            rules: Arc::clone(&accounts.rules),
            limits: Arc::clone(&accounts.limits),
            mails: self.sends_mail.then(|| accounts.clone() as _),
            config: self.config.registration,
            clock: self.clock.clone(),
            rng: Arc::clone(&self.rng),
        }
    }

    /// Delivers what waits in the outbox.
    pub fn delivery(&self, transport: Arc<dyn MailTransport>) -> MailDelivery {
        MailDelivery {
            outbox: self.store.clone(),
            transport,
            templates: MailTemplates::new(MailSender::named("Example")),
            sealer: Arc::clone(&self.sealer),
            metrics: Arc::new(MailMetrics::default()),
            retries: MailRetries::default(),
            clock: self.clock.clone(),
            rng: Arc::clone(&self.rng),
        }
    }

    /// A mailbox that all mail goes to.
    pub fn mailbox(&self) -> Mailbox {
        let letterbox: Arc<Letterbox> = Arc::default();
        Mailbox { delivery: self.delivery(letterbox.clone()), letterbox }
    }

    fn keys(&self) -> CredentialKeys {
        let peppers = Peppers::new(&[Secret::new(vec![8; 32])]).unwrap();
        CredentialKeys::new(peppers, Arc::clone(&self.sealer))
    }

    fn queue(&self) -> MailQueue {
        MailQueue {
            outbox: self.store.clone(),
            sealer: Arc::clone(&self.sealer),
            clock: self.clock.clone(),
            rng: Arc::clone(&self.rng),
        }
    }

    fn login(&self, hasher: &Arc<PasswordHasher>, limits: &Arc<Limits>) -> LoginService {
        let (hasher, limits, lockout) = (Arc::clone(hasher), Arc::clone(limits), &self.config.lockout);
        LoginService::new(self.store.clone(), hasher, limits, lockout, self.clock.clone())
            .verified_only(self.config.registration.conceal_taken)
    }

    fn sessions(&self) -> SessionService {
        let revocations: Arc<RevocationSet> = Arc::default();
        let follower = FeedFollower::new(self.store.clone(), Arc::clone(&revocations), self.clock.clone());
        SessionService {
            terms: SessionTerms {
                issuer: self.issuer.clone(),
                lifetimes: SessionConfig::default(),
                longest_token: Lifetime::hours(1),
            },
            sessions: self.store.clone(),
            identities: self.store.clone(),
            keys: Arc::new(PasetoKeys(PasetoKey::generate(&*self.rng).unwrap())),
            sealer: Arc::clone(&self.sealer),
            revocations,
            follower: Arc::new(follower),
            clock: self.clock.clone(),
            rng: Arc::clone(&self.rng),
        }
    }

    fn factors(&self, limits: &Arc<Limits>, mails: Option<&Arc<MailQueue>>) -> FactorService {
        FactorService::new(FactorParts {
            identities: self.store.clone(),
            factors: self.store.clone(),
            in_flight: Arc::clone(&self.sealer),
            at_rest: Arc::clone(&self.sealer),
            recovery_keys: RecoveryCodeKeys::derive(&[Secret::new(b"secret".to_vec())]).unwrap(),
            limits: Arc::clone(limits),
            mails: mails.cloned(),
            service_name: "Example".to_owned(),
            passkeys: self.config.passkeys.as_ref().map(|site| RelyingParty::new(site).unwrap()),
            required: self.config.factors_required,
            clock: self.clock.clone(),
            rng: Arc::clone(&self.rng),
        })
    }
}

/// Where mail arrives.
pub struct Mailbox {
    delivery: MailDelivery,
    letterbox: Arc<Letterbox>,
}

impl Mailbox {
    /// The mails that came since they were last looked at.
    pub async fn read(&self) -> Vec<RenderedMail> {
        while self.delivery.run(|| true).await.unwrap() > 0 {}
        std::mem::take(&mut *self.letterbox.0.lock())
    }
}

#[derive(Default)]
struct Letterbox(Mutex<Vec<RenderedMail>>);

#[async_trait]
impl MailTransport for Letterbox {
    async fn send(&self, mail: &RenderedMail) -> Result<(), MailError> {
        self.0.lock().push(mail.clone());
        Ok(())
    }
}

struct PasetoKeys(PasetoKey);

impl AccessTokenKeys for PasetoKeys {
    fn sign(&self, payload: &[u8]) -> Result<String, NoSigningKey> {
        self.0.sign(payload, b"").map_err(|_| NoSigningKey)
    }

    fn verify(&self, token: &str) -> Option<Vec<u8>> {
        self.0.public().verify(token, b"").ok()
    }
}

/// The code in a mail.
pub fn mailed_code(mail: &RenderedMail) -> String {
    mail.text.lines().find_map(|line| line.strip_prefix("    ")).unwrap().to_owned()
}

/// What the link in a mail carries.
pub fn mailed_token(mail: &RenderedMail) -> String {
    mail.text.split_once("?token=").unwrap().1.split_whitespace().next().unwrap().to_owned()
}

impl fmt::Debug for People {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("People").field("issuer", &self.issuer).finish_non_exhaustive()
    }
}

impl fmt::Debug for PeopleServices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PeopleServices")
    }
}

impl fmt::Debug for Mailbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Mailbox")
    }
}
