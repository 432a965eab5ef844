//! The forms of a page, as a browser sees them.

use tl::{HTMLTag, Parser, ParserOptions, VDom};
use url::Url;

/// The first form of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Form {
    /// Where it posts to.
    pub(super) action: Url,
    /// What it sends unless changed: hidden fields and ticked boxes.
    fields: Vec<(String, String)>,
}

impl Form {
    /// The first form of `html`, which came from `page`.
    pub(super) fn first_of(html: &str, page: &Url) -> Option<Self> {
        let document = tl::parse(html, ParserOptions::default()).ok()?;
        let parser = document.parser();
        let form = first(&document, "form")?;
        let action = attribute(form, "action").unwrap_or_default();
        let inputs = form.query_selector(parser, "input")?;
        let inputs = inputs.filter_map(|handle| handle.get(parser)?.as_tag());
        Some(Self { action: page.join(&action).ok()?, fields: inputs.filter_map(sent_by_itself).collect() })
    }

    /// The form with a field filled in, or a button pressed.
    pub(super) fn with(mut self, name: &str, value: &str) -> Self {
        self.fields.retain(|(other, _)| other != name);
        self.fields.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(super) fn fields(&self) -> &[(String, String)] {
        &self.fields
    }
}

/// The first link of `html` whose path ends in `path`.
pub(super) fn link_to(path: &str, html: &str, page: &Url) -> Option<Url> {
    let document = tl::parse(html, ParserOptions::default()).ok()?;
    let parser = document.parser();
    let mut links = document.query_selector("a")?.filter_map(|handle| handle.get(parser)?.as_tag());
    links.find_map(|link| page.join(&attribute(link, "href")?).ok().filter(|url| url.path().ends_with(path)))
}

/// The title of a page, for messages.
pub(super) fn title(html: &str) -> Option<String> {
    let document = tl::parse(html, ParserOptions::default()).ok()?;
    let title = first(&document, "title")?;
    Some(unescaped(&title.inner_text(document.parser())).trim().to_owned())
}

fn first<'d>(document: &'d VDom<'d>, selector: &'d str) -> Option<&'d HTMLTag<'d>> {
    let parser: &Parser<'_> = document.parser();
    document.query_selector(selector)?.next()?.get(parser)?.as_tag()
}

/// What an input sends if nobody touches it.
fn sent_by_itself(input: &HTMLTag<'_>) -> Option<(String, String)> {
    let sent = match attribute(input, "type").as_deref() {
        Some("checkbox" | "radio") => input.attributes().get("checked").is_some(),
        Some("submit" | "button" | "image" | "reset") => false,
        _ => true,
    };
    let value = attribute(input, "value").unwrap_or_default();
    sent.then_some((attribute(input, "name")?, value))
}

fn attribute(tag: &HTMLTag<'_>, name: &str) -> Option<String> {
    Some(unescaped(&tag.attributes().get(name)??.as_utf8_str()))
}

/// Text without character references; the named ones are those that XML has.
fn unescaped(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('&') {
        result.push_str(before);
        let reference = after.split_once(';').and_then(|(name, tail)| Some((character(name)?, tail)));
        let (character, tail) = reference.unwrap_or(('&', after));
        result.push(character);
        rest = tail;
    }
    result.push_str(rest);
    result
}

fn character(name: &str) -> Option<char> {
    match name {
        "amp" => Some('&'),
        "lt" => Some('<'),
        "gt" => Some('>'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => {
            let number = name.strip_prefix('#')?;
            let hexadecimal = number.strip_prefix(['x', 'X']).map(|digits| u32::from_str_radix(digits, 16));
            char::from_u32(hexadecimal.unwrap_or_else(|| number.parse()).ok()?)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = r#"<!doctype html><html><head><title>Sign in &#38; more</title></head><body>
        <form class="stack" method="post" action="/ui/consent?a=1&amp;b=2">
          <input type="hidden" name="csrf" value="&#60;token&#62;">
          <fieldset><ul><li><input id="s1" name="grant_scope" type="checkbox" value="email" checked>
          <li><input name="grant_scope" type="checkbox" value="profile" checked></ul></fieldset>
          <input name="remember" type="checkbox" value="true">
          <input name="email" type="email" value="">
          <button class="button" type="submit" name="decision" value="reject">Deny</button>
        </form>
        <p><a href="/ui/style">x</a> <a href="/ui/registration?login_challenge=c&amp;x=1">Create</a></p></body></html>"#;

    fn page() -> Url {
        "http://127.0.0.1:4444/ui/login?login_challenge=c".parse().unwrap()
    }

    #[test]
    fn a_form_sends_hidden_fields_and_ticked_boxes_and_what_is_typed() {
        let form = Form::first_of(PAGE, &page()).unwrap();
        let form = form.with("email", "a@b.example").with("decision", "accept");
        assert_eq!(form.action.as_str(), "http://127.0.0.1:4444/ui/consent?a=1&b=2");
        let expected = [
            ("csrf", "<token>"),
            ("grant_scope", "email"),
            ("grant_scope", "profile"),
            ("email", "a@b.example"),
            ("decision", "accept"),
        ];
        assert_eq!(form.fields(), expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
    }

    #[test]
    fn a_link_is_found_by_the_end_of_its_path() {
        let url = link_to("/ui/registration", PAGE, &page()).unwrap();
        assert_eq!(url.as_str(), "http://127.0.0.1:4444/ui/registration?login_challenge=c&x=1");
        assert_eq!(link_to("/ui/nowhere", PAGE, &page()), None);
    }

    #[test]
    fn titles_are_read_as_text() {
        assert_eq!(title(PAGE).as_deref(), Some("Sign in & more"));
    }

    #[test]
    fn what_is_no_character_reference_stays() {
        assert_eq!(unescaped("a & b &nope; &#x26;&#39; &"), "a & b &nope; &' &");
    }
}
