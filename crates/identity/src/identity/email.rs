//! The login name: an e-mail address, normalised once.

use std::fmt;
use std::str::FromStr;

use email_address::{EmailAddress, Options};
use icu_properties::props::{DefaultIgnorableCodePoint, GeneralCategory};
use icu_properties::{CodePointMapData, CodePointSetData};
use idna::AsciiDenyList;
use idna::uts46::{DnsLength, Hyphens, Uts46};
use sluice_crypto::digest::sha256;
use thiserror::Error;
use unicode_normalization::UnicodeNormalization;

use super::model::LoginNameHash;

/// The longest address that can be written to, in bytes (RFC 5321 §4.5.3.1.3, less the angle brackets).
pub const MAX_EMAIL_BYTES: usize = 254;

/// An e-mail address in the form in which it is stored and compared: without white space around it; the local part in
/// Unicode form NFC, in lower case; the domain as DNS knows it (UTS #46, `xn--` where it has other letters than ASCII), so
/// that however it is written it is one name, and can be written to by servers without SMTPUTF8. RFC 5321 §2.4 lets hosts
/// tell `Alice@` from `alice@`; none that people use does, and people type either, so the local part is lowered like the
/// domain. What nobody sees, such as a zero-width space, is refused: it would make two names of what looks like one.
///
/// Parsing finds whoever has an address; one that somebody is to have is made with [`Email::for_new`].
///
/// Prints `[e-mail]` in `Debug`, so that no log shows it.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Email(String);

/// Why a text is no e-mail address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum InvalidEmail {
    /// Nothing was given.
    #[error("the e-mail address is missing")]
    Missing,
    /// Longer than 254 bytes.
    #[error("the e-mail address is longer than 254 bytes")]
    TooLong,
    /// Not `local@domain.tld`.
    #[error("the e-mail address is malformed")]
    Malformed,
}

impl Email {
    /// An address that nobody has yet. Mail to it goes to it: see [`Self::is_for_nobody`].
    ///
    /// # Errors
    /// [`InvalidEmail`] as in parsing, and [`InvalidEmail::Malformed`] if it is given to nobody.
    pub fn for_new(raw: &str) -> Result<Self, InvalidEmail> {
        let email: Self = raw.parse()?;
        if email.is_for_nobody() { Err(InvalidEmail::Malformed) } else { Ok(email) }
    }

    /// Whether it is given to nobody: mail may go elsewhere, or nowhere, as a domain that ends in a number is none (RFC 3696 §2). Without
    /// brackets that is no IP address either (RFC 5321 §4.1.3), though some servers connect to it.
    pub fn is_for_nobody(&self) -> bool {
        let last_label = self.0.rsplit(['.', '@']).next().unwrap_or_default();
        self.may_lead_elsewhere() || is_number(last_label)
    }

    /// Whether a mail server may take the local part for something else than a mailbox of the domain: for the way to a mailbox of
    /// another one (`alice%other.example@`, `other.example!alice@`; RFC 5321 §3.6.1 calls that obsolete, Postfix's defaults do it),
    /// for a command (`|`, or an option that begins with `-`), or for encoded text (`=?`, RFC 2047 §2). Whoever reads mail to it
    /// may be a stranger to the domain.
    pub fn may_lead_elsewhere(&self) -> bool {
        let local = self.0.rsplit_once('@').map_or("", |(local, _)| local);
        let bytes = local.as_bytes();
        bytes.iter().any(|byte| matches!(byte, b'%' | b'!' | b'|'))
            || bytes.first() == Some(&b'-')
            || bytes.windows(2).any(|two| two == b"=?")
    }

    /// The address, normalised.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// What makes it unique.
    pub fn login_name(&self) -> LoginNameHash {
        sha256(self.0.as_bytes())
    }
}

impl FromStr for Email {
    type Err = InvalidEmail;
    fn from_str(raw: &str) -> Result<Self, InvalidEmail> {
        let raw = raw.trim();
        if raw.is_empty() {
            return Err(InvalidEmail::Missing);
        }
        if raw.len() > MAX_EMAIL_BYTES {
            return Err(InvalidEmail::TooLong);
        }
        if !raw.is_ascii() && raw.contains(is_unseen) {
            return Err(InvalidEmail::Malformed);
        }
        let (local, domain) = raw.rsplit_once('@').ok_or(InvalidEmail::Malformed)?;
        let domain = Uts46::new()
            .to_ascii(domain.as_bytes(), AsciiDenyList::STD3, Hyphens::CheckFirstLast, DnsLength::Verify)
            .map_err(|_| InvalidEmail::Malformed)?;
        let mut normalised = lowered(local);
        normalised.push('@');
        normalised.push_str(&domain);
        if normalised.len() > MAX_EMAIL_BYTES {
            return Err(InvalidEmail::TooLong);
        }
        let options = Options::default().without_display_text().without_domain_literal().with_required_tld();
        if has_odd(&normalised) || EmailAddress::parse_with_options(&normalised, options).is_err() {
            return Err(InvalidEmail::Malformed);
        }
        Ok(Self(normalised))
    }
}

