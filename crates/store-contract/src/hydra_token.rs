//! Refresh tokens that a Hydra issued: each stands for a grant, as the first refresh token of it.

#![expect(clippy::unwrap_used, reason = "a promise that cannot be checked is broken")]

use sluice_oauth::grant::{Grant, GrantClaims, GrantRepository, Rotation};
use sluice_oauth::takeover::{HydraNetwork, HydraToken, HydraTokenRepository, TokenGrant, TokenMac};
use sluice_primitives::{GrantId, Timestamp};
use uuid::Uuid;

use crate::{Fixture, given};

/// That of the tokens.
const NETWORK: HydraNetwork = HydraNetwork::from_uuid(Uuid::from_bytes([7; 16]));

/// A token of `alice` for `shop` that lives until second 3600, and a grant of its own.
fn token() -> HydraToken {
    let (redeemed_at, rotated_at) = (Some(given::at(11)), Some(given::at(11)));
    let grant = Grant { redeemed_at, rotated_at, ..given::grant() };
    HydraToken { mac: given::random_hash(), grant, expires_at: given::at(3600), network: NETWORK }
}

/// Another token of the same grant, that ends at this second.
fn later(first: &HydraToken, secs: i64, scope: &str) -> HydraToken {
    let grant = Grant { scope: given::scope(scope), expires_at: given::at(secs), ..first.grant.clone() };
    HydraToken { mac: given::random_hash(), grant, expires_at: given::at(secs), network: NETWORK }
}

async fn import(store: &impl HydraTokenRepository, tokens: Vec<HydraToken>) -> u64 {
    store.import_tokens(tokens).await.unwrap()
}

async fn find(store: &impl HydraTokenRepository, mac: TokenMac, now: i64) -> Option<TokenGrant> {
    store.find_token(mac, given::at(now)).await.unwrap()
}

async fn grant(store: &impl GrantRepository, id: GrantId) -> Grant {
    store.find(id).await.unwrap().unwrap()
}

/// A token is found by its MAC until it ends, and its grant is as it was given.
pub async fn a_token_of_hydra_is_found_with_its_grant_until_it_ends(fixture: &impl Fixture) {
    let (store, other) = (fixture.store(), fixture.second_node().await);
    let token = token();
    assert_eq!(import(&*store, vec![token.clone()]).await, 1);
    let stands_for =
        TokenGrant { grant: token.grant.id, client: given::client_id("shop"), expires_at: given::at(3600) };
    assert_eq!(find(&*other, token.mac, 3599).await, Some(stands_for));
    assert_eq!(find(&*other, token.mac, 3600).await, None);
    assert_eq!(find(&*other, given::random_hash(), 20).await, None);
    assert_eq!(grant(&*other, token.grant.id).await, token.grant);
}

/// It is rotated like the first refresh token of a grant, once.
pub async fn the_grant_of_a_token_of_hydra_is_rotated(fixture: &impl Fixture) {
    let store = fixture.store();
    let token = token();
    import(&*store, vec![token.clone()]).await;
    let first = store.rotate_refresh(given::rotate(token.grant.id, 0, 100)).await.unwrap();
    assert!(matches!(first, Rotation::Rotated(_)), "{first:?}");
    let again = store.rotate_refresh(given::rotate(token.grant.id, 0, 200)).await.unwrap();
    assert_eq!(again, Rotation::Reused);
}

/// However often it is done, and beside new ones.
pub async fn tokens_of_hydra_are_imported_once(fixture: &impl Fixture) {
    let store = fixture.store();
    let (first, second) = (token(), token());
    assert_eq!(import(&*store, vec![first.clone()]).await, 1);
    assert_eq!(import(&*store, vec![first.clone(), second.clone()]).await, 1);
    assert_eq!(import(&*store, Vec::new()).await, 0);
    let unknown = given::random_hash();
    let mut known = store.known_tokens(vec![unknown, first.mac, second.mac]).await.unwrap();
    let mut expected = vec![first.mac, second.mac];
    known.sort_unstable();
    expected.sort_unstable();
    assert_eq!(known, expected);
}

/// The next token of a chain speaks for its grant, also beside the one before; of a grant that was refreshed or revoked here none does.
pub async fn a_later_token_of_hydra_speaks_for_its_grant(fixture: &impl Fixture) {
    let store = fixture.store();
    let first = token();
    let second = later(&first, 7200, "openid email");
    assert_eq!(import(&*store, vec![first.clone(), second.clone()]).await, 2);
    for mac in [first.mac, second.mac] {
        assert_eq!(find(&*store, mac, 20).await.unwrap().grant, first.grant.id);
    }
    let third = later(&first, 7300, "openid profile");
    assert_eq!(import(&*store, vec![third.clone()]).await, 1);
    let found = grant(&*store, first.grant.id).await;
    assert_eq!((found.scope, found.expires_at), (third.grant.scope.clone(), given::at(7300)));
    given::rotated(&*store, given::rotate(first.grant.id, 0, 100)).await;
    import(&*store, vec![later(&first, 7400, "openid")]).await;
    assert_eq!(grant(&*store, first.grant.id).await.scope, third.grant.scope);
    let revoked = token();
    import(&*store, vec![revoked.clone()]).await;
    store.revoke(revoked.grant.id, given::at(20), given::at(9000)).await.unwrap();
    let of_revoked = HydraToken { mac: given::random_hash(), ..revoked.clone() };
    import(&*store, vec![of_revoked]).await;
    assert!(grant(&*store, revoked.grant.id).await.revoked_at.is_some());
}

