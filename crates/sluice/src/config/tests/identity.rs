//! The settings of people's accounts.

use super::super::identity::{
    CodeSettings, EmailClaim, PreferredUsername, SelfRegistrationSettings, SessionSettings,
};
use super::super::identity_passkeys::PasskeySettings;
use super::*;
use sluice_crypto::password_hash::Argon2Params;
use sluice_identity::factor::FactorsRequired;
use url::Url;

/// A minimal file and this one.
fn with(yaml: &str) -> Given {
    given(MINIMAL).and_file(yaml.to_owned().leak())
}

fn identity(yaml: &str) -> IdentitySettings {
    with(yaml).settings().identity
}

#[test]
fn people_may_register_and_are_written_to_only_where_there_is_a_mail_server() {
    let settings = identity("{}");
    let SelfRegistrationSettings { enabled, conceal_taken, verify_email } = settings.registration;
    assert_eq!((enabled, conceal_taken, verify_email), (true, false, true));
    assert!(settings.mail.is_none() && settings.password.breached.is_none());
    assert_eq!((settings.service_name.as_str(), settings.password.min_length), ("Sluice", 8));
    let SessionSettings { access_token, idle, lifetime, rotation_window } = settings.session;
    let days = |days: u64| Duration::from_hours(days * 24);
    assert_eq!((access_token, idle, lifetime), (Duration::from_mins(15), days(30), days(90)));
    assert_eq!(rotation_window, Duration::from_secs(30));
    let CodeSettings { verify, recover, change_email } = settings.codes;
    assert_eq!((verify, recover, change_email), (days(1), Duration::from_mins(15), Duration::from_hours(1)));
}

#[test]
fn applications_are_told_the_username_an_address_or_nothing() {
    let told = |yaml: &str| identity(yaml).preferred_username;
    assert_eq!(told("{}"), PreferredUsername::Username);
    for (name, what) in [
        ("username", PreferredUsername::Username),
        ("email", PreferredUsername::Email),
        ("none", PreferredUsername::Nothing),
    ] {
        assert_eq!(told(&format!("identity: {{preferred_username: {name}}}")), what, "{name}");
    }
    let unknown = with("identity: {preferred_username: sub}").problems();
    assert_eq!(unknown, "identity.preferred_username: must be one of username, email, none, not \"sub\"");
}

#[test]
fn a_second_factor_is_required_of_nobody_of_those_who_are_chosen_or_of_everybody() {
    let required = |yaml: &str| crate::app::identity_config(&identity(yaml)).factors_required;
    assert_eq!(required("{}"), FactorsRequired::Never);
    for (name, of) in [
        ("never", FactorsRequired::Never),
        ("chosen", FactorsRequired::Chosen),
        ("always", FactorsRequired::Always),
    ] {
        assert_eq!(required(&format!("identity: {{factors: {{required: {name}}}}}")), of, "{name}");
    }
    let unknown = with("identity: {factors: {required: everybody}}").problems();
    assert_eq!(unknown, "identity.factors.required: must be one of never, chosen, always, not \"everybody\"");
}

#[test]
fn applications_are_told_an_address_always_or_once_it_is_verified() {
    let told = |yaml: &str| identity(yaml).email_claim;
    assert_eq!(told("{}"), EmailClaim::Always);
    for (name, when) in [("always", EmailClaim::Always), ("verified", EmailClaim::Verified)] {
        assert_eq!(told(&format!("identity: {{email_claim: {name}}}")), when, "{name}");
    }
    let unknown = with("identity: {email_claim: never}").problems();
    assert_eq!(unknown, "identity.email_claim: must be one of always, verified, not \"never\"");
}

#[test]
fn people_find_help_at_a_page_or_a_mail_address() {
    let support = |text: &str| identity(&format!("identity: {{support: '{text}'}}")).support;
    for help in ["https://example.com/help?from=mail", "http://help.example.com", "help@example.com"] {
        assert_eq!(support(help).as_deref(), Some(help));
    }
    assert_eq!(identity("{}").support, None);
    for wrong in
        ["ask us", "mailto:help@example.com", "javascript:alert(1)", "Help <help@example.com>", "/help"]
    {
        let problems = with(&format!("identity: {{support: '{wrong}'}}")).problems();
        assert_eq!(problems, "identity.support: must be an http or https URL, or a mail address", "{wrong}");
    }
}

