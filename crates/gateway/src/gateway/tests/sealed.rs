//! Tokens of this installation, from the sealed text to the headers of the upstream.

use std::num::NonZeroUsize;

use arc_swap::ArcSwap;
use http::header::WWW_AUTHENTICATE;
use sluice_crypto::jws::VerifiedJws;
use sluice_crypto::{Sealer, SystemSecret};
use sluice_net::{FetchPolicy, Fetcher};
use sluice_primitives::{GrantId, Lifetime, ManualClock, NetworkId, OsRng, Timestamp};
use sluice_token::{AccessTokenClaims, Confirmation, Marker, RevocationSet, Target, sealed};
use tokio::runtime::Handle;

use super::given::{Ask, GivenGateway, NOW, caller, refusal};
use super::holder::Client;
use super::*;
use crate::authn::{Caller, given};
use crate::validation::{Freshness, LastToken, LocalParts, OwnKeys, ValidationParts};

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

    fn is_issuer(&self, _: &str) -> bool {
        false
    }
}

/// Heard just now.
struct Fresh;

impl Freshness for Fresh {
    fn age(&self, _: Timestamp) -> Lifetime {
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

fn claims(caller: Caller) -> AccessTokenClaims {
    let Caller::Own(claims) = caller else { unreachable!("it is one of the server's") };
    *claims
}

fn alice() -> AccessTokenClaims {
    claims(given::alice(None))
}

/// What revokes the grant of [`alice`].
fn revocation() -> Marker {
    Marker { target: Target::Grant(alice().revocable()), at: NOW, expires_at: given::EXPIRY }
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

    installation.revocations.apply(&revocation());
    let revoked = judged(&token).await;
    assert_eq!(refusal(&revoked), Refusal::TokenInvalid("token_revoked"));

    let old = AccessTokenClaims { expires_at: NOW, grant: GrantId::from_bytes([8; 16]), ..alice };
    let expired = judged(&installation.token(&old)).await;
    assert_eq!(refusal(&expired), Refusal::TokenInvalid("token_expired"));

    let forged = judged(&token[..token.len() - 2]).await;
    assert_eq!(refusal(&forged), Refusal::TokenInvalid("token_not_authentic"));
    assert_eq!((answer(&revoked), answer(&expired)), (answer(&forged), answer(&forged)));
}

#[tokio::test]
async fn an_upstream_is_told_the_same_of_a_token_that_comes_again_and_of_another_what_that_says() {
    let installation = Installation::new();
    let (connection, gateway) = (Arc::new(LastToken::default()), &installation.gateway);
    let [alices, robots] = [alice(), claims(given::robot())].map(|claims| installation.token(&claims));
    let ask = |token: &str| {
        Ask::to("/orders")
            .bearer(token)
            .header("oauth-user-id", "root")
            .header("oauth-issuer", "x")
            .on(&connection)
    };
    let first = gateway.told(&ask(&alices)).await;
    assert_eq!(first["oauth-user-id"], "alice");
    for _ in 0..3 {
        assert_eq!(gateway.told(&ask(&alices)).await, first);
    }
    assert!(gateway.judge(&ask(&alices)).await.identity.is_some(), "they were not made again");
    for _ in 0..3 {
        let told = gateway.told(&ask(&robots)).await;
        assert_eq!((told.get("oauth-user-id"), &told["oauth-client-id"]), (None, &first["oauth-client-id"]));
        assert_eq!(gateway.told(&ask(&alices)).await, first, "in turns");
    }
}

#[tokio::test]
async fn a_token_that_was_revoked_or_has_expired_since_its_last_request_on_a_connection_is_refused() {
    for (is_revoked, reason) in [(true, "token_revoked"), (false, "token_expired")] {
        let installation = Installation::new();
        let connection = Arc::new(LastToken::default());
        let ask = Ask::to("/orders").bearer(&installation.token(&alice())).on(&connection);
        for _ in 0..3 {
            assert_eq!(caller(&installation.gateway.judge(&ask).await).subject(), Some("alice"));
        }
        if is_revoked {
            installation.revocations.apply(&revocation());
        } else {
            installation.gateway.clock.advance(given::EXPIRY.since(NOW));
        }
        let refused = installation.gateway.judge(&ask).await;
        assert_eq!(refusal(&refused), Refusal::TokenInvalid(reason));
    }
}

#[tokio::test]
async fn each_request_with_a_bound_token_needs_its_own_proof_on_whatever_connection() {
    let (installation, client) = (Installation::new(), Client::new());
    let (connection, gateway) = (Arc::new(LastToken::default()), &installation.gateway);
    let mut claims = alice();
    claims.rare.confirmation = Some(Confirmation::Jkt(client.thumbprint()));
    let token = installation.token(&claims);
    let judged = async |ask: Ask| gateway.judge(&ask.on(&connection)).await;
    for proof in [None, Some("another")] {
        assert_eq!(caller(&judged(client.ask(&token, proof)).await).subject(), Some("alice"));
        let again = judged(client.ask(&token, proof)).await;
        assert_eq!(refusal(&again), Refusal::NotHolder("dpop_proof_replayed"));
        let without = Ask::to("/orders").header("authorization", &format!("DPoP {token}"));
        assert_eq!(refusal(&judged(without).await), Refusal::NotHolder("dpop_proof_missing"));
        let as_bearer = judged(Ask::to("/orders").bearer(&token)).await;
        assert_eq!(refusal(&as_bearer), Refusal::NotHolder("token_without_proof"));
        let of_another = judged(Client::new().ask(&token, proof)).await;
        assert_eq!(refusal(&of_another), Refusal::NotHolder("token_of_another_key"));
    }
}
