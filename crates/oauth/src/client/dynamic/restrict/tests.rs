mod strangers;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::*;
use crate::client::fake;
use crate::client::profile::SecurityProfile;

const OPEN: Bounds<'_> = Bounds {
    trust: Trust::Anybody,
    default_scope: "openid offline_access",
    default_audience: &[],
    plain_http_keys: false,
    unsigned_requests: false,
    id_token_alg: None,
    pairwise_by_default: false,
    stored: None,
};
const INVITED: Bounds<'_> = Bounds { trust: Trust::Invited, ..OPEN };

fn asked(change: impl FnOnce(&mut ClientMetadata)) -> ClientMetadata {
    let redirect_uris = vec!["https://app.example/callback".to_owned()];
    let mut metadata = ClientMetadata { redirect_uris, ..ClientMetadata::default() };
    change(&mut metadata);
    metadata
}

#[test]
fn what_only_an_administrator_decides_is_refused() {
    for metadata in [
        asked(|asked| asked.skip_consent = true),
        asked(|asked| asked.skip_logout_consent = true),
        asked(|asked| asked.metadata = Some(serde_json::json!({"tier": 1}))),
        asked(|asked| asked.access_token_strategy = "jwt".to_owned()),
        asked(|asked| asked.formats.access_token_jwt_typ = Some("JWT".to_owned())),
        asked(|asked| asked.formats.omits_issuer = true),
        asked(|asked| asked.token_exchange.impersonation = true),
        asked(|asked| asked.lifespans.implicit.id_token = Some(sluice_primitives::Lifetime::hours(9))),
    ] {
        assert!(INVITED.restrict(metadata).is_err());
    }
}

#[test]
fn links_lead_to_the_web_unless_an_administrator_gave_others() {
    let logo = |uri: &str| asked(|asked| asked.logo_uri = uri.to_owned());
    let image = "data:image/png;base64,iVBORw0KGgo=";
    for bad in ["app.example", "ftp://app.example/logo.png", "/logo.png", image] {
        assert!(INVITED.restrict(logo(bad)).is_err(), "{bad}");
    }
    assert!(OPEN.restrict(logo("https://app.example/logo.png")).is_ok());
    let own = crate::client::Client { logo_uri: image.to_owned(), ..fake::client("app") };
    let bounds = Bounds { stored: Some(&own), ..OPEN };
    assert!(bounds.restrict(logo(image)).is_ok() && bounds.restrict(logo("app.example")).is_err());
}

#[test]
fn anybody_gets_no_scope_beyond_the_default() {
    let scope = |asked_for: &str| {
        OPEN.restrict(asked(|asked| asked.scope = asked_for.to_owned())).map(|kept| kept.scope)
    };
    assert_eq!(scope("openid offline admin").unwrap(), "openid offline", "one of the two names of it");
    assert_eq!(scope("admin").unwrap(), "openid offline_access");
    assert_eq!(scope("").unwrap(), "openid offline_access");
    assert!(scope("with \"quotes\"").is_err());
}

#[test]
fn the_invited_choose_their_scope_audience_and_grant_types() {
    let metadata = asked(|asked| {
        asked.scope = "openid admin".to_owned();
        asked.audience = vec!["https://api.example".to_owned()];
        asked.grant_types = vec!["client_credentials".to_owned()];
    });
    let kept = INVITED.restrict(metadata.clone()).unwrap();
    assert_eq!((kept.scope.as_str(), kept.audience.len()), ("openid admin", 1));
    assert!(OPEN.restrict(metadata).is_err());
}

#[test]
fn anybody_asks_for_users_and_not_for_itself() {
    for grant_type in FOR_ITSELF {
        let metadata = asked(|asked| asked.grant_types = vec![grant_type.as_str().to_owned()]);
        assert!(OPEN.restrict(metadata).is_err(), "{}", grant_type.as_str());
    }
    let details = || asked(|asked| asked.authorization_details_types = vec!["payment".to_owned()]);
    assert!(OPEN.restrict(details()).is_err() && INVITED.restrict(details()).is_ok());
}

