//! Alice, and the service on the memory store.

use std::net::IpAddr;
use std::sync::Arc;

use sluice_crypto::{Sealer, SystemSecret};
use sluice_identity::config::{LimitsConfig, PasskeyConfig};
use sluice_identity::factor::{
    Aal, Enrolled, EnrolmentOutcome, FactorCheck, FactorParts, FactorProof, FactorRepository, FactorService,
    FactorsRequired, FirstFactor, NextStep, RecoveryCodeKeys, RelyingParty, TicketData,
};
use sluice_identity::mail::MailQueue;
use sluice_identity::{Identity, IdentityRepository, Limits, Network};
use sluice_primitives::{Clock, Lifetime, ManualClock, NetworkId, OsRng, Secret, Timestamp};
use sluice_store_contract::{MemoryStore, given};

pub(crate) const ORIGIN: &str = "https://id.example.com";
/// Where an Android application is that acts for the site.
pub(crate) const APPLICATION: &str = "android:apk-key-hash:-sYXRdwJA3hvue3mKpYrOZ9zSPC7b4mbgzJmdZEDO5w";
pub(crate) const CONTEXT: &[u8] = b"the challenge of a flow";

pub(crate) struct World {
    pub(crate) store: Arc<MemoryStore>,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) service: FactorService,
    pub(crate) alice: Identity,
}

pub(crate) fn network() -> Network {
    IpAddr::from([192, 0, 2, 1]).into()
}

impl World {
    pub(crate) async fn new() -> Self {
        let store = Arc::new(MemoryStore::new());
        let clock = Arc::new(ManualClock::at(Timestamp::from_secs(1_750_000_000)));
        let alice = verified(&store, "alice@example.com").await;
        let service = service(&store, &clock);
        Self { store, clock, service, alice }
    }

    /// Somebody else, whose address is verified.
    pub(crate) async fn verified(&self, email: &str) -> Identity {
        verified(&self.store, email).await
    }

    /// Another node on the same store.
    pub(crate) fn another_node(&self) -> FactorService {
        service(&self.store, &self.clock)
    }

    /// A node that sees people through `identities`.
    pub(crate) fn node_that_sees(&self, identities: Arc<dyn IdentityRepository>) -> FactorService {
        FactorService::new(FactorParts { identities, ..parts(&self.store, &self.clock) })
    }

    /// A node whose factors are here.
    pub(crate) fn node_with(&self, factors: Arc<dyn FactorRepository>) -> FactorService {
        FactorService::new(FactorParts { factors, ..parts(&self.store, &self.clock) })
    }

    /// A node where these must have a factor.
    pub(crate) fn node_that_requires(&self, required: FactorsRequired) -> FactorService {
        FactorService::new(FactorParts { required, ..parts(&self.store, &self.clock) })
    }

    /// A node that counts like this.
    pub(crate) fn node_that_counts(&self, config: &LimitsConfig) -> FactorService {
        let clock: Arc<dyn Clock> = self.clock.clone();
        let limits = Arc::new(Limits::new(config, &clock));
        FactorService::new(FactorParts { limits, ..parts(&self.store, &self.clock) })
    }

    /// An authenticator app of Alice, a step after she enrolled it.
    pub(crate) async fn app(&self) -> (App, Enrolled) {
        self.app_of(&self.alice).await
    }

    /// An authenticator app, a step after this person enrolled it.
    pub(crate) async fn app_of(&self, person: &Identity) -> (App, Enrolled) {
        let begun = self.service.begin_totp(person);
        let app = App::scan(&begun.secret_base32);
        let code = app.code(&self.clock);
        let confirmed =
            self.service.confirm_totp(given::enroller(person), &begun.ticket, &code, "Phone").await.unwrap();
        let EnrolmentOutcome::Enrolled(enrolled) = confirmed else { panic!("{confirmed:?}") };
        self.clock.advance(Lifetime::secs(60));
        (app, enrolled)
    }

    pub(crate) async fn after_password(&self, wanted: Aal) -> NextStep {
        let first = FirstFactor {
            identity: &self.alice,
            amr: &["pwd"],
            wanted,
            context: CONTEXT,
            data: TicketData::new(*b"remember").unwrap(),
        };
        self.service.after_first(first).await.unwrap()
    }

    pub(crate) async fn ticket(&self) -> String {
        match self.after_password(Aal::Aal1).await {
            NextStep::Factor { ticket, .. } => ticket,
            other => panic!("{other:?}"),
        }
    }

    pub(crate) async fn check(&self, proof: FactorProof<'_>) -> FactorCheck {
        self.service.check(&self.alice, proof, CONTEXT, network()).await.unwrap()
    }

    pub(crate) async fn has_no_factor(&self) -> bool {
        self.store.of_identity(self.alice.id).await.unwrap().is_empty()
    }
}

async fn verified(store: &MemoryStore, email: &str) -> Identity {
    let person = given::identity(email);
    given::registered(store, Identity { email_verified_at: Some(person.created_at), ..person }).await
}

fn service(store: &Arc<MemoryStore>, clock: &Arc<ManualClock>) -> FactorService {
    FactorService::new(parts(store, clock))
}

/// The site that passkeys are of.
pub(crate) fn site() -> PasskeyConfig {
    PasskeyConfig {
        rp_id: "id.example.com".to_owned(),
        rp_name: "Example".to_owned(),
        origins: vec![ORIGIN.parse().unwrap(), APPLICATION.parse().unwrap()],
    }
}

fn parts(store: &Arc<MemoryStore>, clock: &Arc<ManualClock>) -> FactorParts {
    let secrets = |text: &str| [SystemSecret::new(text.as_bytes().to_vec())];
    let sealer = |text| Arc::new(Sealer::new(NetworkId::from_bytes([1; 16]), &secrets(text)));
    let clock: Arc<dyn Clock> = clock.clone();
    let mails = MailQueue {
        outbox: store.clone(),
        sealer: sealer("at rest"),
        clock: clock.clone(),
        rng: Arc::new(OsRng),
    };
    FactorParts {
        identities: store.clone(),
        factors: store.clone(),
        in_flight: sealer("in flight"),
        at_rest: sealer("at rest"),
        recovery_keys: RecoveryCodeKeys::derive(&[Secret::new(b"at rest".to_vec())]).unwrap(),
        limits: Arc::new(Limits::new(&LimitsConfig::default(), &clock)),
        mails: Some(Arc::new(mails)),
        service_name: "Example".to_owned(),
        passkeys: Some(RelyingParty::new(&site()).unwrap()),
        required: FactorsRequired::Never,
        clock,
        rng: Arc::new(OsRng),
    }
}

/// An authenticator app: RFC 6238, written down once more.
pub(crate) struct App(Vec<u8>);

impl App {
    pub(crate) fn scan(secret_base32: &str) -> Self {
        Self(data_encoding::BASE32_NOPAD.decode(secret_base32.as_bytes()).unwrap())
    }

    pub(crate) fn code(&self, clock: &ManualClock) -> String {
        self.code_at(clock.now())
    }

    /// The code that an app shows whose clock says this.
    pub(crate) fn code_at(&self, now: Timestamp) -> String {
        sluice_testkit::app_code(&self.0, now.as_secs())
    }
}