#[test]
fn pages_look_as_they_are_built_unless_they_are_given_a_look_and_links() {
    let look = identity("{}").look;
    assert!(look.stylesheet.is_none() && look.logo.is_none() && look.translations.is_none());
    assert!(look.privacy.is_none() && look.terms.is_none() && look.imprint.is_none());
    let look = identity(
        "identity: {pages: {stylesheet: /etc/sluice/theme.css, logo: /etc/sluice/logo.svg, \
         translations: /etc/sluice/languages, \
         privacy_url: 'https://example.com/privacy', terms_url: 'https://example.com/terms', \
         imprint_url: 'https://example.com/imprint'}}",
    )
    .look;
    assert_eq!(look.stylesheet, Some(PathBuf::from("/etc/sluice/theme.css")));
    assert_eq!(look.logo, Some(PathBuf::from("/etc/sluice/logo.svg")));
    assert_eq!(look.translations, Some(PathBuf::from("/etc/sluice/languages")));
    let links = [look.privacy, look.terms, look.imprint].map(|url| url.unwrap().to_string());
    let expected =
        ["https://example.com/privacy", "https://example.com/terms", "https://example.com/imprint"];
    assert_eq!(links, expected);
    let problems =
        with("identity: {pages: {privacy_url: 'javascript:alert(1)', terms_url: /terms}}").problems();
    let expected = "identity.pages.privacy_url: must be an absolute URL, not \"javascript:alert(1)\"\n\
                    identity.pages.terms_url: must be an absolute URL, not \"/terms\"";
    assert_eq!(problems, expected);
}

#[test]
fn the_defaults_are_those_of_the_service() {
    let config = crate::app::identity_config(&identity("{identity: {passkeys: {enabled: false}}}"));
    assert_eq!(config, sluice_identity::Config::default());
}

#[test]
fn what_a_password_hash_costs_must_be_possible() {
    assert_eq!(identity("{}").password_hash.params, Argon2Params::default());
    let cheap = identity("identity: {password_hash: {memory: 64, passes: 2, lanes: 1}}").password_hash.params;
    assert_eq!((cheap.memory_kib(), cheap.passes(), cheap.lanes()), (64, 2, 1));
    let problems = |hash: &str| with(&format!("identity: {{password_hash: {hash}}}")).problems();
    let lanes = "identity.password_hash.memory: must be 8 KiB for each lane at least, and 4 GiB at most over all passes";
    assert_eq!(problems("{memory: 8}"), lanes);
    assert_eq!(problems("{memory: 262144, passes: 17}"), lanes);
    let pool = "identity.password_hash.memory: must not be more than identity.hash_pool.max_memory";
    assert_eq!(problems("{memory: 262148}"), pool);
}

#[test]
fn a_limit_of_zero_is_none_and_all_can_be_turned_off_at_once() {
    let limits = identity("identity: {limits: {logins_per_network: 0, mails_per_address: 3}}").limits;
    assert_eq!((limits.logins_per_network, limits.mails_per_address), (None, Some(3)));
    assert_eq!(limits.registrations_per_network, Some(100));
    assert!(
        limits
            .exempt
            .iter()
            .any(|network| network.contains(&"127.0.0.1".parse::<std::net::IpAddr>().unwrap()))
    );
    let limits = identity("identity: {limits: {enabled: false, exempt: []}}").limits;
    assert!(limits.registrations_per_network.is_none() && limits.exempt.is_empty());
}

#[test]
fn passkeys_belong_to_the_host_of_the_pages_unless_told_otherwise() {
    let passkeys = |yaml: &str| identity(yaml).passkeys;
    let origin = |text: &str| Url::parse(text).unwrap();
    let own = PasskeySettings {
        rp_id: "id.example.com".to_owned(),
        rp_name: "Sluice".to_owned(),
        origins: vec![origin("https://id.example.com/")],
    };
    assert_eq!(passkeys("{}"), Some(own));
    let wider = "identity: {service_name: Example, passkeys: {rp_id: example.com, \
                 origins: ['https://login.example.com', 'https://example.com']}}";
    let wider = passkeys(wider).unwrap();
    assert_eq!((wider.rp_id.as_str(), wider.rp_name.as_str()), ("example.com", "Example"));
    assert_eq!(wider.origins, [origin("https://login.example.com"), origin("https://example.com")]);
    assert_eq!(passkeys("identity: {passkeys: {enabled: false}}"), None);
    assert_eq!(given("").development().settings().identity.passkeys, None);
}

#[test]
fn passkeys_of_another_domain_are_refused() {
    let problems = |passkeys: &str| with(&format!("identity: {{passkeys: {passkeys}}}")).problems();
    let expected = "identity.passkeys.rp_id: https://id.example.com/ is not in the domain other.example";
    assert_eq!(problems("{rp_id: other.example}"), expected);
    let expected =
        "identity.passkeys.origins: https://evil-id.example.com/ is not in the domain id.example.com";
    assert_eq!(problems("{origins: ['https://evil-id.example.com']}"), expected);
    let expected = "identity.passkeys.origins: \"https://id.example.com/login\" is no origin such as https://login.example.com";
    assert_eq!(problems("{origins: ['https://id.example.com/login']}"), expected);
}

