//! The life of a password: provisional, hardened, made anew with other parameters and another pepper. It opens the account
//! at every moment of it.

use std::sync::Arc;

use sluice::app::{EmbeddedNode, EmbeddedOptions};
use sluice_crypto::credential::{CredentialState, StoredCredential};
use sluice_primitives::{Lifetime, OsRng};
use sluice_testkit::{Backend, ISSUER, KeysInTurn, TestSluice};
use tokio::task::JoinSet;

use super::people::{ALICE, ANOTHER, Api, BOB, PASSWORD, hardened, metric, node, node_after, node_on, shows};
use super::records::{credential, form, kept};
use crate::both_stores::on_both_stores;

on_both_stores! {
    a_password_opens_the_account_all_its_life,
    what_waits_to_be_hardened_is_counted_where_nobody_hardens,
    people_log_in_while_their_passwords_are_hardened,
    a_node_without_the_pepper_of_the_passwords_does_not_start,
}

const UNHARDENED: (&str, &str) = ("identity.hardening.enabled", "false");
/// The secret of the nodes of tests.
const SYSTEM: &str = "a-system-secret-for-tests-only";
const CAROL: &str = "carol@example.com";

/// The right password opens the account, and no other does, also not where both are asked for again.
async fn opens(sluice: &TestSluice, email: &str) {
    let api = Api::of(sluice);
    api.log_in(email, ANOTHER).await.is_problem(401, "invalid_credentials");
    for _ in 0..2 {
        assert_eq!(api.log_in(email, PASSWORD).await.status, 200, "{email}");
    }
}

async fn a_password_opens_the_account_all_its_life(backend: Backend) {
    // Nobody hardens: only whoever logs in does.
    let sluice = node(backend, &[UNHARDENED]).await;
    let api = Api::of(&sluice);
    let (alice, bob, carol) = (api.register(ALICE).await, api.register(BOB).await, api.register(CAROL).await);
    for id in [&alice, &bob, &carol] {
        assert_eq!(kept(&sluice, id).await, (CredentialState::Provisional, None));
    }
    opens(&sluice, ALICE).await;
    let by_login = credential(&sluice, &alice).await;
    assert_eq!(form(&by_login), (CredentialState::Hardened, Some((64, 1))));
    Api::of(&sluice).log_in(BOB, ANOTHER).await.is_problem(401, "invalid_credentials");
    assert_eq!(kept(&sluice, &bob).await.0, CredentialState::Provisional, "a wrong password changes nothing");

    let sluice = node_after(sluice, &[]).await;
    hardened(&sluice, 2).await;
    let by_worker = credential(&sluice, &bob).await;
    assert_eq!(form(&by_worker), (CredentialState::Hardened, Some((64, 1))));
    assert_eq!(credential(&sluice, &alice).await, by_login, "hardened once");
    opens(&sluice, BOB).await;
    assert_eq!(credential(&sluice, &bob).await, by_worker, "a login that needs nothing writes nothing");

    let stronger = [("identity.password_hash.memory", "128"), ("identity.password_hash.passes", "2")];
    let sluice = node_after(sluice, &stronger).await;
    opens(&sluice, ALICE).await;
    opens(&sluice, BOB).await;
    for id in [&alice, &bob] {
        assert_eq!(kept(&sluice, id).await, (CredentialState::Hardened, Some((128, 2))), "upgraded");
    }
    assert_eq!(kept(&sluice, &carol).await.1, Some((64, 1)), "who does not log in keeps what there is");
    let sluice = another_pepper(sluice, &alice).await;
    opens(&sluice, CAROL).await;
    assert_eq!(kept(&sluice, &carol).await, (CredentialState::Hardened, Some((64, 1))));
    sluice.node.stop().await;
}

/// Other peppers come in front; a login makes the credential anew.
async fn another_pepper(mut sluice: TestSluice, id: &str) -> TestSluice {
    let pepper = |stored: &str| StoredCredential::parse(stored).unwrap().pepper().unwrap();
    let mut met = vec![pepper(&credential(&sluice, id).await)];
    for peppers in ["pepper-of-this-year", "pepper-of-next-year,pepper-of-this-year"] {
        sluice = node_after(sluice, &[("secrets.pepper", peppers)]).await;
        opens(&sluice, ALICE).await;
        let stored = credential(&sluice, id).await;
        assert!(!met.contains(&pepper(&stored)), "made with the first of {peppers}");
        met.push(pepper(&stored));
    }
    sluice
}

