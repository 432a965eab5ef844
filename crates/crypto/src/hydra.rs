//! What an Ory Hydra 2.x keeps in its database, opened with its system secrets: keys and sessions, which it seals with
//! AES-256-GCM, and refresh tokens, of which it keeps a MAC (HMAC-SHA-512/256, FIPS 180-4 §6.7).

use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use aws_lc_rs::digest::{Context, SHA512_256};
use base64::Engine;
use base64::engine::general_purpose::{URL_SAFE, URL_SAFE_NO_PAD};
use sluice_primitives::Secret;
use sluice_primitives::secret::same_bytes;
use zeroize::Zeroizing;

use crate::digest::sha256;
use crate::jwk::{Jwk, JwkError, PrivateMember};

/// What is put before its refresh tokens; earlier versions put nothing.
const REFRESH_TOKEN_PREFIX: &str = "ory_rt_";
/// The longest random part of a token that is looked at, in bytes; there are 32 usually.
const MAX_RANDOM: usize = 128;
/// SHA-512/256 works on blocks of so many bytes.
const BLOCK: usize = 128;

/// The system secrets of a Hydra (`secrets.system`): the first seals, all open.
#[derive(Debug, Clone)]
pub struct HydraSecrets(Vec<Secret<[u8; 32]>>);

impl HydraSecrets {
    /// The secrets, as they are configured there.
    pub fn new(secrets: &[Secret<String>]) -> Self {
        Self(secrets.iter().map(|secret| Secret::new(sha256(secret.expose().as_bytes()))).collect())
    }

    /// What was sealed with one of them; none if it was sealed otherwise, or is damaged.
    pub fn open(&self, sealed: &str) -> Option<Zeroizing<Vec<u8>>> {
        let sealed = URL_SAFE.decode(sealed).ok()?;
        let (nonce, content) = sealed.split_at_checked(NONCE_LEN)?;
        self.0.iter().find_map(|key| opened(key, nonce, content))
    }

    /// The keys of the MACs of tokens, one of each secret.
    pub fn token_keys(&self) -> impl Iterator<Item = HydraTokenKey> {
        self.0.iter().cloned().map(HydraTokenKey)
    }
}

fn opened(key: &Secret<[u8; 32]>, nonce: &[u8], content: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
    let key = LessSafeKey::new(UnboundKey::new(&AES_256_GCM, key.expose()).ok()?);
    let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
    let mut content = Zeroizing::new(content.to_vec());
    let length = key.open_in_place(nonce, Aad::empty(), &mut content).ok()?.len();
    content.truncate(length);
    Some(content)
}

/// A key of the MACs of tokens.
#[derive(Debug, Clone)]
pub struct HydraTokenKey(Secret<[u8; 32]>);

impl HydraTokenKey {
    /// The key with these bytes.
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(Secret::new(bytes))
    }

    /// The key that [`Self::to_jwk`] wrote; none of another JWK.
    pub fn from_jwk(jwk: &Jwk) -> Option<Self> {
        let member = jwk.k.as_ref().filter(|_| jwk.is_symmetric())?;
        let bytes = Zeroizing::new(URL_SAFE_NO_PAD.decode(member.expose()).ok()?);
        Some(Self::from_bytes(bytes.as_slice().try_into().ok()?))
    }

    /// The key as a JWK, named by its thumbprint (RFC 7638). It has no `alg`: none is registered for this MAC.
    ///
    /// # Errors
    /// Those of [`Jwk::thumbprint`].
    pub fn to_jwk(&self) -> Result<Jwk, JwkError> {
        let k = Some(PrivateMember::encode(self.0.expose()));
        let jwk = Jwk { kty: "oct".to_owned(), k, ..Jwk::default() };
        Ok(Jwk { kid: Some(jwk.thumbprint()?), ..jwk })
    }

    /// Whether the MAC of a token was made with this key of its random part, in constant time.
    pub fn made(&self, token: &HydraRefreshToken) -> bool {
        same_bytes(&hmac_sha512_256(self.0.expose(), token.random.expose()), &token.mac)
    }
}

/// A text in the form of Hydra's refresh tokens: a random part, a point, and the MAC of the random part, in base64url. Sluice's own have
/// no point.
#[derive(Debug, Clone)]
pub struct HydraRefreshToken {
    random: Secret<Vec<u8>>,
    mac: [u8; 32],
}

impl HydraRefreshToken {
    /// Takes a text of that form apart; whether its MAC is right is not looked at.
    pub fn parse(presented: &str) -> Option<Self> {
        let (random, mac) =
            presented.strip_prefix(REFRESH_TOKEN_PREFIX).unwrap_or(presented).split_once('.')?;
        let random = Secret::new(URL_SAFE_NO_PAD.decode(random).ok()?);
        let fits = (1..=MAX_RANDOM).contains(&random.expose().len());
        Some(Self { random, mac: read_mac(mac)? }).filter(|_| fits)
    }

    /// Its MAC.
    pub const fn mac(&self) -> [u8; 32] {
        self.mac
    }
}

/// A MAC as Hydra's database has it: 32 bytes in base64url.
pub fn read_mac(text: &str) -> Option<[u8; 32]> {
    URL_SAFE_NO_PAD.decode(text).ok()?.try_into().ok()
}