#[test]
fn who_names_no_audience_has_the_default_and_anybody_no_other() {
    let names = |names: &[&str]| -> Vec<String> { names.iter().map(|name| (*name).to_owned()).collect() };
    let default = names(&["https://api.example", "https://tools.example/mcp"]);
    let open = Bounds { default_audience: &default, ..OPEN };
    let invited = Bounds { trust: Trust::Invited, ..open };
    let for_these = |audience: &[&str]| asked(|asked| asked.audience = names(audience));
    for bounds in [open, invited] {
        assert_eq!(bounds.restrict(for_these(&[])).unwrap().audience, default);
        for below in ["https://api.example", "https://api.example/orders", "https://tools.example/mcp/one"] {
            let one = bounds.restrict(for_these(&["https://tools.example/mcp", below])).unwrap();
            assert_eq!(one.audience, ["https://tools.example/mcp", below]);
        }
    }
    for beside in ["https://tools.example", "https://api.example.net", "https://tools.example/mcp/../other"] {
        assert!(open.restrict(for_these(&[beside])).is_err(), "{beside}");
    }
    let more = for_these(&["https://api.example", "https://other.example"]);
    assert!(open.restrict(more.clone()).is_err() && invited.restrict(more).is_ok());

    let stored = fake::client("app");
    let own = Bounds { stored: Some(&stored), ..open };
    assert!(own.restrict(for_these(&[])).unwrap().audience.is_empty(), "what it has stays");
    assert_eq!(own.restrict(for_these(&["https://api.example"])).unwrap().audience.len(), 1);
    assert!(own.restrict(for_these(&["https://other.example"])).is_err());
}

#[test]
fn who_sends_users_away_says_where_they_come_back_to() {
    let refused = OPEN.restrict(ClientMetadata::default()).unwrap_err();
    assert!(matches!(refused, RegistrationError::RedirectUri(_)));
    let device = ["urn:ietf:params:oauth:grant-type:device_code".to_owned()];
    assert!(
        OPEN.restrict(ClientMetadata { grant_types: device.to_vec(), ..ClientMetadata::default() }).is_ok()
    );
}

#[test]
fn no_owner_is_taken_from_a_registrant() {
    let kept = OPEN.restrict(asked(|asked| asked.owner = "operator".to_owned())).unwrap();
    assert_eq!(kept.owner, "");
}

#[test]
fn what_an_administrator_gave_stays_and_may_be_repeated() {
    let mut stored = fake::client("app");
    stored.skip_consent = true;
    stored.owner = "operator".to_owned();
    stored.metadata = serde_json::json!({"tier": 1});
    stored.formats.access_token_jwt_typ = Some("JWT".to_owned());
    stored.formats.omits_issuer = true;
    stored.scope = "openid admin".parse().unwrap();
    stored.grant_types = vec!["client_credentials".to_owned()];
    let bounds = Bounds { stored: Some(&stored), ..OPEN };

    let silent = bounds.restrict(asked(|_| ())).unwrap();
    assert!(silent.skip_consent && silent.owner == "operator");
    assert_eq!(silent.metadata, Some(serde_json::json!({"tier": 1})));
    assert_eq!(silent.formats.access_token_jwt_typ.as_deref(), Some("JWT"));
    assert!(silent.formats.omits_issuer);
    let repeated = asked(|asked| {
        asked.skip_consent = true;
        asked.metadata = Some(serde_json::json!({"tier": 1}));
        asked.formats.access_token_jwt_typ = Some("JWT".to_owned());
        asked.formats.omits_issuer = true;
        asked.scope = "openid admin other".to_owned();
        asked.grant_types = vec!["client_credentials".to_owned()];
    });
    assert_eq!(bounds.restrict(repeated).unwrap().scope, "openid admin");
    assert!(bounds.restrict(asked(|asked| asked.skip_logout_consent = true)).is_err());
    let typ = asked(|asked| asked.formats.access_token_jwt_typ = Some("at+jwt".to_owned()));
    assert!(bounds.restrict(typ).is_err());
}

