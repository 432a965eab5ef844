//! Views: what each built-in page shows, as plain data; one struct per file in `templates/`.
//!
//! [`entry`]: the ways in. [`ConsentPage`], [`DevicePage`], [`DeviceConfirmPage`], [`LogoutPage`]: the forms. [`LoggedOutPage`],
//! [`StillSignedInPage`], [`DeviceSuccessPage`], [`ErrorPage`], [`ExpiredPage`]: where a flow ends. [`OnwardPage`]: from one to the next.
//! [`ScopeEntry`], [`DetailEntry`], [`WayOut`], [`Moment`]: parts of them.
//!
//! Nothing here decides anything. Every value is escaped by the template; the pages work without script and have no inline style.
//! URLs end up in `href` and `src`: pass only what was parsed as `http` or `https`.

mod detail;
mod entry;
mod moment;
mod standalone;

use askama::Template;

use super::Brand;
pub(crate) use detail::DetailEntry;
pub(crate) use entry::{
    CheckMailPage, FactorMissingPage, FactorPage, LoginPage, PasskeyButton, RegistrationClosedPage,
    RegistrationPage, Wanted,
};
pub(crate) use moment::Moment;

pub(crate) use standalone::{
    EmailChangePage, LinkedAccount, NewPasswordPage, RecoveryCodePage, RecoveryPage, SettledPage,
    VerificationPage,
};

/// Asks whether a client may have what it requests. Posts `consent_challenge`, `csrf`, one `grant_scope` per granted
/// scope, `remember=true` when ticked, and `decision=accept` or `decision=reject`. Enter on a checkbox decides nothing.
#[derive(Template)]
#[template(path = "consent.html")]
pub(crate) struct ConsentPage<'a> {
    pub(crate) brand: &'a Brand,
    /// Where the form posts to.
    pub(crate) action: &'a str,
    pub(crate) consent_challenge: &'a str,
    pub(crate) csrf: &'a str,
    pub(crate) client_name: &'a str,
    /// The host that the client's description is from, if that is all that is known of it: unlike the name, it cannot be made
    /// up.
    pub(crate) client_host: Option<&'a str>,
    /// Whether it registered itself, and nobody vouches for its name.
    pub(crate) registered_itself: bool,
    /// How the logged-in person recognises the account: the e-mail, or else the subject.
    pub(crate) account: &'a str,
    /// What the person wants to be called.
    pub(crate) username: Option<&'a str>,
    pub(crate) scopes: Vec<ScopeEntry<'a>>,
    /// The requested audience; empty shows nothing.
    pub(crate) audiences: Vec<&'a str>,
    /// What is asked for in detail (RFC 9396): all of it is granted with consent.
    pub(crate) details: Vec<DetailEntry>,
    /// Host of the redirect URI: unlike the name, a client cannot make it up.
    pub(crate) return_host: Option<&'a str>,
    /// The client's `policy_uri`.
    pub(crate) policy_url: Option<&'a str>,
    /// The client's `tos_uri`.
    pub(crate) tos_url: Option<&'a str>,
    pub(crate) remember: bool,
    /// Where somebody else begins the same request; `None` where only the application can.
    pub(crate) another_url: Option<&'a str>,
    pub(crate) form_error: Option<&'a str>,
}

/// One requested scope on the consent page.
pub(crate) struct ScopeEntry<'a> {
    /// As requested; the value of the `grant_scope` field.
    pub(crate) value: &'a str,
    /// What it means to the person, or the value again where nothing better is known.
    pub(crate) sentence: &'a str,
    /// Always granted with consent: shown, but without a checkbox.
    pub(crate) fixed: bool,
}

impl<'a> ScopeEntry<'a> {
    /// The entry of a requested scope; `openid` is fixed, for without it nobody is logged in.
    pub(crate) fn new(value: &'a str) -> Self {
        Self { value, sentence: scope_sentence(value), fixed: value == "openid" }
    }
}

/// What granting `scope` lets a client do, continuing "This will let the application"; an unknown scope is its own name.
pub(crate) fn scope_sentence(scope: &str) -> &str {
    match scope {
        "openid" => "Know who you are",
        "offline" | "offline_access" => "Stay signed in when you are away",
        "profile" => "See your name and profile",
        "email" => "See your email address",
        "address" => "See your postal address",
        "phone" => "See your phone number",
        other => other,
    }
}

/// Asks for the code of a device. Posts `device_challenge`, `csrf` and `user_code`.
#[derive(Template)]
#[template(path = "device.html")]
pub(crate) struct DevicePage<'a> {
    pub(crate) brand: &'a Brand,
    /// Where the form posts to.
    pub(crate) action: &'a str,
    pub(crate) device_challenge: &'a str,
    pub(crate) csrf: &'a str,
    /// What the user typed before; may be empty.
    pub(crate) user_code: &'a str,
    pub(crate) code_error: Option<&'a str>,
}

