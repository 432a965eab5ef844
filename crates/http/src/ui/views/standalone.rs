//! Pages that no flow is needed for: [`RecoveryPage`], [`RecoveryCodePage`] and [`NewPasswordPage`] lead to another password,
//! [`VerificationPage`] to an address that is verified, [`SettledPage`] says that it is done. Where a flow waits, it comes along.
//! [`EmailChangePage`] leads back to where another address was asked for.

use askama::Template;

use super::{Moment, WayOut};
use crate::ui::Brand;

/// Asks for the address of somebody who has no password any more. Posts `csrf`, `email` and maybe `login_challenge`.
#[derive(Template)]
#[template(path = "recovery.html")]
pub(crate) struct RecoveryPage<'a> {
    pub(crate) brand: &'a Brand,
    pub(crate) script: &'a str,
    /// Where the form posts to.
    pub(crate) action: &'a str,
    pub(crate) csrf: &'a str,
    pub(crate) login_challenge: Option<&'a str>,
    /// What the user typed before; may be empty.
    pub(crate) email: &'a str,
    pub(crate) email_error: Option<&'a str>,
    /// A failure that belongs to no field.
    pub(crate) form_error: Option<&'a str>,
    /// Else there is no form.
    pub(crate) sends_mail: bool,
    /// Where the code of a mail is entered that came already.
    pub(crate) code_url: &'a str,
    /// Where to sign in after all: for the flow that waits, or to the account.
    pub(crate) sign_in_url: Option<&'a str>,
}

/// Asks for the code of the mail, and for the address if that is not known. Posts `csrf`, `email`, `code`, `asks=email` if the address is
/// asked for, and maybe `login_challenge`.
#[derive(Template)]
#[template(path = "recovery_code.html")]
pub(crate) struct RecoveryCodePage<'a> {
    pub(crate) brand: &'a Brand,
    pub(crate) script: &'a str,
    /// Where the form posts to.
    pub(crate) action: &'a str,
    pub(crate) csrf: &'a str,
    pub(crate) login_challenge: Option<&'a str>,
    /// Whether the address is asked for; else a mail is under way to it.
    pub(crate) asks_email: bool,
    /// What the user typed before; may be empty if it is asked for.
    pub(crate) email: &'a str,
    pub(crate) email_error: Option<&'a str>,
    pub(crate) code_error: Option<&'a str>,
    /// A failure that belongs to no field.
    pub(crate) form_error: Option<&'a str>,
    /// Where another mail is asked for.
    pub(crate) recovery_url: &'a str,
}

impl RecoveryCodePage<'_> {
    fn has_error(&self) -> bool {
        self.email_error.or(self.code_error).or(self.form_error).is_some()
    }
}

/// Asks for another password. Posts `csrf`, `password`, `token` or `ticket`, and maybe `login_challenge`.
#[derive(Template)]
#[template(path = "new_password.html")]
pub(crate) struct NewPasswordPage<'a> {
    pub(crate) brand: &'a Brand,
    pub(crate) script: &'a str,
    /// Where the form posts to.
    pub(crate) action: &'a str,
    pub(crate) csrf: &'a str,
    pub(crate) login_challenge: Option<&'a str>,
    /// The name of the field that gives the right to do it: `token`, of a link, or `ticket`.
    pub(crate) right: &'a str,
    /// Its value.
    pub(crate) value: &'a str,
    /// Whose password it is, as far as that is known: shown, and for password managers.
    pub(crate) email: Option<&'a str>,
    /// In characters; shown as the hint and checked by the browser too.
    pub(crate) password_min_length: usize,
    pub(crate) password_error: Option<&'a str>,
    /// A failure that belongs to no field.
    pub(crate) form_error: Option<&'a str>,
}

/// Confirms an address: with a button, if a link led here, or by a code. Posts `csrf`, and `token`, or `email` and
/// `code`, or `email` and `send=true` for another mail.
#[derive(Template)]
#[template(path = "verification.html")]
pub(crate) struct VerificationPage<'a> {
    pub(crate) brand: &'a Brand,
    pub(crate) script: &'a str,
    /// Where the form posts to.
    pub(crate) action: &'a str,
    pub(crate) csrf: &'a str,
    pub(crate) login_challenge: Option<&'a str>,
    /// Of the link; `None` asks for address and code.
    pub(crate) token: Option<&'a str>,
    /// What the link is about, if it is still good.
    pub(crate) account: Option<LinkedAccount<'a>>,
    /// Whether another mail was asked for a moment ago.
    pub(crate) is_sent: bool,
    /// What the user typed before; may be empty.
    pub(crate) email: &'a str,
    pub(crate) email_error: Option<&'a str>,
    pub(crate) code_error: Option<&'a str>,
    /// A failure that belongs to no field.
    pub(crate) form_error: Option<&'a str>,
    /// Else there is no form but that of a link.
    pub(crate) sends_mail: bool,
    /// Where to go on if the address is confirmed already.
    pub(crate) sign_in_url: Option<&'a str>,
}

/// The account that a link is about, as whoever registered it wants it called.
pub(crate) struct LinkedAccount<'a> {
    /// May be empty. Anybody's text.
    pub(crate) username: &'a str,
    pub(crate) registered: Moment,
}

impl VerificationPage<'_> {
    fn has_error(&self) -> bool {
        self.email_error.or(self.code_error).or(self.form_error).is_some()
    }
}

/// Says where the code of a mail about another address belongs.
#[derive(Template)]
#[template(path = "email_change.html")]
pub(crate) struct EmailChangePage<'a> {
    pub(crate) brand: &'a Brand,
    pub(crate) way_out: Option<WayOut<'a>>,
}

/// Says that something is done.
#[derive(Template)]
#[template(path = "settled.html")]
pub(crate) struct SettledPage<'a> {
    pub(crate) brand: &'a Brand,
    pub(crate) title: &'a str,
    pub(crate) sentence: &'a str,
    pub(crate) way_out: Option<WayOut<'a>>,
}
