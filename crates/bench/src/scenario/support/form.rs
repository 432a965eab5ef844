//! The form of a page, as somebody fills it in who wants to go on.

use html_escape::decode_html_entities;
use tl::{HTMLTag, Parser, ParserOptions, VDom};

/// Words on buttons that lead on.
const ONWARD: [&str; 7] = ["accept", "allow", "approve", "yes", "continue", "login", "sign"];

/// A form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Form {
    /// Where it is sent; empty for the page itself.
    pub(crate) action: String,
    /// Whether it asks for a password.
    pub(crate) asks_password: bool,
    /// What is sent, before anything was typed.
    fields: Vec<Sent>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Sent {
    name: String,
    value: String,
    typed: Typed,
}

/// What somebody types into a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Typed {
    Nothing,
    Name,
    Password,
}

impl Form {
    /// The form of a page: the one that asks for a password, or the first that is posted, or the first.
    pub(crate) fn of(html: &[u8]) -> Option<Self> {
        let html = std::str::from_utf8(html).ok()?;
        let document = tl::parse(html, ParserOptions::default()).ok()?;
        let forms = all(&document, "form");
        let read = |form: &HTMLTag<'_>| Self::read(form, document.parser());
        forms
            .iter()
            .find(|form| read(form).asks_password)
            .or_else(|| forms.iter().find(|form| is(form, "method", "post")))
            .or_else(|| forms.first())
            .map(|form| read(form))
    }

    /// The body of the request, with name and password where they belong.
    pub(crate) fn filled_in(&self, name: &str, password: &str) -> String {
        let mut body = form_urlencoded::Serializer::new(String::new());
        for field in &self.fields {
            let value = match field.typed {
                Typed::Nothing => &field.value,
                Typed::Name => name,
                Typed::Password => password,
            };
            body.append_pair(&field.name, value);
        }
        body.finish()
    }

    fn read(form: &HTMLTag<'_>, parser: &Parser<'_>) -> Self {
        let (inputs, buttons) = (inside(form, parser, "input"), inside(form, parser, "button"));
        let mut fields: Vec<_> = inputs.iter().filter_map(|input| sent(input)).collect();
        let submits = inputs.iter().filter(|input| is(input, "type", "submit"));
        let buttons = buttons.iter().filter(|button| is_submit(button));
        fields.extend(pressed(&submits.chain(buttons).copied().collect::<Vec<_>>()));
        Self {
            action: attribute(form, "action").unwrap_or_default(),
            asks_password: fields.iter().any(|field| field.typed == Typed::Password),
            fields: name_once(fields),
        }
    }
}

/// Where a page leads that has nothing but one link.
pub(crate) fn only_link(html: &[u8]) -> Option<String> {
    let document = tl::parse(std::str::from_utf8(html).ok()?, ParserOptions::default()).ok()?;
    match all(&document, "a").as_slice() {
        [link] => attribute(link, "href"),
        _ => None,
    }
}

/// A login form asks for a name in its first text field alone; without a password it asks for nothing that is known here.
fn name_once(mut fields: Vec<Sent>) -> Vec<Sent> {
    let names = fields.iter_mut().filter(|field| field.typed == Typed::Name);
    names.skip(1).for_each(|field| field.typed = Typed::Nothing);
    fields
}

/// What an input sends.
fn sent(input: &HTMLTag<'_>) -> Option<Sent> {
    let typed = match attribute(input, "type").unwrap_or_default().to_ascii_lowercase().as_str() {
        "checkbox" | "radio" if input.attributes().get("checked").is_none() => return None,
        "submit" | "button" | "image" | "reset" | "file" => return None,
        "" | "text" | "email" => Typed::Name,
        "password" => Typed::Password,
        _ => Typed::Nothing,
    };
    let value = attribute(input, "value");
    let value = value.unwrap_or_else(|| if is(input, "type", "checkbox") { "on" } else { "" }.to_owned());
    Some(Sent { name: attribute(input, "name")?, value, typed })
}

/// What the button sends that is pressed: the one that leads on, or the first.
fn pressed(buttons: &[&HTMLTag<'_>]) -> Option<Sent> {
    let leads_on = |button: &&&HTMLTag<'_>| {
        let words =
            ["value", "name", "id"].map(|name| attribute(button, name).unwrap_or_default().to_lowercase());
        words.iter().any(|word| ONWARD.iter().any(|onward| word.contains(onward)))
    };
    let button = buttons.iter().find(leads_on).or_else(|| buttons.first())?;
    let (name, value) = (attribute(button, "name")?, attribute(button, "value").unwrap_or_default());
    Some(Sent { name, value, typed: Typed::Nothing })
}

/// Whether a button sends the form where the form says.
fn is_submit(button: &HTMLTag<'_>) -> bool {
    let kind = attribute(button, "type");
    kind.is_none_or(|kind| kind.eq_ignore_ascii_case("submit")) && attribute(button, "formaction").is_none()
}