/// How Hydra's database has a MAC.
pub fn write_mac(mac: &[u8; 32]) -> String {
    URL_SAFE_NO_PAD.encode(mac)
}

/// HMAC (RFC 2104) with SHA-512/256, of a key that is shorter than a block.
fn hmac_sha512_256(key: &[u8; 32], data: &[u8]) -> [u8; 32] {
    let pad = |byte: u8| {
        let mut block = Zeroizing::new([byte; BLOCK]);
        block.iter_mut().zip(key).for_each(|(to, from)| *to ^= *from);
        block
    };
    let inner = hashed(&pad(0x36), data);
    hashed(&pad(0x5C), &inner)
}

fn hashed(block: &[u8; BLOCK], data: &[u8]) -> [u8; 32] {
    let mut context = Context::new(&SHA512_256);
    context.update(block);
    context.update(data);
    let mut out = [0; 32];
    out.iter_mut().zip(context.finish().as_ref()).for_each(|(to, from)| *to = *from);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a Hydra 2.3.0 issued and sealed with this secret.
    const SECRET: &str = "this-is-a-long-system-secret-0123";
    const TOKEN: &str =
        "ory_rt_okepsQvQe0b_fv_s3V72iR2LQ7qtzu6V2h6LHbX40tQ.bfMKCQ4SRdrFMNMytClZau6UVv61l3OFhf3zPdqj3js";
    const SEALED: &str = "mlppA44JLC_hKLiBn06Q2qCZkDLqMpRJpCIsLbTTinD3CCWIhAcvsrdt0TqouSu_-i0TgdoBzMtq3QvQMt2KkffAzbc9l1dZ4FkPrGKdzYF-o--JTsmeILwwYalTSSsDrCRqpdsshZ19WIHJEbzYtsLDpmM_qa1gT4FjLY0uOtG_TVbnyyPkGJutHsGUpurJeujeON3kinnN5INiHXMT0rfbemHv_8or_RbybaytyWBNiyPXPOPUkuiFxZZL3phuWnDyQQ==";

    fn secrets(all: &[&str]) -> HydraSecrets {
        let all: Vec<_> = all.iter().map(|secret| Secret::new((*secret).to_owned())).collect();
        HydraSecrets::new(&all)
    }

    fn is_made(secrets: &HydraSecrets, token: &str) -> bool {
        let token = HydraRefreshToken::parse(token).unwrap();
        secrets.token_keys().any(|key| key.made(&token))
    }

    #[test]
    fn a_token_is_known_by_any_of_the_secrets_and_a_forged_one_by_none() {
        assert!(is_made(&secrets(&[SECRET]), TOKEN));
        assert!(is_made(&secrets(&["a-newer-secret-of-this-hydra", SECRET]), TOKEN));
        assert!(is_made(&secrets(&[SECRET]), TOKEN.strip_prefix("ory_rt_").unwrap()));
        assert!(!is_made(&secrets(&["another-secret-of-some-length"]), TOKEN));
        // Whoever has read the database knows the MAC, but no random part.
        let (_, mac) = TOKEN.split_once('.').unwrap();
        assert!(!is_made(&secrets(&[SECRET]), &format!("ory_rt_{}.{mac}", URL_SAFE_NO_PAD.encode([0; 32]))));
    }

    #[test]
    fn a_key_is_kept_as_a_jwk() {
        let key = secrets(&[SECRET]).token_keys().next().unwrap();
        let jwk = key.to_jwk().unwrap();
        let read = HydraTokenKey::from_jwk(&jwk).unwrap();
        assert!(read.made(&HydraRefreshToken::parse(TOKEN).unwrap()));
        assert!(HydraTokenKey::from_jwk(&jwk.public()).is_none());
    }

    #[test]
    fn what_has_another_form_is_no_token() {
        let (random, mac) = TOKEN.split_once('.').unwrap();
        for other in [
            "",
            ".",
            "ory_rt_",
            random,
            &format!("{random}."),
            &format!(".{mac}"),
            &format!("{random}.{mac}.x"),
            "a.b",
        ] {
            assert!(HydraRefreshToken::parse(other).is_none(), "{other}");
        }
        let long = URL_SAFE_NO_PAD.encode([7; MAX_RANDOM + 1]);
        assert!(HydraRefreshToken::parse(&format!("{long}.{mac}")).is_none());
    }

    #[test]
    fn a_mac_is_written_as_it_was_read() {
        let (_, mac) = TOKEN.split_once('.').unwrap();
        assert_eq!(read_mac(mac).map(|mac| write_mac(&mac)).as_deref(), Some(mac));
        assert_eq!(read_mac("c2hvcnQ"), None);
    }

    #[test]
    fn what_was_sealed_opens_with_its_secret_alone() {
        let opened = secrets(&["a-newer-secret-of-this-hydra", SECRET]).open(SEALED).unwrap();
        let json: serde_json::Value = serde_json::from_slice(&opened).unwrap();
        assert_eq!(json["kid"], "trust-1");
        for (secret, sealed) in [("another-secret-of-some-length", SEALED), (SECRET, "short"), (SECRET, "")] {
            assert!(secrets(&[secret]).open(sealed).is_none(), "{sealed}");
        }
    }
}
