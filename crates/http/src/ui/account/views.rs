//! What the account pages show, as plain data; one struct per file in `templates/account/`.
//!
//! [`FormPage`]: one question with its fields, signed in or not. [`OverviewPage`], [`FactorsPage`], [`SessionsPage`],
//! [`ApplicationsPage`]: what there is. [`CodesPage`], [`FarewellPage`]: what is shown once.
//! [`Frame`], [`Field`], [`Choice`], [`Moment`], [`Passkey`]: parts of them.

use askama::Template;
use sluice_identity::proof_of_work::Puzzle;

use super::notice::Notice;
use crate::ui::Brand;

pub(super) use crate::ui::views::Moment;

/// What stands around a page of somebody who is signed in.
pub(super) struct Frame<'a> {
    /// How the person recognises the account.
    pub(super) name: String,
    pub(super) csrf: &'a str,
    /// Where the form to sign out posts to.
    pub(super) sign_out: String,
    pub(super) entries: Vec<Entry>,
    /// What came of the form before this page.
    pub(super) notice: Option<Notice>,
}

/// One page of the menu.
pub(super) struct Entry {
    pub(super) label: &'static str,
    pub(super) url: String,
    /// What it is to the page that is shown (WAI-ARIA 1.2 `aria-current`).
    pub(super) current: Option<&'static str>,
}

/// A form with a title and some fields. Posts `csrf`, what is hidden, and the fields.
#[derive(Template, Default)]
#[template(path = "account/form.html")]
pub(super) struct FormPage<'a> {
    pub(super) brand: &'a Brand,
    pub(super) script: &'a str,
    /// None where nobody is signed in.
    pub(super) frame: Option<&'a Frame<'a>>,
    pub(super) title: &'a str,
    pub(super) lead: Option<&'a str>,
    /// What was done a moment ago, where there is no frame to say it.
    pub(super) notice: Option<&'a str>,
    /// What the form is about: a picture, and what it says.
    pub(super) exhibit: Option<Exhibit<'a>>,
    pub(super) action: &'a str,
    pub(super) csrf: &'a str,
    pub(super) hidden: Vec<(&'a str, &'a str)>,
    pub(super) fields: Vec<Field<'a>>,
    /// Below the fields.
    pub(super) choice: Option<Choice>,
    /// Whose password is typed, for password managers.
    pub(super) account: Option<&'a str>,
    /// Another way, folded away under a summary.
    pub(super) other: Option<(&'a str, Vec<Field<'a>>)>,
    pub(super) passkey: Option<Passkey<'a>>,
    /// For a browser to solve before the form is sent.
    pub(super) puzzle: Option<Puzzle>,
    /// What the button says; none if empty.
    pub(super) submit: &'a str,
    /// What a button says that posts `send=true` instead of what was typed.
    pub(super) resend: Option<&'static str>,
    /// Whether what it does cannot be undone.
    pub(super) is_grave: bool,
    /// Where it leads if the person does not want it.
    pub(super) back: Option<Link<'a>>,
    /// Below the form.
    pub(super) asides: Vec<Link<'a>>,
    pub(super) form_error: Option<&'a str>,
}

impl FormPage<'_> {
    fn has_error(&self) -> bool {
        let other = self.other.iter().flat_map(|(_, fields)| fields);
        self.form_error.is_some() || self.fields.iter().chain(other).any(|field| field.error.is_some())
    }

    /// Whether the folded part is open: it has what went wrong, or there is nothing else.
    fn is_unfolded(&self) -> bool {
        let is_alone = self.fields.is_empty() && self.passkey.is_none();
        is_alone || self.other.iter().flat_map(|(_, fields)| fields).any(|field| field.error.is_some())
    }
}

/// The secret of an authenticator app.
pub(super) struct Exhibit<'a> {
    /// An SVG element of our own making: it is not escaped.
    pub(super) picture: &'a str,
    /// The secret in groups, to be typed.
    pub(super) secret: &'a str,
    /// The secret, to be opened on the device of the app.
    pub(super) url: &'a str,
    /// Whether it is shown only to who asks for it.
    pub(super) is_folded: bool,
}

