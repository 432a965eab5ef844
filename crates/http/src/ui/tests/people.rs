//! The services of people behind the pages, and what people have in their hands: mails, authenticator apps, passkeys.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use aws_lc_rs::hmac;
use sluice_crypto::Sealer;
use sluice_crypto::credential::{CredentialKeys, Peppers};
use sluice_crypto::digest::MacKey;
use sluice_crypto::hash_pool::HashPool;
use sluice_crypto::paseto::PasetoKey;
use sluice_crypto::password_hash::Argon2Params;
use sluice_crypto::totp::TotpSecret;
use sluice_identity::account::{AccountConfig, AccountLinks, AccountService};
use sluice_identity::config::{CodeConfig, Config, PasskeyConfig, SessionConfig};
use sluice_identity::factor::{FactorParts, FactorService, RecoveryCodeKeys, RelyingParty};
use sluice_identity::mail::{
    CodeKey, MailDelivery, MailError, MailMetrics, MailQueue, MailTemplates, MailTransport, RenderedMail,
};
use sluice_identity::proof_of_work::ProofOfWork;
use sluice_identity::session::{AccessTokenKeys, NoSigningKey, SessionService, SessionTerms};
use sluice_identity::{
    Limits, LoginService, PasswordHasher, PasswordRules, RegistrationParts, RegistrationService,
};
use sluice_oauth::config::Issuer;
use sluice_primitives::{Clock, Lifetime, ManualClock, OsRng, Secret};
use sluice_store_contract::MemoryStore;
use sluice_token::{FeedFollower, RevocationSet};

/// What the services share.
pub(in crate::ui) struct Base {
    pub(super) store: Arc<MemoryStore>,
    pub(super) clock: Arc<ManualClock>,
    pub(super) sealer: Arc<Sealer>,
    pub(super) pool: Arc<HashPool>,
    pub(super) issuer: Issuer,
    pub(super) config: Config,
    pub(super) sends_mail: bool,
}

/// The services.
pub(in crate::ui) struct People {
    pub(in crate::ui) login: Arc<LoginService>,
    pub(in crate::ui) registration: Arc<RegistrationService>,
    pub(in crate::ui) accounts: Arc<AccountService>,
    pub(in crate::ui) factors: Arc<FactorService>,
    pub(in crate::ui) proof_of_work: Arc<ProofOfWork>,
    pub(in crate::ui) mail: Mailbox,
}

/// Where mail arrives.
pub(in crate::ui) struct Mailbox {
    delivery: MailDelivery,
    letterbox: Arc<Letterbox>,
}

#[derive(Default)]
struct Letterbox(Mutex<Vec<RenderedMail>>);