#[test]
fn an_android_application_asks_for_passkeys_beside_the_pages() {
    let application = "android:apk-key-hash:-sYXRdwJA3hvue3mKpYrOZ9zSPC7b4mbgzJmdZEDO5w";
    let passkeys = |origins: &str| format!("identity: {{passkeys: {{origins: {origins}}}}}");
    let both = identity(&passkeys(&format!("['{application}', 'https://id.example.com']"))).passkeys.unwrap();
    let both: Vec<&str> = both.origins.iter().map(Url::as_str).collect();
    assert_eq!(both, [application, "https://id.example.com/"]);
    let problems = |origins: &str| with(&passkeys(origins)).problems();
    let expected = "identity.passkeys.origins: has no origin of pages beside those of applications";
    assert_eq!(problems(&format!("['{application}']")), expected);
    let of_sha_1 = "android:apk-key-hash:ZEJBQ0VGYWJjZGVmMDEyMzQ1Njc";
    let padded = format!("{application}=");
    for wrong in [of_sha_1, padded.as_str(), "android:apk-key-hash:FA:C6:17", "android:com.example"] {
        let expected = format!(
            "identity.passkeys.origins: \"{wrong}\" is not android:apk-key-hash: and a SHA-256 hash in base64url without padding"
        );
        assert_eq!(problems(&format!("['https://id.example.com', '{wrong}']")), expected);
    }
}

#[test]
fn mail_needs_a_server_and_a_sender_and_its_password_is_never_shown() {
    let yaml = "identity: {mail: {smtp: {url: 'smtps://u:hunter2@mail.example.com', from: 'Example <a@example.com>'}},
        registration: {conceal_taken: true}}";
    let loaded = with(yaml).loaded();
    assert!(!loaded.show().contains("hunter2") && !format!("{:?}", loaded.settings).contains("hunter2"));
    let mail = loaded.settings.identity.mail.unwrap();
    assert_eq!((mail.timeout, mail.connections.get()), (Duration::from_secs(30), 4));
    let problems = |mail: &str| with(&format!("identity: {{mail: {{smtp: {mail}}}}}")).problems();
    assert_eq!(
        problems("{url: 'smtp://mail.example.com'}"),
        "identity.mail.smtp.from: is required with identity.mail.smtp.url"
    );
    let none = problems("{url: 'smtp://mail.example.com', from: 'Example <a@example.com>', connections: 0}");
    assert!(none.starts_with("identity.mail.smtp.connections: "), "{none}");
    let wrong = problems("{url: 'http://u:hunter2@mail', from: nobody}");
    let expected = "identity.mail.smtp.from: is not a sender: `Name <address@domain>` is expected, a name with \
                    punctuation in double quotes\n\
                    identity.mail.smtp.url: is wrong: the URL of the mail server is neither smtp:// nor smtps://";
    assert_eq!(wrong, expected);
    assert_eq!(
        with("identity: {registration: {conceal_taken: true}}").problems(),
        "identity.registration.conceal_taken: needs identity.mail.smtp.url: the owner of the address is told by mail"
    );
}

#[test]
fn breached_passwords_are_looked_up_in_one_place() {
    let breached = |breached: &str| with(&format!("identity: {{password: {{breached: {breached}}}}}"));
    let list = breached("{file: /etc/pwned, required: true}").settings().identity.password.breached.unwrap();
    assert!(list.required && list.list == BreachedList::File(PathBuf::from("/etc/pwned")));
    assert_eq!(
        breached("{file: /etc/pwned, url: 'https://pwned.example.com/'}").problems(),
        "identity.password.breached.url: has identity.password.breached.file beside it; set the one or the other"
    );
    assert_eq!(
        breached("{required: true}").problems(),
        "identity.password.breached.required: needs identity.password.breached.file or identity.password.breached.url"
    );
}

#[test]
fn a_session_cannot_be_idle_for_longer_than_it_lasts() {
    let problems = with("identity: {session: {idle: 2h, lifetime: 1h, access_token: 745h}}").problems();
    assert_eq!(problems, "identity.session.access_token: must be from 1s to 744h");
    let problems = with("identity: {session: {idle: 2h, lifetime: 1h}}").problems();
    assert_eq!(problems, "identity.session.idle: must not be more than identity.session.lifetime");
}

#[test]
fn peppers_are_secrets_of_their_own() {
    let given = given(MINIMAL).variable("SECRETS_PEPPER", "the-pepper-of-this-year,the-pepper-of-last-year");
    let loaded = given.loaded();
    assert!(loaded.warnings.is_empty() && !loaded.show().contains("the-pepper"));
    assert_eq!(
        expose(&loaded.settings.secrets.pepper),
        ["the-pepper-of-this-year", "the-pepper-of-last-year"]
    );
}
