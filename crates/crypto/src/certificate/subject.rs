//! Names of subjects, compared as `distinguishedNameMatch` asks (RFC 4517 §4.2.15): the same attributes in the same order,
//! values without regard to case and to how much space is between words.

use std::str::FromStr;

use unicode_normalization::UnicodeNormalization;
use x509_cert::attr::AttributeTypeAndValue;
use x509_cert::der::asn1::{Any, BmpString, ObjectIdentifier};
use x509_cert::der::{Tag, Tagged};
use x509_cert::name::Name;

/// A value, ready to be compared.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Value {
    Text(String),
    /// What is no text is compared byte for byte.
    Other(Vec<u8>),
}

/// The attributes of one level of a name, in an order of their own: they are a set.
type Level = Vec<(ObjectIdentifier, Value)>;

/// Whether `subject` has the name `expected`. What cannot be parsed names nobody, nor does an empty name.
pub(super) fn matches(subject: &Name, expected: &str) -> bool {
    let presented: Vec<Level> = subject.iter_rdn().map(|rdn| level(rdn.iter())).collect();
    parse(expected).is_some_and(|expected| !expected.is_empty() && expected == presented)
}

/// The levels of an RFC 4514 string, from the top: the string begins with the last. Space around separators is allowed,
/// as RFC 2253 did.
fn parse(text: &str) -> Option<Vec<Level>> {
    let mut levels = Vec::new();
    for rdn in split(text, ',')? {
        let attributes = split(rdn, '+')?.into_iter().map(attribute).collect::<Option<Vec<_>>>()?;
        levels.push(level(attributes.iter()));
    }
    levels.reverse();
    Some(levels)
}

fn attribute(text: &str) -> Option<AttributeTypeAndValue> {
    let (name, value) = text.split_once('=')?;
    AttributeTypeAndValue::from_str(&format!("{}={}", name.trim(), value.trim_start())).ok()
}

/// Splits where `separator` stands without a backslash. None of the other special characters may stand alone
/// (RFC 4514 §3), so that nobody reads the string in two ways.
fn split(text: &str, separator: char) -> Option<Vec<&str>> {
    let (mut parts, mut start, mut escaped) = (Vec::new(), 0, false);
    for (at, character) in text.char_indices() {
        match character {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' | ';' | '<' | '>' | '\0' => return None,
            _ if character == separator => {
                parts.push(text.get(start..at)?);
                start = at + separator.len_utf8();
            }
            _ => {}
        }
    }
    parts.push(text.get(start..)?);
    if escaped { None } else { Some(parts) }
}

fn level<'a>(attributes: impl Iterator<Item = &'a AttributeTypeAndValue>) -> Level {
    let mut level: Level = attributes.map(|attribute| (attribute.oid, value(&attribute.value))).collect();
    level.sort();
    level
}

fn value(any: &Any) -> Value {
    let text = match any.tag() {
        Tag::PrintableString | Tag::Utf8String | Tag::Ia5String => {
            std::str::from_utf8(any.value()).ok().map(str::to_owned)
        }
        // Beyond ASCII nobody agrees on what its bytes mean.
        Tag::TeletexString if any.value().is_ascii() => {
            std::str::from_utf8(any.value()).ok().map(str::to_owned)
        }
        Tag::BmpString => any.decode_as::<BmpString>().ok().map(|text| text.to_string()),
        _ => None,
    };
    text.map_or_else(|| Value::Other(any.value().to_vec()), |text| Value::Text(prepared(&text)))
}

/// Compatibility characters replaced, lower case, one space between words (RFC 4518 §2).
fn prepared(text: &str) -> String {
    let folded: String = text.nfkc().flat_map(char::to_lowercase).nfkc().collect();
    folded.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn same(one: &str, other: &str) -> bool {
        matches(&Name::from_str(one).unwrap(), other)
    }

    #[test]
    fn case_and_space_do_not_count() {
        let name = "CN=Client One,OU=Payments,O=Example Ltd,C=GB";
        for other in [
            name,
            "cn=client one,ou=PAYMENTS,o=example ltd,c=gb",
            "CN=Client  One, OU=Payments , O = Example Ltd,C=GB",
            "2.5.4.3=Client One,OU=Payments,O=Example Ltd,C=GB",
            r"CN=Client\20One,OU=Payments,O=\ Example Ltd\ ,C=GB",
        ] {
            assert!(same(name, other), "{other}");
        }
    }

    #[test]
    fn another_attribute_order_or_value_is_another_name() {
        let name = "CN=Client One,OU=Payments,O=Example Ltd,C=GB";
        for other in [
            "",
            "CN=Client One",
            "CN=Client One,OU=Payments,O=Example Ltd",
            "C=GB,O=Example Ltd,OU=Payments,CN=Client One",
            "CN=Client Two,OU=Payments,O=Example Ltd,C=GB",
            "CN=ClientOne,OU=Payments,O=Example Ltd,C=GB",
            "O=Client One,OU=Payments,O=Example Ltd,C=GB",
            "CN=Client One,OU=Payments,O=Example Ltd,C=GB,C=GB",
            "CN=Client One+OU=Payments,O=Example Ltd,C=GB",
        ] {
            assert!(!same(name, other), "{other}");
        }
        assert!(!matches(&Name::default(), ""));
    }

    #[test]
    fn the_attributes_of_one_level_are_a_set() {
        assert!(same("CN=One+UID=1,O=Example", "UID=1+CN=one,O=Example"));
        assert!(!same("CN=One+UID=1,O=Example", "CN=one,O=Example"));
        assert!(!same("CN=One+UID=1,O=Example", "CN=one,UID=1,O=Example"));
    }

    #[test]
    fn a_separator_after_a_backslash_separates_nothing() {
        assert!(same(r"CN=a\,OU\=b,O=c", r"CN=a\2cOU\3db,O=c"));
        assert!(!same("CN=a,OU=b,O=c", r"CN=a\,OU=b,O=c"));
        // A backslash of its own, then a separator that does separate.
        assert_eq!(parse(r"CN=a\\,O=c").unwrap().len(), 2);
        assert_eq!(parse(r"CN=a\\\,O=c").unwrap().len(), 1);
    }

    #[test]
    fn what_is_no_name_matches_nobody() {
        for text in [r"CN=a\", "CN", "=a", "XYZZY=a", "CN=\"a\"", "CN=a;O=b", "CN=<a>", "CN=a,,O=b", "CN=a,"]
        {
            assert!(parse(text).is_none(), "{text}");
        }
    }

    #[test]
    fn the_usual_names_of_attributes_are_known() {
        let all =
            "CN=1,L=2,ST=3,O=4,OU=5,C=6,STREET=7,DC=8,UID=9,serialNumber=10,emailAddress=a@b,GN=11,SN=12";
        let usual = ["CN", "L", "ST", "O", "OU", "C", "STREET", "DC", "UID", "serialNumber", "emailAddress"];
        for name in usual {
            assert!(parse(&format!("{name}=a")).is_some(), "{name} of {all}");
        }
        assert!(same(
            "serialNumber=1,emailAddress=a@example.com",
            "SERIALNUMBER=1,EMAILADDRESS=A@Example.com"
        ));
    }
}
