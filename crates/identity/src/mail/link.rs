//! The link that a mail carries: the same code, with all that belongs to it, sealed.

use serde::{Deserialize, Serialize};
use sluice_crypto::{Purpose, Sealer};
use sluice_primitives::{IdentityId, Rng, Timestamp};
use url::Url;

use super::code::Code;
use super::repository::CodePurpose;

/// What a link says. It is spent with its code, and not before: to open it is to look at it only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MailLink {
    /// Whose code.
    pub identity: IdentityId,
    /// What it is good for.
    pub purpose: CodePurpose,
    /// The code.
    pub code: Code,
    /// Until when it is good.
    pub expires_at: Timestamp,
}

#[derive(Serialize, Deserialize)]
struct Wire<'a> {
    identity: [u8; 16],
    purpose: i16,
    code: &'a str,
    expires_at: i64,
}

impl MailLink {
    /// The link: `page` with the sealed value as its parameter `token`.
    pub fn to_url(&self, page: &Url, sealer: &Sealer, rng: &dyn Rng) -> String {
        let wire = Wire {
            identity: *self.identity.as_bytes(),
            purpose: self.purpose.stored(),
            code: self.code.as_str(),
            expires_at: self.expires_at.as_millis(),
        };
        let token = sealer.seal(Purpose::MailLink, &postcard::to_stdvec(&wire).unwrap_or_default(), rng);
        let mut url = page.clone();
        url.query_pairs_mut().append_pair("token", &token);
        url.into()
    }

    /// Reads the sealed value of a link; expiry is the caller's to check.
    pub fn open(token: &str, sealer: &Sealer) -> Option<Self> {
        let bytes = sealer.open(Purpose::MailLink, token).ok()?;
        let wire: Wire<'_> = postcard::from_bytes(&bytes).ok()?;
        let purposes = [CodePurpose::VerifyEmail, CodePurpose::Recover, CodePurpose::ChangeEmail];
        Some(Self {
            identity: IdentityId::from_bytes(wire.identity),
            purpose: purposes.into_iter().find(|purpose| purpose.stored() == wire.purpose)?,
            code: Code::typed(wire.code)?,
            expires_at: Timestamp::from_millis(wire.expires_at),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sluice_primitives::{NetworkId, OsRng, Secret, SeededRng};

    #[test]
    fn a_link_opens_to_what_it_says() {
        let sealer = Sealer::new(NetworkId::from_bytes([1; 16]), &[Secret::new(vec![7; 32])]);
        let link = MailLink {
            identity: IdentityId::from_bytes([1; 16]),
            purpose: CodePurpose::ChangeEmail,
            code: Code::draw(&SeededRng::new(1)),
            expires_at: Timestamp::from_millis(1_750_000_000_123),
        };
        let page: Url = "https://id.example.org/verify?lang=en".parse().unwrap();
        let url = link.to_url(&page, &sealer, &OsRng);
        let token = url.strip_prefix("https://id.example.org/verify?lang=en&token=").unwrap();
        assert_eq!(MailLink::open(token, &sealer), Some(link));
        assert_eq!(MailLink::open(&token[1..], &sealer), None);
    }
}
