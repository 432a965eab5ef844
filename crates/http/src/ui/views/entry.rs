//! The ways in: [`LoginPage`], [`FactorPage`], [`RegistrationPage`], and what these may end with.

use askama::Template;
use sluice_identity::factor::PasskeyChallenge;
use sluice_identity::proof_of_work::Puzzle;

use super::WayOut;
use crate::ui::Brand;

/// A button that asks for a passkey, of a form with the hidden fields `passkey_state` and `passkey`.
pub(crate) struct PasskeyButton<'a> {
    /// Where the form goes if this button sends it.
    pub(crate) action: &'a str,
    /// What the browser is asked to do, as JSON.
    pub(crate) options: String,
    /// To be given back with the answer.
    pub(crate) state: &'a str,
}

impl<'a> PasskeyButton<'a> {
    /// The button of this challenge.
    pub(crate) fn of(challenge: &'a PasskeyChallenge, action: &'a str) -> Self {
        Self { action, options: challenge.options.to_string(), state: &challenge.state }
    }
}

/// Who is to sign in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    Anybody,
    /// The person that the application asks for, of whom nothing is known here.
    Named,
    /// The user is known here, and is to show once more, or better, who it is.
    Again,
}

/// Asks who you are. Posts `login_challenge`, `csrf`, `email`, `password` and, when ticked, `remember=true`; with a passkey
/// `passkey_state` and `passkey`; with a puzzle `puzzle` and `solution`.
#[derive(Template)]
#[template(path = "login.html")]
pub(crate) struct LoginPage<'a> {
    pub(crate) brand: &'a Brand,
    pub(crate) script: &'a str,
    /// Where the form posts to.
    pub(crate) action: &'a str,
    pub(crate) login_challenge: &'a str,
    pub(crate) csrf: &'a str,
    /// The application that sent the user here; `None` shows no "to continue to" line.
    pub(crate) client_name: Option<&'a str>,
    /// The host that the application's description is from, if that is all that is known of it: unlike the name, it cannot be made
    /// up.
    pub(crate) client_host: Option<&'a str>,
    /// Whether it registered itself, and nobody vouches for its name.
    pub(crate) registered_itself: bool,
    /// Host of the redirect URI.
    pub(crate) return_host: Option<&'a str>,
    pub(crate) wanted: Wanted,
    /// The registration page with the same challenge; `None` where registration is closed, or the user is known.
    pub(crate) registration_url: Option<&'a str>,
    /// Where to go without the password; `None` where no mail is sent.
    pub(crate) recovery_url: Option<&'a str>,
    /// What the user typed before, or the `login_hint`; may be empty.
    pub(crate) email: &'a str,
    pub(crate) remember: bool,
    pub(crate) email_error: Option<&'a str>,
    pub(crate) password_error: Option<&'a str>,
    /// A failure that belongs to no field, such as a wrong pair of e-mail and password.
    pub(crate) form_error: Option<&'a str>,
    /// `None` where passkeys are not offered.
    pub(crate) passkey: Option<PasskeyButton<'a>>,
    pub(crate) puzzle: Option<Puzzle>,
}

impl LoginPage<'_> {
    fn has_error(&self) -> bool {
        self.email_error.or(self.password_error).or(self.form_error).is_some()
    }

    /// Browsers offer passkeys with the addresses that they know.
    const fn email_autocomplete(&self) -> &'static str {
        if self.passkey.is_some() { "username webauthn" } else { "username" }
    }
}