/// Whether programs that connect to a domain with this last label take it for an IP address: they read numbers in hexadecimal, too.
fn is_number(label: &str) -> bool {
    label.strip_prefix("0x").map_or_else(
        || label.bytes().all(|byte| byte.is_ascii_digit()),
        |digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()),
    )
}

/// A local part in lower case, composed: in that order, as lowering may take a text out of NFC.
fn lowered(local: &str) -> String {
    // Room for the domain.
    let mut lowered = String::with_capacity(MAX_EMAIL_BYTES);
    if local.is_ascii() {
        lowered.push_str(local);
        lowered.make_ascii_lowercase();
    } else {
        lowered.extend(local.to_lowercase().nfc());
    }
    lowered
}

/// Whether something is in it that only a quoted local part may hold: nobody has such an address, and much software trips over it.
fn has_odd(address: &str) -> bool {
    let is_odd = |byte: u8| matches!(byte, b'\0'..=b' ' | b'\x7f' | b'"' | b'\\' | b'<' | b'>' | b'(' | b')');
    // To the end in any case: so the compiler takes many bytes at once.
    address.bytes().fold(false, |odd, byte| odd | is_odd(byte))
        || (!address.is_ascii() && address.contains(|c: char| c.is_whitespace() || c.is_control()))
}

/// This text as addresses hold it that have it in their domain, if that is another text: of a domain of other letters they hold what stands for
/// it in ASCII (UTS 46).
pub(super) fn as_in_domains(text: &str) -> Option<String> {
    if text.is_ascii() {
        return None;
    }
    let (local, domain) = text.rsplit_once('@').map_or((None, text), |(local, domain)| (Some(local), domain));
    let ascii = Uts46::new()
        .to_ascii(domain.as_bytes(), AsciiDenyList::STD3, Hyphens::Allow, DnsLength::Ignore)
        .ok()
        // Of a text of which nobody sees anything nothing is left: that is in every address.
        .filter(|ascii| **ascii != *domain && ascii.contains(|c: char| c.is_ascii_alphanumeric()))?;
    Some(local.map_or_else(|| ascii.to_string(), |local| format!("{local}@{ascii}")))
}

/// A stored address as people read it: its domain in the letters of its language. As it is stored where that would be another
/// address to who types it.
pub fn readable(email: &str) -> String {
    let in_letters = email.rsplit_once('@').map(|(local, domain)| {
        let (domain, _) = Uts46::new().to_unicode(domain.as_bytes(), AsciiDenyList::STD3, Hyphens::Allow);
        format!("{local}@{domain}")
    });
    let is_same = |text: &String| text.parse::<Email>().is_ok_and(|typed| typed.as_str() == email);
    in_letters.filter(is_same).unwrap_or_else(|| email.to_owned())
}

/// Whether it shows nothing by itself: format characters, zero-width ones, fillers, variation selectors.
pub(super) fn is_unseen(character: char) -> bool {
    !character.is_ascii()
        && (CodePointMapData::<GeneralCategory>::new().get(character) == GeneralCategory::Format
            || CodePointSetData::new::<DefaultIgnorableCodePoint>().contains(character))
}

impl fmt::Debug for Email {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[e-mail]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn email(raw: &str) -> Email {
        raw.parse().unwrap()
    }

    #[test]
    fn spellings_of_one_address_are_one_login_name() {
        let plain = email("josé@example.com");
        for spelling in [" José@Example.COM\n", "jose\u{301}@example.com", "JOSE\u{301}@EXAMPLE.COM"] {
            assert_eq!(email(spelling), plain, "{spelling}");
            assert_eq!(email(spelling).login_name(), plain.login_name());
        }
        assert_ne!(email("josè@example.com"), plain);
    }

    #[test]
    fn a_domain_is_read_in_its_own_letters() {
        for typed in ["alice@bücher.example", "josé@example.com", "alice@例え.テスト", "a.b@example.co.uk"]
        {
            assert_eq!(readable(email(typed).as_str()), typed);
        }
        for odd in ["alice@xn--zzzzzz9999.example", "no address", "", "@", "a@xn--"] {
            assert_eq!(readable(odd), odd);
        }
    }