#[test]
fn a_scope_longer_than_a_request_may_ask_for_is_repeated_and_not_changed() {
    let long = (0..300).map(|number| number.to_string()).collect::<Vec<_>>().join(" ");
    let mut stored = fake::client("app");
    stored.scope = long.parse().unwrap();
    let bounds = Bounds { stored: Some(&stored), ..OPEN };
    assert_eq!(bounds.restrict(asked(|asked| asked.scope.clone_from(&long))).unwrap().scope, long);
    assert!(bounds.restrict(asked(|asked| asked.scope = format!("{long} more"))).is_err());
}

/// Changes are judged as those of anybody: see [`super::super::DynamicRegistration::replace`].
#[test]
fn a_client_that_changes_itself_keeps_what_it_has_and_gains_nothing() {
    let mut stored = fake::client("app");
    stored.scope = "openid reports".parse().unwrap();
    stored.audience = sluice_protocol::Audience::from_values(vec!["https://api.example".to_owned()]);
    stored.authorization_details_types = vec!["payment".to_owned()];
    let bounds = Bounds { stored: Some(&stored), ..OPEN };

    let silent = bounds.restrict(asked(|_| ())).unwrap();
    assert_eq!((silent.scope.as_str(), silent.audience.len()), ("openid reports", 1));
    assert_eq!(silent.authorization_details_types, ["payment"]);
    let scope = asked(|asked| asked.scope = "admin".to_owned());
    assert_eq!(bounds.restrict(scope).unwrap().scope, "openid reports");
    for gain in [
        asked(|asked| asked.audience = vec!["https://other.example".to_owned()]),
        asked(|asked| asked.authorization_details_types = vec!["payment".to_owned(), "transfer".to_owned()]),
        asked(|asked| asked.grant_types = vec!["client_credentials".to_owned()]),
    ] {
        assert!(bounds.restrict(gain).is_err());
    }
}

#[test]
fn a_client_is_never_less_strict_with_itself_than_it_was() {
    let mut stored = fake::client("app");
    stored.security.profile = SecurityProfile::Fapi2MessageSigning;
    stored.security.require_pushed_authorization_requests = true;
    stored.security.dpop_bound_access_tokens = true;
    let bounds = Bounds { stored: Some(&stored), ..OPEN };
    let stricter = asked(|asked| {
        asked.security.profile = SecurityProfile::Fapi2;
        asked.security.require_signed_request_object = true;
        asked.jwks_uri = "https://app.example/keys".to_owned();
        asked.security.tls_client_certificate_bound_access_tokens = true;
    });
    let kept = bounds.restrict(stricter).unwrap().security;
    assert_eq!(kept.profile, SecurityProfile::Fapi2MessageSigning);
    assert!(kept.require_pushed_authorization_requests && kept.require_signed_request_object);
    assert!(kept.dpop_bound_access_tokens && kept.tls_client_certificate_bound_access_tokens);
    assert_eq!(bounds.restrict(asked(|_| ())).unwrap().security, stored.security);
}

/// RFC 7591 §3.2.1: the client is told what was chosen for it.
#[test]
fn what_signs_the_id_tokens_of_who_names_no_algorithm_is_written_down() {
    let named = |id_token_alg, metadata| {
        Bounds { id_token_alg, ..OPEN }.restrict(metadata).unwrap().id_token_signed_response_alg
    };
    let configured = Some(SigningAlgorithm::ES256);
    assert_eq!(named(configured, asked(|_| ())), "ES256");
    assert_eq!(named(None, asked(|_| ())), "");
    let rs256 = asked(|asked| asked.id_token_signed_response_alg = "RS256".to_owned());
    assert_eq!(named(configured, rs256), "RS256");
    let fapi = asked(|asked| asked.security.profile = SecurityProfile::Fapi2);
    assert_eq!(named(configured, fapi), "", "the profile names its own");
}