async fn what_waits_to_be_hardened_is_counted_where_nobody_hardens(backend: Backend) {
    let sluice = node(backend, &[UNHARDENED]).await;
    Api::of(&sluice).register(ALICE).await;
    sluice.clock.advance(Lifetime::minutes(1));
    // A node counts when it starts, and not often after that.
    let sluice = node_after(sluice, &[UNHARDENED]).await;
    shows(&sluice, r#"sluice_hardening_backlog{state="waiting"}"#, 1).await;
    assert!(metric(&sluice, "sluice_hardening_oldest_seconds").await >= 60.0);
    assert!(metric(&sluice, r#"sluice_hardening_total{outcome="hardened"}"#).await == 0.0);
    sluice.node.stop().await;
}

async fn people_log_in_while_their_passwords_are_hardened(backend: Backend) {
    const MANY: u32 = 20;
    // Hashes that take a while on the one thread, so that the worker and the logins meet.
    let busy = [("identity.password_hash.memory", "4096"), ("identity.hash_pool.threads", "1")];
    let sluice = node(backend, &busy).await;
    let api = Api::of(&sluice);
    // While it is not known how long a hash takes, fewer may wait.
    assert_eq!(api.log_in(ALICE, PASSWORD).await.status, 401);
    let mut racing = JoinSet::new();
    for number in 0..MANY {
        let api = api.clone();
        racing.spawn(async move {
            let email = format!("person-{number}@example.com");
            let id = api.register(&email).await;
            let (first, second) = tokio::join!(api.log_in(&email, PASSWORD), api.log_in(&email, PASSWORD));
            (email, id, [first.status, second.status])
        });
    }
    let people = racing.join_all().await;
    assert!(people.iter().all(|(_, _, statuses)| *statuses == [200, 200]), "{people:?}");
    shows(&sluice, r#"sluice_hardening_backlog{state="waiting"}"#, 0).await;
    for (email, id, _) in &people {
        assert_eq!(kept(&sluice, id).await, (CredentialState::Hardened, Some((4096, 1))));
        assert_eq!(api.log_in(email, PASSWORD).await.status, 200);
    }
    assert!(metric(&sluice, r#"sluice_hardening_total{outcome="given_up"}"#).await == 0.0);
    assert!(metric(&sluice, r#"sluice_hardening_backlog{state="dead"}"#).await == 0.0);
    sluice.node.stop().await;
}

/// Nobody could log in, and the worker could harden nothing: that is told at once.
async fn a_node_without_the_pepper_of_the_passwords_does_not_start(backend: Backend) {
    const PEPPER: (&str, &str) = ("secrets.pepper", "pepper-of-this-year");
    let sluice = node(backend, &[UNHARDENED, PEPPER]).await;
    let id = Api::of(&sluice).register(ALICE).await;
    let site = (sluice.database.clone(), sluice.clock.clone());
    sluice.node.stop().await;
    for wrong in [("secrets.pepper", "pepper-of-next-year"), UNHARDENED] {
        let all =
            [("dsn", site.0.dsn.as_str()), ("secrets.system", SYSTEM), ("urls.self.issuer", ISSUER), wrong];
        let settings = all.map(|(key, value)| (key.to_owned(), value.to_owned())).to_vec();
        let options = EmbeddedOptions {
            settings,
            clock: site.1.clone(),
            rng: Arc::new(OsRng),
            keys: Arc::new(KeysInTurn),
        };
        let refusal = EmbeddedNode::start(options).await.err().expect("the node does not start").to_string();
        assert!(refusal.contains("pepper"), "{refusal}");
    }
    let sluice = node_on(site, &[PEPPER]).await;
    hardened(&sluice, 1).await;
    assert_eq!(kept(&sluice, &id).await.0, CredentialState::Hardened);
    opens(&sluice, ALICE).await;
    sluice.node.stop().await;
}