/// However long its chain goes on there: it is there as long as its last token, also one that was refreshed here before it was revoked.
pub async fn a_grant_of_hydra_that_was_revoked_is_there_as_long_as_its_last_token(fixture: &impl Fixture) {
    let store = fixture.store();
    let (first, refreshed) = (token(), token());
    import(&*store, vec![first.clone(), refreshed.clone()]).await;
    given::rotated(&*store, given::rotate(refreshed.grant.id, 0, 100)).await;
    for token in [first, refreshed] {
        store.revoke(token.grant.id, given::at(200), given::at(9000)).await.unwrap();
        import(&*store, vec![later(&token, 9_000_000, "openid email")]).await;
        let found = grant(&*store, token.grant.id).await;
        assert_eq!((found.expires_at, found.revoked_at), (given::at(9_000_000), Some(given::at(200))));
        assert_eq!(found.claims, GrantClaims::default(), "it does not come back either");
        let again = store.rotate_refresh(given::rotate(token.grant.id, 0, 300)).await.unwrap();
        assert_eq!(again, Rotation::Revoked);
    }
}

/// Of two tokens of one grant the one that ends last speaks, in whatever order they come, together or one after the other.
pub async fn the_token_of_hydra_that_ends_last_speaks_for_its_grant(fixture: &impl Fixture) {
    let store = fixture.store();
    let pair = || {
        let first = token();
        let second = later(&first, 7200, "openid email");
        (first, second)
    };
    let speaks = async |second: HydraToken| {
        let found = grant(&*store, second.grant.id).await;
        assert_eq!((found.scope, found.expires_at), (second.grant.scope, given::at(7200)));
    };
    let (first, second) = pair();
    assert_eq!(import(&*store, vec![first, second.clone()]).await, 2);
    speaks(second).await;
    let (first, second) = pair();
    assert_eq!(import(&*store, vec![second.clone(), first]).await, 2);
    speaks(second).await;
    let (first, second) = pair();
    assert_eq!(import(&*store, vec![second.clone()]).await, 1);
    assert_eq!(import(&*store, vec![first]).await, 1);
    speaks(second).await;
}

/// In pages, each once, and none of another Hydra; and those that are forgotten are found no more, while their grants stay.
pub async fn tokens_of_hydra_are_gone_through_in_pages_and_forgotten(fixture: &impl Fixture) {
    let store = fixture.store();
    let tokens = [token(), token(), token()];
    import(&*store, tokens.to_vec()).await;
    let other = HydraNetwork::from_uuid(Uuid::from_bytes([8; 16]));
    let of_another = HydraToken { network: other, ..token() };
    import(&*store, vec![of_another.clone()]).await;
    let mut expected = tokens.each_ref().map(|token| token.mac);
    expected.sort_unstable();
    let first = store.token_page(NETWORK, None, 2).await.unwrap();
    let rest = store.token_page(NETWORK, first.last().copied(), 2).await.unwrap();
    assert_eq!([first.clone(), rest.clone()].concat(), expected);
    assert_eq!(store.token_page(NETWORK, rest.last().copied(), 2).await.unwrap(), Vec::<TokenMac>::new());
    assert_eq!(store.token_page(other, None, 2).await.unwrap(), [of_another.mac]);
    let [one, ..] = &tokens;
    assert_eq!(store.forget_tokens(vec![one.mac, given::random_hash()]).await.unwrap(), 1);
    assert_eq!(find(&*store, one.mac, 20).await, None);
    assert_eq!(grant(&*store, one.grant.id).await, one.grant);
}

/// What was exchanged here lives on with its grant: it has not ended by that.
pub async fn tokens_of_hydra_that_nobody_exchanged_are_counted_when_they_are_forgotten(
    fixture: &impl Fixture,
) {
    let store = fixture.store();
    let [unused, exchanged] = [token(), token()];
    import(&*store, vec![unused.clone(), exchanged.clone()]).await;
    given::rotated(&*store, given::rotate(exchanged.grant.id, 0, 100)).await;
    assert_eq!(store.forget_tokens(vec![unused.mac, exchanged.mac]).await.unwrap(), 1);
    for token in [unused, exchanged] {
        assert_eq!(find(&*store, token.mac, 200).await, None);
        assert!(grant(&*store, token.grant.id).await.revoked_at.is_none());
    }
}

/// Those that have expired, and no others, a few at a time.
pub async fn expired_tokens_of_hydra_are_purged_in_bounded_steps(fixture: &impl Fixture) {
    let store = fixture.store();
    let living = HydraToken { expires_at: Timestamp::NEVER, ..token() };
    import(&*store, vec![token(), token(), token(), living.clone()]).await;
    let purge = async |now| store.purge_tokens(given::at(now), 2).await.unwrap();
    assert_eq!(purge(3600).await, 0);
    assert_eq!((purge(3601).await, purge(3601).await, purge(3601).await), (2, 1, 0));
    assert!(find(&*store, living.mac, 9_000_000).await.is_some());
}
