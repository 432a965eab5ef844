//! A logout where somebody is signed in to the account pages, and whose sessions a confirmed one ends.

use sluice_oauth::authorization::{AccountSession, Browser};
use sluice_oauth::client::{Client, ClientRepository};
use sluice_oauth::flow::BindingKeys;
use sluice_oauth::logout::{LogoutError, LogoutStep};
use sluice_primitives::SessionId;
use sluice_store_contract::given;

use super::logout::{asked_by, asked_by_a_trusted_client, confirmed, signed_in, verifier};
use super::world::World;

/// Whom the account pages of a browser know: Alice, in this session.
fn account(session: SessionId) -> AccountSession {
    AccountSession { session, subject: "alice".parse().unwrap() }
}

#[tokio::test]
async fn who_is_signed_in_to_the_account_pages_alone_is_asked_and_signed_out_once() {
    let world = World::new().await;
    let (logout, session) = (&world.ui.logout, SessionId::from_bytes([5; 16]));
    let keys = BindingKeys(vec![world.key.clone()]);
    let browser = Browser { keys: keys.clone(), account: Some(account(session)), ..Browser::default() };
    let verifier = &confirmed(logout, &browser).await;
    assert!(logout.ends_account(verifier, &browser).await.unwrap());
    let bobs = AccountSession { session, subject: "bob".parse().unwrap() };
    let of_bob = Browser { account: Some(bobs), ..browser.clone() };
    assert!(logout.ends_account(verifier, &of_bob).await.unwrap(), "nobody else is here to be signed out");
    let left = Browser { keys, ..Browser::default() };
    let done = logout.finish(verifier, &left).await;
    assert!(matches!(done, Ok(LogoutStep::Done { ends_cookie: false, .. })), "{done:?}");
    let back = Browser { account: Some(account(SessionId::from_bytes([6; 16]))), ..browser };
    assert!(!logout.ends_account(verifier, &back).await.unwrap(), "it was used before");
    assert!(matches!(logout.finish(verifier, &back).await, Err(LogoutError::Verifier)));
}

/// Its client is asked nothing: the session of the account pages is ended by who keeps it, before the verifier is spent.
#[tokio::test]
async fn a_sign_out_without_a_page_goes_on_by_a_verifier_where_the_account_pages_know_the_person() {
    let world = World::new().await;
    let (logout, session) = (&world.ui.logout, SessionId::from_bytes([1; 16]));
    let query = asked_by_a_trusted_client(&world, session).await;
    let browser =
        Browser { account: Some(account(SessionId::from_bytes([5; 16]))), ..signed_in(&world, session) };
    let begun = logout.begin(query.as_bytes(), &browser).await.unwrap();
    let LogoutStep::Again { to } = begun else { panic!("{begun:?}") };
    assert!(!logout.revocations.session_is_over(session));
    assert!(logout.ends_account(&verifier(&to), &browser).await.unwrap());
}

/// The person signed in to applications elsewhere, and left: that is no reason to be told that one is signed out.
#[tokio::test]
async fn whoever_is_signed_in_to_the_account_pages_is_asked_although_the_logins_here_are_over() {
    let world = World::new().await;
    let (logout, over) = (&world.ui.logout, SessionId::from_bytes([1; 16]));
    let before = signed_in(&world, over);
    logout.finish(&confirmed(logout, &before).await, &before).await.unwrap();
    for name in ["alice", "bob"] {
        let (session, subject) = (SessionId::from_bytes([5; 16]), name.parse().unwrap());
        let browser = Browser { account: Some(AccountSession { session, subject }), ..before.clone() };
        let verifier = confirmed(logout, &browser).await;
        assert!(logout.ends_account(&verifier, &browser).await.unwrap(), "{name}");
    }
}

