//! What a request says that this server does not know, and the `id_token_hint`: nothing is checked of it here, but the pages
//! are shown it.

use super::Checked;
use crate::flow::Further;

/// What this server knows: it is rebuilt from what was checked, or, like a credential, shown to nobody.
const KNOWN: &[&str] = &[
    "acr_values",
    "audience",
    "authorization_details",
    "claims",
    "client_assertion",
    "client_assertion_type",
    "client_id",
    "client_secret",
    "code_challenge",
    "code_challenge_method",
    "consent_verifier",
    "display",
    "dpop_jkt",
    "id_token_hint",
    "login_hint",
    "login_verifier",
    "max_age",
    "nonce",
    "prompt",
    "redirect_uri",
    "registration",
    "request",
    "request_uri",
    "resource",
    "response_mode",
    "response_type",
    "scope",
    "state",
    "ui_locales",
];

pub(super) fn read(checked: &Checked<'_>) -> Further {
    // Of a request that was pushed or signed, pages are shown what they need and no more.
    if checked.how.pushed.is_some() || checked.how.signed {
        return Further::default();
    }
    let id_token_hint = checked.raw.get("id_token_hint").map(str::to_owned);
    Further { id_token_hint, ..Further::of(checked.raw.iter(), KNOWN) }
}
