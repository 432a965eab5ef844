//! Tokens of this installation, from the sealed text to the headers of the upstream.

use std::num::NonZeroUsize;

use arc_swap::ArcSwap;
use http::header::WWW_AUTHENTICATE;
use sluice_crypto::jws::VerifiedJws;
use sluice_crypto::{Sealer, SystemSecret};
use sluice_net::{FetchPolicy, Fetcher};
use sluice_primitives::{GrantId, Lifetime, ManualClock, NetworkId, OsRng};
use sluice_token::{AccessTokenClaims, Marker, RevocationSet, Target, sealed};
use tokio::runtime::Handle;

use super::given::{Ask, GivenGateway, NOW, caller, refusal};
use super::*;
use crate::authn::{Caller, given};
use crate::validation::{Freshness, LocalParts, OwnKeys, ValidationParts};

/// No keys: sealed tokens need none.
struct NoKeys;

impl OwnKeys for NoKeys {
    fn verify_jwt(&self, _: &str) -> Option<VerifiedJws> {
        None
    }

    fn verify_paseto(&self, _: &str) -> Option<Vec<u8>> {
        None
    }

    fn generation(&self) -> u64 {
        0
    }

    fn longest_access_token(&self) -> Lifetime {
        Lifetime::FOREVER
    }

    fn longest_person_token(&self) -> Lifetime {
        Lifetime::FOREVER
    }
}

/// Heard just now.
struct Fresh;

impl Freshness for Fresh {
    fn age(&self) -> Lifetime {
        Lifetime::ZERO
    }
}

struct Installation {
    gateway: GivenGateway,
    sealer: Arc<ArcSwap<Sealer>>,
    revocations: Arc<RevocationSet>,
}

impl Installation {
    fn new() -> Self {
        let sealer = Sealer::new(NetworkId::from_bytes([4; 16]), &[SystemSecret::new(vec![7; 32])]);
        let (sealer, revocations) =
            (Arc::new(ArcSwap::from_pointee(sealer)), Arc::new(RevocationSet::default()));
        let local = LocalParts {
            sealer: sealer.clone(),
            keys: Arc::new(NoKeys),
            revocations: revocations.clone(),
            freshness: Arc::new(Fresh),
            max_age: Lifetime::secs(10),
            authority: None,
            person_issuer: None,
        };
        let validation = Validation::new(
            ValidationParts {
                local: Some(local),
                fetcher: Arc::new(Fetcher::new(FetchPolicy::default()).unwrap()),
                runtime: Handle::current(),
                clock: Arc::new(ManualClock::at(NOW)),
                cache_entries: NonZeroUsize::MIN,
            },
            &[],
        );
        Self { gateway: GivenGateway::validating(Arc::new(validation)), sealer, revocations }
    }

    fn token(&self, claims: &AccessTokenClaims) -> String {
        sealed::write(claims, &self.sealer.load(), &OsRng)
    }
}

fn alice() -> AccessTokenClaims {
    let Caller::Own(claims) = given::alice(None) else { unreachable!("alice's is one of the server's") };
    *claims
}

#[tokio::test]
async fn a_sealed_token_is_judged_from_memory_and_its_caller_told() {
    let installation = Installation::new();
    let ask = Ask::to("/orders").bearer(&installation.token(&alice())).header("oauth-user-id", "root");
    assert!(matches!(installation.gateway.judging(&ask), Judging::Now(_)));
    assert_eq!(installation.gateway.told(&ask).await["oauth-user-id"], "alice");
}

#[tokio::test]
async fn a_revoked_an_expired_and_a_forged_token_are_refused_alike() {
    let installation = Installation::new();
    let (alice, gateway) = (alice(), &installation.gateway);
    let token = installation.token(&alice);
    let judged = async |token: &str| gateway.judge(&Ask::to("/orders").bearer(token)).await;
    assert_eq!(caller(&judged(&token).await).subject(), Some("alice"));
    let answer = |admitted: &Admitted| {
        let answer = gateway.gateway.refuse(admitted);
        (answer.status().as_u16(), answer.headers()[WWW_AUTHENTICATE].clone())
    };

    installation.revocations.apply(&Marker {
        target: Target::Grant(alice.revocable()),
        at: NOW,
        expires_at: given::EXPIRY,
    });
    let revoked = judged(&token).await;
    assert_eq!(refusal(&revoked), Refusal::TokenInvalid("token_revoked"));

    let old = AccessTokenClaims { expires_at: NOW, grant: GrantId::from_bytes([8; 16]), ..alice };
    let expired = judged(&installation.token(&old)).await;
    assert_eq!(refusal(&expired), Refusal::TokenInvalid("token_expired"));

    let forged = judged(&token[..token.len() - 2]).await;
    assert_eq!(refusal(&forged), Refusal::TokenInvalid("token_not_authentic"));
    assert_eq!((answer(&revoked), answer(&expired)), (answer(&forged), answer(&forged)));
}