fn is(tag: &HTMLTag<'_>, name: &str, value: &str) -> bool {
    attribute(tag, name).is_some_and(|own| own.eq_ignore_ascii_case(value))
}

fn attribute(tag: &HTMLTag<'_>, name: &str) -> Option<String> {
    Some(decode_html_entities(&tag.attributes().get(name)??.as_utf8_str()).into_owned())
}

fn all<'d>(document: &'d VDom<'d>, selector: &'d str) -> Vec<&'d HTMLTag<'d>> {
    let parser = document.parser();
    let found = document.query_selector(selector).into_iter().flatten();
    found.filter_map(|handle| handle.get(parser)?.as_tag()).collect()
}

fn inside<'d>(form: &'d HTMLTag<'d>, parser: &'d Parser<'d>, selector: &'d str) -> Vec<&'d HTMLTag<'d>> {
    let found = form.query_selector(parser, selector).into_iter().flatten();
    found.filter_map(|handle| handle.get(parser)?.as_tag()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOGIN: &str = r#"<form action="/search"><input name="q"></form>
        <form class="stack" method="post" action="/ui/login">
        <input type="hidden" name="login_challenge" value="c">
        <input type="hidden" name="csrf" value="&#60;t&amp;&quot;"><div><div>
        <input id="email" name="email" type="email" value="" required autofocus></div>
        <input id="password" name="password" type="password" required></div>
        <input id="remember" name="remember" type="checkbox" value="true">
        <button class="button button-primary" type="submit">Sign in</button>
        <button type="submit" formaction="/ui/login/passkey" name="p" value="login">Passkey</button></form>"#;

    const CONSENT: &str = r#"<form method="post" action="/ui/consent?a=1&amp;b=2"><input type="hidden" name="csrf" value="t">
        <ul><li><input type="hidden" name="grant_scope" value="openid"></li>
        <li><input name="grant_scope" type="checkbox" value="email" checked></li></ul>
        <button type="submit" name="decision" value="reject">Deny</button>
        <button type="submit" name="decision" value="accept">Allow</button></form>"#;

    /// As Keycloak has it.
    const KEYCLOAK: &str = r#"<form id="kc-form-login" onsubmit="login.disabled = true; return true;"
        action="http://h:1/realms/r/login-actions/authenticate?session_code=x&amp;execution=y&amp;tab_id=z" method="post">
        <input tabindex="2" id="username" name="username" value="" type="text" autofocus autocomplete="username"/>
        <input tabindex="3" id="password" name="password" type="password"/>
        <button type="button" aria-label="Show password"></button>
        <input type="hidden" id="id-hidden-input" name="credentialId"/>
        <input tabindex="7" name="login" id="kc-login" type="submit" value="Sign In"/></form>"#;

    #[test]
    fn a_login_form_is_sent_with_what_is_hidden_and_what_is_typed() {
        let form = Form::of(LOGIN.as_bytes()).unwrap();
        assert_eq!(form.action, "/ui/login");
        assert!(form.asks_password);
        let body = form.filled_in("a@b.example", "pass phrase");
        assert_eq!(body, "login_challenge=c&csrf=%3Ct%26%22&email=a%40b.example&password=pass+phrase");
    }

    #[test]
    fn a_consent_form_is_sent_by_the_button_that_leads_on() {
        let form = Form::of(CONSENT.as_bytes()).unwrap();
        assert_eq!(form.action, "/ui/consent?a=1&b=2");
        assert!(!form.asks_password);
        assert_eq!(form.filled_in("a", "b"), "csrf=t&grant_scope=openid&grant_scope=email&decision=accept");
    }

    #[test]
    fn the_form_of_keycloak_is_understood() {
        let form = Form::of(KEYCLOAK.as_bytes()).unwrap();
        assert_eq!(
            form.action,
            "http://h:1/realms/r/login-actions/authenticate?session_code=x&execution=y&tab_id=z"
        );
        assert_eq!(
            form.filled_in("ann", "secret"),
            "username=ann&password=secret&credentialId=&login=Sign+In"
        );
    }

    #[test]
    fn a_page_without_a_form_has_none() {
        assert_eq!(Form::of(b"<p>Something went wrong.</p>"), None);
        assert_eq!(Form::of(&[0xff, 0xfe]), None);
    }

    #[test]
    fn a_page_that_only_leads_on_has_one_link() {
        let page = br#"<h1>One moment</h1><p><a class="button" href="/next?a=1&amp;b=2">Continue</a></p>"#;
        assert_eq!(only_link(page).as_deref(), Some("/next?a=1&b=2"));
        assert_eq!(only_link(br#"<a href="/one">1</a><a href="/other">2</a>"#), None);
        assert_eq!(only_link(b"<p>nothing</p>"), None);
    }

    #[test]
    fn a_second_text_field_keeps_its_value() {
        let form = Form::of(br#"<form><input name="user"><input name="region" value="eu"></form>"#).unwrap();
        assert_eq!(form.filled_in("ann", ""), "user=ann&region=eu");
    }
}