#[test]
fn who_knows_users_by_names_of_its_own_goes_on_to_do_so() {
    let sector = "https://sector.example/uris.json";
    let mut stored = fake::client("app");
    stored.subject_type = PAIRWISE.to_owned();
    stored.sector_identifier_uri = Some(sector.to_owned());
    let bounds = Bounds { stored: Some(&stored), ..OPEN };
    for change in ["", "https://other.example/uris.json"] {
        let metadata = asked(|asked| {
            asked.subject_type = "public".to_owned();
            asked.sector_identifier_uri = change.to_owned();
        });
        let kept = bounds.restrict(metadata).unwrap();
        assert_eq!((kept.subject_type.as_str(), kept.sector_identifier_uri.as_str()), (PAIRWISE, sector));
    }
}

/// Anybody can name the document of a sector and the redirect URIs that it lists.
#[test]
fn nobody_joins_a_sector_by_tokens_that_go_elsewhere() {
    const SECTOR: &str = "https://app.example/sector.json";
    let device = GrantType::DeviceCode.as_str();
    let joins = |subject_type: &str, grant_type: &str, uris: &[&str]| {
        asked(|asked| {
            asked.subject_type = subject_type.to_owned();
            asked.sector_identifier_uri = SECTOR.to_owned();
            asked.grant_types = vec!["authorization_code".to_owned(), grant_type.to_owned()];
            asked.redirect_uris.extend(uris.iter().map(|uri| (*uri).to_owned()));
        })
    };
    assert!(OPEN.restrict(joins(PAIRWISE, "refresh_token", &["https://other.example/cb"])).is_ok());
    assert!(OPEN.restrict(joins("public", device, &["com.example.app:/cb"])).is_ok(), "no sector matters");
    let elsewhere = [
        joins(PAIRWISE, device, &[]),
        joins(PAIRWISE, "refresh_token", &["http://127.0.0.1/cb"]),
        joins(PAIRWISE, "refresh_token", &["https://localhost/cb"]),
        joins(PAIRWISE, "refresh_token", &["com.example.app:/cb"]),
    ];
    for metadata in elsewhere {
        let refused = OPEN.restrict(metadata.clone()).unwrap_err().to_string();
        assert!(refused.contains("sector_identifier_uri"), "{refused}");
        assert!(INVITED.restrict(metadata).is_ok());
    }
    let unsaid = joins("", device, &[]);
    assert!(OPEN.restrict(unsaid.clone()).is_ok(), "no sector matters");
    assert!(Bounds { pairwise_by_default: true, ..OPEN }.restrict(unsaid).is_err());
    let mut stored = fake::client("app");
    stored.sector_identifier_uri = Some(SECTOR.to_owned());
    stored.grant_types = vec![device.to_owned()];
    let changes = |stored: &Client| {
        Bounds { stored: Some(stored), ..OPEN }.restrict(joins(PAIRWISE, device, &[])).is_ok()
    };
    assert!(!changes(&stored), "until now it was of no sector");
    stored.subject_type = PAIRWISE.to_owned();
    assert!(changes(&stored), "an administrator put it there");
    stored.grant_types.clear();
    assert!(!changes(&stored));
    let unnamed = asked(|asked| asked.grant_types = vec![device.to_owned()]);
    let bounds = Bounds { stored: Some(&stored), ..OPEN };
    assert!(bounds.restrict(unnamed).is_err(), "it stays in the sector that it does not name");
}

