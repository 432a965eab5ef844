//! What people have in their hands: mails, authenticator apps, passkeys.

use sluice_crypto::totp::TotpSecret;
use sluice_identity::account::AccountLinks;
use sluice_identity::config::PasskeyConfig;
use sluice_identity::mail::RenderedMail;
use sluice_oauth::Config;
use sluice_primitives::{Clock, ManualClock};
pub(in crate::ui) use sluice_store_contract::people::mailed_code;
use url::Url;

/// Where the pages are, to browsers.
pub(in crate::ui) const ORIGIN: &str = "https://id.example";

/// The pages that mails lead to.
pub(super) fn links(config: &Config) -> AccountLinks {
    let page = |path: &str| -> Url { config.issuer.endpoint(path).parse().unwrap() };
    AccountLinks {
        login: (config.pages.login == page("/ui/login")).then(|| page("/ui/account")),
        verify: page("/ui/verification"),
        recover: page("/ui/recovery"),
        change_email: page("/ui/account/email/confirm"),
    }
}

/// Passkeys as the issuer of the tests offers them.
pub(in crate::ui) fn passkeys() -> PasskeyConfig {
    PasskeyConfig {
        rp_id: "id.example".to_owned(),
        rp_name: "Example".to_owned(),
        origins: vec![ORIGIN.parse().unwrap()],
    }
}

/// What an authenticator app shows (RFC 6238).
pub(in crate::ui) fn app_code(secret_base32: &str, clock: &ManualClock) -> String {
    let secret = TotpSecret::from_base32(secret_base32).unwrap();
    sluice_testkit::app_code(secret.expose(), clock.now().as_secs())
}

/// The address that the link in a mail leads to, without the host.
pub(in crate::ui) fn mailed_link(mail: &RenderedMail) -> String {
    let rest = mail.text.split_once("?token=").unwrap();
    let before = rest.0.rsplit_once("https://id.example").unwrap().1;
    format!("{before}?token={}", rest.1.split_whitespace().next().unwrap())
}