#[tokio::test]
async fn a_sign_out_of_the_account_pages_goes_on_to_the_logins_of_the_same_person() {
    let world = World::new().await;
    let (logout, [session, own]) = (&world.ui.logout, [1, 5].map(|byte| SessionId::from_bytes([byte; 16])));
    let (browser, account) = (signed_in(&world, session), account(own));
    // Where the cookie is kept for another path, the account pages do not see it.
    let unseen = Browser { session: None, ..browser.clone() };
    for seen in [&browser, &unseen] {
        let then = "https://id.example/ui/account/login?signed_out=1";
        let (url, keys) = logout.after_account(&account, seen, then.parse().ok()).unwrap();
        assert!(keys.is_none());
        let done = logout.finish(&verifier(&url), &browser).await.unwrap();
        let LogoutStep::Done { continue_to, ends_cookie: true, .. } = done else { panic!("{done:?}") };
        assert_eq!(continue_to.as_deref(), Some(then));
        assert!(logout.revocations.session_is_over(session));
    }
    let bobs = AccountSession { subject: "bob".parse().unwrap(), ..account };
    assert!(logout.after_account(&bobs, &browser, None).is_none());
}

/// The cookie of logins may be kept for a path that is not that of the account pages, and the keys end with the browser.
#[tokio::test]
async fn a_sign_out_of_the_account_pages_ends_no_login_of_somebody_else_and_needs_no_keys() {
    let world = World::new().await;
    let (logout, [session, own]) = (&world.ui.logout, [1, 5].map(|byte| SessionId::from_bytes([byte; 16])));
    let bobs = AccountSession { subject: "bob".parse().unwrap(), ..account(own) };
    let (url, keys) = logout.after_account(&bobs, &Browser::default(), None).unwrap();
    let alices = Browser { keys: keys.unwrap(), ..signed_in(&world, session) };
    // Twice, as by the back button.
    for _ in 0..2 {
        let done = logout.finish(&verifier(&url), &alices).await;
        assert!(matches!(done, Ok(LogoutStep::Done { ends_cookie: false, .. })), "{done:?}");
    }
    assert!(!logout.revocations.session_is_over(session));
}

/// The session of an id token says nothing about who says yes; nor does a client that is gone, or would skip the page.
#[tokio::test]
async fn who_confirms_a_logout_that_names_somebody_else_is_signed_out() {
    let world = World::new().await;
    let logout = &world.ui.logout;
    let trusted = Client { skip_logout_consent: true, ..given::client("trusted", "owner") };
    ClientRepository::insert(&*world.store, &trusted).await.unwrap();
    for (client, number) in [("trusted", 1), ("gone", 2)] {
        let session = SessionId::from_bytes([number; 16]);
        let [own, of_bob] = [4, 8].map(|more| SessionId::from_bytes([number + more; 16]));
        let query = asked_by(&world, client, ("bob", of_bob));
        let seen = signed_in(&world, session);
        let only_account = Browser {
            keys: BindingKeys(vec![world.key.clone()]),
            account: Some(account(own)),
            ..Browser::default()
        };
        for browser in [&only_account, &seen] {
            let begun = logout.begin(query.as_bytes(), browser).await.unwrap();
            let LogoutStep::Confirm { page, .. } = begun else { panic!("{client}: {begun:?}") };
            let accepted = logout.accept(page.split_once("logout_challenge=").unwrap().1).await.unwrap();
            let verifier = verifier(&accepted);
            assert_eq!(logout.ends_account(&verifier, browser).await.unwrap(), browser.account.is_some());
            if browser.session.is_some() {
                let done = logout.finish(&verifier, browser).await;
                assert!(matches!(done, Ok(LogoutStep::Done { ends_cookie: true, .. })), "{client}: {done:?}");
                assert!(logout.revocations.session_is_over(session), "{client}");
            }
        }
    }
}

/// The login ends in the meantime: then the account pages are somebody else's, who was not asked.
#[tokio::test]
async fn a_sign_out_that_nobody_was_asked_about_ends_nothing_of_somebody_else() {
    let world = World::new().await;
    let (logout, session) = (&world.ui.logout, SessionId::from_bytes([1; 16]));
    let query = asked_by_a_trusted_client(&world, session).await;
    let browser =
        Browser { account: Some(account(SessionId::from_bytes([5; 16]))), ..signed_in(&world, session) };
    let begun = logout.begin(query.as_bytes(), &browser).await.unwrap();
    let LogoutStep::Again { to } = begun else { panic!("{begun:?}") };
    let bobs = AccountSession { subject: "bob".parse().unwrap(), ..account(SessionId::from_bytes([6; 16])) };
    let later = Browser { session: None, account: Some(bobs), ..browser };
    assert!(!logout.ends_account(&verifier(&to), &later).await.unwrap());
}