/// Asks for a second factor. Posts `login_challenge`, `csrf`, `ticket`, `offered` and one of `code`, `recovery_code` and
/// `passkey` with `passkey_state`.
#[derive(Template)]
#[template(path = "factor.html")]
pub(crate) struct FactorPage<'a> {
    pub(crate) brand: &'a Brand,
    pub(crate) script: &'a str,
    /// Where the form posts to.
    pub(crate) action: &'a str,
    pub(crate) login_challenge: &'a str,
    pub(crate) csrf: &'a str,
    pub(crate) ticket: &'a str,
    /// What may be shown, for the next page.
    pub(crate) offered: &'a str,
    /// The application that sent the user here; `None` shows no "to continue to" line.
    pub(crate) client_name: Option<&'a str>,
    /// Whether there is an authenticator app.
    pub(crate) totp: bool,
    /// Whether there are recovery codes.
    pub(crate) recovery: bool,
    pub(crate) code_error: Option<&'a str>,
    pub(crate) recovery_error: Option<&'a str>,
    /// A failure that belongs to no field.
    pub(crate) form_error: Option<&'a str>,
    /// `None` where the person has no passkey.
    pub(crate) passkey: Option<PasskeyButton<'a>>,
    /// The login page, for somebody else.
    pub(crate) restart_url: &'a str,
}

impl FactorPage<'_> {
    fn has_error(&self) -> bool {
        self.code_error.or(self.recovery_error).or(self.form_error).is_some()
    }
}

/// Says that the application asks for a second factor, and that there is none.
#[derive(Template)]
#[template(path = "factor_missing.html")]
pub(crate) struct FactorMissingPage<'a> {
    pub(crate) brand: &'a Brand,
    /// The application that sent the user here.
    pub(crate) client_name: &'a str,
    /// Where a factor is added; `None` where there are no account pages.
    pub(crate) set_up_url: Option<&'a str>,
    /// Where the application hears of it.
    pub(crate) way_out: WayOut<'a>,
}

/// Creates an account. Posts `login_challenge`, `csrf`, `email`, `username` and `password`; with a puzzle `puzzle` and
/// `solution`.
#[derive(Template)]
#[template(path = "registration.html")]
pub(crate) struct RegistrationPage<'a> {
    pub(crate) brand: &'a Brand,
    pub(crate) script: &'a str,
    /// Where the form posts to.
    pub(crate) action: &'a str,
    pub(crate) login_challenge: &'a str,
    pub(crate) csrf: &'a str,
    /// The application that sent the user here; `None` shows no "to continue to" line.
    pub(crate) client_name: Option<&'a str>,
    /// The host that the application's description is from, if that is all that is known of it: unlike the name, it cannot be made
    /// up.
    pub(crate) client_host: Option<&'a str>,
    /// Whether it registered itself, and nobody vouches for its name.
    pub(crate) registered_itself: bool,
    /// Host of the redirect URI.
    pub(crate) return_host: Option<&'a str>,
    /// The login page with the same challenge.
    pub(crate) login_url: &'a str,
    /// What the user typed before; may be empty.
    pub(crate) email: &'a str,
    /// What the user typed before; may be empty.
    pub(crate) username: &'a str,
    /// In characters; shown as the hint and checked by the browser too.
    pub(crate) password_min_length: usize,
    pub(crate) email_error: Option<&'a str>,
    pub(crate) username_error: Option<&'a str>,
    pub(crate) password_error: Option<&'a str>,
    /// A failure that belongs to no field.
    pub(crate) form_error: Option<&'a str>,
    pub(crate) puzzle: Option<Puzzle>,
}

impl RegistrationPage<'_> {
    fn has_error(&self) -> bool {
        self.email_error.or(self.username_error).or(self.password_error).or(self.form_error).is_some()
    }
}

/// Nobody can register.
#[derive(Template)]
#[template(path = "registration_closed.html")]
pub(crate) struct RegistrationClosedPage<'a> {
    pub(crate) brand: &'a Brand,
    /// The login page with the same challenge.
    pub(crate) login_url: &'a str,
}

/// Says that a mail is under way, and takes the code that it carries: where it is not told whether an address is taken. Posts
/// `csrf`, `login_challenge`, `email` and `code` to the verification page.
#[derive(Template)]
#[template(path = "check_mail.html")]
pub(crate) struct CheckMailPage<'a> {
    pub(crate) brand: &'a Brand,
    pub(crate) script: &'a str,
    /// Where the form posts to; `None` where another page verifies addresses.
    pub(crate) action: Option<&'a str>,
    pub(crate) login_challenge: &'a str,
    pub(crate) csrf: &'a str,
    pub(crate) email: &'a str,
    /// The login page with the same challenge.
    pub(crate) login_url: &'a str,
}