/// A logout token names the user as the sector knows them, and whoever's application it is may register redirect URIs.
#[test]
fn logouts_are_told_to_the_sector_alone_where_subjects_are_pairwise() {
    const ELSEWHERE: &str = "https://other.example/logout";
    let told = |subject_type: &str, uri: &str| {
        asked(|asked| {
            asked.subject_type = subject_type.to_owned();
            asked.backchannel_logout_uri = uri.to_owned();
        })
    };
    assert!(OPEN.restrict(told(PAIRWISE, "https://app.example:8443/logout")).is_ok());
    assert!(OPEN.restrict(told("public", ELSEWHERE)).is_ok());
    assert!(OPEN.restrict(told("", ELSEWHERE)).is_ok());
    assert!(INVITED.restrict(told(PAIRWISE, ELSEWHERE)).is_ok());
    let by_default = Bounds { pairwise_by_default: true, ..OPEN };
    for refused in [OPEN.restrict(told(PAIRWISE, ELSEWHERE)), by_default.restrict(told("", ELSEWHERE))] {
        let why = refused.unwrap_err().to_string();
        assert!(why.contains("backchannel_logout_uri"), "{why}");
    }
    let mut stored = fake::client("app");
    stored.subject_type = PAIRWISE.to_owned();
    stored.backchannel_logout = Some(ELSEWHERE.parse().unwrap());
    let bounds = Bounds { stored: Some(&stored), ..OPEN };
    assert!(bounds.restrict(told(PAIRWISE, ELSEWHERE)).is_ok(), "an administrator put it there");
}

/// It could never do what it registers for.
#[test]
fn who_signs_registers_a_key_that_signatures_can_be_checked_with() {
    let rsa = |bytes: usize| {
        let n = Some(URL_SAFE_NO_PAD.encode(vec![0xff_u8; bytes]));
        let key = Jwk { kty: "RSA".to_owned(), n, e: Some("AQAB".to_owned()), ..Jwk::default() };
        JwkSet { keys: vec![key] }
    };
    let by_key = |keys: JwkSet| {
        asked(|asked| {
            asked.token_endpoint_auth_method = "private_key_jwt".to_owned();
            asked.jwks = Some(keys);
        })
    };
    for bounds in [OPEN, INVITED] {
        let refused = bounds.restrict(by_key(rsa(128))).unwrap_err().to_string();
        assert!(refused.contains("2048 bits"), "{refused}");
        assert!(bounds.restrict(by_key(rsa(256))).is_ok());
        let unused = asked(|asked| asked.jwks = Some(rsa(128)));
        assert!(bounds.restrict(unused).is_ok());
    }
    let mut stored = fake::client("app");
    stored.jwks = Some(rsa(128));
    let bounds = Bounds { stored: Some(&stored), ..OPEN };
    assert!(bounds.restrict(by_key(rsa(128))).is_ok(), "it has them already");
    let signed = |keys: Option<JwkSet>| {
        asked(|asked| {
            asked.security.require_signed_request_object = true;
            asked.jwks = keys;
        })
    };
    for keys in [None, Some(JwkSet::default()), Some(rsa(128))] {
        assert!(OPEN.restrict(signed(keys)).is_err());
    }
    assert!(OPEN.restrict(signed(Some(rsa(256)))).is_ok());
    stored.security.require_signed_request_object = true;
    assert!(Bounds { stored: Some(&stored), ..OPEN }.restrict(signed(None)).is_ok(), "it had to before");
}

#[test]
fn who_does_not_sign_request_objects_registers_so_where_they_may_be_unsigned() {
    let none = || asked(|asked| asked.request_object_signing_alg = "none".to_owned());
    assert!(OPEN.restrict(none()).is_ok(), "it may never send one");
    let keys = "https://app.example/keys".to_owned();
    let security = ClientSecurity { require_signed_request_object: true, ..Default::default() };
    let unsigned = || ClientMetadata { security: security.clone(), jwks_uri: keys.clone(), ..none() };
    let refused = INVITED.restrict(unsigned()).unwrap_err().to_string();
    assert!(refused.contains("request_object_signing_alg"), "{refused}");
    assert!(Bounds { unsigned_requests: true, ..OPEN }.restrict(unsigned()).is_ok());
    let mut stored = fake::client("app");
    stored.request_object_signing_alg = Some("none".to_owned());
    let bounds = Bounds { stored: Some(&stored), ..OPEN };
    assert!(bounds.restrict(unsigned()).is_ok(), "an administrator said so");
}

