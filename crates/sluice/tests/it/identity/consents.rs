//! What is remembered of somebody's consents, when the account goes over to whoever reads its mail: nobody is bound by what a
//! stranger agreed to, and everybody by what they agreed to themselves.

use reqwest::Method;
use serde_json::json;
use sluice_primitives::Lifetime;
use sluice_testkit::{Authorize, Backend, Page, TestClient};

use super::holder::Holder;
use super::people::{ALICE, ANOTHER, PASSWORD, Tokens};
use super::subject::{log_in, typed};
use crate::both_stores::on_both_stores;
use crate::disclosure::Witness;

on_both_stores! {
    what_the_maker_of_an_unverified_account_agreed_to_is_asked_after_its_recovery,
    whose_credentials_are_reset_is_asked_about_each_client,
    what_the_owner_agreed_to_is_not_asked_after_another_password,
}

/// An account, and a client that somebody who knows its password agreed to for ever.
struct Agreed {
    holder: Holder,
    client: TestClient,
}

/// Whether a page asks for consent; if not, it goes back to the client with a code.
#[track_caller]
fn asks(page: &Page) -> bool {
    let asks = page.body.contains("name=\"decision\"");
    assert_ne!(
        asks,
        page.parameter("code").is_some(),
        "{:?} ({}): {}",
        page.location,
        page.status,
        page.body
    );
    asks
}

impl Agreed {
    async fn on(backend: Backend) -> Self {
        let holder = Holder::on(backend).await;
        let client = holder.sluice.client(&json!({})).await;
        let agreed = Self { holder, client };
        let mut witness = Witness::of(agreed.holder.sluice.browser());
        log_in(&mut witness, &agreed.client, Authorize::default().scope, PASSWORD).await;
        assert!(!agreed.is_asked(PASSWORD).await, "it is remembered");
        agreed.a_second_passes();
        agreed
    }

    /// The same, of somebody who is known to read mail at the address.
    async fn by_the_owner(backend: Backend) -> Self {
        let agreed = Self::on(backend).await;
        agreed.holder.verify().await;
        agreed
    }

    fn a_second_passes(&self) {
        self.holder.sluice.advance(Lifetime::secs(1));
    }

    /// Whether somebody who logs in, in a browser that is new here, is asked about the client.
    async fn is_asked(&self, password: &str) -> bool {
        let mut witness = Witness::of(self.holder.sluice.browser());
        asks(&typed(&mut witness, &self.client, &Authorize::default(), password).await)
    }

    async fn recover(&self) {
        self.holder.recover().await;
        self.a_second_passes();
    }
}

async fn what_the_maker_of_an_unverified_account_agreed_to_is_asked_after_its_recovery(backend: Backend) {
    let mut agreed = Agreed::on(backend).await;
    let other = agreed.holder.sluice.client(&json!({})).await;
    let mut maker = Witness::of(agreed.holder.sluice.browser());
    let open = typed(&mut maker, &other, &Authorize::default(), PASSWORD).await;
    assert!(asks(&open), "about another client");
    agreed.recover().await;
    assert!(agreed.is_asked(ANOTHER).await);
    let late = maker.submit(&open, &[("decision", "accept")]).await;
    assert_eq!(late.parameter("code"), None, "{:?} ({}): {}", late.location, late.status, late.body);
    agreed.client = other;
    assert!(agreed.is_asked(ANOTHER).await, "what was in flight is not remembered either");
    agreed.holder.sluice.node.stop().await;
}

async fn whose_credentials_are_reset_is_asked_about_each_client(backend: Backend) {
    let agreed = Agreed::by_the_owner(backend).await;
    let send_mail = json!({"send_mail": true});
    agreed.holder.administer(Method::POST, "/credentials/reset", Some(&send_mail)).await;
    agreed.holder.take_another_password().await;
    agreed.a_second_passes();
    assert!(agreed.is_asked(ANOTHER).await);
    agreed.holder.sluice.node.stop().await;
}

async fn what_the_owner_agreed_to_is_not_asked_after_another_password(backend: Backend) {
    let agreed = Agreed::by_the_owner(backend).await;
    agreed.recover().await;
    assert!(!agreed.is_asked(ANOTHER).await, "recovered by who reads mail at a verified address");
    let tokens = Tokens::of(&agreed.holder.api.log_in(ALICE, ANOTHER).await);
    let change = json!({"current_password": ANOTHER, "new_password": PASSWORD});
    assert_eq!(agreed.holder.api.post_as(&tokens, "/auth/password", change).await.status, 200);
    agreed.a_second_passes();
    assert!(!agreed.is_asked(PASSWORD).await, "changed by who knew the one before");
    agreed.holder.sluice.node.stop().await;
}