/// Asks whether the code that came along is that of one's own device. Posts `device_challenge`, `csrf`, `user_code` and
/// `decision=accept` or `decision=reject`.
#[derive(Template)]
#[template(path = "device_confirm.html")]
pub(crate) struct DeviceConfirmPage<'a> {
    pub(crate) brand: &'a Brand,
    /// Where the form posts to.
    pub(crate) action: &'a str,
    pub(crate) device_challenge: &'a str,
    pub(crate) csrf: &'a str,
    /// The application on the device.
    pub(crate) client_name: &'a str,
    /// The host that its description is from, if that is all that is known of it: unlike the name, it cannot be made up.
    pub(crate) client_host: Option<&'a str>,
    /// Whether it registered itself, and nobody vouches for its name.
    pub(crate) registered_itself: bool,
    /// As the device shows it.
    pub(crate) user_code: &'a str,
}

/// Says how it ended with a device.
#[derive(Template)]
#[template(path = "device_success.html")]
pub(crate) struct DeviceSuccessPage<'a> {
    pub(crate) brand: &'a Brand,
    /// Whether somebody refused.
    pub(crate) denied: bool,
}

/// Asks whether to log out. Posts `logout_challenge`, `csrf` and `decision=accept` or `decision=reject`.
#[derive(Template)]
#[template(path = "logout.html")]
pub(crate) struct LogoutPage<'a> {
    pub(crate) brand: &'a Brand,
    /// Where the form posts to.
    pub(crate) action: &'a str,
    pub(crate) logout_challenge: &'a str,
    pub(crate) csrf: &'a str,
    /// The client that asked for the logout, if one did.
    pub(crate) client_name: Option<&'a str>,
    /// The host that the client's description is from, if that is all that is known of it: unlike the name, it cannot be made
    /// up.
    pub(crate) client_host: Option<&'a str>,
    /// Whether it registered itself, and nobody vouches for its name.
    pub(crate) registered_itself: bool,
    /// Host of where it wants the browser afterwards.
    pub(crate) return_host: Option<&'a str>,
    /// How the logged-in person recognises the account.
    pub(crate) account: Option<&'a str>,
}

/// Shown for a moment between a form and where it leads.
#[derive(Template)]
#[template(path = "onward.html")]
pub(crate) struct OnwardPage<'a> {
    pub(crate) brand: &'a Brand,
    /// Where the browser goes next, by itself or by the "Continue" link.
    pub(crate) url: &'a str,
    /// Whether an application may open instead of the next page, and this one stay. Then there is no "Continue" link.
    pub(crate) opens_application: bool,
    /// Where to start again if the application does not open.
    pub(crate) restart_url: Option<&'a str>,
}

/// Says that the logout is done, and tells clients so in hidden frames (OpenID Connect Front-Channel Logout 1.0).
#[derive(Template)]
#[template(path = "logged_out.html")]
pub(crate) struct LoggedOutPage<'a> {
    pub(crate) brand: &'a Brand,
    /// Loaded if it goes on from here.
    pub(crate) script: &'a str,
    /// One frame each; the page's `frame-src` must allow their origins.
    pub(crate) frontchannel_urls: Vec<&'a str>,
    /// Where the browser goes next by itself once the frames are loaded, and by the "Continue" link; `None` ends here. The script
    /// waits for frames no longer than some seconds; without it the browser waits for all of them.
    pub(crate) continue_url: Option<&'a str>,
}

/// Says that the logout was called off.
#[derive(Template)]
#[template(path = "still_signed_in.html")]
pub(crate) struct StillSignedInPage<'a> {
    pub(crate) brand: &'a Brand,
    pub(crate) way_out: Option<WayOut<'a>>,
}

/// A failure that may not be reported to a client, or that no client is there to hear.
#[derive(Template)]
#[template(path = "error.html")]
pub(crate) struct ErrorPage<'a> {
    pub(crate) brand: &'a Brand,
    pub(crate) title: &'a str,
    /// What happened, for the person at the browser.
    pub(crate) sentence: &'a str,
    /// The registered `error` value.
    pub(crate) error_code: &'a str,
    /// What the person, or the developer of the client, can do about it.
    pub(crate) hint: Option<&'a str>,
    /// Finds the cause in the log.
    pub(crate) request_id: Option<&'a str>,
    pub(crate) way_out: Option<WayOut<'a>>,
}

/// A challenge that is too old or already used. Without a way out it points back to the application.
#[derive(Template)]
#[template(path = "expired.html")]
pub(crate) struct ExpiredPage<'a> {
    pub(crate) brand: &'a Brand,
    /// Finds the cause in the log.
    pub(crate) request_id: Option<&'a str>,
    pub(crate) way_out: Option<WayOut<'a>>,
}