/// One field of a form.
#[derive(Clone)]
pub(super) struct Field<'a> {
    pub(super) name: &'static str,
    pub(super) label: &'static str,
    pub(super) kind: &'static str,
    pub(super) value: &'a str,
    pub(super) autocomplete: &'static str,
    pub(super) input_mode: Option<&'static str>,
    pub(super) min_length: Option<usize>,
    pub(super) hint: Option<&'a str>,
    pub(super) error: Option<&'a str>,
    pub(super) required: bool,
    pub(super) focused: bool,
}

impl<'a> Field<'a> {
    /// A field for text.
    pub(super) const fn text(name: &'static str, label: &'static str, value: &'a str) -> Self {
        Self {
            name,
            label,
            kind: "text",
            value,
            autocomplete: "off",
            input_mode: None,
            min_length: None,
            hint: None,
            error: None,
            required: true,
            focused: false,
        }
    }

    /// A field for the present password. What was typed is never shown again.
    pub(super) const fn password(label: &'static str) -> Self {
        let field = Self::text("password", label, "");
        Self { kind: "password", autocomplete: "current-password", ..field }
    }

    /// A field for an e-mail address. Browsers take letters of one language only in those of type `email`, before the `@`.
    pub(super) const fn email(name: &'static str, label: &'static str, value: &'a str) -> Self {
        let field = Self::text(name, label, value);
        Self { autocomplete: "email", input_mode: Some("email"), ..field }
    }

    /// A field for a code that is used once.
    pub(super) const fn code(label: &'static str) -> Self {
        let field = Self::text("code", label, "");
        Self { autocomplete: "one-time-code", ..field }
    }

    /// With what is wrong with it.
    pub(super) const fn with_error(self, error: Option<&'a str>) -> Self {
        Self { error, ..self }
    }

    /// What describes the field, for those who do not see it.
    fn described_by(&self) -> Option<String> {
        let error = self.error.map(|_| format!("{}-error", self.name));
        let hint = self.hint.map(|_| format!("{}-hint", self.name));
        let ids: Vec<String> = error.into_iter().chain(hint).collect();
        (!ids.is_empty()).then(|| ids.join(" "))
    }
}

/// A box to tick: posts `true`, or nothing.
pub(super) struct Choice {
    pub(super) name: &'static str,
    pub(super) label: &'static str,
    pub(super) is_ticked: bool,
}

/// A link.
pub(super) struct Link<'a> {
    pub(super) url: &'a str,
    pub(super) label: &'a str,
}

/// What the script of the pages does with a passkey.
pub(super) struct Passkey<'a> {
    /// `create` or `get`.
    pub(super) ceremony: &'static str,
    /// The options, as JSON.
    pub(super) options: &'a str,
    pub(super) state: &'a str,
    pub(super) label: &'static str,
    /// Whether the autofill of the form offers passkeys as well.
    pub(super) is_quiet: bool,
}

impl<'a> Passkey<'a> {
    /// A passkey that is there is shown.
    pub(super) const fn get(options: &'a str, state: &'a str, label: &'static str) -> Self {
        Self { ceremony: "get", options, state, label, is_quiet: false }
    }
}

/// What there is, and where it is changed.
#[derive(Template)]
#[template(path = "account/overview.html")]
pub(super) struct OverviewPage<'a> {
    pub(super) brand: &'a Brand,
    pub(super) frame: &'a Frame<'a>,
    pub(super) csrf: &'a str,
    pub(super) username: &'a str,
    pub(super) username_url: String,
    pub(super) email: &'a str,
    pub(super) email_url: String,
    pub(super) is_verified: bool,
    /// Where a mail is asked for that proves the address; none where there is no mail.
    pub(super) verification_action: Option<String>,
    pub(super) has_password: bool,
    pub(super) password_url: String,
    pub(super) factors: usize,
    pub(super) factors_url: String,
    pub(super) member_since: Moment,
    pub(super) deletion_url: String,
}

/// Where the person is signed in. Posts `csrf` and one of `session`, `browser`, `others=true`, `everything=true`, of which the last
/// is asked about once more.
#[derive(Template)]
#[template(path = "account/sessions.html")]
pub(super) struct SessionsPage<'a> {
    pub(super) brand: &'a Brand,
    pub(super) frame: &'a Frame<'a>,
    pub(super) action: String,
    pub(super) csrf: &'a str,
    /// Sessions of the account pages and of the API.
    pub(super) devices: Vec<DeviceRow>,
    /// Browsers that sign in to applications, this one first.
    pub(super) browsers: Vec<BrowserRow>,
}