#[test]
fn keys_come_by_tls_except_in_development_and_where_an_administrator_said_so() {
    let by = |uri: &str| asked(|asked| asked.jwks_uri = uri.to_owned());
    let plain = "http://app.example/keys";
    assert!(OPEN.restrict(by("https://app.example/keys")).is_ok());
    assert!(OPEN.restrict(by(plain)).is_err() && INVITED.restrict(by(plain)).is_err());
    assert!(Bounds { plain_http_keys: true, ..OPEN }.restrict(by(plain)).is_ok());
    let mut stored = fake::client("app");
    stored.jwks_uri = Some(plain.parse().unwrap());
    assert!(Bounds { stored: Some(&stored), ..OPEN }.restrict(by(plain)).is_ok());
}

#[test]
fn anybody_registers_a_hundred_keys_that_can_be_read() {
    const GOOD: &str = r#"{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}"#;
    let with = |keys: &str| {
        let set = serde_json::from_str(&format!(r#"{{"keys":[{keys}]}}"#)).unwrap();
        asked(|asked| asked.jwks = Some(set))
    };
    let many = |count: usize| with(&vec![GOOD; count].join(","));
    assert!(OPEN.restrict(many(100)).is_ok() && OPEN.restrict(many(101)).is_err());
    assert!(INVITED.restrict(many(101)).is_ok());
    for malformed in [
        r#"{"kty":"OKP","crv":"Ed25519","x":"AA"}"#,
        r#"{"kty":"EC","crv":"P-256","x":"AA","y":"AA"}"#,
        r#"{"kty":"EC","crv":"P-256","x":"AA","y":"AA","use":"enc"}"#,
        r#"{"kty":"RSA","n":"??","e":"AQAB"}"#,
        r#"{"kty":"OKP","crv":"X25519","x":"AA"}"#,
    ] {
        assert!(OPEN.restrict(with(malformed)).is_err(), "{malformed}");
        assert!(INVITED.restrict(with(malformed)).is_ok(), "{malformed}");
    }
    for unusual in [
        r#"{"kty":"EC","crv":"secp256k1","x":"AA","y":"AA"}"#,
        r#"{"kty":"OKP","crv":"X25519","x":"hSDwCYkwp1R0i33ctD73Wg2_Og0mOBr066SpjqqbTmo","use":"enc"}"#,
    ] {
        assert!(OPEN.restrict(with(&format!("{GOOD},{unusual}"))).is_ok(), "{unusual}");
    }
    for list in ["key_ops", "x5c"] {
        let with_list = |entries: usize| {
            let list = format!(r#""{list}":[{}],"kty""#, vec![r#""verify""#; entries].join(","));
            with(&GOOD.replace(r#""kty""#, &list))
        };
        assert!(OPEN.restrict(with_list(16)).is_ok() && OPEN.restrict(with_list(17)).is_err(), "{list}");
        assert!(INVITED.restrict(with_list(17)).is_ok(), "{list}");
    }
    let mut stored = fake::client("app");
    stored.jwks = many(101).jwks;
    assert!(
        Bounds { stored: Some(&stored), ..OPEN }.restrict(many(101)).is_ok(),
        "what it has it may repeat"
    );
}

/// Whoever brings a key chooses how much work it is to check a signature, or to encrypt for it.
#[test]
fn anybody_registers_rsa_keys_that_are_quick_to_use() {
    let rsa = |bytes: usize, exponent: &str| {
        let n = URL_SAFE_NO_PAD.encode(vec![0xff_u8; bytes]);
        let key = Jwk { kty: "RSA".to_owned(), n: Some(n), e: Some(exponent.to_owned()), ..Jwk::default() };
        asked(|asked| asked.jwks = Some(JwkSet { keys: vec![key] }))
    };
    for (bytes, exponent) in [(256, "AQAB"), (512, "AQAB"), (512, "Aw")] {
        assert!(OPEN.restrict(rsa(bytes, exponent)).is_ok(), "{bytes} {exponent}");
    }
    // 4104 and 8192 bits; 65539 and eight bytes.
    for (bytes, exponent) in [(513, "AQAB"), (1024, "AQAB"), (256, "AQAD"), (256, "__________8")] {
        let refused = OPEN.restrict(rsa(bytes, exponent)).unwrap_err().to_string();
        assert!(refused.contains("4096"), "{refused}");
        assert!(INVITED.restrict(rsa(bytes, exponent)).is_ok(), "{bytes} {exponent}");
        let mut stored = fake::client("app");
        stored.jwks = rsa(bytes, exponent).jwks;
        let bounds = Bounds { stored: Some(&stored), ..OPEN };
        assert!(bounds.restrict(rsa(bytes, exponent)).is_ok(), "an administrator gave it");
    }
}

#[test]
fn the_lists_of_who_anybody_may_be_are_short() {
    type List = fn(&mut ClientMetadata) -> &mut Vec<String>;
    let lists: [(&str, List); 9] = [
        ("redirect_uris", |asked| &mut asked.redirect_uris),
        ("post_logout_redirect_uris", |asked| &mut asked.post_logout_redirect_uris),
        ("request_uris", |asked| &mut asked.request_uris),
        ("allowed_cors_origins", |asked| &mut asked.allowed_cors_origins),
        ("contacts", |asked| &mut asked.contacts),
        ("grant_types", |asked| &mut asked.grant_types),
        ("response_types", |asked| &mut asked.response_types),
        ("default_acr_values", |asked| &mut asked.defaults.acr_values),
        ("audience", |asked| &mut asked.audience),
    ];
    let audience = ["https://app.example".to_owned()];
    let open = Bounds { default_audience: &audience, ..OPEN };
    let entries =
        |count: usize| (0..count).map(|number| format!("https://app.example/{number}")).collect::<Vec<_>>();
    for (name, list) in lists {
        let with = |count: usize| asked(|asked| *list(asked) = entries(count));
        assert!(open.restrict(with(32)).is_ok(), "{name}");
        let refused = open.restrict(with(33)).unwrap_err().to_string();
        assert!(refused.contains(name), "{refused}");
        assert!(INVITED.restrict(with(33)).is_ok(), "{name}");
    }
    let mut stored = fake::client("app");
    stored.contacts = entries(40);
    let bounds = Bounds { stored: Some(&stored), ..OPEN };
    let with = |count: usize| asked(|asked| asked.contacts = entries(count));
    assert!(bounds.restrict(with(40)).is_ok(), "what it has it may repeat");
    assert!(bounds.restrict(with(41)).is_err());
}

#[test]
fn anybody_is_told_of_logouts_where_its_users_come_back_to() {
    let at = |uri: &str| asked(|asked| asked.frontchannel_logout_uri = uri.to_owned());
    assert!(OPEN.restrict(at("https://app.example:443/logged-out?a=b")).is_ok());
    let elsewhere = "https://bank.example/transfer";
    for uri in
        [elsewhere, "http://app.example/out", "https://app.example:444/out", "https://app.example.evil/"]
    {
        assert!(OPEN.restrict(at(uri)).is_err(), "{uri}");
        assert!(INVITED.restrict(at(uri)).is_ok(), "{uri}");
    }
    let mut stored = fake::client("app");
    stored.frontchannel_logout = Some(elsewhere.parse().unwrap());
    assert!(
        Bounds { stored: Some(&stored), ..OPEN }.restrict(at(elsewhere)).is_ok(),
        "an administrator gave it"
    );
}

#[test]
fn anybody_names_the_origins_of_its_pages_one_by_one() {
    let of = |origin: &str| asked(|asked| asked.allowed_cors_origins = vec![origin.to_owned()]);
    assert!(OPEN.restrict(of("https://app.example")).is_ok());
    for pattern in ["https://*", "https://*.example", "https://*.app.example"] {
        assert!(OPEN.restrict(of(pattern)).is_err() && INVITED.restrict(of(pattern)).is_ok(), "{pattern}");
        let mut stored = fake::client("app");
        stored.allowed_cors_origins = vec![pattern.to_owned()];
        let bounds = Bounds { stored: Some(&stored), ..OPEN };
        assert!(bounds.restrict(of(pattern)).is_ok(), "an administrator gave it");
    }
}