/// The one link that leads out of a page that ended badly.
#[derive(Clone, Copy)]
pub(crate) struct WayOut<'a> {
    pub(crate) url: &'a str,
    /// What the link does, as a button says it: "Try again".
    pub(crate) label: &'a str,
}

impl<'a> WayOut<'a> {
    /// Where a flow begins anew.
    pub(crate) const fn start_again(url: &'a str) -> Self {
        Self { url, label: "Start again" }
    }

    /// Where the application is.
    pub(crate) const fn home(url: &'a str) -> Self {
        Self { url, label: "Back to the application" }
    }
}

/// A name in the title of a page, where nothing can be set apart as `bdi` does: without the characters that turn the direction of
/// what follows (Unicode Standard Annex 9 §2).
fn in_title(name: &str) -> String {
    let turns = |character: char| {
        let alone = matches!(character, '\u{61c}' | '\u{200e}' | '\u{200f}');
        alone || matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    name.chars().filter(|character| !turns(*character)).collect()
}

/// The letter that stands for an account in its round badge.
fn initial(account: &str) -> String {
    account
        .chars()
        .find(|letter| letter.is_alphanumeric())
        .map_or_else(String::new, |letter| letter.to_uppercase().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOGIN: LoginPage<'static> = LoginPage {
        brand: &Brand::NONE,
        script: "/ui/sluice.js",
        action: "/ui/login",
        login_challenge: "challenge",
        csrf: "token",
        client_name: None,
        client_host: None,
        registered_itself: false,
        return_host: None,
        wanted: Wanted::Anybody,
        registration_url: None,
        recovery_url: None,
        email: "",
        remember: false,
        email_error: None,
        password_error: None,
        form_error: None,
        passkey: None,
        puzzle: None,
    };

    #[test]
    fn a_client_name_cannot_bring_its_own_markup() {
        let page = LoginPage { client_name: Some("<script>alert(1)</script>"), ..LOGIN }.render().unwrap();
        assert!(!page.contains("<script>"));
    }

    #[test]
    fn a_field_error_is_tied_to_its_field_and_keeps_what_was_typed() {
        let page =
            LoginPage { email: "alice@", email_error: Some("Not an address."), ..LOGIN }.render().unwrap();
        assert!(page.contains(r#"value="alice@""#));
        assert!(page.contains(r#"aria-describedby="email-error" autofocus"#));
        assert!(page.contains(r#"id="email-error" role="alert">Not an address."#));
    }

    #[test]
    fn a_client_name_does_not_turn_the_title_around() {
        assert_eq!(in_title("Shop\u{202e}\u{2066}pohS\u{2069}\u{200f}"), "ShoppohS");
        let name = "Shop \u{202e}knab";
        let page = DeviceConfirmPage {
            brand: LOGIN.brand,
            action: "/ui/device",
            device_challenge: "challenge",
            csrf: "token",
            client_name: name,
            client_host: None,
            registered_itself: false,
            user_code: "ABCD-EFGH",
        };
        let page = page.render().unwrap();
        assert!(page.contains("<title>Connect a device to Shop knab · "), "{page}");
        assert!(page.contains(&format!("<bdi class=\"client\">{name}</bdi>")), "set apart: {page}");
    }

    #[test]
    fn the_page_after_a_sign_out_goes_on_by_the_script_and_where_there_is_none_by_itself() {
        let page = |continue_url| {
            let frontchannel_urls = vec!["https://app.example/out"];
            let page =
                LoggedOutPage { brand: LOGIN.brand, script: LOGIN.script, frontchannel_urls, continue_url };
            page.render().unwrap()
        };
        let onward = page(Some("https://app.example/bye"));
        let refresh =
            r#"<noscript><meta http-equiv="refresh" content="2;url=https://app.example/bye"></noscript>"#;
        assert!(onward.contains(refresh) && onward.contains("<script src="), "{onward}");
        assert!(onward.contains(r#"href="https://app.example/bye" data-onward>"#), "{onward}");
        let end = page(None);
        assert!(!end.contains("refresh") && !end.contains("<script") && end.contains("<iframe"), "{end}");
    }

    #[test]
    fn only_the_openid_scope_is_shown_without_a_checkbox() {
        let fixed = |scope| ScopeEntry::new(scope).fixed;
        assert!(fixed("openid"));
        assert!(!fixed("email") && !fixed("openid2"));
    }

    #[test]
    fn an_unknown_scope_is_called_by_its_own_name() {
        assert_eq!(scope_sentence("calendar.read"), "calendar.read");
        assert_eq!(scope_sentence("offline"), scope_sentence("offline_access"));
    }
}