/// A session of the account pages or of the API.
pub(super) struct DeviceRow {
    pub(super) id: String,
    pub(super) device: String,
    pub(super) network: String,
    pub(super) began: Moment,
    pub(super) seen: Moment,
    pub(super) is_this: bool,
}

/// A browser that signs in to applications.
pub(super) struct BrowserRow {
    pub(super) id: String,
    /// None where it is not known.
    pub(super) origin: Option<BrowserOrigin>,
    pub(super) began: Moment,
    pub(super) seen: Moment,
    pub(super) is_remembered: bool,
    /// Whether it is the one that shows the page.
    pub(super) is_this: bool,
}

/// What a browser is called, and where it was when the person signed in.
pub(super) struct BrowserOrigin {
    pub(super) device: String,
    pub(super) network: String,
}

/// Who may act for the person. Posts `csrf` and `client`.
#[derive(Template)]
#[template(path = "account/applications.html")]
pub(super) struct ApplicationsPage<'a> {
    pub(super) brand: &'a Brand,
    pub(super) frame: &'a Frame<'a>,
    pub(super) action: String,
    pub(super) csrf: &'a str,
    pub(super) applications: Vec<ApplicationRow>,
}

/// An application that may act for the person.
pub(super) struct ApplicationRow {
    pub(super) client: String,
    pub(super) name: String,
    /// The host that its description is from, if that is all that is known of it: unlike the name, it cannot be made up.
    pub(super) host: Option<String>,
    pub(super) url: Option<String>,
    pub(super) scopes: Vec<AllowedScope>,
    pub(super) since: Moment,
}

/// What an application may do.
pub(super) struct AllowedScope {
    /// A sentence, or the name of a scope for which there is none.
    pub(super) words: String,
    pub(super) is_sentence: bool,
}

/// What is asked beside the password. Posts `csrf`, `factor`, `name` and `decision`; for new codes `csrf` and `revision`. A removal, and
/// new codes for those that are left, are asked about once more.
#[derive(Template)]
#[template(path = "account/factors.html")]
pub(super) struct FactorsPage<'a> {
    pub(super) brand: &'a Brand,
    pub(super) script: &'a str,
    pub(super) frame: &'a Frame<'a>,
    pub(super) action: String,
    pub(super) csrf: &'a str,
    pub(super) factors: Vec<FactorRow>,
    pub(super) totp_url: String,
    /// None where passkeys are not offered.
    pub(super) passkey_url: Option<String>,
    pub(super) codes_left: u32,
    pub(super) codes_action: String,
    /// Of the record that is shown: the form for new codes is good for this one.
    pub(super) revision: String,
    /// What is wrong, if something is.
    pub(super) form_error: Option<&'a str>,
}

/// A factor.
pub(super) struct FactorRow {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) kind: &'static str,
    pub(super) added: Moment,
    pub(super) used: Option<Moment>,
}

/// Recovery codes, shown once.
#[derive(Template)]
#[template(path = "account/codes.html")]
pub(super) struct CodesPage<'a> {
    pub(super) brand: &'a Brand,
    pub(super) script: &'a str,
    /// None where nobody is signed in yet.
    pub(super) frame: Option<&'a Frame<'a>>,
    /// Whose they are: a sheet of paper says it alone.
    pub(super) email: String,
    pub(super) made: Moment,
    pub(super) codes: Vec<String>,
    /// Where it goes on.
    pub(super) next: String,
}

/// Said after an account was deleted.
#[derive(Template)]
#[template(path = "account/farewell.html")]
pub(super) struct FarewellPage<'a> {
    pub(super) brand: &'a Brand,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_error_is_tied_to_its_field_and_no_password_is_shown_again() {
        let field = Field::password("Password").with_error(Some("It is another one."));
        let page = FormPage { title: "Title", fields: vec![field], ..FormPage::default() };
        let page = page.render().unwrap();
        assert!(page.contains(r#"aria-invalid="true" aria-describedby="password-error""#), "{page}");
        assert!(page.contains(r#"id="password-error" role="alert">It is another one."#), "{page}");
        assert!(page.contains("<title>Error: Title"), "{page}");
    }
}