#[async_trait]
impl MailTransport for Letterbox {
    async fn send(&self, mail: &RenderedMail) -> Result<(), MailError> {
        self.0.lock().unwrap().push(mail.clone());
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

impl Mailbox {
    /// The mails that came since they were last looked at.
    pub(in crate::ui) async fn read(&self) -> Vec<RenderedMail> {
        while self.delivery.run(|| true).await.unwrap() > 0 {}
        std::mem::take(&mut *self.letterbox.0.lock().unwrap())
    }
}

impl Base {
    pub(super) fn people(&self) -> People {
        let (clock, rng) = (self.clock.clone() as Arc<dyn Clock>, Arc::new(OsRng));
        let limits = Arc::new(Limits::new(&self.config.limits, &clock));
        let rules = Arc::new(PasswordRules::new(&self.config.password, None));
        let hasher = Arc::new(self.hasher());
        let mails = self.sends_mail.then(|| Arc::new(self.queue()));
        let login = Arc::new(LoginService::new(
            self.store.clone(),
            hasher.clone(),
            limits.clone(),
            &self.config.lockout,
            clock.clone(),
        ));
        let sessions = Arc::new(self.sessions());
        let factors = Arc::new(self.factors(limits.clone(), mails.clone()));
        let accounts = Arc::new(AccountService {
            config: AccountConfig { links: self.links(), codes: CodeConfig::default() },
            identities: self.store.clone(),
            codes: self.store.clone(),
            code_key: CodeKey::new(MacKey::derive(b"secret", b"codes")),
            mails,
            sessions,
            factors: factors.clone(),
            login: login.clone(),
            hasher: hasher.clone(),
            rules: rules.clone(),
            limits: limits.clone(),
            sealer: self.sealer.clone(),
            clock: clock.clone(),
            rng: rng.clone(),
        });
        let registration = RegistrationService::new(RegistrationParts {
            identities: self.store.clone(),
            hasher,
            rules,
            limits,
            mails: self.sends_mail.then(|| accounts.clone() as _),
            config: self.config.registration,
            clock: clock.clone(),
            rng: rng.clone(),
        });
        let puzzles = ProofOfWork::new(self.config.proof_of_work, self.sealer.clone(), clock, rng);
        People {
            login,
            registration: Arc::new(registration),
            accounts,
            factors,
            proof_of_work: Arc::new(puzzles),
            mail: self.mailbox(),
        }
    }

    fn hasher(&self) -> PasswordHasher {
        let keys =
            CredentialKeys::new(Peppers::new(&[Secret::new(vec![8; 32])]).unwrap(), self.sealer.clone());
        PasswordHasher::new(keys, self.pool.clone(), Argon2Params::new(64, 1, 1).unwrap(), Arc::new(OsRng))
    }

    fn queue(&self) -> MailQueue {
        MailQueue {
            outbox: self.store.clone(),
            sealer: self.sealer.clone(),
            clock: self.clock.clone(),
            rng: Arc::new(OsRng),
        }
    }

    fn links(&self) -> AccountLinks {
        let page = |path: &str| self.issuer.endpoint(path).parse().unwrap();
        AccountLinks {
            login: page("/ui/account"),
            verify: page("/ui/verification"),
            recover: page("/ui/recovery"),
            change_email: page("/ui/account/email/confirm"),
        }
    }

    fn sessions(&self) -> SessionService {
        let revocations: Arc<RevocationSet> = Arc::default();
        let follower = FeedFollower::new(self.store.clone(), revocations.clone(), self.clock.clone());
        SessionService {
            terms: SessionTerms {
                issuer: self.issuer.as_str().to_owned(),
                lifetimes: SessionConfig::default(),
                longest_token: Lifetime::hours(1),
            },
            sessions: self.store.clone(),
            identities: self.store.clone(),
            keys: Arc::new(PasetoKeys(PasetoKey::generate(&OsRng).unwrap())),
            sealer: self.sealer.clone(),
            revocations,
            follower: Arc::new(follower),
            clock: self.clock.clone(),
            rng: Arc::new(OsRng),
        }
    }

    fn factors(&self, limits: Arc<Limits>, mails: Option<Arc<MailQueue>>) -> FactorService {
        let passkeys = self.config.passkeys.as_ref().map(|site| RelyingParty::new(site).unwrap());
        FactorService::new(FactorParts {
            identities: self.store.clone(),
            factors: self.store.clone(),
            in_flight: self.sealer.clone(),
            at_rest: self.sealer.clone(),
            recovery_keys: RecoveryCodeKeys::derive(&[Secret::new(b"secret".to_vec())]).unwrap(),
            limits,
            mails,
            service_name: "Example".to_owned(),
            passkeys,
            clock: self.clock.clone(),
            rng: Arc::new(OsRng),
        })
    }

    fn mailbox(&self) -> Mailbox {
        let letterbox: Arc<Letterbox> = Arc::default();
        let delivery = MailDelivery {
            outbox: self.store.clone(),
            transport: letterbox.clone(),
            templates: MailTemplates::new("Example"),
            sealer: self.sealer.clone(),
            metrics: Arc::new(MailMetrics::default()),
            clock: self.clock.clone(),
            rng: Arc::new(OsRng),
        };
        Mailbox { delivery, letterbox }
    }
}

/// Passkeys as the issuer of the tests offers them.
pub(in crate::ui) fn passkeys() -> PasskeyConfig {
    PasskeyConfig {
        rp_id: "id.example".to_owned(),
        rp_name: "Example".to_owned(),
        origins: vec![super::authenticator::ORIGIN.parse().unwrap()],
    }
}

/// What an authenticator app shows (RFC 6238).
pub(in crate::ui) fn app_code(secret_base32: &str, clock: &ManualClock) -> String {
    let secret = TotpSecret::from_base32(secret_base32).unwrap();
    let step = (clock.now().as_secs() / 30).to_be_bytes();
    let key = hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, secret.expose());
    let tag = hmac::sign(&key, &step);
    let offset = usize::from(tag.as_ref()[19] & 0xf);
    let number = u32::from_be_bytes(tag.as_ref()[offset..offset + 4].try_into().unwrap());
    format!("{:06}", (number & 0x7fff_ffff) % 1_000_000)
}

/// The code in a mail.
pub(in crate::ui) fn mailed_code(mail: &RenderedMail) -> String {
    mail.text.lines().find_map(|line| line.strip_prefix("    ")).unwrap().to_owned()
}

/// The address that the link in a mail leads to, without the host.
pub(in crate::ui) fn mailed_link(mail: &RenderedMail) -> String {
    let rest = mail.text.split_once("?token=").unwrap();
    let before = rest.0.rsplit_once("https://id.example").unwrap().1;
    format!("{before}?token={}", rest.1.split_whitespace().next().unwrap())
}