    #[test]
    fn a_domain_is_one_name_however_it_is_written() {
        let plain = email("alice@bücher.example");
        assert_eq!(plain.as_str(), "alice@xn--bcher-kva.example");
        for spelling in [
            "alice@xn--bcher-kva.example",
            "alice@XN--BCHER-KVA.EXAMPLE",
            "alice@BÜCHER.example",
            "alice@bu\u{308}cher.example",
            "alice@bücher。example",
            "alice@ｂücher.ｅxample",
        ] {
            assert_eq!(email(spelling), plain, "{spelling}");
        }
        assert_ne!(email("alice@bucher.example"), plain);
        // Not the letters of which it consists decide about the local part: hosts may tell them apart.
        assert_ne!(email("ａlice@bücher.example"), plain);
    }

    #[test]
    fn what_nobody_sees_is_refused() {
        let unseen = [
            '\u{200B}',
            '\u{200D}',
            '\u{FEFF}',
            '\u{AD}',
            '\u{2060}',
            '\u{202E}',
            '\u{34F}',
            '\u{3164}',
            '\u{FE0F}',
            '\u{E0061}',
            '\u{600}',
        ];
        for character in unseen {
            for raw in [format!("al{character}ice@example.com"), format!("alice@exam{character}ple.com")] {
                assert_eq!(raw.parse::<Email>(), Err(InvalidEmail::Malformed), "{raw:?}");
            }
        }
    }

    #[test]
    fn normalising_twice_changes_nothing() {
        for raw in [
            "ẞß@straße.example",
            "alice@faß.ΟΔΟΣ.example",
            "ẞß@example.com",
            "ΟΔΟΣ@example.com",
            "A.B+c@Sub.Example.com",
        ] {
            let once = email(raw);
            assert_eq!(email(once.as_str()), once, "{raw}");
        }
    }

    #[test]
    fn what_is_no_address_is_refused_with_its_reason() {
        let reason = |raw: &str| raw.parse::<Email>().unwrap_err();
        assert_eq!(reason(" \t"), InvalidEmail::Missing);
        assert_eq!(reason(&format!("{}@example.com", "a".repeat(250))), InvalidEmail::TooLong);
        let malformed = [
            "alice",
            "alice@",
            "@example.com",
            "alice@localhost",
            "a b@example.com",
            "\"a b\"@example.com",
            "Alice <alice@example.com>",
            "alice@example.com\r\nBcc: x@example.com",
            "a@b@example.com",
            "alice@[127.0.0.1]",
            "alice@exa mple.com",
            "a\0@example.com",
            "alice@xn--a.example",
            "alice@under_score.example",
            "alice@example.com.",
            "alice@-example.com",
        ];
        for raw in malformed {
            assert_eq!(reason(raw), InvalidEmail::Malformed, "{raw}");
        }
    }

    #[test]
    fn an_address_whose_mail_may_go_elsewhere_is_found_and_given_to_nobody() {
        for raw in [
            "attacker%evil.example@corp.example",
            "evil.example!attacker@corp.example",
            "Attacker%Evil.example@corp.example",
            "|program@corp.example",
            "a|b@corp.example",
            "-option@corp.example",
            "=?utf-8?q?attacker=40evil.example?=@corp.example",
            "a=?x?q?b?=@corp.example",
        ] {
            assert!(email(raw).may_lead_elsewhere(), "{raw}");
            assert_eq!(Email::for_new(raw), Err(InvalidEmail::Malformed), "{raw}");
        }
        for raw in [
            "alice@corp.example",
            "alice+tag@corp.example",
            "alice-b@corp.example",
            "o'hara@corp.example",
            "bounces+alice=other.example@corp.example",
            "who?@corp.example",
            "josé@corp.example",
        ] {
            assert_eq!(Email::for_new(raw), Ok(email(raw)), "{raw}");
        }
        assert_eq!(Email::for_new(" "), Err(InvalidEmail::Missing));
    }

    #[test]
    fn an_address_at_a_number_is_given_to_nobody_and_found_where_somebody_has_it() {
        for raw in [
            "alice@127.0.0.1",
            "alice@example.7",
            "alice@corp.１２",
            "alice@1.2",
            "alice@127.0.0x1",
            "alice@example.0XfF",
        ] {
            assert!(!email(raw).may_lead_elsewhere(), "{raw}");
            assert_eq!(Email::for_new(raw), Err(InvalidEmail::Malformed), "{raw}");
        }
        for raw in ["alice@127.example", "alice@example.c0m", "alice@example.0xyz", "7@7.example"] {
            assert_eq!(Email::for_new(raw), Ok(email(raw)), "{raw}");
        }
    }

    #[test]
    fn an_address_is_not_printed() {
        assert_eq!(format!("{:?}", email("alice@example.com")), "[e-mail]");
    }
}
