use sluice_token::claims::RareClaims;
use sluice_token::{Origin, TokenId};

use super::*;
use crate::authn::given;

/// A token with this subject, issued to `shop-app`, or exchanged for one that was by these clients in turn.
fn own(subject: &str, without_login: bool, through: &[&str]) -> Caller {
    let Caller::Own(mut claims) = given::alice(None) else { unreachable!("alice's is one of the server's") };
    claims.subject = Some(subject.parse().unwrap());
    claims.rare = RareClaims { without_login, ..RareClaims::default() };
    for client in through {
        let (id, consented_at) = (TokenId::from_bytes([9; 16]), Timestamp::from_secs(850));
        let holder = std::mem::replace(&mut claims.client, client.parse().unwrap());
        claims.rare.origins.push(Origin { client: holder, token: id, consented_at });
    }
    Caller::Own(claims)
}

#[test]
fn what_was_exchanged_for_a_clients_own_token_makes_no_person_of_it() {
    for (through, client) in [(&["agent"][..], "agent"), (&["agent", "other"], "other")] {
        let caller = own("shop-app", true, through);
        assert_eq!((caller.subject(), caller.kind()), (None, SubjectKind::Client), "{client}");
        assert_eq!((caller.client(), caller.sub()), (Some(client), "shop-app"));
    }
    let Caller::Own(mut hidden) = given::agent() else { unreachable!("one of the server's") };
    hidden.rare.shown_subject = Some("pairwise".to_owned());
    let hidden = Caller::Own(hidden);
    assert_eq!((hidden.subject(), hidden.sub()), (None, "pairwise"));
}

#[test]
fn a_person_stays_one_whoever_has_the_token_and_whatever_clients_are_called() {
    for caller in [
        own("alice", false, &[]),
        own("alice", false, &["agent"]),
        own("alice", false, &["alice", "agent"]),
        own("alice", true, &[]),
        own("alice", true, &["agent", "alice"]),
    ] {
        assert_eq!((caller.subject(), caller.kind()), (Some("alice"), SubjectKind::User), "{caller:?}");
    }
    let namesake = own("shop-app", false, &["agent"]);
    assert_eq!(namesake.subject(), Some("shop-app"), "who logged in");
}

#[test]
fn an_assertion_about_the_client_that_presents_it_is_of_no_person() {
    let caller = own("shop-app", true, &[]);
    assert_eq!((caller.subject(), caller.sub()), (None, "shop-app"));
}

#[test]
fn where_no_person_calls_a_client_is_in_sub() {
    assert_eq!((given::robot().subject(), given::robot().sub()), (None, "shop-app"));
    assert_eq!(given::alice(None).sub(), "alice");
    assert_eq!(given::person().sub(), "0190c5a0-alice");
    let Caller::Foreign(mut bob) = given::bob(serde_json::json!({})) else {
        unreachable!("bob's is another issuer's")
    };
    assert_eq!(Caller::Foreign(bob.clone()).sub(), "bob");
    bob.subject = None;
    assert_eq!(Caller::Foreign(bob).sub(), "partner-app");
}
