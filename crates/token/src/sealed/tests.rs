use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;

use super::*;

fn claims() -> AccessTokenClaims {
    AccessTokenClaims {
        id: TokenId::from_bytes([1; 16]),
        grant: GrantId::from_bytes([2; 16]),
        client: "app".parse().unwrap(),
        subject: Some("alice".parse().unwrap()),
        session: Some(SessionId::from_bytes([3; 16])),
        scope: "a b".parse().unwrap(),
        audience: vec!["shop".to_owned()],
        issued_at: Timestamp::from_secs(1_000),
        expires_at: Timestamp::from_secs(4_600),
        authenticated_at: Timestamp::from_millis(999_123),
        consented_at: Timestamp::from_millis(999_456),
        extra: Extra::Inline("{}".to_owned()),
        userinfo: Extra::InGrant,
        rare: RareClaims { acr: Some("2".to_owned()), ..RareClaims::default() },
    }
}

#[test]
fn a_token_tells_when_its_grant_ends_if_no_store_does() {
    let of_user = claims();
    assert_eq!(of_user.revocable_until(), None);
    let of_client = AccessTokenClaims { subject: None, ..claims() };
    let rare = RareClaims { without_login: true, ..RareClaims::default() };
    let of_assertion = AccessTokenClaims { rare, ..claims() };
    let (client, consented_at) = (of_user.client.clone(), of_user.consented_at);
    let origins = vec![Origin { client, token: TokenId::from_bytes([9; 16]), consented_at }];
    let exchanged = AccessTokenClaims { rare: RareClaims { origins, ..RareClaims::default() }, ..claims() };
    for alone in [of_client, of_assertion, exchanged] {
        assert_eq!(alone.revocable_until(), Some(alone.expires_at));
    }
}

#[test]
fn the_form_is_the_one_that_tokens_in_the_world_have() {
    let common = ([1_u8; 16], [2_u8; 16], "app", Some("alice"), Some([3_u8; 16]), "a b", ["shop"].as_slice());
    let times = (1_000_i64, 3_600_i64, 999_123_i64, 999_456_i64);
    let nothing: [&str; 0] = [];
    let rare = (
        None::<()>,
        None::<&str>,
        None::<&str>,
        None::<&str>,
        Some("2"),
        nothing.as_slice(),
        nothing.as_slice(),
        false,
    );
    let form = postcard::to_stdvec(&(common, times, (1_u8, "{}"), 2_u8, Some(rare))).unwrap();
    assert_eq!(encode(&claims()), form);
    assert_eq!(decode(&form), Ok(claims()));
}

#[test]
fn what_userinfo_tells_takes_one_byte_where_it_is_nothing() {
    let nothing = AccessTokenClaims { userinfo: Extra::None, ..claims() };
    let little = AccessTokenClaims { userinfo: Extra::Inline("{\"a\":1}".to_owned()), ..claims() };
    let without = encode(&claims()).len();
    assert_eq!((encode(&nothing).len(), encode(&little).len()), (without, without + 8));
    for told in [nothing, little] {
        assert_eq!(decode(&encode(&told)), Ok(told));
    }
}

#[test]
fn a_jwt_does_not_carry_what_userinfo_tells() {
    let little = AccessTokenClaims { userinfo: Extra::Inline("{\"a\":1}".to_owned()), ..claims() };
    assert_eq!(decode(&encode_for_jwt(&little)), Ok(claims()));
}

#[test]
fn what_is_cut_short_anywhere_is_not_understood() {
    let form = encode(&claims());
    for length in 0..form.len() {
        assert_eq!(decode(&form[..length]), Err(NotAToken::Content), "{length}");
    }
}

/// The facts of any token: as they are written, and as they are read.
fn facts() -> impl Strategy<Value = AccessTokenClaims> {
    let text = || "[ -~]{0,140}";
    let named =
        (any::<[[u8; 16]; 2]>(), "[!-~]{1,40}", of("[a-z]{1,40}"), of(any::<[u8; 16]>()), vec(text(), 0..3));
    let times = any::<[i32; 4]>();
    let told = prop_oneof![Just(Extra::None), Just(Extra::InGrant), text().prop_map(Extra::Inline)];
    let rare = (of(any::<(bool, [u8; 32])>()), [of(text()), of(text()), of(text()), of(text())]);
    let origins = vec(("[a-z]{1,9}", any::<[u8; 16]>(), any::<i32>()), 0..3);
    let rare = (rare, vec(text(), 0..3), origins, any::<bool>()).prop_map(
        |((key, texts), amr, origins, without_login)| {
            let [shown_subject, actor, authorization_details, acr] = texts;
            let key =
                key.map(|(dpop, key)| if dpop { Confirmation::Jkt(key) } else { Confirmation::X5tS256(key) });
            let origin = |(client, token, at): (String, _, i32)| Origin {
                client: client.parse().unwrap(),
                token: TokenId::from_bytes(token),
                consented_at: Timestamp::from_millis(at.into()),
            };
            RareClaims {
                confirmation: key,
                shown_subject,
                actor,
                authorization_details,
                acr,
                amr,
                origins: origins.into_iter().map(origin).collect(),
                without_login,
            }
        },
    );
    (named, times, told.clone(), told, prop_oneof![Just(RareClaims::default()), rare]).prop_map(
        |((ids, client, subject, session, audience), times, extra, userinfo, rare)| {
            let [issued_at, lifetime, authenticated_at, consented_at] = times.map(i64::from);
            AccessTokenClaims {
                id: TokenId::from_bytes(ids[0]),
                grant: GrantId::from_bytes(ids[1]),
                client: client.parse().unwrap(),
                subject: subject.map(|subject| subject.parse().unwrap()),
                session: session.map(SessionId::from_bytes),
                scope: "a b".parse().unwrap(),
                audience,
                issued_at: Timestamp::from_secs(issued_at),
                expires_at: Timestamp::from_secs(issued_at + lifetime),
                authenticated_at: Timestamp::from_millis(authenticated_at),
                consented_at: Timestamp::from_millis(consented_at),
                extra,
                userinfo,
                rare,
            }
        },
    )
}

/// Bytes are read as postcard reads them, or not at all, as with it.
fn is_read_like_postcard(bytes: &[u8]) {
    assert_eq!(Packed::new(bytes).read::<Wire<'_>>(), postcard::from_bytes(bytes).ok(), "{bytes:?}");
}

proptest! {
    #[test]
    fn facts_have_the_form_that_postcard_gives_them(
        facts in facts(),
        at in any::<prop::sample::Index>(),
        bits in any::<u8>(),
    ) {
        let mut bytes = encode(&facts);
        prop_assert_eq!(decode(&bytes), Ok(facts));
        let packed = &mut bytes[32..];
        let wire: Wire<'_> = postcard::from_bytes(packed).unwrap();
        let expected = postcard::to_stdvec(&wire).unwrap();
        prop_assert_eq!(&*packed, expected.as_slice());
        is_read_like_postcard(packed);
        let place = at.index(packed.len());
        is_read_like_postcard(&packed[..place]);
        packed[place] ^= bits;
        is_read_like_postcard(packed);
    }
}
